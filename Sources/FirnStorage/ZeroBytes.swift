import CFirn

/// 64 KiB of zeros to write to files. They are static memory in C, not a Swift global: see `SharedObject`.
package var zeroBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: firn_zeros(), count: Int(FIRN_ZERO_BYTE_COUNT))
}
