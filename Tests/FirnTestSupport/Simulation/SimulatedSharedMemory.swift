import FirnStorage

/// Memory that processes of a `SimulatedDisk` share.
///
/// A process that was stopped gets a copy from then on, so that nothing that its threads still do reaches the other
/// processes.
final class SimulatedSharedMemory: SharedMemory, @unchecked Sendable {
    private let storage: SimulatedNames
    private let buffer: StableBuffer
    private let byteCount: Int
    /// What the process sees after it was stopped. Guarded by `lock`.
    private var copy: UnsafeMutableRawBufferPointer?
    private let lock = Lock(.unranked)

    let identity: FileIdentity?

    init(storage: SimulatedNames, buffer: StableBuffer, byteCount: Int, identity: FileIdentity) {
        self.identity = identity
        self.storage = storage
        self.buffer = buffer
        self.byteCount = byteCount
    }

    deinit { copy?.deallocate() }

    var bytes: UnsafeMutableRawBufferPointer {
        let live = UnsafeMutableRawBufferPointer(start: buffer.base, count: byteCount)
        if storage.countSharedMemoryAccess() { return live }
        return lock.withLock {
            if let copy { return copy }
            let made = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
            made.copyMemory(from: UnsafeRawBufferPointer(live))
            copy = made
            return made
        }
    }
}
