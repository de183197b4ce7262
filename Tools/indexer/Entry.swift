import Firn
import Foundation

/// A file or folder of the tree, as the index has it.
final class Entry: Object {
    /// From the tree's root, parted by slashes, as `TreePath.text` spells it; `.` for the root.
    @Persisted(primaryKey: true) var path: String
    @Persisted var name: String
    @Persisted(indexed: true) var kind: EntryKind
    @Persisted var size: Int
    @Persisted var modified: Date
    /// The permission bits.
    @Persisted var mode: Int
    /// Of a file of at most `ContentHash.limit` bytes that could be read.
    @Persisted var contentHash: Int?
    /// What a symbolic link names.
    @Persisted var target: String?
    /// Why the file or folder could not be read.
    @Persisted var problem: String?
    @Persisted var parent: Entry?
    @Persisted var children: List<Entry>
}

enum EntryKind: String, PersistableEnum, Sendable {
    case file, folder, link, other
}

/// What the child process commits, to be killed meanwhile.
final class Stamp: Object {
    @Persisted(primaryKey: true) var number: Int
    /// `Stamp.payload(number)`.
    @Persisted var bytes: Data

    /// Several parts of a commit, so that a kill can come between two; noise, so that it does not shrink.
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

/// Set to the newest stamp's number in the commit that adds it: were they ever to differ, half a commit would have been seen.
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
        // The tour goes back to versions that a checkpoint covers: each process that ends writes one.
        configuration.historyRetention = .everything
        // Another process may be letting go of it.
        configuration.lockTimeout = 10
        return try Realm(configuration: configuration, queue: queue)
    }
}
