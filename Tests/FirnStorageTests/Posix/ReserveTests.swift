import CFirn
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

/// If the file system has no `fallocate`, a file gets its blocks by writing, and keeps its bytes.
@Suite(.timeLimit(.minutes(20))) struct ReserveTests {
    private static let length = 1 << 20

    /// A file of which only some blocks were ever written, and its first `length` bytes after `reserve`.
    private func reserve(size: Int, _ writes: [(offset: Int, bytes: [UInt8])]) throws -> (bytes: [UInt8], size: Int) {
        let folder = TemporaryFolder()
        let file = try PosixStorage.shared.open(folder.path + "/file", .create)
        try file.truncate(to: size)
        for write in writes { try file.write(write.bytes, at: write.offset) }
        let descriptor = open(folder.path + "/file", O_RDWR)
        defer { close(descriptor) }
        #expect(firn_reserve_by_writing(descriptor, off_t(Self.length)) == 0)
        var status = stat()
        #expect(fstat(descriptor, &status) == 0 && status.st_blocks * 512 >= Self.length)
        return (try file.read(Self.length, at: 0), Int(status.st_size))
    }

    @Test(arguments: [0, 1, 4096, 70_001, 1 << 20, 3 << 20]) func everyBlockIsAllocatedAndNoByteChanges(size: Int)
        throws
    {
        var expected = [UInt8](repeating: 0, count: Self.length)
        var writes: [(offset: Int, bytes: [UInt8])] = []
        for offset in [0, 511, 4095, 66_000, 300_000, 1_048_575] where offset < size {
            writes.append((offset, [7]))
            expected[offset] = 7
        }
        let after = try reserve(size: size, writes)
        #expect(after.bytes == expected && after.size == max(size, Self.length))
    }
}
