import FirnBytes

/// A terminal in which lines are edited.
///
/// Only the thread that reads lines uses it.
final class ShellScreen {
    private let prompt: String
    private let width: () -> Int
    private let readKeys: (UnsafeMutableRawBufferPointer) throws -> Int
    private let write: (String) throws -> Void
    /// Keys that came behind a line's end, as when several lines are pasted.
    private var unread: ArraySlice<UInt8> = []

    init(
        prompt: String, width: @escaping () -> Int, readKeys: @escaping (UnsafeMutableRawBufferPointer) throws -> Int,
        write: @escaping (String) throws -> Void
    ) {
        self.prompt = prompt
        self.width = width
        self.readKeys = readKeys
        self.write = write
    }

    /// Lets the person type a line. Returns nil if there are no more.
    func read(_ editor: LineEditor) throws -> String? {
        var editor = editor
        while true {
            while let byte = unread.popFirst() {
                switch editor.take(byte) {
                case nil: continue
                case .line(let line):
                    try show(editor, line)
                    try write("\r\n")
                    return line
                case .cancelled: try write("^C\r\n")
                case .end:
                    try write("\r\n")
                    return nil
                case .clear: try write("\u{1B}[H\u{1B}[2J")
                case .choices(let words):
                    let shown = words.prefix(100).map { DisplayText.line($0) }.joined(separator: "  ")
                    try write("\r\n\(shown)\(words.count > 100 ? "  …" : "")\r\n")
                }
            }
            try show(editor)
            var keys = [UInt8](repeating: 0, count: 4_096)
            let count = try keys.withUnsafeMutableBytes { try readKeys($0) }
            if count == 0 { return nil }
            unread = keys[..<count]
        }
    }

    /// Shows the part of the line around the cursor that fits on the screen.
    private func show(_ editor: LineEditor, _ line: String? = nil) throws {
        let text = line.map(Array.init) ?? editor.text
        let cursor = line == nil ? editor.cursor : text.count
        let room = max(8, width() - DisplayWidth.of(prompt) - 1)
        var (shown, taken) = ("", 0)
        var start = cursor
        while start > 0 {
            let cell = DisplayText.line(String(text[start - 1]))
            guard taken + DisplayWidth.of(cell) <= room else { break }
            taken += DisplayWidth.of(cell)
            shown = cell + shown
            start -= 1
        }
        let column = DisplayWidth.of(prompt) + taken
        for character in text[cursor...] {
            let cell = DisplayText.line(String(character))
            taken += DisplayWidth.of(cell)
            if taken > room { break }
            shown += cell
        }
        // Clears the rest of the line, and goes to the cursor's column.
        try write("\r\(prompt)\(shown)\u{1B}[K\r\u{1B}[\(column)C")
    }
}
