import FirnCrypto
import FirnLog
import FirnStorage

extension Store {
    /// Writes a version to a new store, which begins with it: with the same number and time, and without history.
    ///
    /// - Parameters:
    ///   - folder: its parent must exist. The folder itself must not exist, unless it is a copy that was interrupted,
    ///     or `replacesRemains` allows it.
    ///   - fileMode: the mode of the copy's files.
    ///   - encryptionKey: the key of the copy, which is encrypted if there is one.
    ///   - replacesRemains: whether an empty folder, or what an interrupted creation or deletion has left in one, is no
    ///     obstacle.
    ///   - isWanted: called after each piece. If it returns false, this throws, and removes what it has made of the
    ///     copy.
    package static func writeCopy(
        of pin: Pin, to folder: String, fileMode: FileMode = .ownerOnly, encryptionKey: EncryptionKey? = nil,
        replacesRemains: Bool = false, storage: any Storage,
        randomness: any Randomness = SystemRandomness.shared,
        isWanted: @escaping () -> Bool = { true }
    ) throws(StoreError) {
        var failure: StoreError?
        do throws(LogError) {
            try Log.create(
                folder, beginningWith: (pin.version, pin.time, SchemaCoding.encode(pin.snapshot.schema)),
                fileMode: fileMode, encryptionKey: encryptionKey, replacesRemains: replacesRemains, storage: storage,
                randomness: randomness
            ) { (file) throws(LogError) in
                do throws(StoreError) {
                    let root = try DamageRecord.throwing { () throws(StoreError) in
                        var writer = CheckpointWriter(pin.snapshot, to: file, adding: nil) { (_) throws(StoreError) in
                            guard isWanted() else { throw StoreError(.closed, "the copy was given up") }
                        }
                        return try writer.write()
                    }
                    return CheckpointState(
                        root: Int(root & ~1), stamp: pin.stamp, garbage: 0, schema: pin.snapshot.schema
                    ).encode()
                } catch {
                    failure = error
                    guard case .log(let inner) = error.code else {
                        throw LogError(.damage, path: folder, detail: error.description)
                    }
                    throw inner
                }
            }
        } catch {
            // Damage is in the store, not in the copy.
            throw failure ?? StoreError(error)
        }
    }
}
