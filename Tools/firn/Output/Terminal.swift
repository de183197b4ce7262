import FirnStorage
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The process's own streams, the pager, and the processes that it starts. The rest of the tool makes no system calls
/// of its own.
enum Terminal {
    static var errorIsTerminal: Bool { isatty(2) == 1 }

    static var outputIsTerminal: Bool { isatty(1) == 1 }

    /// Whether lines have colours. The result must go to a person, directly or through a pager, the terminal must not
    /// be dumb, and `NO_COLOR` must not be set. That variable is the convention of https://no-color.org.
    static var showsColour: Bool { (pager != nil || outputIsTerminal) && getenv("NO_COLOR") == nil && !isDumb }

    private static var isDumb: Bool { getenv("TERM").map { strcmp($0, "dumb") == 0 } ?? true }

    /// How many characters a line may have: the terminal's width, or any number if there is no terminal.
    static var width: Int {
        pager != nil || outputIsTerminal ? errorWidth : .max
    }

    /// How many characters a line of the error stream's terminal may have.
    static var errorWidth: Int {
        var size = winsize()
        guard ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// The process that shows the result page by page; nil if there is none. The main thread sets it before anything is
    /// written, and no other thread uses it.
    nonisolated(unsafe) private static var pager: pid_t?

    /// Sends the result through a pager from now on, if it goes to a terminal. The pager is the command in `PAGER`, or
    /// `less` if the system has it. Nothing happens if `PAGER` is empty or `cat`.
    static func startPager() {
        guard outputIsTerminal, !isDumb else { return }
        let chosen = getenv("PAGER").map { String(cString: $0) }
        if let chosen, chosen.isEmpty || chosen == "cat" { return }
        // -F: ends at once if everything fits on a page. -R: shows colours. -X: leaves the text on the screen.
        if getenv("LESS") == nil { setenv("LESS", "FRX", 1) }
        // The shell's status 127 means that it has not found the pager, so nothing has read the result yet.
        let command =
            chosen.map { "\($0); status=$?; if [ $status -eq 127 ]; then exec cat; fi; exit $status" }
            ?? "if command -v less > /dev/null; then exec less; else exec cat; fi"
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }
        defer { for end in ends { close(end) } }
        var actions = newFileActions()
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        for end in ends { posix_spawn_file_actions_addclose(&actions, end) }
        var process: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = ["sh", "-c", command].map { (text: String) in strdup(text) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        // Without a pager, the result goes to the terminal as it is.
        // The pager, and what a person starts from it, have no use for the key of an encrypted store.
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let variable = next.pointee {
            if strncmp(variable, "FIRN_KEY=", 9) != 0 { variables.append(variable) }
            next += 1
        }
        variables.append(nil)
        guard posix_spawn(&process, "/bin/sh", &actions, nil, &arguments, &variables) == 0 else { return }
        dup2(ends[1], 1)
        pager = process
    }

    #if canImport(Darwin)
        private typealias FileActions = posix_spawn_file_actions_t?
    #else
        private typealias FileActions = posix_spawn_file_actions_t
    #endif

    /// A list of actions on the descriptors of a process that is started, with no action yet. The caller destroys it.
    private static func newFileActions() -> FileActions {
        #if canImport(Darwin)
            var actions: FileActions = nil
        #else
            var actions = FileActions()
        #endif
        posix_spawn_file_actions_init(&actions)
        return actions
    }

    /// Writes all of the text; throws if the stream accepts no more, for instance because of a full disk or a closed
    /// pipe.
    static func write(_ text: String, to descriptor: Int32) throws(ToolError) {
        var text = text
        let failure = text.withUTF8 { bytes -> Int32 in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                #if canImport(Darwin)
                    let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                    let count = Musl.write(descriptor, rest.baseAddress, rest.count)
                #else
                    let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                #endif
                if count < 0, errno == EINTR { continue }
                if count < 0 { return errno }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return 0
        }
        if failure != 0 { throw ToolError(.input, "the output can't be written (errno \(failure))") }
    }

    /// The path of the file that a path leads to through symbolic links; the path itself if it leads to none. A store's
    /// files are never followed in this way, but files that the user names are.
    static func followed(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    /// Reads the next bytes of the process's input, and returns their number; 0 at the end of the input.
    static func read(
        into target: UnsafeMutableRawBufferPointer, from descriptor: Int32 = 0
    ) throws(ToolError) -> Int {
        while true {
            #if canImport(Darwin)
                let count = Darwin.read(descriptor, target.baseAddress, target.count)
            #elseif canImport(Musl)
                let count = Musl.read(descriptor, target.baseAddress, target.count)
            #else
                let count = Glibc.read(descriptor, target.baseAddress, target.count)
            #endif
            if count >= 0 { return count }
            try Interrupts.check()
            if errno != EINTR { throw ToolError(.input, "the input can't be read (errno \(errno))") }
        }
    }

    // MARK: Lines that a person types

    static var inputIsTerminal: Bool { isatty(0) == 1 && errorIsTerminal && !isDumb }

    /// From now on, Ctrl-C does not end this process, but it still ends the processes that this process starts.
    static func ignoreInterrupts() { signal(SIGINT, SIG_IGN) }

    /// A variable of the environment; nil if it is not set.
    static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The terminal's settings outside of `readingKeys`. Set by the main thread before the handler that reads them.
    nonisolated(unsafe) private static var settings = termios()

    /// Calls `body` while the terminal passes on each key as it is typed, and shows none. Ctrl-C is then a key like any
    /// other.
    static func readingKeys<T>(_ body: () throws -> T) throws -> T {
        guard tcgetattr(0, &settings) == 0 else { return try body() }
        var raw = settings
        raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
        raw.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        // A signal that ends the process must not leave the terminal like this.
        let ending = [SIGTERM, SIGHUP].map { number in
            let before = signal(number) { number in
                tcsetattr(0, TCSANOW, &Terminal.settings)
                signal(number, SIG_DFL)
                raise(number)
            }
            return (number, before)
        }
        defer { for (number, before) in ending { signal(number, before) } }
        guard tcsetattr(0, TCSADRAIN, &raw) == 0 else { return try body() }
        defer { tcsetattr(0, TCSADRAIN, &settings) }
        return try body()
    }

    /// Asks the user at the terminal for a key, once for the whole command, and shows nothing of the answer. Nil if
    /// there is no terminal.
    static var keyQuestion: (@Sendable () throws(ToolError) -> String)? {
        guard isatty(0) == 1, errorIsTerminal else { return nil }
        return { () throws(ToolError) -> String in
            if let known = answer.withLock({ $0 }) { return known }
            let text: String
            do { text = try askWithoutEcho("key (128 hexadecimal digits): ") } catch {
                throw error as? ToolError ?? ToolError(.input, "the key can't be read: \(error)")
            }
            answer.withLock { $0 = text }
            return text
        }
    }

    private static let answer = Guarded<String?>(.innermost, nil)

    private static func askWithoutEcho(_ prompt: String) throws -> String {
        try write(prompt, to: 2)
        defer { try? write("\n", to: 2) }
        return try readingKeys {
            var text: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 256)
            while true {
                let count = try piece.withUnsafeMutableBytes { try read(into: $0) }
                guard count > 0 else { break }
                // In this mode Return, Ctrl-C and Ctrl-D are bytes like any other.
                if let end = piece[..<count].firstIndex(where: { [10, 13, 4, 3].contains($0) }) {
                    if piece[end] == 3 { throw ToolError(.interrupted, "no key was given") }
                    text += piece[..<end]
                    break
                }
                for byte in piece[..<count] {
                    if byte == 127 || byte == 8 { _ = text.popLast() } else { text.append(byte) }
                }
            }
            return String(decoding: text, as: UTF8.self)
        }
    }

    /// The first bytes of a file, which may be a pipe.
    static func contents(of path: String, most count: Int) throws(ToolError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ToolError(.input, "\(path) can't be opened (errno \(errno))") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        var found = 0
        while found < count {
            let got = try bytes.withUnsafeMutableBufferPointer { (bytes) throws(ToolError) in
                try read(
                    into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: bytes[found...])),
                    from: descriptor)
            }
            if got == 0 { break }
            found += got
        }
        return Array(bytes[..<found])
    }

    /// Sets a variable of this process's environment, which the processes that it starts inherit.
    static func setEnvironment(_ name: String, _ value: String) { setenv(name, value, 1) }

    // MARK: Other processes

    /// Runs this program with other arguments in another process, on the same streams, and waits for it. Ctrl-C ends
    /// that process, but not this one.
    ///
    /// - Parameter hasInput: whether the other process gets this process's input. If not, its input is empty.
    /// - Returns: its exit status; 128 and the signal's number if a signal has ended it.
    static func runSelf(_ arguments: [String], hasInput: Bool) throws(ToolError) -> Int32 {
        #if canImport(Darwin)
            var attributes: posix_spawnattr_t?
            var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
            var byteCount = UInt32(path.count)
            guard _NSGetExecutablePath(&path, &byteCount) == 0 else {
                throw ToolError(.input, "the program's own path is too long to run it")
            }
        #else
            var attributes = posix_spawnattr_t()
            let path = "/proc/self/exe".utf8CString.map { $0 }
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The other process inherits what this one ignores.
        let before = signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, before) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGINT)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var words: [UnsafeMutablePointer<CChar>?] = (["firn"] + arguments).map { (text: String) in strdup(text) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var actions = newFileActions()
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Otherwise the other process would read lines that this process has not read yet.
        if !hasInput { posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) }
        var process: pid_t = 0
        let failure = posix_spawn(&process, path, &actions, &attributes, &words, environ)
        guard failure == 0 else {
            throw ToolError(.input, "the subcommand can't be run in a process of its own (errno \(failure))")
        }
        var ended: Int32 = 0
        while waitpid(process, &ended, 0) < 0 {
            guard errno == EINTR else {
                throw ToolError(.input, "the end of the subcommand can't be waited for (errno \(errno))")
            }
        }
        return ended & 0x7F == 0 ? ended >> 8 & 0xFF : 128 + ended & 0x7F
    }

    /// Ends the process after the pager has shown everything.
    static func leave(_ status: Int32) -> Never {
        if let pager {
            close(1)
            var ended: Int32 = 0
            while waitpid(pager, &ended, 0) < 0, errno == EINTR {}
        }
        exit(status)
    }
}

