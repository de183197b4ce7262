// swift-tools-version: 6.2
import PackageDescription

// The layers of Firn, lowest first: a target imports only targets that stand before it in this list.
let package = Package(
    name: "Firn",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Firn", targets: ["Firn"]),
        // For programs written for Realm: `import RealmSwift` as it stands, and the names of its Objective-C interface.
        .library(name: "RealmSwift", targets: ["RealmSwift"]),
        .library(name: "FirnRLM", targets: ["FirnRLM"]),
        // For `Benchmarks`, which is compiled as a part of this package: all that these targets show is `package`.
        .library(name: "FirnCore", targets: ["FirnCore", "FirnQuery", "FirnLog", "FirnStorage"]),
        .executable(name: "firn", targets: ["FirnTool"]),
        .executable(name: "firn-quickstart", targets: ["FirnQuickstart"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
        .target(name: "CFirn", cSettings: [.define("_GNU_SOURCE")]),
        .target(name: "FirnBytes", dependencies: ["CLZ4", "CFirn"]),
        .target(name: "FirnStorage", dependencies: ["CFirn"]),
        .target(name: "FirnLog", dependencies: ["FirnBytes", "FirnStorage"]),
        .target(name: "FirnCore", dependencies: ["FirnLog", "FirnStorage", "FirnBytes", "CFirn"]),
        .target(name: "FirnQuery", dependencies: ["FirnCore", "CFirn"]),
        .target(
            name: "Firn",
            dependencies: ["FirnQuery", "FirnCore", "FirnStorage", "FirnBytes", "CFirn"]),
        .target(name: "RealmSwift", dependencies: ["Firn"]),
        .target(name: "FirnRLM", dependencies: ["Firn"]),
        .executableTarget(
            name: "FirnTool",
            dependencies: [
                "FirnStorage", "FirnBytes",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tools/firn"),
        // `Tools/quickstart`: an application as any other, which knows nothing of what lies below Firn.
        .executableTarget(
            name: "FirnQuickstart",
            dependencies: ["Firn", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Tools/indexer"),
        // Commits from many threads until a test kills it.
        .executableTarget(
            name: "firn-crash-child", dependencies: ["FirnCore", "FirnLog", "FirnStorage"], path: "Tests/CrashChild"),
        // All of the life of a store that is larger than memory: `Tools/prove-memory`.
        .executableTarget(
            name: "firn-memory-proof", dependencies: ["FirnCore", "FirnLog", "FirnStorage"], path: "Tests/MemoryProof"),
        // Forged stores: `Tools/fuzz`. What it found is replayed by the tests.
        .target(
            name: "FuzzTargets", dependencies: ["FirnCore", "FirnLog", "FirnStorage", "FirnBytes", "FirnTestSupport"],
            path: "Tests/Fuzz/Targets"),
        .executableTarget(name: "firn-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver"),
        .target(name: "FirnTestSupport", dependencies: ["FirnStorage"], path: "Tests/FirnTestSupport"),
        // A store on a simulated machine against an oracle: `Tools/simulate`, and its short run among the tests.
        .target(
            name: "FirnSimulation", dependencies: ["FirnCore", "FirnLog", "FirnStorage", "FirnTestSupport"],
            path: "Tests/Simulation"),
        .executableTarget(
            name: "firn-simulate", dependencies: ["FirnSimulation", "FirnStorage"], path: "Tests/Simulate"),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["FirnSimulation", "FirnCore", "FirnLog", "FirnStorage", "FirnTestSupport"]),
        .testTarget(name: "FirnBytesTests", dependencies: ["FirnBytes", "CFirn"]),
        .testTarget(name: "FirnStorageTests", dependencies: ["FirnStorage", "CFirn", "FirnTestSupport"]),
        .testTarget(
            name: "FirnLogTests", dependencies: ["FirnLog", "FirnStorage", "FirnBytes", "FirnTestSupport"],
            exclude: ["Golden"]),
        .testTarget(
            name: "FirnCoreTests",
            dependencies: [
                "FirnCore", "FirnLog", "FirnStorage", "FirnBytes", "CFirn", "FirnSimulation", "FirnTestSupport",
                "FuzzTargets", "firn-crash-child",
            ],
            exclude: ["Golden"]),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzTargets", "firn-fuzz", "FirnTestSupport"], path: "Tests/Fuzz/Tests"),
        .testTarget(
            name: "FirnQueryTests",
            dependencies: ["FirnQuery", "FirnCore", "FirnLog", "FirnStorage", "FirnTestSupport"]),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "FirnTool", "FirnLog", "FirnCore", "FirnStorage", "FirnBytes", "FirnTestSupport", "FuzzTargets",
            ]),
        .testTarget(
            name: "FirnTests",
            dependencies: [
                "Firn", "FirnQuery", "FirnCore", "FirnLog", "FirnStorage", "CFirn", "FirnTestSupport",
                "firn-crash-child",
            ]),
        .testTarget(name: "RealmSwiftTests", dependencies: ["RealmSwift", "FirnRLM"]),
    ],
    swiftLanguageModes: [.v6]
)
