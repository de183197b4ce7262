import FirnStorage

/// How much space there is on the disk, in bytes.
package struct DiskSpace: Sendable, Equatable {
    /// Free for this store; 2^60 if the system does not say.
    package var available: Int
    /// The bytes that removing the reserve would free.
    package var reserve: Int
}

extension Log {
    /// The space on the disk. Two system calls.
    package var diskSpace: DiskSpace {
        // This number is only a basis for decisions. A wrong decision costs a write that fails as on any full disk.
        let available = min((try? folder.root.volume())?.availableByteCount ?? .max, 1 << 60)
        guard let writer, !writer.isReserveUsed.load(ordering: .relaxed) else {
            return DiskSpace(available: available, reserve: 0)
        }
        return DiskSpace(available: available, reserve: writer.reserve.freeableByteCount)
    }

    /// Whether the disk had no space for something that this process wanted to write, and has had none since.
    @inline(__always)
    package var isShortOfSpace: Bool { writer?.isShortOfSpace.load(ordering: .relaxed) ?? false }

    /// Notes that the disk has space again.
    package func noteSpace() { writer?.isShortOfSpace.store(false, ordering: .relaxed) }

    /// Makes the reserve again if it was used and there is space. The caller holds the writer lock.
    ///
    /// - Returns: false if it is still gone.
    @discardableResult
    package func restoreReserve() throws(LogError) -> Bool {
        let writer = try writing()
        writer.lock.assertHeld()
        writer.tail.begin()
        defer { writer.tail.endAppending() }
        return writer.restoreReserve()
    }
}
