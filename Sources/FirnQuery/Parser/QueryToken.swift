/// A token of a query's text.
struct QueryToken {
    enum Kind: Equatable {
        /// A name or keyword. A word written as `#name` is never a keyword. Names may begin with `@` or `$`.
        case word(String, isEscaped: Bool)
        case string(String)
        case int(Int64)
        case double(Double)
        /// An argument: the letter of `%@`, `%d`, `%K`…
        case argument(UInt8)
        /// A symbol such as `(`, `==` or `&&`. A symbol with several spellings has only one here.
        case symbol(String)
        case end
    }

    var kind: Kind
    /// The offsets of the start and the end, in bytes of the text.
    var offset: Int
    var end: Int

    /// The keyword that the token may be, in upper case. Nil if it can't be one.
    var keyword: String? {
        guard case .word(let name, isEscaped: false) = kind else { return nil }
        return name.utf8.allSatisfy { $0 < 0x80 } ? name.uppercased() : nil
    }

    /// The token as an error shows it.
    var spelling: String {
        switch kind {
        case .word(let name, let isEscaped): isEscaped ? "'#\(name)'" : "'\(name)'"
        case .string: "a string"
        case .int(let value): "'\(value)'"
        case .double(let value): "'\(value)'"
        case .argument(let letter): "'%\(Character(Unicode.Scalar(letter)))'"
        case .symbol(let symbol): "'\(symbol)'"
        case .end: "the end of the query"
        }
    }
}
