// swift-tools-version: 6.2
import PackageDescription

// A server that keeps its orders in Firn: see README.md. A package of its own, so that SwiftNIO never reaches the build
// of someone who uses Firn.
let package = Package(
    name: "FirnOrderServer",
    platforms: [.macOS(.v15)],
    traits: [.trait(name: "Encryption", description: "The tests can run with an encrypted store: FIRN_TEST_KEY.")],
    dependencies: [
        .package(
            name: "Firn", path: "../../..",
            traits: [.trait(name: "Encryption", condition: .when(traits: ["Encryption"]))]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(
            name: "OrderServer",
            dependencies: [
                .product(name: "Firn", package: "Firn"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        .executableTarget(name: "order-server", dependencies: ["OrderServer"]),
        .testTarget(
            name: "OrderServerTests",
            dependencies: [
                "OrderServer", "order-server", .product(name: "Firn", package: "Firn"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
