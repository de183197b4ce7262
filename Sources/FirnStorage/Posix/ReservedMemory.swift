import CFirn

/// A range of addresses reserved for files that are mapped side by side. So data in one file can refer to data in
/// another by distance.
///
/// An address can't be read before `map` or `fill` has mapped something there. Changes in memory are private to this
/// process and never reach a file. Everything is unmapped when the last reference is released.
///
/// The object itself has no lock. `map` and `fill` must be called by one thread at a time, and their caller
/// publishes the result to other threads.
public final class ReservedMemory: @unchecked Sendable {
    public let base: UnsafeMutableRawPointer
    public let byteCount: Int
    private let mark = ForkMark()

    /// Reserves at least `byteCount` bytes of addresses, beginning at a multiple of `alignment`. Files that are found
    /// by the upper half of an address need one of 4 GiB.
    ///
    /// Reserving costs no memory. It throws if the process has no addresses left (a limit set by `ulimit -v` counts
    /// them).
    public init(byteCount: Int, alignment: Int = 1 << 32) throws(StorageError) {
        let length = Self.roundUp(byteCount)
        guard let base = firn_reserve_memory(length, alignment) else {
            throw StorageError(.outOfMemory, operation: "reserving \(length) bytes of addresses", path: "memory")
        }
        self.base = base
        self.byteCount = length
        firn_exclude_from_fork(base, length)
    }

    deinit {
        // A forked child does not inherit this memory, and may have other memory at its addresses.
        if !mark.isForked { firn_release_memory(base, byteCount) }
    }

    /// The offsets of `map`, `fill` and `clear` are multiples of this: the largest page of any system that Firn
    /// runs on.
    public static let alignment = 64 << 10

    /// The unit of memory that the system gives and takes, in bytes.
    public static let pageByteCount = Int(firn_page_byte_count())

    /// The next multiple of `alignment`.
    public static func roundUp(_ byteCount: Int) -> Int { (byteCount + alignment - 1) & ~(alignment - 1) }

    /// Maps the first `length` bytes of a file at `offset`. False if this kind of file can't be mapped: then `fill` the
    /// range and read the file into it.
    public func map(_ file: any StorageFile, length: Int, at offset: Int) throws(StorageError) -> Bool {
        check(length, offset)
        return try file.mapPrivately(byteCount: length, at: base + offset)
    }

    /// Unmaps the `length` bytes at `offset`: they can't be read any more, but stay reserved.
    public func clear(length: Int, at offset: Int) throws(StorageError) {
        check(length, offset)
        let error = firn_clear_reserved(base + offset, length)
        if error != 0 { throw StorageError(number: error, operation: "unmapping", path: "memory") }
    }

    /// Maps ordinary memory, all zeros, to the `length` bytes at `offset`.
    public func fill(length: Int, at offset: Int) throws(StorageError) {
        check(length, offset)
        let error = firn_fill_reserved(base + offset, length)
        if error != 0 { throw StorageError(number: error, operation: "mapping", path: "memory") }
    }

    /// Gives the memory of the whole pages in a range of offsets back to the system. Nothing may be read there any
    /// more: there may be anything.
    public func discard(_ range: Range<Int>) {
        let page = Self.pageByteCount
        let start = (range.lowerBound + page - 1) / page * page
        let end = range.upperBound / page * page
        if start < end { firn_discard_memory(base + start, end - start) }
    }

    private func check(_ length: Int, _ offset: Int) {
        precondition(
            offset % ReservedMemory.alignment == 0 && length > 0 && offset + length <= byteCount,
            "Firn: a range must lie within the reserved addresses and begin at a multiple of 64 KiB")
    }
}
