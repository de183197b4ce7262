import FirnLog
import FirnStorage

extension Store {
    /// Removes the store at a path, if there is one: only files that Firn has made, recognised by their names.
    ///
    /// - Parameter keepsOthers: whether other files in the folder are kept. If not, they make this throw
    ///   `.foreignFolder`, having changed nothing.
    /// - Returns: what was there, and what stays.
    /// - Throws: the log's error; `.locked` if a process has the store open or holds a version of it.
    package static func remove(
        _ path: String, keepsOthers: Bool = true, storage: any Storage
    ) throws(StoreError) -> StoreRemoval {
        do { return try Log.remove(path, keepsOthers: keepsOthers, storage: storage) } catch { throw StoreError(error) }
    }

    /// Whether there is a store at a path. False for nothing, an empty folder, and what an interrupted copy, creation
    /// or deletion has left.
    ///
    /// - Throws: the log's error if there is something else.
    package static func exists(at path: String, storage: any Storage) throws(StoreError) -> Bool {
        do { return try Log.exists(at: path, storage: storage) } catch { throw StoreError(error) }
    }
}
