// swift-tools-version: 6.2
import PackageDescription

// `Tools/from-objc`. A package of its own, so that nobody who builds Firn builds swift-syntax.
let package = Package(
    name: "converter",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(
            name: "Converter",
            dependencies: [
                .product(name: "SwiftSyntax", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
            ]),
        .executableTarget(
            name: "FromObjC",
            dependencies: ["Converter", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
        .testTarget(name: "ConverterTests", dependencies: ["Converter"]),
    ],
    swiftLanguageModes: [.v6]
)
