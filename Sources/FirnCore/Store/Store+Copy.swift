import FirnLog
import FirnStorage

extension Store {
    /// Writes a version to a store of its own, which begins with it: the same number and time, and no history.
    ///
    /// - Parameters:
    ///   - folder: what bears the name must not exist, but for a copy that was cut short; its parent must.
    ///   - fileMode: of the files of the copy.
    public static func writeCopy(
        of pin: Pin, to folder: String, fileMode: FileMode = .ownerOnly, storage: any Storage,
        randomness: any Randomness = SystemRandomness.shared
    ) throws(StoreError) {
        var failure: StoreError?
        do throws(LogError) {
            try Log.create(
                folder, beginningWith: (pin.version, pin.time, SchemaCoding.encode(pin.snapshot.schema)),
                fileMode: fileMode, storage: storage, randomness: randomness
            ) { (file) throws(LogError) in
                do throws(StoreError) {
                    let root = try Faults.throwing { () throws(StoreError) in
                        var writer = CheckpointWriter(pin.snapshot, to: file, adding: nil) { (_) throws(StoreError) in }
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
            // Damage is the store's, not the copy's.
            throw failure ?? StoreError(error)
        }
    }
}