/// The signals that ask the process to end, such as Ctrl-C. A subcommand that makes something checks for them while it
/// works, and removes what it has made. All others end at once.
enum Interrupts {
    /// The last signal; 0 for none. A signal's handler may do little more than set it.
    private static let last = Atomic<Int32>(0)
    private static let isPostponing = Atomic<Bool>(false)
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// From now on, the first signal only makes `check` throw. The next one ends the process at once.
    static func postpone() {
        isPostponing.store(true, ordering: .relaxed)
        for number in signals {
            if ignore(number) { continue }
            signal(number) { number in
                Interrupts.last.store(number, ordering: .relaxed)
                signal(number, SIG_DFL)
            }
            // A read that waits for input must end, so that `check` is called.
            var action = sigaction()
            sigaction(number, nil, &action)
            action.sa_flags &= ~SA_RESTART
            sigaction(number, &action, nil)
        }
    }

    /// Ignores a signal. Returns whether it was ignored before, for instance because of `nohup`, so that it must stay
    /// ignored.
    private static func ignore(_ number: Int32) -> Bool {
        // The constant is not a real function, and functions can't be compared.
        unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Calls `body`. A signal meanwhile ends the process at once. This is for waiting for another process while nothing
    /// is half-made.
    static func endingAtOnce<T, E: Error>(_ body: () throws(E) -> T) throws -> T {
        try check()
        guard isPostponing.load(ordering: .relaxed) else { return try body() }
        for number in signals where !ignore(number) { signal(number, SIG_DFL) }
        defer { postpone() }
        return try body()
    }

    /// Whether a signal has arrived.
    @inline(__always)
    static var haveCome: Bool { last.load(ordering: .relaxed) != 0 }

    /// Throws if a signal has arrived.
    @inline(__always)
    static func check() throws(ToolError) {
        if haveCome { throw ToolError(.interrupted, "interrupted; nothing was made.") }
    }

    /// Ends the process as the signal would have done, so that a shell sees which signal it was.
    static func die() -> Never {
        let number = last.load(ordering: .relaxed)
        signal(number, SIG_DFL)
        raise(number)
        exit(128 + number)
    }
}
