/// An open file of a `MemoryStorage`. The storage's lock guards its state.
final class MemoryFile: StorageFile, @unchecked Sendable {
    let path: String
    private let storage: MemoryNames
    private let node: MemoryStorage.Node
    private let name: String
    private let isWritable: Bool
    private var isClosed = false

    init(storage: MemoryNames, node: MemoryStorage.Node, name: String, mode: OpenMode) {
        self.storage = storage
        self.node = node
        self.name = name
        path = storage.path(of: name)
        isWritable = mode != .read
    }

    func isNamed() throws(StorageError) -> Bool {
        try access("status") { () throws(StorageError) in }
        return try storage.gives(node, name)
    }

    func size() throws(StorageError) -> Int {
        try access("size") { () throws(StorageError) in node.bytes.count }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StorageError) -> Int {
        try access("read") { () throws(StorageError) in
            try FileRange.check(offset: offset, "read", path)
            return node.bytes.read(into: buffer, at: offset)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StorageError) {
        try access("write") { () throws(StorageError) in
            try FileRange.check(length: offset, adding: bytes.count, "write", path)
            try checkWritable("write")
            guard node.bytes.write(bytes, at: offset) else { throw tooLong("write") }
        }
    }

    func sync() throws(StorageError) {
        try access("sync") { () throws(StorageError) in }
    }

    func startWriteback(_ range: Range<Int>) {}

    func truncate(to byteCount: Int) throws(StorageError) {
        try access("truncate") { () throws(StorageError) in
            try FileRange.check(length: byteCount, "truncate", path)
            try checkWritable("truncate")
            guard node.bytes.truncate(to: byteCount) else { throw tooLong("truncate") }
        }
    }

    func deallocate(_ range: Range<Int>) throws(StorageError) -> Bool {
        try access("deallocate") { () throws(StorageError) in
            try FileRange.check(deallocating: range, size: node.bytes.count, path)
            try checkWritable("deallocate")
            return [UInt8](repeating: 0, count: range.count).withUnsafeBytes {
                node.bytes.write($0, at: range.lowerBound)
            }
        }
    }

    func map(_ range: Range<Int>) throws(StorageError) -> any MappedRegion {
        try access("map") { () throws(StorageError) in
            try FileRange.check(mapping: range, size: node.bytes.count, path)
            return StableRegion(node.bytes.buffer(), range)
        }
    }

    func close() {
        storage.guarded.withLock { _ in isClosed = true }
    }

    private func access<Result>(
        _ operation: String, _ body: () throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try storage.guarded.withLock { (_) throws(StorageError) in
            guard !isClosed else { throw StorageError(.closed, operation: operation, path: path) }
            return try body()
        }
    }

    private func checkWritable(_ operation: String) throws(StorageError) {
        if !isWritable { throw StorageError(.notWritable, operation: operation, path: path) }
    }

    private func tooLong(_ operation: String) -> StorageError {
        StorageError(.input("a file that is mapped as shared memory can't grow"), operation: operation, path: path)
    }
}

/// A handle of a lock file in a `MemoryStorage`. The storage's lock guards its state.
final class MemoryLock: StorageLock, @unchecked Sendable {
    private let storage: MemoryNames
    private let node: MemoryStorage.Node
    private let owner: LockTable.Owner
    private let name: String
    private let path: String
    private var isClosed = false

    init(storage: MemoryNames, node: MemoryStorage.Node, owner: LockTable.Owner, name: String) {
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
        try storage.guarded.withLock { (_) throws(StorageError) in
            guard !isClosed else { throw StorageError(.closed, operation: "lock", path: path) }
            try FileRange.check(offset: byte, "lock", path)
            return node.locks.tryLock(byte, exclusive: exclusive, by: owner)
        }
    }

    func isLocked(_ byte: Int, exclusive: Bool) throws(StorageError) -> Bool {
        try storage.guarded.withLock { (_) throws(StorageError) in
            guard !isClosed else { throw StorageError(.closed, operation: "lock", path: path) }
            try FileRange.check(offset: byte, "lock", path)
            return node.locks.isLocked(byte, exclusive: exclusive, against: owner)
        }
    }

    func isNamed() throws(StorageError) -> Bool {
        try storage.guarded.withLock { (_) throws(StorageError) in
            guard !isClosed else { throw StorageError(.closed, operation: "status", path: path) }
        }
        return try storage.gives(node, name)
    }

    func unlock(_ byte: Int) throws(StorageError) {
        try storage.guarded.withLock { (_) throws(StorageError) in
            guard !isClosed else { throw StorageError(.closed, operation: "unlock", path: path) }
            node.locks.unlock(byte, by: owner)
        }
    }

    func close() {
        storage.guarded.withLock { _ in
            isClosed = true
            node.locks.unlockAll(by: owner)
        }
    }
}
