#if os(Linux)
    import Glibc

    /// A running `firn-crash-child`, and what it says.
    public final class ChildProcess {
        struct Failure: Error { let number: Int32 }

        public let identifier: pid_t
        private let output: Int32
        private var buffer: [UInt8] = []

        public init(_ words: String...) throws {
            var link = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/exe", &link, link.count - 1)
            guard length > 0 else { throw Failure(number: errno) }
            let runner = String(decoding: link[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // Beside the tests.
            let program = String(runner[..<runner.lastIndex(of: "/")!] + "/firn-crash-child")
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw Failure(number: errno) }
            // The writer's end of another test's child must not stay open in this one.
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            defer {
                posix_spawn_file_actions_destroy(&actions)
                close(ends[1])
            }
            var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
            defer { for argument in arguments { free(argument) } }
            var identifier: pid_t = 0
            let result = posix_spawn(&identifier, program, &actions, nil, &arguments, environ)
            guard result == 0 else {
                close(ends[0])
                throw Failure(number: result)
            }
            self.identifier = identifier
            output = ends[0]
        }

        deinit { close(output) }

        /// The next whole line; nil when the child is gone and all was read. What a kill cut short is no line.
        public func readLine() -> String? {
            while true {
                if let end = buffer.firstIndex(of: 10) {
                    defer { buffer.removeFirst(end + 1) }
                    return String(decoding: buffer[..<end], as: UTF8.self)
                }
                var piece = [UInt8](repeating: 0, count: 4096)
                let count = read(output, &piece, piece.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return nil }
                buffer.append(contentsOf: piece[..<count])
            }
        }

        /// Kills it, unless it has ended before.
        public func kill() -> ProcessEnd {
            Glibc.kill(identifier, SIGKILL)
            return wait()
        }

        /// Waits until it has ended.
        public func wait() -> ProcessEnd { end(of: identifier) }
    }
#endif
