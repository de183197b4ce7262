import FirnStorage

/// Memory that processes of a `SimulatedDisk` share. A process that has been stopped sees a copy from then on, so that nothing that its threads still do on their way out
/// reaches the others.
final class SimulatedSharedMemory: SharedMemory, @unchecked Sendable {
    private let storage: SimulatedStorage
    private let buffer: StableBuffer
    private let byteCount: Int
    /// What the process sees once it has been stopped. Guarded by `lock`.
    private var copy: UnsafeMutableRawBufferPointer?
    private let lock = Lock(.unranked)

    init(_ storage: SimulatedStorage, _ buffer: StableBuffer, byteCount: Int) {
        self.storage = storage
        self.buffer = buffer
        self.byteCount = byteCount
    }

    deinit { copy?.deallocate() }

    var bytes: UnsafeMutableRawBufferPointer {
        let live = UnsafeMutableRawBufferPointer(start: buffer.base, count: byteCount)
        if storage.touchSharedMemory() { return live }
        return lock.withLock {
            if let copy { return copy }
            let made = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
            made.copyMemory(from: UnsafeRawBufferPointer(live))
            copy = made
            return made
        }
    }
}
