import FirnCore

/// Splits a query's text into tokens. It reads each byte once, and its only state is its position.
struct QueryLexer {
    private let text: String
    private let bytes: [UInt8]
    private var position = 0
    /// The part of `uuid(` or `oid(` that is directly before the position.
    private var identifier = Identifier.none

    private enum Identifier { case none, name, bracket }

    static func tokens(of text: String) throws(QueryError) -> [QueryToken] {
        guard text.utf8.count <= Limits.queryTextByteCount else {
            throw QueryError(
                .limit, "The query has \(text.utf8.count) bytes of text; \(Limits.queryTextByteCount) are allowed.",
                advice: "Pass long lists as an argument: 'id IN %@'.")
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

    private func peek(_ distance: Int = 0) -> UInt8 {
        position + distance < bytes.count ? bytes[position + distance] : 0
    }

    private func fault(_ message: String, _ advice: String, at offset: Int) -> QueryError {
        QueryError(.syntax, message, advice: advice, at: TextPosition(text: text, offset: offset))
    }

    private mutating func next() throws(QueryError) -> QueryToken {
        while position < bytes.count, bytes[position] == 0x20 || (0x09...0x0D).contains(bytes[position]) {
            position += 1
        }
        let start = position
        let kind = position < bytes.count ? try kind() : .end
        let token = QueryToken(kind: kind, offset: start, end: position)
        switch kind {
        case .word(let name, isEscaped: false) where name.utf8.count <= 4:
            identifier = ["UUID", "OID"].contains(token.keyword) ? .name : .none
        case .symbol("(") where identifier == .name: identifier = .bracket
        default: identifier = .none
        }
        return token
    }

    /// Reads the digits and dashes of `uuid(…)` and `oid(…)`, which would otherwise be split into words, numbers and
    /// signs.
    private mutating func unquoted() -> QueryToken.Kind {
        let start = position
        while position < bytes.count, peek() != UInt8(ascii: ")") { position += 1 }
        return .string(String(decoding: bytes[start..<position].filter { $0 != 0x20 }, as: UTF8.self))
    }

    private mutating func kind() throws(QueryError) -> QueryToken.Kind {
        let byte = peek()
        if identifier == .bracket, !["\"", "'", ")"].contains(Unicode.Scalar(byte)) { return unquoted() }
        if Self.isDigit(byte) || (byte == UInt8(ascii: ".") && Self.isDigit(peek(1))) { return try number() }
        if byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
            if Self.isDigit(peek(1)) || peek(1) == UInt8(ascii: ".") { return try number() }
            let start = position
            if byte == UInt8(ascii: "-"), Self.isWordStart(peek(1)) {
                position += 1
                if case .word(let name, _) = try word(), let value = Self.namedNumber(name) { return .double(-value) }
            }
            throw fault(
                "A sign without a number.",
                "Queries don't calculate; write the result. In a name a backslash stands before it: 'full\\-name'.",
                at: start)
        }
        if Self.isWordStart(byte) || byte == UInt8(ascii: "\\") { return try word() }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return try string()
        case UInt8(ascii: "#"):
            position += 1
            guard Self.isWordStart(peek()) else {
                throw fault("A '#' without a name.", "Write '#in' for a property named 'in'.", at: position - 1)
            }
            guard case .word(let name, _) = try word() else { return .end }
            return .word(name, isEscaped: true)
        case UInt8(ascii: "%"): return try argument()
        default: return try symbol()
        }
    }

    // MARK: Words

    private static func isDigit(_ byte: UInt8) -> Bool { PropertyPath.isDigit(byte) }
    private static func isWordStart(_ byte: UInt8) -> Bool { PropertyPath.isNameStart(byte) }

