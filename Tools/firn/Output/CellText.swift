import FirnBytes

/// Values as text: shortened for people, in full for programs.
enum CellText {
    /// How many characters of a text, and how many elements of a collection, are shown.
    static let characterCount = 60
    static let elementCount = 12

    static func text(_ cell: Cell, _ schema: DecodedSchema? = nil) -> String {
        switch cell {
        case .null: return "nil"
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .float(let value): return "\(value)"
        case .double(let value): return "\(value)"
        case .string(let bytes): return quoted(bytes)
        case .data(let bytes):
            let shown = bytes.prefix(16).map { hexadecimal(UInt64($0), digits: 2) }.joined()
            return "<\(shown)\(bytes.count > 16 ? "…" : "")> (\(bytes.count) B)"
        case .date(let seconds, let nanoseconds): return TimeText.exact(seconds: seconds, nanoseconds: nanoseconds)
        case .objectID(let bytes): return bytes.map { hexadecimal(UInt64($0), digits: 2) }.joined()
        case .uuid(let high, let low): return uuid(high, low)
        case .decimal(let high, let low): return DecimalText.text(high, low)
        case .link(let key): return "#\(key)"
        case .anyLink(let table, let key): return "\(schema?.shownName(table) ?? "table \(table)") #\(key)"
        case .list(let elements): return "[" + shortened(elements) { text($0, schema) } + "]"
        case .set(let elements): return "{" + shortened(elements) { text($0, schema) } + "}"
        case .map(let entries):
            return "[" + (entries.isEmpty ? ":" : shortened(entries) { "\(quoted($0.key)): \(text($0.value, schema))" })
                + "]"
        }
    }

    static func json(_ cell: Cell, _ schema: DecodedSchema? = nil) -> JSON {
        switch cell {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .float(let value): return value.isFinite ? .number("\(value)") : .string("\(value)")
        case .double(let value): return .double(value)
        case .string(let bytes): return .string(String(decoding: bytes, as: UTF8.self))
        case .data(let bytes): return .string(Base64.text(bytes))
        case .date, .objectID, .uuid, .decimal: return .string(text(cell, schema))
        case .link(let key): return .int(key)
        case .anyLink(let table, let key):
            return .object([("class", .string(schema?.name(table) ?? "table \(table)")), ("key", .int(key))])
        case .list(let elements), .set(let elements): return .array(elements.map { json($0, schema) })
        case .map(let entries):
            return .object(entries.map { (String(decoding: $0.key, as: UTF8.self), json($0.value, schema)) })
        }
    }

    /// A value for the output: as JSON, or as a text.
    static func shown(_ cell: Cell, _ schema: DecodedSchema? = nil, isJSON: Bool) -> JSON {
        isJSON ? json(cell, schema) : .string(text(cell, schema))
    }

    private static func shortened<T>(_ elements: [T], _ text: (T) -> String) -> String {
        var shown = elements.prefix(elementCount).map(text)
        if elements.count > elementCount { shown.append("… \(elements.count - elementCount) more") }
        return shown.joined(separator: ", ")
    }

    static func quoted(_ bytes: UnsafeRawBufferPointer) -> String {
        // A scalar has at most 4 bytes, so the piece holds all that are shown. A scalar that is split at its end is not
        // among these.
        let piece = String(decoding: bytes.prefix(characterCount * 4 + 4), as: UTF8.self)
        let shown = piece.unicodeScalars.prefix(characterCount)
        var out = "\""
        var display = DisplayText()
        for scalar in shown {
            if scalar == "\"" || scalar == "\\" { out += "\\" }
            display.append(scalar, to: &out)
        }
        if shown.count < piece.unicodeScalars.count || bytes.count > characterCount * 4 + 4 {
            return out + "…\" (\(bytes.count) B)"
        }
        return out + "\""
    }

    static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        let digits = Array((hexadecimal(high, digits: 16) + hexadecimal(low, digits: 16)).uppercased())
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}

/// 128-bit decimals of IEEE 754-2008 whose coefficient is a binary integer.
enum DecimalText {
    static func text(_ high: UInt64, _ low: UInt64) -> String {
        let sign = high >> 63 != 0 ? "-" : ""
        if high >> 58 & 0x1F == 0x1F { return NaNText.text(decimal: high, low) }
        if high >> 58 & 0x1F == 0x1E { return sign + "Infinity" }
        // If both bits are set, the coefficient would have more than 34 digits: such a number counts as zero.
        let isLarge = high >> 61 & 3 == 3
        let exponent = Int(high >> (isLarge ? 47 : 49) & 0x3FFF) - 6_176
        var coefficient = isLarge ? 0 : UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
        if coefficient >= 10_000_000_000_000_000_000_000_000_000_000_000 { coefficient = 0 }
        let digits = String(coefficient)
        let adjusted = exponent + digits.count - 1
        if exponent == 0 { return sign + digits }
        if exponent < 0, adjusted >= -6 {
            if digits.count > -exponent { return sign + digits.dropLast(-exponent) + "." + digits.suffix(-exponent) }
            return sign + "0." + String(repeating: "0", count: -exponent - digits.count) + digits
        }
        let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
        return "\(sign)\(digits.prefix(1))\(fraction)E\(adjusted < 0 ? "" : "+")\(adjusted)"
    }
}
