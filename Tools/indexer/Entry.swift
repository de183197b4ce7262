import Firn
import Foundation

/// A file or folder of the tree, as the index stores it.
final class Entry: Object {
    /// The path from the tree's root, separated by slashes, as `TreePath.text` writes it; `.` for the root.
    @Persisted(primaryKey: true) var path: String
    @Persisted var name: String
    @Persisted(indexed: true) var kind: EntryKind
    @Persisted var size: Int
    @Persisted var modified: Date
    /// The permission bits.
    @Persisted var mode: Int
    /// The hash of the content of a file of at most `ContentHash.limit` bytes that could be read; nil for all else.
    @Persisted var contentHash: Int?
    /// The target of a symbolic link.
    @Persisted var target: String?
    /// Why the file or folder could not be read.
    @Persisted var problem: String?
    @Persisted var parent: Entry?
    @Persisted var children: List<Entry>
}

enum EntryKind: String, PersistableEnum, Sendable {
    case file, folder, link, other
}

/// The objects that the child process commits until it is killed.
final class Stamp: Object {
    @Persisted(primaryKey: true) var number: Int
    /// `Stamp.payload(number)`.
    @Persisted var bytes: Data

    /// Enough for several parts of a commit, so that a kill can come between two. The bytes are noise, so that
    /// compression does not shrink them.
    static let byteCount = 3_000_000

    static func payload(_ number: Int) -> Data {
        var state = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15 | 1
        let words = [UInt64](unsafeUninitializedCapacity: byteCount / 8) { buffer, count in
            for index in 0..<(byteCount / 8) {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                buffer[index] = state.littleEndian
            }
            count = byteCount / 8
        }
        return words.withUnsafeBytes { Data($0) }
    }
}

/// Set to the newest stamp's number in the commit that adds the stamp. If the two ever differed, half a commit would
/// have become visible.
final class Counter: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var last: Int
}

/// The store of the index.
struct IndexStore: Sendable {
    let folder: URL

    func open(readOnly: Bool = false, queue: DispatchQueue? = nil) throws -> Realm {
        var configuration = Realm.Configuration(fileURL: folder, readOnly: readOnly)
        configuration.objectTypes = [Entry.self, Stamp.self, Counter.self]
        // The tour reads versions from before the last checkpoint, since each process that ends writes one.
        configuration.historyRetention = .everything
        // Another process may still be closing the store.
        configuration.lockTimeout = 10
        return try Realm(configuration: configuration, queue: queue)
    }
}
