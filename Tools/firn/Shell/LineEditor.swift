/// A line that a person types and edits: takes the bytes of a terminal, and says what to show.
///
/// It understands the keys of Emacs, as shells do, and a terminal's arrow keys. It makes no system call, so that it can
/// be tested without a terminal. It does not use libedit or readline, which everyone who builds the command would have
/// to install.
struct LineEditor {
    enum Event: Equatable {
        /// The line is complete.
        case line(String)
        /// Ctrl-C: the line is given up.
        case cancelled
        /// Ctrl-D on an empty line: there are no more lines.
        case end
        /// Several completions are possible.
        case choices([String])
        /// Ctrl-L: the screen is cleared.
        case clear
    }

    private(set) var text: [Character] = []
    private(set) var cursor = 0
    /// Earlier lines, the oldest first.
    private let history: [String]
    /// The index of the line of the history that is shown; `history.count` for the new line.
    private var place: Int
    /// The new line, while a line of the history is shown.
    private var draft: [Character] = []
    /// The text that was cut last.
    private var cut: [Character] = []
    /// The bytes of a character or a key that are not complete yet.
    private var pending: [UInt8] = []
    private let complete: (_ before: String) -> ShellCompletion.Result

    init(history: [String], complete: @escaping (_ before: String) -> ShellCompletion.Result) {
        self.history = history
        place = history.count
        self.complete = complete
    }

    /// Takes one byte. Returns nil if it only edits the line.
    mutating func take(_ byte: UInt8) -> Event? {
        // A control character discards whatever is not complete. An ESC begins a new key.
        if byte < 0x20 || byte == 0x7F {
            pending = byte == 0x1B ? [byte] : []
            return byte == 0x1B ? nil : takeControl(byte)
        }
        if pending.first == 0x1B {
            pending.append(byte)
            return takeEscape()
        }
        // A byte that can't continue a character of UTF-8 begins the next one.
        if !pending.isEmpty, byte & 0xC0 != 0x80 { pending = [] }
        if pending.isEmpty, byte & 0xC0 == 0x80 { return nil }
        pending.append(byte)
        if let text = String(validating: pending, as: UTF8.self), let scalar = text.unicodeScalars.first {
            pending = []
            insert(scalar)
        } else if pending.count >= 4 {
            pending = []
        }
        return nil
    }

    private mutating func insert(_ scalar: Unicode.Scalar) {
        // A scalar may belong to the character before it, as an accent or a part of an emoji does.
        if cursor > 0 {
            let joined = String(text[cursor - 1]) + String(scalar)
            if joined.count == 1 {
                text[cursor - 1] = Character(joined)
                return
            }
        }
        text.insert(Character(scalar), at: cursor)
        cursor += 1
    }

    // MARK: Keys

    private mutating func takeControl(_ byte: UInt8) -> Event? {
        switch byte {
        case 0x0D, 0x0A:
            let line = String(text)
            set([])
            place = history.count
            return .line(line)
        case 0x01: cursor = 0
        case 0x02: cursor = max(0, cursor - 1)
        case 0x03:
            set([])
            place = history.count
            return .cancelled
        case 0x04:
            if text.isEmpty { return .end }
            deleteForward()
        case 0x05: cursor = text.count
        case 0x06: cursor = min(text.count, cursor + 1)
        case 0x08, 0x7F:
            guard cursor > 0 else { break }
            cursor -= 1
            text.remove(at: cursor)
        case 0x09: return completeWord()
        case 0x0B:
            cut = Array(text[cursor...])
            text.removeSubrange(cursor...)
        case 0x0C: return .clear
        case 0x0E: go(to: place + 1)
        case 0x10: go(to: place - 1)
        case 0x15:
            cut = Array(text[..<cursor])
            text.removeSubrange(..<cursor)
            cursor = 0
        case 0x17:
            let start = wordStart
            cut = Array(text[start..<cursor])
            text.removeSubrange(start..<cursor)
            cursor = start
        case 0x19:
            text.insert(contentsOf: cut, at: cursor)
            cursor += cut.count
        default: break
        }
        return nil
    }

    /// Takes a key in one of the forms `ESC [ parameters letter`, `ESC O letter` and `ESC letter`.
    private mutating func takeEscape() -> Event? {
        guard pending.count > 1 else { return nil }
        if pending[1] != UInt8(ascii: "["), pending[1] != UInt8(ascii: "O") {
            let letter = pending[1]
            pending = []
            switch letter {
            case UInt8(ascii: "b"): cursor = wordStart
            case UInt8(ascii: "f"): cursor = wordEnd
            default: break
            }
            return nil
        }
        guard pending.count > 2, let last = pending.last, (0x40...0x7E).contains(last) else {
            if pending.count > 16 { pending = [] }
            return nil
        }
        let key = String(decoding: pending.dropFirst(2), as: UTF8.self)
        pending = []
        switch key {
        case "A": go(to: place - 1)
        case "B": go(to: place + 1)
        case "C": cursor = min(text.count, cursor + 1)
        case "D": cursor = max(0, cursor - 1)
        case "H", "1~", "7~": cursor = 0
        case "F", "4~", "8~": cursor = text.count
        case "3~": deleteForward()
        case "1;5C", "1;3C": cursor = wordEnd
        case "1;5D", "1;3D": cursor = wordStart
        default: break
        }
        return nil
    }

    private mutating func deleteForward() {
        if cursor < text.count { text.remove(at: cursor) }
    }

    private var wordStart: Int {
        var start = cursor
        while start > 0, text[start - 1].isWhitespace { start -= 1 }
        while start > 0, !text[start - 1].isWhitespace { start -= 1 }
        return start
    }

    private var wordEnd: Int {
        var end = cursor
        while end < text.count, text[end].isWhitespace { end += 1 }
        while end < text.count, !text[end].isWhitespace { end += 1 }
        return end
    }

    private mutating func set(_ line: [Character]) {
        text = line
        cursor = line.count
    }

    private mutating func go(to new: Int) {
        guard new >= 0, new <= history.count, new != place else { return }
        if place == history.count { draft = text }
        place = new
        set(new == history.count ? draft : Array(history[new]))
    }

    // MARK: Completion

    private mutating func completeWord() -> Event? {
        let result = complete(String(text[..<cursor]))
        guard let first = result.words.first else { return nil }
        // The longest beginning that all of them share.
        var common = Array(first)
        for word in result.words.dropFirst() {
            let agreeing = zip(common, word).prefix { $0 == $1 }.count
            common.removeSubrange(agreeing...)
        }
        let typed = result.typedCount
        if result.words.count == 1 { common.append(contentsOf: result.suffix) }
        if common.count > typed || result.words.count == 1 {
            text.replaceSubrange(cursor - typed..<cursor, with: common)
            cursor += common.count - typed
            return nil
        }
        return .choices(result.words)
    }
}
