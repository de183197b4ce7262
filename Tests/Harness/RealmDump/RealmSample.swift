import FirnRealmFile
import FirnStorage

/// A file that Realm made, of Tests/FirnRealmFileTests/Samples: `NAME.realm`, its contents as `RealmDump` writes them
/// (`NAME.json`), and if it is encrypted its key in hexadecimal digits (`NAME.key`).
///
/// The number at the end of a name is the file's format. `real-*` are test files of Realm's public repositories
/// (Apache-2.0), the others were made for this purpose by programs that use Realm's core. Realm's core itself has read
/// the contents.
public struct RealmSample: Sendable, CustomStringConvertible {
    public let name: String

    private static let folder =
        String(#filePath.dropLast("Harness/RealmDump/RealmSample.swift".count)) + "FirnRealmFileTests/Samples"

    public static var all: [RealmSample] {
        ((try? PosixStorage.shared.list(folder)) ?? []).filter { $0.hasSuffix(".realm") }.sorted()
            .map { RealmSample(name: String($0.dropLast(6))) }
    }

    public init(name: String) { self.name = name }

    public var description: String { name }
    public var path: String { "\(Self.folder)/\(name).realm" }

    private func bytes(_ suffix: String) throws -> [UInt8] {
        let file = try PosixStorage.shared.open("\(Self.folder)/\(name).\(suffix)", .read)
        return try file.read(file.size(), at: 0)
    }

    /// The file.
    public func file() throws -> [UInt8] { try bytes("realm") }

    /// What the file contains.
    public func contents() throws -> String { String(decoding: try bytes("json"), as: UTF8.self) }

    /// The file's key, nil if it is not encrypted.
    public func key() throws -> [UInt8]? {
        guard let digits = try? bytes("key") else { return nil }
        return Self.key(digits: String(decoding: digits, as: UTF8.self))
    }

    /// The key that 128 hexadecimal digits say.
    public static func key(digits: String) -> [UInt8] {
        let digits = Array(digits.prefix(128))
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    /// Opens the file.
    public func open() throws -> RealmFile {
        var options = RealmFile.Options()
        options.key = try key()
        return try RealmFile(PosixStorage.shared, path: path, options)
    }
}
