import FirnCore

/// Cuts a query's text into tokens. It looks at each byte once and holds nothing but its place.
struct QueryLexer {
    private let text: String
    private let bytes: [UInt8]
    private var at = 0
    /// How much of `uuid(` or `oid(` lies directly before.
    private var identifier = Identifier.none

    private enum Identifier { case none, name, bracket }

    static func tokens(of text: String) throws(QueryError) -> [QueryToken] {
        guard text.utf8.count <= Limits.queryTextByteCount else {
            throw QueryError(
                .limit, "The query has \(text.utf8.count) bytes of text; \(Limits.queryTextByteCount) are allowed.",
                advice: "Hand long lists over as an argument: 'id IN %@'.")
        }
        var lexer = QueryLexer(text)
        var tokens: [QueryToken] = []
        repeat { tokens.append(try lexer.next()) } while tokens[tokens.count - 1].kind != .end
        return tokens
    }

    private init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    private func peek(_ distance: Int = 0) -> UInt8 { at + distance < bytes.count ? bytes[at + distance] : 0 }

    private func fault(_ message: String, _ advice: String, at offset: Int) -> QueryError {
        QueryError(.syntax, message, advice: advice, at: TextPosition(text: text, offset: offset))
    }

    private mutating func next() throws(QueryError) -> QueryToken {
        while at < bytes.count, bytes[at] == 0x20 || (0x09...0x0D).contains(bytes[at]) { at += 1 }
        let start = at
        let kind = at < bytes.count ? try kind() : .end
        let token = QueryToken(kind: kind, offset: start, end: at)
        switch kind {
        case .word(let name, isEscaped: false) where name.utf8.count <= 4:
            identifier = ["UUID", "OID"].contains(token.keyword) ? .name : .none
        case .symbol("(") where identifier == .name: identifier = .bracket
        default: identifier = .none
        }
        return token
    }

    /// The digits and dashes of `uuid(…)` and `oid(…)`, which would fall into words, numbers and signs.
    private mutating func unquoted() -> QueryToken.Kind {
        let start = at
        while at < bytes.count, peek() != UInt8(ascii: ")") { at += 1 }
        return .string(String(decoding: bytes[start..<at].filter { $0 != 0x20 }, as: UTF8.self))
    }

    private mutating func kind() throws(QueryError) -> QueryToken.Kind {
        let byte = peek()
        if identifier == .bracket, !["\"", "'", ")"].contains(Unicode.Scalar(byte)) { return unquoted() }
        if Self.isDigit(byte) || (byte == UInt8(ascii: ".") && Self.isDigit(peek(1))) { return try number() }
        if byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
            if Self.isDigit(peek(1)) || peek(1) == UInt8(ascii: ".") { return try number() }
            if byte == UInt8(ascii: "-"), Self.isWordStart(peek(1)) {
                at += 1
                if case .word(let name, _) = word(), let value = Self.namedNumber(name) { return .double(-value) }
            }
            throw fault("A sign without a number.", "Queries don't calculate; write the result.", at: at)
        }
        if Self.isWordStart(byte) { return word() }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return try string()
        case UInt8(ascii: "#"):
            at += 1
            guard Self.isWordStart(peek()) else {
                throw fault("A '#' without a name.", "Write '#in' for a property named 'in'.", at: at - 1)
            }
            guard case .word(let name, _) = word() else { return .end }
            return .word(name, isEscaped: true)
        case UInt8(ascii: "%"): return try argument()
        default: return try symbol()
        }
    }

    // MARK: Words

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isWordStart(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
            || byte == UInt8(ascii: "@") || byte == UInt8(ascii: "$")
    }

    private mutating func word() -> QueryToken.Kind {
        let start = at
        at += 1
        while at < bytes.count, Self.isWordStart(bytes[at]) || Self.isDigit(bytes[at]) { at += 1 }
        return .word(String(decoding: bytes[start..<at], as: UTF8.self), isEscaped: false)
    }

    static func namedNumber(_ name: String) -> Double? {
        switch name.lowercased() {
        case "inf", "infinity": .infinity
        case "nan": .nan
        default: nil
        }
    }

    private mutating func argument() throws(QueryError) -> QueryToken.Kind {
        let start = at
        at += 1
        while [UInt8(ascii: "l"), UInt8(ascii: "h"), UInt8(ascii: "q"), UInt8(ascii: "z")].contains(peek()) { at += 1 }
        let letter = peek()
        guard "@KdDiuUxXoOfFeEgGasSc".utf8.contains(letter) else {
            throw fault(
                "'%' begins an argument, and none follows.", "Write '%@' for a value and '%K' for a key path.",
                at: start)
        }
        at += 1
        return .argument(letter)
    }

    // MARK: Symbols

    private mutating func symbol() throws(QueryError) -> QueryToken.Kind {
        let pair = [peek(), peek(1)]
        let two: String? =
            switch String(decoding: pair, as: UTF8.self) {
            case "==": "=="
            case "!=", "<>": "!="
            case "<=", "=<": "<="
            case ">=", "=>": ">="
            case "&&": "&&"
            case "||": "||"
            default: nil
            }
        if let two {
            at += 2
            return .symbol(two)
        }
        let one: String? =
            switch pair[0] {
            case UInt8(ascii: "="): "=="
            case UInt8(ascii: "<"): "<"
            case UInt8(ascii: ">"): ">"
            case UInt8(ascii: "!"): "!"
            case UInt8(ascii: "("): "("
            case UInt8(ascii: ")"): ")"
            case UInt8(ascii: "{"): "{"
            case UInt8(ascii: "}"): "}"
            case UInt8(ascii: "["): "["
            case UInt8(ascii: "]"): "]"
            case UInt8(ascii: ","): ","
            case UInt8(ascii: "."): "."
            case UInt8(ascii: ":"): ":"
            default: nil
            }
        guard let one else {
            let shown =
                (0x21...0x7E).contains(pair[0]) ? "'\(Character(Unicode.Scalar(pair[0])))'" : "The byte \(pair[0])"
            throw fault("\(shown) has no meaning in a query.", "Quote strings, and hand values over as '%@'.", at: at)
        }
        at += 1
        return .symbol(one)
    }
}

