import FirnCore
import FirnStorage
public import Foundation

extension Realm {
    /// Makes the files about as small as their content allows, and frees the memory that was needed for what had
    /// changed since the last checkpoint.
    ///
    /// ```swift
    /// try realm.compact()
    /// ```
    ///
    /// It writes what has changed since the last checkpoint, or everything, if much of that checkpoint is no longer
    /// needed. Then it removes the log before the new checkpoint, as far as `historyRetention` does not need it. Firn
    /// does so by itself from time to time; call this before a file is measured or copied.
    ///
    /// Other threads read and write meanwhile; the calling thread is blocked. Nothing that is shown changes, and no
    /// observer is called. Frozen objects stay valid: data that only they need stays on the disk until they are
    /// released. Does nothing for a realm in memory.
    ///
    /// Cost: reading and writing all data that is written again, at worst everything. Stops the program on the wrong
    /// thread.
    ///
    /// - Throws: `Realm.Error` with one of these codes:
    ///   - `.outOfDiskSpace`: there is no space for the new files beside the old ones. Nothing has changed then.
    ///   - `.fail`: the realm is in a write transaction, or was opened read-only.
    ///   - `.writeFailed`: an earlier commit failed.
    ///   - `.invalidDatabase`: damage is met.
    public func compact() throws {
        instance.check()
        guard !instance.isInTransaction else {
            throw Realm.Error(
                .fail, "A realm can't be compacted within a write transaction; commit or cancel it first.",
                fileURL: configuration.fileURL)
        }
        if let scheduler = instance.scheduler { instance.shared.makeWay(here: scheduler) }
        try instance.withStore { store throws(StoreError) in
            try store.compact()
            instance.moveToEqual()
            // Removes the files that only the version on the old tree needed.
            try store.removeReleased()
        }
    }

    /// Writes what this realm shows to a store of its own, as small as possible, without its history.
    ///
    /// ```swift
    /// try realm.writeCopy(toFile: folder.appendingPathComponent("backup.firn"))
    /// ```
    ///
    /// The copy begins with the same version, under the same number and date. Other threads read and write meanwhile;
    /// the calling thread is blocked. A frozen realm may be copied on any thread.
    ///
    /// Cost: O(everything). Stops the program on the wrong thread.
    ///
    /// - Parameter fileURL: the folder to create, which only its owner can access. Its parent must exist.
    /// - Parameter encryptionKey: 64 bytes with which the copy is encrypted; nil for a copy without encryption. It may
    ///   differ from this realm's key.
    /// - Throws: `Realm.Error` with one of these codes. Nothing is left of a copy that failed.
    ///   - `.fileExists`: something has that name already. An unfinished copy does not count, and is written again.
    ///   - `.unsupportedFeature`: there is a key, and this build has no cryptography.
    ///   - `.invalidInput`: the URL is not a file URL, or the key does not have 64 bytes.
    ///   - `.outOfDiskSpace`: the disk is full.
    ///   - `.fail`: the realm is in a write transaction.
    ///   - `.invalidDatabase`: damage is met.
    ///   - `.fileNotFound`, `.filePermissionDenied` and other codes: the file system refuses.
    public func writeCopy(toFile fileURL: URL, encryptionKey: Data? = nil) throws {
        try writeCopy(to: fileURL, encryptionKey, .ownerOnly)
    }

    private func writeCopy(to fileURL: URL, _ encryptionKey: Data?, _ fileMode: FileMode) throws {
        instance.check()
        let path = try fileURL.checkedStorePath(of: "The copy's URL")
        let key = try EncryptionKey.checked(encryptionKey, fileURL)
        guard !instance.isInTransaction else {
            throw Realm.Error(
                .fail, "No copy can be written within a write transaction; commit or cancel it first.", fileURL: fileURL
            )
        }
        try SharedStore.checkFolder(above: fileURL)
        // A commit that is not durable must not be copied.
        instance.waitForOwnCommit()
        do throws(StoreError) {
            try Store.writeCopy(
                of: instance.shownPin, to: path, fileMode: fileMode, encryptionKey: key, storage: PosixStorage.shared)
        } catch {
            if case .log(let inner) = error.code, inner.code == .foreignFolder {
                throw Realm.Error(
                    .fileExists, "Something with that name exists already; a copy replaces nothing.", fileURL: fileURL)
            }
            throw Realm.Error(error, fileURL)
        }
    }

    /// Writes what this realm shows to the store that `configuration` names, with its `fileMode`:
    /// `writeCopy(toFile:encryptionKey:)`.
    ///
    /// - Throws: the errors of `writeCopy(toFile:encryptionKey:)`; `.invalidInput` also if there is no `fileURL`.
    public func writeCopy(configuration: Configuration) throws {
        guard let fileURL = configuration.fileURL else {
            throw Realm.Error(.invalidInput, "The copy's configuration must name a fileURL.")
        }
        try writeCopy(to: fileURL, configuration.encryptionKey, FileMode(configuration.fileMode))
    }
}
