import CFirn

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
#if os(Linux) && canImport(Runtime)
    import Runtime
#endif

/// Stops the program because of a mistake in its code. The message begins with the line that made the mistake:
/// `/home/ann/Kennel/main.swift:12: Fatal error: Firn: ...`.
///
/// This line is the innermost one on the stack that lies outside of Firn. If none can be found, the message begins with
/// the line of Firn that noticed the mistake. This happens:
/// - in a program without debug information or frame pointers;
/// - on platforms without Swift's `Runtime` module;
/// - if the compiler gave the caller's code no line, as at the head of a loop or for `dog.age += 1`. The message then
///   ends with the calling function;
/// - if Swift's own backtraces are turned off (`SWIFT_BACKTRACE=enable=no`).
///
/// In a large program, finding the line takes about a second and 100 MB. So the message is first written to standard
/// error without the line, in case memory or time run out.
///
/// Do not call it in a forked child: finding the line takes locks that another thread may have held at the fork.
@inline(never)
package func stopProgram(_ message: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    var (file, line, place) = (file, line, "")
    if CallerLine.canBeFound {
        let text = Array("Firn: \(message)\n".utf8)
        _ = text.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        if let caller = CallerLine.find() {
            if caller.line > 0 {
                (file, line) = (CallerLine.lastingText(caller.path), UInt(caller.line))
            } else {
                let file = caller.path.isEmpty ? "" : " in \(caller.path)"
                place = " It was called by \(caller.function)\(file), where the code has no line."
            }
        }
    }
    fatalError("Firn: \(message)\(place)", file: file, line: line)
}

/// The line of the program that called Firn.
package enum CallerLine {
    /// Whether the platform and the environment allow finding the line.
    static var canBeFound: Bool {
        #if os(Linux) && canImport(Runtime)
            !isTurnedOff(getenv("SWIFT_BACKTRACE").map { String(cString: $0) } ?? "")
        #else
            false
        #endif
    }

    /// The number of frames that are searched at most.
    private static let frameLimit: Int32 = 128

    /// The innermost line on the calling thread's stack that lies outside of Firn; nil if none can be found.
    static func find() -> Frame? {
        #if os(Linux) && canImport(Runtime)
            // The capture follows frame pointers blindly, so it must end before they lead out of the stack.
            let count = Int(firn_frame_count(frameLimit))
            guard count > 0, let backtrace = try? Backtrace.capture(limit: count, top: 0),
                let known = backtrace.symbolicated()
            else { return nil }
            let frames = known.frames.compactMap(\.symbol).map { symbol in
                let place = symbol.sourceLocation
                return Frame(
                    mangled: symbol.rawName, function: symbol.name, path: place?.path ?? "", line: place?.line ?? 0)
            }
            return find(in: frames)
        #else
            return nil
        #endif
    }

    /// A function on the stack, its file (empty if unknown), and the line that runs in it (0 if the compiler gave it
    /// none).
    struct Frame: Equatable {
        let mangled: String
        let function: String
        let path: String
        let line: Int
    }

    /// The innermost frame outside Firn, searched from `stopProgram` outwards. Its line may be 0 and its file unknown:
    /// reporting its caller's line instead would blame the wrong function.
    static func find(in frames: [Frame]) -> Frame? {
        // The program may extend Firn's types, so a function's name does not say whether it is Firn's. Its file does.
        let here = "/FirnStorage/StopProgram.swift"
        guard let path = frames.first(where: { $0.path.hasSuffix(here) })?.path else { return nil }
        let sources = path.dropLast(here.utf8.count) + "/"
        for frame in frames {
            let hasFile = !frame.path.isEmpty && !frame.path.hasSuffix("<compiler-generated>")
            let isOwn = frame.path.hasPrefix(sources) || own.contains { frame.path.hasPrefix("Sources/\($0)/") }
            if hasFile, frame.line > 0 {
                // The code of other packages is skipped too: a package with publishers, for example, may call Firn
                // back.
                if !isOwn, !frame.path.contains("/checkouts/") { return frame }
            } else if isCallers(frame.mangled), !isGenerated(frame.mangled) {
                if isOwn { return nil }
                return hasFile ? frame : Frame(mangled: frame.mangled, function: frame.function, path: "", line: 0)
            }
        }
        return nil
    }

    /// Whether the value of `SWIFT_BACKTRACE` turns Swift's backtraces off, as tests that stop the program do. If
    /// `enable` is set several times, the last setting counts.
    static func isTurnedOff(_ settings: String) -> Bool {
        let last = settings.split(separator: ",").last { $0.hasPrefix("enable=") }
        return last.map { ["no", "off", "false", "0", "n", "f"].contains($0.dropFirst(7).lowercased()) } ?? false
    }

    /// Whether the compiler generated a function from a declaration: an accessor, a thunk, or the getter or setter of a
    /// key path.
    private static func isGenerated(_ mangled: String) -> Bool {
        // The second half of an accessor, behind its `yield`, is a function of its own: `….resume.0`.
        let mangled = mangled.prefix { $0 != "." }
        return ["vM", "vs", "vg", "vr", "iM", "is", "ig", "TA", "TW", "TR", "Tr", "TK", "Tk"].contains {
            mangled.hasSuffix($0)
        }
    }

    /// Whether a mangled name belongs to a function of the program. Such a name is `main`, or begins with a module that
    /// is neither Firn's nor Swift's (Swift's ABI documentation, "Mangling").
    static func isCallers(_ mangled: String) -> Bool {
        if mangled == "main" { return true }
        guard mangled.hasPrefix("$s") else { return false }
        let name = mangled.utf8.dropFirst(2)
        let digits = name.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        // A zero begins an identifier with word substitutions, which is not taken for a module's name.
        guard digits.first != UInt8(ascii: "0"), let length = Int(String(Substring(digits))) else { return false }
        let module = name.dropFirst(digits.count).prefix(length)
        guard module.count == length else { return false }
        return !own.contains(String(Substring(module))) && !libraries.contains(String(Substring(module)))
    }

    /// Swift's own libraries that call back into a program, as an encoder does.
    private static let libraries: Set<String> = [
        "Dispatch", "Foundation", "FoundationEssentials", "FoundationInternationalization", "Observation",
        "Synchronization",
    ]

    private static let own: Set<String> = [
        "Firn", "FirnBytes", "FirnStorage", "FirnLog", "FirnQuery", "FirnCore", "FirnCombine", "FirnMetrics", "FirnRLM",
        "Realm", "RealmSwift",
    ]

    /// Whether a call site, in the form of `#fileID`, is in one of Firn's modules, which passes the call on.
    package static func isOwn(fileID: String) -> Bool { own.contains(String(fileID.prefix { $0 != "/" })) }

    /// A text in memory that is never freed, in the form of the literal that `fatalError` requires: a pointer, the
    /// number of bytes, and flags. A pointer to UTF-8 has no flag. `StaticString` is frozen, so its layout never
    /// changes.
    static func lastingText(_ text: String) -> StaticString {
        let bytes = Array(text.utf8)
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
        copy.initialize(from: bytes, count: bytes.count)
        let parts = (UInt(bitPattern: copy), UInt(bytes.count), UInt8(0))
        precondition(
            MemoryLayout.size(ofValue: parts) == MemoryLayout<StaticString>.size, "Firn: StaticString has changed")
        return unsafeBitCast(parts, to: StaticString.self)
    }
}
