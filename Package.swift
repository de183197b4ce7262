// swift-tools-version: 6.2
import PackageDescription

// A target imports only targets that stand before it in the list. Sources/README.md says what each one holds.
let package = Package(
    name: "Firn",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Firn", targets: ["Firn"]),
        // For programs written for Realm: `import RealmSwift` as it stands, and the names of its Objective-C interface.
        .library(name: "RealmSwift", targets: ["RealmSwift"]),
        .library(name: "FirnRLM", targets: ["FirnRLM"]),
        .library(name: "Realm", targets: ["Realm"]),
        // Empty without the traits `Metrics` and `Combine`.
        .library(name: "FirnMetrics", targets: ["FirnMetrics"]),
        .library(name: "FirnCombine", targets: ["FirnCombine"]),
        // For `Benchmarks`, which is compiled as a part of this package. Programs import Firn alone.
        .library(name: "FirnCore", targets: ["FirnCore", "FirnQuery", "FirnLog", "FirnStorage"]),
        .executable(name: "firn", targets: ["firn"]),
        .executable(name: "firn-quickstart", targets: ["FirnQuickstart"]),
    ],
    traits: [
        .trait(name: "Metrics", description: "FirnMetrics passes measurements to swift-metrics."),
        .trait(name: "Combine", description: "FirnCombine has publishers: Combine's, or OpenCombine's on Linux."),
        .trait(name: "Encryption", description: "Stores can be encrypted on Linux, with swift-crypto."),
        .trait(
            name: "EncryptedRealmFiles",
            description: "Encrypted files of Realm can be read on Linux, with the system's libcrypto."),
        .trait(name: "SQLite", description: "The firn command imports databases of SQLite, with the system's library."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
        // Without pkgConfig, since SwiftPM would warn everyone who builds Firn and has no SQLite.
        .systemLibrary(name: "CFirnSQLite"),
        .systemLibrary(name: "CFirnLibcrypto"),
        .target(name: "CFirn", cSettings: [.define("_GNU_SOURCE")]),
        .target(name: "FirnBytes", dependencies: ["CLZ4", "CFirn"]),
        .target(name: "FirnStorage", dependencies: ["CFirn"]),
        .target(
            name: "FirnCrypto",
            dependencies: [
                "FirnStorage", "CFirn",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
                .product(name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
            ]),
        // Reads the files of Realm. It knows nothing of stores.
        .target(
            name: "FirnRealmFile",
            dependencies: [
                "FirnStorage", .target(name: "CFirnLibcrypto", condition: .when(traits: ["EncryptedRealmFiles"])),
            ]),
        .target(name: "FirnLog", dependencies: ["FirnBytes", "FirnStorage", "FirnCrypto"]),
        .target(name: "FirnCore", dependencies: ["FirnLog", "FirnStorage", "FirnBytes", "CFirn"]),
        // Puts the objects of Realm's files into stores.
        .target(name: "FirnRealmImport", dependencies: ["FirnRealmFile", "FirnCore", "FirnStorage", "FirnBytes"]),
        .target(name: "FirnQuery", dependencies: ["FirnCore", "CFirn"]),
        .target(
            name: "Firn",
            dependencies: [
                "FirnQuery", "FirnCore", "FirnStorage", "FirnBytes", "CFirn",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .target(
            name: "FirnMetrics",
            dependencies: [
                "Firn", "FirnCore",
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ]),
        .target(
            name: "FirnCombine",
            dependencies: [
                "Firn", "FirnStorage",
                .product(
                    name: "OpenCombine", package: "OpenCombine",
                    condition: .when(platforms: [.linux], traits: ["Combine"])),
                .product(
                    name: "OpenCombineDispatch", package: "OpenCombine",
                    condition: .when(platforms: [.linux], traits: ["Combine"])),
            ]),
        .target(name: "RealmSwift", dependencies: ["FirnCombine", "Firn", "FirnStorage"]),
        .target(name: "FirnRLM", dependencies: ["Firn"]),
        .target(name: "Realm", dependencies: ["RealmSwift", "FirnRLM"]),
        // The `firn` command: all of it in a library, which tests and the fuzzer use, too.
        .target(
            name: "FirnTool",
            dependencies: [
                "FirnQuery", "FirnRealmImport", "FirnRealmFile", "FirnCore", "FirnLog", "FirnCrypto", "FirnStorage",
                "FirnBytes", .target(name: "CFirnSQLite", condition: .when(traits: ["SQLite"])),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tools/firn"),
        .executableTarget(name: "firn", dependencies: ["FirnTool"], path: "Tools/command"),
        // `Tools/quickstart`: an application as any other, which knows nothing of what lies below Firn.
        .executableTarget(
            name: "FirnQuickstart",
            dependencies: ["Firn", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Tools/indexer"),
        // Commits from many threads until a test kills it.
        .executableTarget(
            name: "firn-crash-child", dependencies: ["FirnCore", "FirnCrypto", "FirnLog", "FirnStorage"],
            path: "Tests/Harness/CrashChild"),
        // A program whose main queue waits for itself, with the run loop running.
        .executableTarget(name: "firn-main-loop", dependencies: ["Firn"], path: "Tests/Harness/MainLoop"),
        // Programs that are written for RealmSwift.
        .executableTarget(name: "firn-programs", dependencies: ["RealmSwift"], path: "Tests/Harness/Programs"),
        // All of the life of a store that is larger than memory: `Tools/prove-memory`.
        .executableTarget(
            name: "firn-memory-proof", dependencies: ["FirnCore", "FirnCrypto", "FirnLog", "FirnStorage"],
            path: "Tests/Harness/MemoryProof"),
        // Prints Realm's files, for comparisons with samples.
        .target(
            name: "RealmDump", dependencies: ["FirnRealmFile", "FirnCore", "FirnStorage"],
            path: "Tests/Harness/RealmDump"),
        .executableTarget(
            name: "firn-realm-dump",
            dependencies: ["RealmDump", "FirnRealmImport", "FirnRealmFile", "FirnCore", "FirnLog", "FirnStorage"],
            path: "Tests/Harness/RealmDumpCommand"),
        // Stores with right checksums and wrong contents.
        .target(
            name: "ForgedStores",
            dependencies: ["FirnCore", "FirnLog", "FirnCrypto", "FirnStorage", "FirnBytes", "FirnTestSupport"],
            path: "Tests/Harness/ForgedStores"),
        // What `Tools/fuzz` forges. What it found is replayed by the tests.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "FirnTool", "FirnQuery", "FirnCore", "FirnLog", "FirnStorage", "FirnBytes", "FirnTestSupport",
                "ForgedStores", "FirnRealmFile", "RealmDump",
            ],
            path: "Tests/Harness/Fuzz/Targets"),
        .executableTarget(name: "firn-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Harness/Fuzz/Driver"),
        .target(name: "FirnTestSupport", dependencies: ["FirnStorage"], path: "Tests/FirnTestSupport"),
        // A store on a simulated machine against an oracle: `Tools/simulate`, and its short run among the tests.
        .target(
            name: "FirnSimulation", dependencies: ["FirnCore", "FirnLog", "FirnStorage", "FirnTestSupport"],
            path: "Tests/Harness/Simulation"),
        .executableTarget(
            name: "firn-simulate", dependencies: ["FirnSimulation", "FirnStorage"], path: "Tests/Harness/Simulate"),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["FirnSimulation", "FirnCore", "FirnLog", "FirnStorage", "FirnTestSupport"]),
        .testTarget(name: "FirnBytesTests", dependencies: ["FirnBytes", "CFirn", "FirnTestSupport"]),
        .testTarget(name: "FirnStorageTests", dependencies: ["FirnStorage", "CFirn", "FirnTestSupport"]),
        .testTarget(
            name: "FirnRealmFileTests", dependencies: ["FirnRealmFile", "RealmDump", "FirnStorage", "FirnTestSupport"],
            exclude: ["Samples"]),
        .testTarget(
            name: "FirnRealmImportTests",
            dependencies: ["FirnRealmImport", "FirnRealmFile", "RealmDump", "FirnCore", "FirnStorage"]),
        .testTarget(name: "FirnCryptoTests", dependencies: ["FirnCrypto", "FirnStorage", "FirnTestSupport"]),
        .testTarget(
            name: "FirnLogTests",
            dependencies: ["FirnLog", "FirnCrypto", "FirnStorage", "FirnBytes", "FirnTestSupport"],
            exclude: ["Golden"]),
        .testTarget(
            name: "FirnCoreTests",
            dependencies: [
                "FirnCore", "FirnLog", "FirnCrypto", "FirnStorage", "FirnBytes", "CFirn", "FirnSimulation",
                "FirnTestSupport", "ForgedStores", "firn-crash-child",
            ],
            exclude: ["Golden"]),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzTargets", "firn-fuzz", "FirnTestSupport"],
            path: "Tests/Harness/Fuzz/Tests"),
        .testTarget(
            name: "FirnQueryTests",
            dependencies: ["FirnQuery", "FirnCore", "FirnLog", "FirnStorage", "FirnTestSupport"]),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "FirnTool", "firn", "FirnLog", "FirnCore", "FirnStorage", "FirnBytes", "FirnTestSupport",
                "ForgedStores", "RealmDump", "FirnRealmFile",
                .target(name: "CFirnSQLite", condition: .when(traits: ["SQLite"])),
            ]),
        .testTarget(
            name: "FirnTests",
            dependencies: [
                "Firn", "FirnQuery", "FirnCore", "FirnLog", "FirnStorage", "CFirn", "FirnTestSupport",
                // Only programs that a test compiles import it.
                "RealmSwift", "firn-crash-child", "firn-main-loop", "firn-programs",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "FirnMetricsTests",
            dependencies: [
                "FirnMetrics", "Firn", "FirnCore", "FirnTestSupport",
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ]),
        .testTarget(
            name: "FirnCombineTests",
            dependencies: [
                "FirnCombine", "Firn", "FirnTestSupport",
                .product(
                    name: "OpenCombine", package: "OpenCombine",
                    condition: .when(platforms: [.linux], traits: ["Combine"])),
            ]),
        .testTarget(name: "RealmSwiftTests", dependencies: ["RealmSwift", "FirnRLM", "Realm", "FirnTestSupport"]),
        // A to-do application as somebody would write it for Realm, and its load: two processes, one of which is
        // killed.
        .target(name: "ToDo", dependencies: ["RealmSwift"], path: "Tests/Applications/ToDo/App"),
        // What `firn-todo` and the tests share: the classes of earlier versions, and random edits.
        .target(
            name: "ToDoTestSupport", dependencies: ["ToDo", "RealmSwift", "FirnTestSupport"],
            path: "Tests/Applications/ToDo/Support"),
        .executableTarget(
            name: "firn-todo", dependencies: ["ToDo", "ToDoTestSupport", "RealmSwift"],
            path: "Tests/Applications/ToDo/Main"),
        .testTarget(
            name: "ToDoTests",
            dependencies: ["ToDo", "ToDoTestSupport", "RealmSwift", "FirnTestSupport", "firn-todo"],
            path: "Tests/Applications/ToDo/Tests"),
    ],
    swiftLanguageModes: [.v6]
)

// `Tools/test --sanitize` builds only the tests that it runs, because the tests are most of what there is to compile.
// FIRN_TEST_TARGETS are their targets, separated by spaces: `NAME`, or `NAME:FILE,FOLDER` for a part of its sources.
if let entries = Context.environment["FIRN_TEST_TARGETS"]?.split(separator: " ") {
    let chosen = entries.map { $0.split(separator: ":").map(String.init) }
    package.targets.removeAll { target in target.type == .test && !chosen.contains { $0[0] == target.name } }
    for entry in chosen where entry.count == 2 {
        package.targets.first { $0.name == entry[0] }?.sources = entry[1].split(separator: ",").map(String.init)
    }
}

// `Tools/test` lets the compiler optimize what the tests spend their time in, with all debug checks: the library, the
// simulated disk and the oracles. The tests themselves would take longer to compile than they would then run shorter.
if Context.environment["FIRN_OPTIMIZED_TESTS"] == "1" {
    let own = [
        "FirnBytes", "FirnStorage", "FirnLog", "FirnCore", "FirnQuery", "Firn", "FirnTool", "FirnTestSupport",
        "FirnSimulation",
    ]
    for target in package.targets where own.contains(target.name) {
        target.swiftSettings = [
            .unsafeFlags([
                "-O", "-disable-batch-mode", "-whole-module-optimization", "-num-threads", "2", "-assert-config",
                "Debug",
            ])
        ]
    }
}
