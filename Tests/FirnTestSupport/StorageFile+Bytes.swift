import FirnStorage

/// Bytes as arrays, for tests.
extension StorageFile {
    public func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
        let pointer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { pointer.deallocate() }
        pointer.copyBytes(from: bytes)
        try write(UnsafeRawBufferPointer(pointer), at: offset)
    }

    public func read(_ count: Int, at offset: Int) throws(StorageError) -> [UInt8] {
        let pointer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { pointer.deallocate() }
        let length = try read(into: pointer, at: offset)
        return Array(pointer.prefix(length))
    }
}
