/// How the files of a checkpoint are read.
struct CheckpointReading: Sendable {
    /// If false, the pieces that are needed are read into memory, and the files are not mapped.
    let isByMapping: Bool
    /// Called with damage that a getter meets, before the program stops.
    let onDamage: (@Sendable (StoreDamage) -> Void)?
    /// Bounds what is decrypted.
    let decryptedMemory: DecryptedMemory
}
