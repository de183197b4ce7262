import FirnCrypto
import FirnStorage

extension Log {
    /// Changes the key of an encrypted store: wraps its data key for another key. Nothing else is written again.
    ///
    /// The manifest is replaced twice, because it also holds the generation before. So afterwards nothing wrapped with
    /// the old key is left in the store's files. After a crash between the two, the store has the new key. Old blocks
    /// of the disk and backups keep the old manifest. A person who has one of these and the old key can read the store.
    ///
    /// - Throws: `.key`; `.locked` if any opener, in this process or another, has the store open or holds a version of
    ///   it.
    package static func changeKey(
        _ path: String, from old: EncryptionKey, to new: EncryptionKey, storage: any Storage,
        randomness: any Randomness
    ) throws(LogError) {
        var location = StoreLocation(path: path, storage: storage)
        let ring = KeyRing(old, randomness)
        location.keyRing = ring
        guard let folder = try location.open(), try folder.find() == .store else {
            throw LogError(.notAStore, path: path, detail: "there is no store whose key could be changed")
        }
        _ = try folder.readManifest()
        let locks = try folder.takeAllLocks()
        defer { locks.releaseAll() }
        var current = try folder.readManifest()
        guard let keys = try folder.keys(current) else { throw LogError(.key(.notEncrypted), path: path) }
        let wrapped = keys.wrap(for: new, salt: randomness.bytes(WrappedKey.saltByteCount))
        for _ in 1...2 {
            var next = current
            next.encryption = wrapped
            next.generation += 1
            try folder.replaceManifest(current, with: next)
            current = next
        }
    }
}
