import CLZ4

/// Compresses to LZ4 blocks (the block format, without LZ4's own frames).
///
/// Compression costs about 2 ns per byte, decompression about 0.4. A compressor has 16 KiB of state and may be used
/// by one thread at a time; keep one per worker. Resetting an old state costs little: on inputs of 200 bytes a reused
/// compressor is 1.36 times as fast as a new one.
public struct LZ4: ~Copyable, @unchecked Sendable {
    // Sendable: the state has exactly one owner.
    private let stream: UnsafeMutablePointer<LZ4_stream_t>

    /// LZ4 itself refuses longer inputs.
    public static let maximumInputByteCount = 0x7E00_0000

    public init() {
        guard let stream = LZ4_createStream() else { fatalError("Firn: there is no memory for a compressor") }
        self.stream = stream
    }

    deinit { LZ4_freeStream(stream) }

    /// The greatest number of bytes that any `count` bytes can take when compressed.
    public static func bound(_ count: Int) -> Int { count + count / 255 + 16 }

    /// Compresses `source` into `target` and returns the length of the result. Nil if the result does not fit, or if
    /// the source is longer than `maximumInputByteCount`.
    ///
    /// If the target is shorter than the source, nil means that compression does not pay, and that the bytes should be
    /// stored uncompressed.
    ///
    /// - Parameter acceleration: 1 searches hardest for repetitions; a higher value is faster but gives a longer
    ///   result.
    public mutating func compress(
        _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, acceleration: Int = 1
    ) -> Int? {
        guard let from = source.baseAddress, let to = target.baseAddress, source.count <= Self.maximumInputByteCount
        else { return nil }
        LZ4_resetStream_fast(stream)
        let written = LZ4_compress_fast_continue(
            stream, from.assumingMemoryBound(to: CChar.self), to.assumingMemoryBound(to: CChar.self),
            Int32(source.count), Int32(clamping: target.count), Int32(clamping: acceleration))
        return written > 0 ? Int(written) : nil
    }

    /// Decompresses `source`, which may be any bytes, into `target`. Throws unless the result fills the target exactly.
    public static func decompress(
        _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) throws(Damage) {
        guard let from = source.baseAddress, source.count <= Int(Int32.max), target.count <= Int(Int32.max) else {
            throw Damage(.malformedCompression, offset: 0)
        }
        var nothing: CChar = 0
        let made = withUnsafeMutablePointer(to: &nothing) { spare in
            LZ4_decompress_safe(
                from.assumingMemoryBound(to: CChar.self),
                target.baseAddress?.assumingMemoryBound(to: CChar.self) ?? spare,
                Int32(source.count), Int32(target.count))
        }
        guard Int(made) == target.count else { throw Damage(.malformedCompression, offset: 0) }
    }
}
