import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An open file of a process on a `SimulatedDisk`. Its state is guarded by the disk's lock.
final class SimulatedFile: StorageFile, @unchecked Sendable {
    let path: String
    private let storage: SimulatedNames
    private let node: SimulatedNode
    private let name: String
    private let isWritable: Bool
    private var isClosed = false

    init(storage: SimulatedNames, node: SimulatedNode, name: String, mode: OpenMode) {
        self.storage = storage
        self.node = node
        self.name = name
        path = storage.path(of: name)
        isWritable = mode != .read
    }

    func isNamed() throws(StorageError) -> Bool { try storage.gives(node, name) }

    func size() throws(StorageError) -> Int {
        try storage.call(.size, path: path) { (_) throws(StorageError) in
            try checkOpen("size")
            return node.bytes.count
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int {
        if storage.disk.traits.readsCheckpointsAsMapped, path.hasSuffix(".checkpoint") {
            return storage.disk.guarded.withLock { _ in node.bytes.read(into: buffer, at: offset) }
        }
        return try storage.call(.read, path: path, at: offset, length: buffer.count) { (_) throws(StorageError) in
            try checkOpen("read")
            try FileRange.check(offset: offset, "read", path)
            return node.bytes.read(into: buffer, at: offset)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError) {
        try storage.call(.write, path, at: offset, length: bytes.count) { (state, verdict) throws(StorageError) in
            try checkOpen("write")
            try FileRange.check(length: offset, adding: bytes.count, "write", path)
            try checkWritable("write")
            try write(bytes, at: offset, state: &state, verdict: verdict)
        }
    }

    /// Does as much of a write as the verdict on the call allows.
    private func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, state: inout SimulatedDisk.State,
        verdict: SimulatedStorage.Verdict
    ) throws(StorageError) {
        switch verdict {
        case .proceed: try write(bytes, at: offset, &state)
        case .stop:
            // A process can be stopped in the middle of a write. Then it no longer matters to it whether the disk is
            // full.
            try? write(prefix(of: bytes, .some, state.chance), at: offset, &state)
        case .fail(let error, let residue):
            try write(prefix(of: bytes, residue, state.chance), at: offset, &state)
            throw error
        }
    }

    private func prefix(
        of bytes: UnsafeRawBufferPointer, _ residue: SimulatedFault.Residue, _ chance: Chance
    ) -> UnsafeRawBufferPointer {
        let count =
            switch residue {
            case .nothing: 0
            case .all: bytes.count
            case .some: [0, bytes.count, chance.below(bytes.count + 1)][chance.below(3)]
            }
        return UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, _ state: inout SimulatedDisk.State
    ) throws(StorageError) {
        var fitting = bytes
        if let capacity = state.capacity {
            // The disk writes what fits and then fails.
            let space = node.allocated + max(0, capacity - state.used) - offset
            if space < bytes.count { fitting = UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, space))) }
        }
        let before = node.allocated
        guard node.write(fitting, at: offset) else { throw cannotGrow("write") }
        if node.isLinked { state.used += node.allocated - before }
        if fitting.count < bytes.count {
            throw StorageError(.noSpace, operation: "write", path: path, number: 28)
        }
    }

    func sync() throws(StorageError) {
        try storage.call(.sync, path) { (state, verdict) throws(StorageError) in
            try checkOpen("sync")
            switch verdict {
            case .proceed: node.sync()
            // A power cut decides what the sync has written to the disk.
            case .stop: break
            case .fail(let error, let residue):
                node.failSync(residue, state.chance)
                throw error
            }
        }
    }

    func startWriteback(_ range: Range<Int>) {
        // A hint has no effect. All that can happen here is that the process stops.
        try? storage.call(.writeback, path: path, at: range.lowerBound, length: range.count) {
            (_) throws(StorageError) in
        }
    }

    func truncate(to byteCount: Int) throws(StorageError) {
        try storage.change(.truncate, path: path, at: byteCount) { (state) throws(StorageError) in
            try checkOpen("truncate")
            try FileRange.check(length: byteCount, "truncate", path)
            try checkWritable("truncate")
            let before = node.allocated
            guard node.truncate(to: byteCount) else { throw cannotGrow("truncate") }
            if node.isLinked { state.used += node.allocated - before }
        }
    }

    func deallocate(_ range: Range<Int>) throws(StorageError) -> Bool {
        try storage.call(.deallocate, path, at: range.lowerBound, length: range.count) {
            (state, verdict) throws(StorageError) in
            try checkOpen("deallocate")
            try FileRange.check(deallocating: range, size: node.bytes.count, path)
            try checkWritable("deallocate")
            guard state.canDeallocate else { return false }
            switch verdict {
            case .proceed:
                node.punch(range, count: range.count)
                return true
            // Any part of the hole may have been punched.
            case .stop:
                node.punch(range, count: state.chance.below(range.count + 1))
                return true
            case .fail(let error, let residue):
                switch residue {
                case .nothing: break
                case .some: node.punch(range, count: state.chance.below(range.count + 1))
                case .all: node.punch(range, count: range.count)
                }
                throw error
            }
        }
    }

    func map(_ range: Range<Int>) throws(StorageError) -> any MappedRegion {
        try storage.call(.map, path: path, at: range.lowerBound, length: range.count) { (_) throws(StorageError) in
            try checkOpen("map")
            try FileRange.check(mapping: range, size: node.bytes.count, path)
            return StableRegion(node.bytes.buffer(), range)
        }
    }

    /// Maps a copy of the bytes, which is enough: Firn never writes to a file again after it has mapped it privately.
    func mapPrivately(byteCount: Int, at address: UnsafeMutableRawPointer) throws(StorageError) -> Bool {
        guard storage.disk.traits.mapsPrivately else { return false }
        return try storage.call(.map, path: path, length: byteCount) { (_) throws(StorageError) in
            try checkOpen("map")
            try FileRange.check(mapping: 0..<byteCount, size: node.bytes.count, path)
            let mapped = mmap(
                address, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
            guard mapped == address else {
                throw StorageError(.outOfMemory, operation: "map", path: path, number: errno)
            }
            _ = node.bytes.read(into: UnsafeMutableRawBufferPointer(start: address, count: byteCount), at: 0)
            return true
        }
    }

    func close() {
        storage.disk.guarded.withLock { _ in isClosed = true }
    }

    private func checkOpen(_ operation: String) throws(StorageError) {
        if isClosed { throw StorageError(.closed, operation: operation, path: path) }
    }

    private func checkWritable(_ operation: String) throws(StorageError) {
        if !isWritable { throw StorageError(.notWritable, operation: operation, path: path) }
    }

    private func cannotGrow(_ operation: String) -> StorageError {
        StorageError(.input("a file that is mapped as shared memory can't grow"), operation: operation, path: path)
    }
}

