import CFirn

/// Zeros to be written, 64 KiB of them. Static memory, and no global of Swift's, see `SharedObject`.
package var zeroBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: firn_zeros(), count: Int(FIRN_ZERO_BYTE_COUNT))
}
