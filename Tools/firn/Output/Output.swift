import FirnBytes
import FirnStorage

/// Where a subcommand's lines go: the process's streams, or a test's strings.
///
/// Names, values and file names come from whoever wrote the store, so everything passes through `DisplayText` before
/// it reaches a stream. A value is escaped when it is put into a line (`DisplayText.line`, `CellText`, `JSON`), so
/// that it can't begin a line of its own. The finished lines are escaped again here, in case a value was missed.
final class Output {
    /// The colour of a line, on a terminal only.
    enum Colour: String {
        case green = "32"
        case red = "31"
        case yellow = "33"
        case bold = "1"
    }

    private let out: (String) throws -> Void
    private let error: (String) -> Void
    let showsProgress: Bool
    private let showsColour: Bool
    /// Whether the result goes to a terminal, which must not interpret control characters from a store.
    private let isShown: Bool
    private let clock: any Clock
    private var buffer = ""
    private var progressShown = ""
    /// When the operation whose progress is shown began, and when it was last shown, in nanoseconds.
    private var progress: (what: String, began: Int64, shown: Int64)?

    init(
        showsProgress: Bool, showsColour: Bool = false, isShown: Bool = false, clock: any Clock = SystemClock.shared,
        out: @escaping (String) throws -> Void,
        error: @escaping (String) -> Void
    ) {
        self.showsProgress = showsProgress
        self.showsColour = showsColour
        self.isShown = isShown
        self.clock = clock
        self.out = out
        self.error = error
    }

    static func standard() -> Output {
        Output(
            showsProgress: Terminal.errorIsTerminal, showsColour: Terminal.showsColour,
            isShown: Terminal.outputIsTerminal,
            out: { try Terminal.write($0, to: 1) },
            // If the error stream is closed as well, there is nowhere left to report to.
            error: { try? Terminal.write($0, to: 2) })
    }

    /// Writes one or more lines of the result. The first line gets the colour after it was escaped.
    func line(_ text: String, _ colour: Colour? = nil) throws {
        let shown = DisplayText.lines(text)
        if let colour, showsColour {
            let end = shown.firstIndex(of: "\n") ?? shown.endIndex
            buffer += "\u{1B}[\(colour.rawValue)m\(shown[..<end])\u{1B}[0m\(shown[end...])"
        } else {
            buffer += shown
        }
        buffer += "\n"
        if buffer.utf8.count > 32_768 { try flush() }
    }

    /// Writes data for a program. They are escaped only if they go to a terminal.
    ///
    /// - Parameter text: whole lines.
    func raw(_ text: String) throws {
        try flush()
        clearProgress()
        try out(isShown ? DisplayText.lines(text) : text)
    }

    func flush() throws {
        guard !buffer.isEmpty else { return }
        clearProgress()
        let text = buffer
        buffer = ""
        try out(text)
    }

    /// Writes a line for the user to the error stream, apart from the result.
    func warn(_ text: String) {
        clearProgress()
        error(DisplayText.lines(text) + "\n")
    }

    /// Shows the progress of a long operation, with its rate and the remaining time. The progress is shown on a
    /// terminal only, always on the same line, ten times a second at most.
    ///
    /// - Parameter amount: writes an amount as text, by default as bytes.
    func progress(
        _ what: String, _ done: Int, of total: Int, in amount: (Int) -> String = Amount.bytes
    ) {
        guard showsProgress else { return }
        let now = clock.monotonic()
        guard let (_, began, shown) = progress, progress?.what == what else {
            progress = (what, now, now)
            return
        }
        guard now - shown >= 100_000_000 else { return }
        progress = (what, began, now)
        let seconds = Double(now - began) / 1e9
        let rate = Double(done) / seconds
        let percent = total > 0 ? min(100, done * 100 / total) : 100
        var text = "\(what) \(amount(total)): \(percent) %, \(amount(Int(rate)))/s"
        // In the first second, the remaining time would be a guess.
        if seconds >= 1, rate >= 1, done < total { text += ", \(Amount.time(Double(total - done) / rate)) left" }
        error("\r" + text + String(repeating: " ", count: max(0, progressShown.count - text.count)))
        progressShown = text
    }

    func clearProgress() {
        guard !progressShown.isEmpty else { return }
        error("\r" + String(repeating: " ", count: progressShown.count) + "\r")
        progressShown = ""
    }
}
