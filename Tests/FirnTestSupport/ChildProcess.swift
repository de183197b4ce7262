#if os(Linux)
    import FirnStorage
    import Glibc

    /// A running `firn-crash-child`, or another program, and its output.
    public final class ChildProcess {
        struct Failure: Error { let number: Int32 }

        /// The child is alive but wrote nothing for too long; it was killed.
        public struct Silence: Error, CustomStringConvertible {
            public let description: String
        }

        public let identifier: pid_t
        private let words: [String]
        private let output: Int32
        private var buffer: [UInt8] = []
        private var hasEnded = false

        public convenience init(_ words: String...) throws {
            try self.init(program: "firn-crash-child", words)
        }

        /// What starts a program as the first process of a PID namespace of its own, as in a container.
        public static let inPIDNamespace = [
            "unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
        ]

        /// Whether this system lets this user start a program in a PID namespace.
        public static let canUsePIDNamespaces: Bool = {
            let child = try? ChildProcess(program: "firn-crash-child", ["no", "mode"], by: inPIDNamespace)
            // It refuses its arguments, if it is started.
            return child?.wait() == .exited(64)
        }()

        /// Starts a program that was built into the same folder as the tests.
        ///
        /// - Parameter launcher: the words before the program, if another program starts it.
        public init(program name: String, _ words: [String], by launcher: [String] = []) throws {
            var link = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/exe", &link, link.count - 1)
            guard length > 0 else { throw Failure(number: errno) }
            let runner = String(decoding: link[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // The program is in the folder of the tests' executable.
            let program = String(runner[..<runner.lastIndex(of: "/")!] + "/" + name)
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw Failure(number: errno) }
            // The write end of another test's child must not stay open in this child.
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            defer {
                posix_spawn_file_actions_destroy(&actions)
                close(ends[1])
            }
            let line = launcher + [program] + words
            var arguments: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) } + [nil]
            defer { for argument in arguments { free(argument) } }
            var identifier: pid_t = 0
            let result = posix_spawnp(&identifier, line[0], &actions, nil, &arguments, environ)
            guard result == 0 else {
                close(ends[0])
                throw Failure(number: result)
            }
            self.identifier = identifier
            self.words = words
            output = ends[0]
        }

        /// A child that has ended stays in the system's process table until a process waits for it. One that is never
        /// waited for prevents exit tests from seeing the end of their own child.
        deinit {
            close(output)
            if !hasEnded { _ = kill() }
        }

        /// The next complete line; nil if the child has ended and everything was read. A line that a kill has cut
        /// short is not returned.
        /// - Throws: `Silence` if neither comes within `seconds`.
        public func readLine(within seconds: Int = TestTimeout.seconds) throws -> String? {
            let deadline = TestTimeout.deadline(seconds)
            while true {
                if let end = buffer.firstIndex(of: 10) {
                    defer { buffer.removeFirst(end + 1) }
                    return String(decoding: buffer[..<end], as: UTF8.self)
                }
                let left = max(0, deadline - SystemClock.shared.monotonic()) / 1_000_000
                var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
                let ready = poll(&waiting, 1, Int32(left))
                if ready < 0, errno == EINTR { continue }
                guard ready != 0 else {
                    Glibc.kill(identifier, SIGKILL)
                    let partial = String(decoding: buffer, as: UTF8.self)
                    throw Silence(
                        description:
                            "firn-crash-child \(words.joined(separator: " ")) hangs: no complete line for \(seconds) s, "
                            + "only \"\(partial)\". It was killed")
                }
                var piece = [UInt8](repeating: 0, count: 4096)
                let count = read(output, &piece, piece.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return nil }
                buffer.append(contentsOf: piece[..<count])
            }
        }

        /// Kills the child, unless it has ended before.
        public func kill() -> ProcessEnd {
            Glibc.kill(identifier, SIGKILL)
            return wait()
        }

        /// Waits until the child has ended. Call it once only: the system then forgets the child.
        public func wait() -> ProcessEnd {
            hasEnded = true
            return end(of: identifier)
        }
    }
#endif
