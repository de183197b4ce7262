import CFirn

/// Addresses reserved for files that are to lie one behind the other, so that what is in one can refer to what is in another by distance.
///
/// Nothing can be read at an address before `place` or `fill` has put something there. What is changed in memory is this process's alone and never reaches a file.
/// All is unmapped when the last reference goes.
///
/// The object itself guards nothing: `place` and `fill` are for one thread at a time, and what they put somewhere is theirs to hand on.
public final class ReservedMemory: @unchecked Sendable {
    public let base: UnsafeMutableRawPointer
    public let byteCount: Int
    private let mark = ForkMark()

    /// Reserves at least `byteCount` bytes of addresses, beginning at a multiple of 4 GiB. It costs no memory; throws where the process has no addresses left (a limit set by
    /// `ulimit -v` counts them).
    public init(byteCount: Int) throws(StorageError) {
        let length = Self.roundUp(byteCount)
        guard let base = firn_reserve_memory(length, 1 << 32) else {
            throw StorageError(.outOfMemory, operation: "reserving \(length) bytes of addresses", path: "memory")
        }
        self.base = base
        self.byteCount = length
        firn_keep_from_children(base, length)
    }

    deinit {
        // A forked child has no part of it, and may have other memory there.
        if !mark.isForked { firn_release_memory(base, byteCount) }
    }

    /// What `place` and `fill` put somewhere begins at a multiple of this: the largest page of any system that Firn runs on.
    public static let alignment = 64 << 10

    /// The next multiple of `alignment`.
    public static func roundUp(_ byteCount: Int) -> Int { (byteCount + alignment - 1) & ~(alignment - 1) }

    /// Maps the first `length` bytes of a file at `offset`. False where this kind of file can't be mapped: `fill` the place and read the file into it.
    public func place(_ file: any StorageFile, length: Int, at offset: Int) throws(StorageError) -> Bool {
        check(length, offset)
        return try file.mapPrivately(byteCount: length, at: base + offset)
    }

    /// Takes away what lies in the `length` bytes at `offset`: they can't be read any more.
    public func clear(length: Int, at offset: Int) throws(StorageError) {
        check(length, offset)
        let error = firn_clear_reserved(base + offset, length)
        if error != 0 { throw StorageError(number: error, operation: "unmapping", path: "memory") }
    }

    /// Makes `length` bytes at `offset` ordinary memory, all zeros.
    public func fill(length: Int, at offset: Int) throws(StorageError) {
        check(length, offset)
        let error = firn_fill_reserved(base + offset, length)
        if error != 0 { throw StorageError(number: error, operation: "mapping", path: "memory") }
    }

    private func check(_ length: Int, _ offset: Int) {
        precondition(
            offset % ReservedMemory.alignment == 0 && length > 0 && offset + length <= byteCount,
            "a range lies within what is reserved, on a multiple of 64 KiB")
    }
}
