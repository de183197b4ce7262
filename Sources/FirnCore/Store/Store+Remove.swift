import FirnLog
import FirnStorage

extension Store {
    /// Removes the store at a path, if there is one: only files that Firn has made, recognised by their names.
    ///
    /// - Parameters:
    ///   - keepsOthers: whether other files in the folder are kept. If false, and there are others, throws
    ///     `.foreignFolder` and changes nothing.
    ///   - seen: the store that is meant. If another store is at the path by now, or somebody has written to the store
    ///     since, nothing is removed.
    /// - Returns: what was there, and what stays.
    /// - Throws: the log's error; `.locked` if a process has the store open or holds a version of it.
    package static func remove(
        _ path: String, keepsOthers: Bool = true, ifStill seen: SeenStore? = nil, storage: any Storage
    ) throws(StoreError) -> StoreRemoval {
        try logged(Log.remove(path, keepsOthers: keepsOthers, ifStill: seen, storage: storage))
    }

    /// Changes the key of an encrypted store, without rewriting its data. O(1).
    ///
    /// - Throws: the log's error. It is `.locked` if a process has the store open or holds a version of it. It is
    ///   `.key` if `old` is not the store's key.
    package static func changeKey(
        _ path: String, from old: EncryptionKey, to new: EncryptionKey, storage: any Storage,
        randomness: any Randomness = SystemRandomness.shared
    ) throws(StoreError) {
        try logged(Log.changeKey(path, from: old, to: new, storage: storage, randomness: randomness))
    }

    /// Whether there is a store at a path. False for nothing, an empty folder, and what an interrupted copy, creation
    /// or deletion has left.
    ///
    /// - Throws: the log's error if there is something else.
    package static func exists(at path: String, storage: any Storage) throws(StoreError) -> Bool {
        try logged(Log.exists(at: path, storage: storage))
    }
}
