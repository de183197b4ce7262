import FirnBytes

/// Where a subcommand's lines go: the process's streams, or a test's strings.
///
/// Names, values and file names come from whoever wrote the store, so everything passes through `DisplayText` before
/// it reaches a stream. A value is escaped when it is put into a line (`DisplayText.line`, `CellText`, `JSON`), so
/// that it can't begin a line of its own. The finished lines are escaped again here, in case a value was missed.
final class Output {
    private let out: (String) throws -> Void
    private let error: (String) -> Void
    let showsProgress: Bool
    private var buffer = ""
    private var progressShown = ""

    init(showsProgress: Bool, out: @escaping (String) throws -> Void, error: @escaping (String) -> Void) {
        self.showsProgress = showsProgress
        self.out = out
        self.error = error
    }

    static func standard() -> Output {
        Output(
            showsProgress: Terminal.errorIsTerminal,
            out: { try Terminal.write($0, to: 1) },
            // If the error stream is closed as well, there is nowhere left to report to.
            error: { try? Terminal.write($0, to: 2) })
    }

    /// A line of the result.
    func line(_ text: String) throws {
        buffer += DisplayText.lines(text)
        buffer += "\n"
        if buffer.utf8.count > 32_768 { try flush() }
    }

    func flush() throws {
        guard !buffer.isEmpty else { return }
        clearProgress()
        let text = buffer
        buffer = ""
        try out(text)
    }

    /// A line for the user on the error stream, apart from the result.
    func warn(_ text: String) {
        clearProgress()
        error(DisplayText.lines(text) + "\n")
    }

    /// Shows the progress of a long operation: on a terminal only, always on the same line.
    func progress(_ what: String, _ done: Int, of total: Int) {
        guard showsProgress else { return }
        let percent = total > 0 ? min(100, done * 100 / total) : 100
        let text = "\(what) \(Amount.bytes(total)): \(percent) %"
        guard text != progressShown else { return }
        error("\r" + text)
        progressShown = text
    }

    func clearProgress() {
        guard !progressShown.isEmpty else { return }
        error("\r" + String(repeating: " ", count: progressShown.count) + "\r")
        progressShown = ""
    }
}
