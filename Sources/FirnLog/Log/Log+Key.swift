import FirnCrypto
import FirnStorage

extension Log {
    /// Changes the key of an encrypted store: wraps its data key for another key. Nothing else is written again.
    ///
    /// The manifest is replaced twice, because it also holds the generation before. So afterwards nothing wrapped with
    /// the old key is left in the store's files. After a crash between the two, the store has the new key. Old blocks
    /// of the disk and backups keep the old manifest. A person who has one of these and the old key can read the store.
    ///
    /// - Throws: `.key`. It is `.key(.oldRemains)` if the store has the new key, and the second replacement failed.
    ///   `.locked` if any opener, in this process or another, has the store open or holds a version of it.
    package static func changeKey(
        _ path: String, from old: EncryptionKey, to new: EncryptionKey, storage: any Storage,
        randomness: any Randomness
    ) throws(LogError) {
        var location = StoreLocation(path: path, storage: storage)
        location.keyRing = KeyRing(old, randomness: randomness)
        guard var folder = try location.open(), try folder.find() == .store else {
            throw LogError(.notAStore, path: path, detail: "there is no store whose key could be changed")
        }
        try checkVolume(folder)
        try folder.refuseLinks()
        if try folder.isLink(folder.lock) {
            throw LogError(.notAStore, path: folder.path(of: folder.lock), detail: "it is a symbolic link")
        }
        // So a wrong key is reported at once, and not after waiting for other openers.
        _ = try folder.readManifest()
        let locks = try folder.takeAllLocks()
        defer { locks.releaseAll() }
        // Another process may have changed the key meanwhile, so the key is proved again.
        let ring = KeyRing(old, randomness: randomness)
        folder.keyRing = ring
        let first = try folder.readManifest()
        guard let keys = try folder.keys(first) else { throw LogError(.key(.notEncrypted), path: path) }
        let wrapped = keys.wrap(for: new, salt: randomness.bytes(WrappedKey.saltByteCount))
        ring.adopt(keys, wrapped, of: first.storeID)
        // Who may use the store is not changed with its key.
        folder.fileMode = try stored(folder.status(folder.manifest))?.mode ?? folder.fileMode
        // If this process ends before the manifest's name is durable, the next opener finds this on the page and makes
        // it durable. A process that died before may have left such a word, too.
        let page = try SharedPage(folder, first.storeID, mayCreate: true)
        let writerBefore = page.writerProcess
        page.writerProcess = UInt64(currentProcessID())
        var second = first
        second.encryption = wrapped
        second.generation += 1
        do throws(LogError) { try folder.replaceManifest(first, with: second) } catch {
            if error.isTransient { page.writerProcess = writerBefore } else { page.setUnsyncedName() }
            throw error
        }
        do throws(LogError) {
            var third = second
            third.generation += 1
            do throws(LogError) { try folder.replaceManifest(second, with: third) } catch  where error.code == .diskFull
            {
                try folder.removeIfPresent(folder.reserve)
                try folder.replaceManifest(second, with: third)
            }
        } catch {
            if error.isTransient { page.writerProcess = 0 } else { page.setUnsyncedName() }
            throw LogError(.key(.oldRemains), path: path, detail: error.description)
        }
        page.writerProcess = 0
    }
}
