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
            let taken = saved.filter { fcntl($0.stream, F_GETFD) >= 0 }.map(\.stream)
            // Without them, nobody would learn what is wrong.
            for (stream, copy) in saved { dup2(copy, stream) }
            #expect(opened.0 != nil && opened.1 != nil && opened.2 != nil)
            #expect(taken == [], "what the process prints would be written there")
        }
    }
}
