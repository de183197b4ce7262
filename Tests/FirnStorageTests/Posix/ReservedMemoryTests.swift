import FirnTestSupport
import Testing

@testable import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite(.timeLimit(.minutes(20))) struct ReservedMemoryTests {
    /// Linux refuses to map more than its memory and swap, unless the mapping is not to be counted (`MAP_NORESERVE`).
    @Test func aFileLongerThanAllMemoryIsMappedAndRead() throws {
        let byteCount = ReservedMemory.roundUp(4 * Int(sysconf(Int32(_SC_PHYS_PAGES))) * Int(getpagesize()))
        let folder = TemporaryFolder()
        let path = folder.path + "/long"
        let written = try PosixStorage.shared.open(path, .create)
        try written.write(Array("begin".utf8), at: 0)
        // The rest is a hole.
        try written.write(Array("end".utf8), at: byteCount - 3)
        written.close()
        let file = try PosixStorage.shared.open(path, .read)
        defer { file.close() }
        let memory = try ReservedMemory(byteCount: 2 * byteCount)
        #expect(try memory.map(file, length: byteCount, at: 0))
        let bytes = UnsafeRawBufferPointer(start: memory.base, count: byteCount)
        #expect(Array(bytes.prefix(5)) == Array("begin".utf8))
        #expect(Array(bytes.suffix(3)) == Array("end".utf8))
        try memory.fill(length: byteCount, at: byteCount)
        (memory.base + byteCount).storeBytes(of: 7, toByteOffset: byteCount - 1, as: UInt8.self)
        #expect(memory.base.load(fromByteOffset: 2 * byteCount - 1, as: UInt8.self) == 7)
    }
}
