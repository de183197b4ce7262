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

/// What happens in a process that has closed its streams, as a daemon may. Each test runs in a process of its own.
@Suite(.timeLimit(.minutes(20))) struct StreamTests {
    @Test func noFileGetsTheDescriptorOfAStream() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let storage = PosixStorage.shared
            let saved = (0..<3).map { (stream: Int32($0), copy: fcntl(Int32($0), F_DUPFD_CLOEXEC, 10)) }
            for (stream, _) in saved { close(stream) }
            let opened = (
                try? storage.open(folder.path + "/file", .create), try? storage.lockFile(folder.path + "/lock"),
                try? storage.openFolder(folder.path).scratchMemory(byteCount: 1 << 20)
            )
            // A timer of the runtime's own, which no output could change, may have got one meanwhile.
            let taken = saved.map(\.stream).filter { stream in
                var status = stat()
                return fstat(stream, &status) == 0 && [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
            }
            // Without them, nobody would learn what is wrong.
            for (stream, copy) in saved { dup2(copy, stream) }
            #expect(opened.0 != nil && opened.1 != nil && opened.2 != nil)
            #expect(taken == [], "what the process prints would be written there")
        }
    }
}
