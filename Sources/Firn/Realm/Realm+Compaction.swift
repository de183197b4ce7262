import FirnCore
import FirnStorage
public import Foundation

extension Realm {
    /// Makes the files about as small as their content allows, and frees the memory that only the log's versions took: writes what has changed since the last checkpoint (or everything, where much of that is no
    /// longer needed) and removes the log before it. Firn does so by itself now and then; call this before a file is measured or copied.
    ///
    /// Other threads read and write meanwhile. Nothing that is shown changes, and nobody is notified. Frozen objects stay: what they alone need stays on the disk until they go.
    ///
    /// Cost: reads and writes what it makes anew, at worst everything.
    ///
    /// ```swift
    /// try realm.compact()
    /// ```
    ///
    /// - Throws: `.outOfDiskSpace` where there is no room for the new files beside the old ones: nothing has changed then. `.fail` within a write transaction.
    public func compact() throws {
        instance.check()
        guard !instance.isInTransaction else {
            throw Realm.Error(
                .fail, "A realm can't be compacted within a write transaction; commit or cancel it first.",
                fileURL: configuration.fileURL)
        }
        try instance.storing { store throws(StoreError) in
            try store.compact()
            instance.moveToEqual()
            // Those that only this realm lay on.
            try store.removeReleased()
        }
    }

    /// Writes what this realm shows to a store of its own, as small as it can be, without its history.
    ///
    /// Cost: O(everything). Other threads go on reading and writing.
    ///
    /// - Parameter fileURL: the folder to make, which is its owner's alone. Its parent must exist.
    /// - Parameter encryptionKey: must be nil: encryption does not exist yet.
    /// - Throws: `.fileExists` where something bears the name, but for a copy that was cut short, which is written
    ///   anew; `.unsupportedFeature` for a key; `.outOfDiskSpace`. Nothing is left of a copy that failed.
    public func writeCopy(toFile fileURL: URL, encryptionKey: Data? = nil) throws {
        try writeCopy(to: fileURL, encryptionKey, .ownerOnly)
    }

    private func writeCopy(to fileURL: URL, _ encryptionKey: Data?, _ fileMode: FileMode) throws {
        instance.check()
        guard fileURL.isFileURL else {
            throw Realm.Error(.invalidInput, "The copy's URL must name a local folder.", fileURL: fileURL)
        }
        if encryptionKey != nil {
            throw Realm.Error(
                .unsupportedFeature, "This version of Firn can't encrypt. Write the copy without an encryptionKey.",
                fileURL: fileURL)
        }
        guard !instance.isInTransaction else {
            throw Realm.Error(
                .fail, "No copy can be written within a write transaction; commit or cancel it first.", fileURL: fileURL
            )
        }
        do throws(StoreError) {
            try Store.writeCopy(
                of: instance.shownPin, to: fileURL.storePath, fileMode: fileMode, storage: PosixStorage.shared)
        } catch {
            if case .log(let inner) = error.code, inner.code == .foreignFolder {
                throw Realm.Error(
                    .fileExists, "Something bears the name already; a copy replaces nothing.", fileURL: fileURL)
            }
            throw Realm.Error(error, fileURL)
        }
    }

    /// As `writeCopy(toFile:)`, to the store that `configuration` names, with its `fileMode`.
    public func writeCopy(configuration: Configuration) throws {
        guard let fileURL = configuration.fileURL else {
            throw Realm.Error(.invalidInput, "The copy's configuration must name a fileURL.")
        }
        try writeCopy(to: fileURL, configuration.encryptionKey, FileMode(configuration.fileMode))
    }
}
