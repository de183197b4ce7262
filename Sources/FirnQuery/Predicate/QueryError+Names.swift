extension QueryError {
    /// Adds a hint to the error if the text at its position has a property's name in a form that a query can't read.
    /// Examples are `full name == 'x'`, `1st == 4` and `in == 3`.
    ///
    /// - Parameter names: returns the names of the properties that may be meant. It is called only if the error has a
    ///   position.
    package func hinting(_ names: () -> [String]) -> QueryError {
        guard let position, code != .limit, code != .argument else { return self }
        let place = NamePlace(position, isInPath: code != .syntax)
        let found = names().filter { PropertyPath.escaped($0) != $0 }.compactMap { name in
            place.matchingBytes(of: name).map { (name: name, count: $0) }
        }
        // The longest name is meant: `full name` rather than `full`.
        guard let name = found.max(by: { ($0.count, $1.name) < ($1.count, $0.name) })?.name else { return self }
        let written = PropertyPath.escaped(name)
        let keyPath = PropertyPath.keyPath([name])
        let hint =
            "The property '\(name)' is written \(written) in a query" + (keyPath == name ? ", or passed as '%K'." : ".")
        return QueryError(code, message, advice: "\(advice) \(hint)", at: position)
    }
}

/// The part of a query's text in which a name without its backslashes may have caused an error.
private struct NamePlace {
    private let bytes: [UInt8]
    /// The first bytes of words at which the name may begin.
    private let starts: [Int]
    /// The end of the last word before the error. A name must reach at least up to there.
    private let before: Int

    /// - Parameter isInPath: whether the error is about the path that begins at the position, not about the text there.
    init(_ position: TextPosition, isInPath: Bool) {
        bytes = Array(position.text.utf8)
        let offset = min(position.offset, bytes.count)
        var (before, end) = (offset, offset)
        while before > 0, Self.isSpace(bytes[before - 1]) { before -= 1 }
        while end < min(bytes.count, offset + 1000), !Self.isSpace(bytes[end]) { end += 1 }
        self.before = before
        let last = isInPath ? max(offset, end - 1) : offset
        // Only nearby bytes are searched, because a name is much shorter than a query may be.
        starts = (max(0, offset - 1000)...last).filter { [bytes] index in
            index < bytes.count && (index == 0 || !Self.isPartOfWord(bytes[index - 1]))
        }
    }

    /// The length of a name in the text up to the error: of the whole name, or of its first word. Nil if neither is
    /// there.
    func matchingBytes(of name: String) -> Int? {
        let name = Array(name.utf8)
        return starts.compactMap { start -> Int? in
            let isWhole = bytes[start...].starts(with: name)
            let word = isWhole ? name[...] : bytes[start...].prefix(while: PropertyPath.isWordPart)
            let end = start + word.count
            guard !word.isEmpty, end >= before, end == bytes.count || !Self.isPartOfWord(bytes[end]) else { return nil }
            guard isWhole || name.starts(with: word) && !PropertyPath.isWordPart(name[word.count]) else { return nil }
            return word.count
        }.max()
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// True for a byte of a word, and for `\` and `#`, which already mark the text behind them as a name. A name can't
    /// begin behind such a byte, or end before it.
    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        PropertyPath.isWordPart(byte) || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "#")
    }
}