    private mutating func word() throws(QueryError) -> QueryToken.Kind {
        var name: [UInt8] = []
        var isEscaped = false
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "\\") {
                guard position + 1 < bytes.count else {
                    throw fault(
                        "A backslash without what it stands for.",
                        "Write a name with a space as 'full\\ name', or pass it as '%K'.", at: position)
                }
                isEscaped = true
                position += 1
            } else if !Self.isWordStart(bytes[position]), name.isEmpty || !Self.isDigit(bytes[position]) {
                break
            }
            name.append(bytes[position])
            position += 1
        }
        return .word(String(decoding: name, as: UTF8.self), isEscaped: isEscaped)
    }

    static func namedNumber(_ name: String) -> Double? {
        switch name.lowercased() {
        case "inf", "infinity": .infinity
        case "nan": .nan
        default: nil
        }
    }

    private mutating func argument() throws(QueryError) -> QueryToken.Kind {
        let start = position
        position += 1
        while [UInt8(ascii: "l"), UInt8(ascii: "h"), UInt8(ascii: "q"), UInt8(ascii: "z")].contains(peek()) {
            position += 1
        }
        let letter = peek()
        guard "@KdDiuUxXoOfFeEgGasSc".utf8.contains(letter) else {
            throw fault(
                "'%' begins an argument, but no argument follows.", "Write '%@' for a value and '%K' for a key path.",
                at: start)
        }
        position += 1
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
            position += 2
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
            case UInt8(ascii: "*"): "*"
            default: nil
            }
        guard let one else {
            let shown =
                (0x21...0x7E).contains(pair[0]) ? "'\(Character(Unicode.Scalar(pair[0])))'" : "The byte \(pair[0])"
            throw fault("\(shown) has no meaning in a query.", "Quote strings, and pass values as '%@'.", at: position)
        }
        position += 1
        return .symbol(one)
    }
}

// MARK: - Literals

extension QueryLexer {
    private mutating func number() throws(QueryError) -> QueryToken.Kind {
        let start = position
        if peek() == UInt8(ascii: "-") || peek() == UInt8(ascii: "+") { position += 1 }
        if peek() == UInt8(ascii: "0"), peek(1) | 0x20 == UInt8(ascii: "x") {
            position += 2
            let digits = position
            while Self.isHexDigit(peek()) { position += 1 }
            let text = String(decoding: bytes[digits..<position], as: UTF8.self)
            guard let value = Int64((bytes[start] == UInt8(ascii: "-") ? "-" : "") + text, radix: 16) else {
                throw fault(
                    "'0x\(text)' is not an integer of 64 bits.", "Write it in decimal, or pass it as '%@'.", at: start)
            }
            return .int(value)
        }
        var isInteger = true
        while Self.isDigit(peek()) { position += 1 }
        if peek() == UInt8(ascii: "."), Self.isDigit(peek(1)) || !Self.isWordStart(peek(1)) {
            isInteger = false
            position += 1
            while Self.isDigit(peek()) { position += 1 }
        }
        if peek() | 0x20 == UInt8(ascii: "e") {
            let signed = peek(1) == UInt8(ascii: "-") || peek(1) == UInt8(ascii: "+")
            if Self.isDigit(peek(signed ? 2 : 1)) {
                isInteger = false
                position += signed ? 2 : 1
                while Self.isDigit(peek()) { position += 1 }
            }
        }
        var text = String(decoding: bytes[start..<position], as: UTF8.self)
        if text.hasPrefix("+") { text.removeFirst() }
        if isInteger, let value = Int64(text) { return .int(value) }
        // `Double` can't read "5.", so the dot is removed. It reads any number of digits correctly. An integer beyond
        // 64 bits becomes the nearest double.
        if text.hasSuffix(".") { text.removeLast() }
        guard let value = Double(text) else {
            throw fault("'\(text)' is not a number.", "Write it like 12, -0.5 or 6e23.", at: start)
        }
        return .double(value)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    private mutating func string() throws(QueryError) -> QueryToken.Kind {
        let start = position
        let quote = peek()
        position += 1
        var content: [UInt8] = []
        while position < bytes.count, bytes[position] != quote {
            guard bytes[position] == UInt8(ascii: "\\") else {
                content.append(bytes[position])
                position += 1
                continue
            }
            try escape(into: &content)
        }
        guard position < bytes.count else {
            throw fault(
                "The string that begins here has no end.",
                "Close it with the quote that opened it, or pass it as '%@'.", at: start)
        }
        position += 1
        return .string(String(decoding: content, as: UTF8.self))
    }

    private mutating func escape(into content: inout [UInt8]) throws(QueryError) {
        let start = position
        let letter = peek(1)
        position = min(position + 2, bytes.count)
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
            let digits = bytes[position..<min(position + count, bytes.count)]
            guard digits.count == count, digits.allSatisfy(Self.isHexDigit),
                let scalar = UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Unicode.Scalar.init)
            else {
                throw fault(
                    "This escape does not name a character.", "Write \\u and 4 hexadecimal digits, or \\U and 8.",
                    at: start)
            }
            position += count
            content.append(contentsOf: Array(String(Character(scalar)).utf8))
        default:
            throw fault("This escape has no meaning.", "Write \\\\ for a backslash.", at: start)
        }
    }
}