// MARK: - Literals

extension QueryLexer {
    private mutating func number() throws(QueryError) -> QueryToken.Kind {
        let start = at
        if peek() == UInt8(ascii: "-") || peek() == UInt8(ascii: "+") { at += 1 }
        if peek() == UInt8(ascii: "0"), peek(1) | 0x20 == UInt8(ascii: "x") {
            at += 2
            let digits = at
            while Self.isHexDigit(peek()) { at += 1 }
            let text = String(decoding: bytes[digits..<at], as: UTF8.self)
            guard let value = Int64((bytes[start] == UInt8(ascii: "-") ? "-" : "") + text, radix: 16) else {
                throw fault(
                    "'0x\(text)' is no integer of 64 bits.", "Write it in decimal, or hand it over as '%@'.", at: start)
            }
            return .int(value)
        }
        var isInteger = true
        while Self.isDigit(peek()) { at += 1 }
        if peek() == UInt8(ascii: "."), Self.isDigit(peek(1)) || !Self.isWordStart(peek(1)) {
            isInteger = false
            at += 1
            while Self.isDigit(peek()) { at += 1 }
        }
        if peek() | 0x20 == UInt8(ascii: "e") {
            let signed = peek(1) == UInt8(ascii: "-") || peek(1) == UInt8(ascii: "+")
            if Self.isDigit(peek(signed ? 2 : 1)) {
                isInteger = false
                at += signed ? 2 : 1
                while Self.isDigit(peek()) { at += 1 }
            }
        }
        var text = String(decoding: bytes[start..<at], as: UTF8.self)
        if text.hasPrefix("+") { text.removeFirst() }
        if isInteger, let value = Int64(text) { return .int(value) }
        // Double reads neither "5." nor more digits than it can hold exactly wrongly; an integer beyond 64 bits becomes the nearest double.
        if text.hasSuffix(".") { text.removeLast() }
        guard let value = Double(text) else {
            throw fault("'\(text)' is no number.", "Write it like 12, -0.5 or 6e23.", at: start)
        }
        return .double(value)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    private mutating func string() throws(QueryError) -> QueryToken.Kind {
        let start = at
        let quote = peek()
        at += 1
        var content: [UInt8] = []
        while at < bytes.count, bytes[at] != quote {
            guard bytes[at] == UInt8(ascii: "\\") else {
                content.append(bytes[at])
                at += 1
                continue
            }
            try escape(into: &content)
        }
        guard at < bytes.count else {
            throw fault(
                "The string that begins here has no end.",
                "Close it with the quote that opened it, or hand it over as '%@'.", at: start)
        }
        at += 1
        return .string(String(decoding: content, as: UTF8.self))
    }

    private mutating func escape(into content: inout [UInt8]) throws(QueryError) {
        let start = at
        let letter = peek(1)
        at = min(at + 2, bytes.count)
        switch letter {
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "0"): content.append(0x00)
        case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "/"), UInt8(ascii: "*"),
            UInt8(ascii: "?"):
            content.append(letter)
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            let count = letter == UInt8(ascii: "u") ? 4 : 8
            let digits = bytes[at..<min(at + count, bytes.count)]
            guard digits.count == count, digits.allSatisfy(Self.isHexDigit),
                let scalar = UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Unicode.Scalar.init)
            else {
                throw fault(
                    "This escape names no character.", "Write \\u and 4 hexadecimal digits, or \\U and 8.", at: start)
            }
            at += count
            content.append(contentsOf: Array(String(Character(scalar)).utf8))
        default:
            throw fault("This escape has no meaning.", "Write \\\\ for a backslash.", at: start)
        }
    }
}
