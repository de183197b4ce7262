// swift-tools-version: 6.2
import PackageDescription

// What lies below `Firn` has `package` access. The benchmarks of the store itself need it, so they are compiled as part
// of the package of Firn, which SwiftPM names after its folder: the parent of this one. (`packageAccess: false` keeps
// SwiftPM from naming this package instead.)
let root = Context.packageDirectory.split(separator: "/").dropLast().last ?? "firn"
let letters = root.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
let firnPackage = (letters[0].isNumber ? "_" : "") + String(letters)

// Firn measured beside its rivals. A package of its own, so that SQLite, GRDB and LMDB never reach the build of someone
// who uses Firn. Run it by `Tools/bench`.
let package = Package(
    name: "FirnBenchmarks",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "firn-bench", targets: ["FirnBench"])],
    dependencies: [
        // Encrypted stores are measured on demand, since their library takes minutes to build.
        .package(
            name: "Firn", path: "..", traits: Context.environment["FIRN_BENCH_ENCRYPTED"] == nil ? [] : ["Encryption"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .executableTarget(
            name: "FirnBench",
            dependencies: [
                "CSQLite", "CLMDB", .product(name: "Firn", package: "Firn"),
                .product(name: "FirnCore", package: "Firn"), .product(name: "GRDB", package: "GRDB.swift"),
            ],
            packageAccess: false, swiftSettings: [.unsafeFlags(["-package-name", firnPackage])]),
    ],
    swiftLanguageModes: [.v6]
)
