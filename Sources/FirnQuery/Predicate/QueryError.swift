/// A query that can't be run: what is wrong, where in its text, and what to write instead.
///
/// People write queries as text, and programs assemble them, so every fault in a query ends in this error and never
/// in a trap.
package struct QueryError: Error, Sendable, Hashable {
    /// The kind of the fault.
    package enum Code: Sendable, Hashable {
        /// The text can't be parsed.
        case syntax
        /// An argument is missing, superfluous, or of the wrong kind for its position.
        case argument
        /// A class has no property of that name.
        case unknownProperty
        /// The two sides can't be compared at all, or not by this operator.
        case type
        /// The query is meaningful, but Firn has no such operation.
        case unsupported
        /// A limit of `Limits` was exceeded.
        case limit
    }

    package let code: Code
    /// What is wrong, in one sentence.
    package let message: String
    /// What to do about it.
    package let advice: String
    /// The position in the query's text, if the query has a text.
    package let position: TextPosition?

    package init(_ code: Code, _ message: String, advice: String, at position: TextPosition? = nil) {
        self.code = code
        self.message = message
        self.advice = advice
        self.position = position
    }
}

extension QueryError: CustomStringConvertible {
    /// The message, the line of the text with a caret under the position, and the advice.
    package var description: String {
        guard let position else { return "\(message) \(advice)" }
        let (line, column) = position.excerpt()
        let caret = String(repeating: " ", count: column) + "^"
        return "\(message)\n  \(line)\n  \(caret)\n\(advice)"
    }
}

/// A position in a query's text.
package struct TextPosition: Sendable, Hashable {
    package let text: String
    /// The offset in UTF-8 bytes from the beginning.
    package let offset: Int

    package init(text: String, offset: Int) {
        self.text = text
        self.offset = offset
    }

    /// At most 80 bytes around the position, on one line, and the number of characters before the position.
    func excerpt() -> (line: String, column: Int) {
        let bytes = Array(text.utf8)
        let position = min(max(0, offset), bytes.count)
        var start = max(0, position - 50)
        while start > 0, start < position, bytes[start] & 0xC0 == 0x80 { start += 1 }
        var end = min(bytes.count, position + 30)
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        func line(_ range: Range<Int>) -> String {
            String(decoding: bytes[range].map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
        }
        let before = (start > 0 ? "… " : "") + line(start..<position)
        return (before + line(position..<end) + (end < bytes.count ? " …" : ""), before.count)
    }
}

/// The position at which a part of a predicate was written, if it was written as text. It does not belong to the
/// predicate's meaning: two origins are always equal.
package struct Origin: Sendable, Hashable {
    package var position: TextPosition?

    package init(_ position: TextPosition? = nil) { self.position = position }

    package static func == (a: Origin, b: Origin) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}
