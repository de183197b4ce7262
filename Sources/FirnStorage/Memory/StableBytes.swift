#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file's bytes in memory, which can be mapped.
///
/// Later writes are visible in every mapping, as with a file that the operating system has mapped.
///
///     current ──▶ [ bytes ... count | zeros ... capacity ]
///     older   ──▶ the buffers that the file outgrew while something had them mapped; each write goes to them too
///
/// The capacity doubles when it grows, so n appended bytes cost O(n). Bytes beyond `count` are zero at all times.
/// Capacities are multiples of 4096.
///
/// The lock of the storage that owns the bytes guards them. Readers of a mapping do not take it: as with any shared
/// memory, they must synchronise with the writers.
package struct StableBytes: ~Copyable {
    package private(set) var count = 0
    /// No byte from this offset on has been written. Those bytes are zero, and their memory may never have been
    /// accessed.
    package private(set) var written = 0
    private var current: StableBuffer
    private var older: [WeakBuffer] = []
    private var isPinned = false

    private struct WeakBuffer {
        weak var buffer: StableBuffer?
    }

    package init() {
        current = .empty
    }

    package var pointer: UnsafeRawPointer { UnsafeRawPointer(current.base) }

    /// Copies the bytes from `offset` on into `buffer`, and returns how many were copied.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        guard offset < count, let target = buffer.baseAddress else { return 0 }
        let length = min(buffer.count, count - offset)
        target.copyMemory(from: current.base + offset, byteCount: length)
        return length
    }

    /// Writes at `offset` and fills a gap before it with zeros. False, with nothing changed, if the bytes are pinned
    /// and the write would need a larger buffer.
    package mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return true }
        let end = offset + bytes.count
        guard reserve(end) else { return false }
        (current.base + offset).copyMemory(from: source, byteCount: bytes.count)
        if !older.isEmpty {
            forEachOlder { buffer in
                let length = min(end, buffer.capacity) - offset
                if length > 0 { (buffer.base + offset).copyMemory(from: source, byteCount: length) }
            }
        }
        count = max(count, end)
        written = max(written, end)
        return true
    }

    /// Sets the length. The bytes that are cut off read as zeros afterwards. False in the same case as for `write`.
    package mutating func truncate(to byteCount: Int) -> Bool {
        guard reserve(byteCount) else { return false }
        if byteCount < count {
            let old = written
            if byteCount < old {
                current.zero(byteCount..<old)
                forEachOlder { if byteCount < $0.capacity { $0.zero(byteCount..<min(old, $0.capacity)) } }
                written = isPinned ? current.capacity : byteCount
            }
        }
        count = byteCount
        return true
    }

    /// The present buffer. The file's later writes reach it too as long as somebody retains it.
    package func buffer() -> StableBuffer { current }

    /// Fixes the buffer, so that the file can't outgrow it. This is for memory that is also written through its
    /// mapping. Nil if the bytes are pinned already and the buffer is too small.
    package mutating func pin(byteCount: Int) -> StableBuffer? {
        guard reserve(byteCount) else { return nil }
        count = max(count, byteCount)
        // From now on bytes may be written through the mapping, which this type does not see.
        written = current.capacity
        isPinned = true
        return current
    }

    /// A copy of the bytes in memory of its own.
    package func copy() -> StableBytes {
        var result = StableBytes()
        let length = min(written, count)
        _ = result.write(UnsafeRawBufferPointer(start: current.base, count: length), at: 0)
        _ = result.truncate(to: count)
        return result
    }

    private mutating func reserve(_ needed: Int) -> Bool {
        guard needed > current.capacity else { return true }
        guard !isPinned else { return false }
        let capacity = max(needed, current.capacity * 2)
        let grown = StableBuffer(capacity: (capacity + 4095) & ~4095)
        if written > 0 { grown.base.copyMemory(from: current.base, byteCount: written) }
        if current.capacity > 0 { older.append(WeakBuffer(buffer: current)) }
        current = grown
        older.removeAll { $0.buffer == nil }
        return true
    }

    private mutating func forEachOlder(_ body: (StableBuffer) -> Void) {
        for entry in older {
            if let buffer = entry.buffer { body(buffer) }
        }
    }
}

/// Zero-filled memory at a fixed address, freed when the last reference is released.
package final class StableBuffer: @unchecked Sendable {
    package let base: UnsafeMutableRawPointer
    package let capacity: Int
    private let allocation: UnsafeMutableRawPointer

    static var empty: StableBuffer { SharedObject.emptyBuffer.get { StableBuffer(capacity: 0) } }
    private static let alignment = 4096

    init(capacity: Int) {
        self.capacity = capacity
        // For long buffers calloc returns fresh pages from the system, which cost nothing until they are used. Their
        // start is not aligned.
        guard let allocation = calloc(capacity + Self.alignment, 1) else {
            fatalError("Firn: \(capacity) bytes for a file in memory are more than the system has")
        }
        self.allocation = allocation
        base = allocation.alignedUp(toMultipleOf: Self.alignment)
    }

    deinit {
        free(allocation)
    }

    func zero(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        memset(base + range.lowerBound, 0, range.count)
    }
}

/// A range of a `StableBuffer` as a read-only mapping, which retains the buffer.
package final class StableRegion: MappedRegion, @unchecked Sendable {
    private let buffer: StableBuffer
    private let range: Range<Int>

    package init(_ buffer: StableBuffer, _ range: Range<Int>) {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= buffer.capacity, "Firn: a range must lie within its buffer")
        self.buffer = buffer
        self.range = range
    }

    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: buffer.base + range.lowerBound, count: range.count)
    }
}

/// The first bytes of a `StableBuffer` as shared memory, which retains the buffer.
package final class StableSharedMemory: SharedMemory, @unchecked Sendable {
    private let buffer: StableBuffer
    private let byteCount: Int
    package let identity: FileIdentity?

    package init(_ buffer: StableBuffer, byteCount: Int, _ identity: FileIdentity?) {
        precondition(byteCount <= buffer.capacity, "Firn: shared memory must lie within its buffer")
        self.identity = identity
        self.buffer = buffer
        self.byteCount = byteCount
    }

    package var bytes: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: buffer.base, count: byteCount)
    }
}