/// A process's handle of a lock file on a `SimulatedDisk`. Its state is guarded by the disk's lock.
final class SimulatedLock: StorageLock, @unchecked Sendable {
    private let storage: SimulatedNames
    private let node: SimulatedNode
    private let owner: LockTable.Owner
    private let name: String
    private let path: String
    private var isClosed = false

    init(storage: SimulatedNames, node: SimulatedNode, owner: LockTable.Owner, name: String) {
        self.storage = storage
        self.node = node
        self.owner = owner
        self.name = name
        path = storage.path(of: name)
    }

    deinit {
        close()
    }

    func tryLock(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool {
        try storage.call(.tryLock, path: path, at: byte) { (_) throws(StorageError) in
            try checkOpen("lock")
            try FileRange.check(offset: byte, "lock", path)
            return node.locks.tryLock(byte, exclusive: exclusive, by: owner)
        }
    }

    func isLocked(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool {
        try storage.call(.isLocked, path: path, at: byte) { (_) throws(StorageError) in
            try checkOpen("lock")
            try FileRange.check(offset: byte, "lock", path)
            return node.locks.isLocked(byte, exclusive: exclusive, against: owner)
        }
    }

    func isNamed() throws(StorageError) -> Bool {
        try storage.disk.guarded.withLock { (_) throws(StorageError) in try checkOpen("status") }
        return try storage.gives(node, name)
    }

    func unlock(_ byte: Int) throws(StorageError) {
        try storage.call(.unlock, path: path, at: byte) { (_) throws(StorageError) in
            try checkOpen("unlock")
            try FileRange.check(offset: byte, "unlock", path)
            node.locks.unlock(byte, by: owner)
        }
    }

    func close() {
        storage.disk.guarded.withLock { _ in
            isClosed = true
            node.locks.unlockAll(by: owner)
            storage.process.locks[owner] = nil
        }
    }

    private func checkOpen(_ operation: String) throws(StorageError) {
        if isClosed { throw StorageError(.closed, operation: operation, path: path) }
    }
}
