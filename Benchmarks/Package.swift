// swift-tools-version: 6.2
import PackageDescription

// Firn measured beside its rivals. A package of its own, so that SQLite and LMDB never reach the build of someone who
// uses Firn. Run it by `Tools/bench`.
let package = Package(
    name: "FirnBenchmarks",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "firn-bench", targets: ["FirnBench"])],
    dependencies: [.package(name: "Firn", path: "..")],
    targets: [
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .executableTarget(
            name: "FirnBench",
            dependencies: [
                "CSQLite", "CLMDB", .product(name: "Firn", package: "Firn"),
                .product(name: "FirnCore", package: "Firn"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
