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

/// Stops the program because of a mistake of its own, with a message that begins with the line that made it:
/// `/home/ann/Kennel/main.swift:12: Fatal error: Firn: ...`.
///
/// The line is the innermost one on the stack that lies outside of Firn. Where none can be found, the message begins
/// with the line of Firn that noticed the mistake: in a program without debug information or frame pointers, on
/// platforms without Swift's `Runtime` module, if the compiler replaced the caller's frame, and where Swift's own
/// backtraces are turned off (`SWIFT_BACKTRACE=enable=no`). It takes about a second for a large program.
///
/// Not for a forked child: finding the line takes locks that another thread may have held at the fork.
@inline(never)
package func stopProgram(_ message: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    let caller = CallerLine.find()
    let (file, line) = caller.map { ($0.path, $0.line) } ?? (file, line)
    fatalError("Firn: \(message)", file: file, line: line)
}

/// A line of the program that called Firn.
struct CallerLine {
    let path: StaticString
    let line: UInt

    /// The innermost line on the calling thread's stack that lies outside of Firn; nil if none can be found.
    static func find() -> CallerLine? {
        #if os(Linux) && canImport(Runtime)
            guard !isTurnedOff, let backtrace = try? Backtrace.capture(limit: 128), let known = backtrace.symbolicated()
            else {
                return nil
            }
            for frame in known.frames {
                guard let symbol = frame.symbol, isCallers(symbol.rawName),
                    let place = symbol.sourceLocation, place.line > 0, !place.path.contains("<compiler-generated>")
                else { continue }
                return CallerLine(path: lastingText(place.path), line: UInt(place.line))
            }
        #endif
        return nil
    }

    /// Whether the environment turns Swift's backtraces off, as tests of stops do.
    private static var isTurnedOff: Bool {
        guard let settings = getenv("SWIFT_BACKTRACE") else { return false }
        return String(cString: settings).split(separator: ",").contains { ["enable=no", "enable=off"].contains($0) }
    }

    /// Whether a mangled name is of a function of the program, and not of Firn or of Swift's standard library.
    ///
    /// It begins with its module, or with a type of the standard library that it extends, its module and an E (Swift's
    /// ABI documentation, "Mangling"). Extensions with constraints are not recognised.
    static func isCallers(_ mangled: String) -> Bool {
        if mangled == "main" { return true }
        guard mangled.hasPrefix("$s") else { return false }
        let name = mangled.utf8.dropFirst(2)
        if let module = module(name) { return !own.contains(module.name) }
        guard name.first == UInt8(ascii: "S"), let module = module(name.dropFirst(2)),
            module.rest.first == UInt8(ascii: "E")
        else { return false }
        return !own.contains(module.name)
    }

    /// The identifier that a text begins with, its length in digits before it, and the rest; nil if there is none.
    /// After a zero stands a text whose parts are written shorter, which is no module's.
    private static func module(_ text: Substring.UTF8View) -> (name: String, rest: Substring.UTF8View)? {
        let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard digits.first != UInt8(ascii: "0"), let length = Int(String(Substring(digits))) else { return nil }
        let name = text.dropFirst(digits.count).prefix(length)
        guard name.count == length else { return nil }
        return (String(Substring(name)), text[name.endIndex...])
    }

    private static let own: Set<String> = [
        "Firn", "FirnBytes", "FirnStorage", "FirnLog", "FirnQuery", "FirnCore", "FirnCombine", "FirnMetrics", "FirnRLM",
        "RealmSwift",
    ]

    /// A text in memory that is never freed, as the literal that `fatalError` asks for: a pointer, the number of its
    /// bytes, and flags. A pointer to UTF-8 has no flag. `StaticString` is frozen, so its layout never changes.
    private static func lastingText(_ text: String) -> StaticString {
        let bytes = Array(text.utf8)
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
        copy.initialize(from: bytes, count: bytes.count)
        let parts = (UInt(bitPattern: copy), UInt(bytes.count), UInt8(0))
        precondition(
            MemoryLayout.size(ofValue: parts) == MemoryLayout<StaticString>.size, "Firn: StaticString has changed")
        return unsafeBitCast(parts, to: StaticString.self)
    }
}
