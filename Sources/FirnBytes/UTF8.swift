extension UnsafeRawBufferPointer {
    /// Whether the bytes are UTF-8. ASCII is checked first, because most text is ASCII.
    package var isUTF8: Bool { isASCII || String(validating: self, as: UTF8.self) != nil }

    /// Whether no byte is above 127. Checks eight bytes at a time.
    package var isASCII: Bool {
        var bits: UInt64 = 0
        var offset = 0
        while offset + 8 <= count {
            bits |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < count {
            bits |= UInt64(self[offset])
            offset += 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }
}
