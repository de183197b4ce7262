/// A query that can't be run: what is wrong, where in its text, and what to write instead.
///
/// Queries are text that people write and programs glue together, so every fault in one ends in this error and never in a trap.
public struct QueryError: Error, Sendable, Hashable {
    /// What kind of fault it is.
    public enum Code: Sendable, Hashable {
        /// The text can't be read.
        case syntax
        /// An argument is missing, left over, or of the wrong kind for its place.
        case argument
        /// A class has no property of that name.
        case unknownProperty
        /// The two sides can't be compared, or not by that operator.
        case type
        /// The query makes sense, but Firn has no such operation.
        case unsupported
        /// A limit of `Limits` was passed.
        case limit
    }

    public let code: Code
    /// What is wrong, in one sentence.
    public let message: String
    /// What to do about it.
    public let advice: String
    /// The text, where there is one, and the place in it.
    public let place: TextPosition?

    public init(_ code: Code, _ message: String, advice: String, at place: TextPosition? = nil) {
        self.code = code
        self.message = message
        self.advice = advice
        self.place = place
    }
}

extension QueryError: CustomStringConvertible {
    /// The message, the line of the text with a caret under the place, and the advice.
    public var description: String {
        guard let place else { return "\(message) \(advice)" }
        let (line, column) = place.excerpt()
        let caret = String(repeating: " ", count: column) + "^"
        return "\(message)\n  \(line)\n  \(caret)\n\(advice)"
    }
}

/// A place in a query's text.
public struct TextPosition: Sendable, Hashable {
    public let text: String
    /// In UTF-8 bytes from the beginning.
    public let offset: Int

    public init(text: String, offset: Int) {
        self.text = text
        self.offset = offset
    }

    /// At most 80 bytes around the place, on one line, and how many characters in the place is.
    func excerpt() -> (line: String, column: Int) {
        let bytes = Array(text.utf8)
        let at = min(max(0, offset), bytes.count)
        var start = max(0, at - 50)
        while start > 0, start < at, bytes[start] & 0xC0 == 0x80 { start += 1 }
        var end = min(bytes.count, at + 30)
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        func line(_ range: Range<Int>) -> String {
            String(decoding: bytes[range].map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
        }
        let before = (start > 0 ? "… " : "") + line(start..<at)
        return (before + line(at..<end) + (end < bytes.count ? " …" : ""), before.count)
    }
}

/// Where a part of a predicate was written, if it was. That is no part of what it says: two of them are always equal.
public struct Origin: Sendable, Hashable {
    public var place: TextPosition?

    public init(_ place: TextPosition? = nil) { self.place = place }

    public static func == (a: Origin, b: Origin) -> Bool { true }
    public func hash(into hasher: inout Hasher) {}
}
