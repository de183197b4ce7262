import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the user sees: lines on the output, and a progress bar on the terminal during long work.
enum Console {
    static let hasTerminal = isatty(2) == 1

    static func say(_ text: String) { put(text + "\n", 1) }

    static func title(_ text: String) { say("\n\(text)") }

    static func fail(_ text: String) { put("firn-quickstart: \(text)\n", 2) }

    /// Writes at once, so that the output of a process that is killed is complete up to then. If the stream is
    /// closed, there is nowhere left to report that to.
    static func put(_ text: String, _ stream: Int32) {
        let bytes = Array(text.utf8)
        var count = 0
        while count < bytes.count {
            let put = bytes.withUnsafeBytes { write(stream, $0.baseAddress! + count, bytes.count - count) }
            if put < 0, errno == EINTR { continue }
            if put < 0 { return }
            count += put
        }
    }
}

/// A progress bar on a terminal, and nothing elsewhere.
final class Progress {
    private let what: String
    private let total: Int?
    private var shown = ContinuousClock.now
    private var isShown = false

    init(_ what: String, of total: Int? = nil) {
        self.what = what
        self.total = total
    }

    func update(_ done: Int) {
        guard Console.hasTerminal, done % 64 == 0, shown.duration(to: .now) > .milliseconds(80) else { return }
        shown = .now
        isShown = true
        guard let total, total > 0 else { return Console.put("\r\u{1B}[K  \(what): \(Amount.count(done))", 2) }
        let filled = min(30, done * 30 / total)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled)
        Console.put("\r\u{1B}[K  \(what) [\(bar)] \(Amount.count(done)) of \(Amount.count(total))", 2)
    }

    deinit {
        if isShown { Console.put("\r\u{1B}[K", 2) }
    }
}

/// Amounts as people read them.
enum Amount {
    static func count(_ number: Int) -> String {
        let digits = String(number)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    static func bytes(_ number: Int) -> String {
        if number < 1000 { return "\(number) B" }
        var value = Double(number)
        for unit in ["kB", "MB", "GB"] {
            value /= 1000
            if value < 999.5 || unit == "GB" {
                return String(format: value < 9.95 ? "%.1f %@" : "%.0f %@", value, unit)
            }
        }
        return "\(number) B"
    }

    static func seconds(_ duration: Duration) -> String {
        let value = duration / .seconds(1)
        return value < 0.0995 ? String(format: "%.1f ms", value * 1000) : String(format: "%.2f s", value)
    }

    static func rate(_ number: Int, _ duration: Duration) -> String {
        let value = Double(number) / max(duration / .seconds(1), 1e-9)
        return value.isFinite ? "\(count(Int(value)))/s" : "-"
    }

    /// A count with its noun, in the singular or the plural.
    static func of(_ number: Int, one: String, many: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? one : many ?? one + "s")"
    }
}
