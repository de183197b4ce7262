import FirnCore

extension PredicateParser {
    mutating func operand() throws(QueryError) -> Operand {
        if let literal = try literal() {
            switch literal {
            case .value(let value): return .value(value)
            case .values(let values): return .values(values)
            case .region(let region): return .region(region)
            case .name(let name): return .value(.string(name))
            }
        }
        if take(symbol: "{") { return .values(try constants(until: "}")) }
        if token.keyword == "SUBQUERY", following.kind == .symbol("(") { return try subquery() }
        switch token.kind {
        case .word, .argument: return .path(try path())
        default: throw unexpected("a property or a value", "Write a comparison like 'age > 3'.")
        }
    }

    /// Reads the operand on the right of IN and BETWEEN.
    mutating func rightOfIn() throws(QueryError) -> Operand {
        if take(symbol: "(") { return .values(try constants(until: ")")) }
        let start = token
        let operand = try operand()
        if case .value = operand {
            throw QueryError(
                .type, "IN and BETWEEN compare with several values, but this is a single one.",
                advice: "Write {1, 2, 3}, a path to a collection, or '%@' with an array as its argument.",
                at: position(start))
        }
        return operand
    }

    private mutating func constants(until end: String) throws(QueryError) -> [Value] {
        var values: [Value] = []
        if take(symbol: end) { return values }
        repeat {
            guard let literal = try literal() else {
                throw unexpected("a constant", "Lists in a query hold constants only.")
            }
            switch literal {
            case .value(let value): values.append(value)
            case .values(let several): values += several
            case .region:
                throw QueryError(
                    .argument, "A region is one of several values.",
                    advice: "Write 'location IN %@' with one region, and join several by OR.", at: position(token))
            case .name(let name): values.append(.string(name))
            }
        } while take(symbol: ",")
        try expect(end, "Separate the values by commas, and close the list.")
        return values
    }

    // MARK: Constants

    /// Reads the constant that begins here, if there is one. `%K` is not a constant.
    private mutating func literal() throws(QueryError) -> QueryArgument? {
        switch token.kind {
        case .string(let text):
            take()
            return .value(.string(text))
        case .int(let value):
            take()
            return .value(.int(value))
        case .double(let value):
            take()
            return .value(.double(value))
        case .argument(let letter) where letter != UInt8(ascii: "K"):
            return try argument(for: take())
        case .word(let name, isEscaped: false):
            return try namedLiteral(name).map { .value($0) }
        default:
            return nil
        }
    }

    private mutating func namedLiteral(_ name: String) throws(QueryError) -> Value? {
        // A name before a dot is a property, even if the name is a keyword.
        guard following.kind != .symbol(".") else { return nil }
        let value: Value
        switch token.keyword {
        case "TRUE", "YES": value = .bool(true)
        case "FALSE", "NO": value = .bool(false)
        case "NIL", "NULL": value = .null
        case "INF", "INFINITY": value = .double(.infinity)
        case "NAN": value = .double(.nan)
        case "UUID" where following.kind == .symbol("("): return try bracketed("uuid", Self.uuid)
        case "OID" where following.kind == .symbol("("): return try bracketed("oid", Self.objectID)
        default: return try timestamp(name)
        }
        take()
        return value
    }

    private mutating func bracketed(_ name: String, _ read: (String) -> Value?) throws(QueryError) -> Value {
        take()
        take()
        let start = token
        let digits: String? = if case .string(let text) = token.kind { text } else { nil }
        if digits != nil { take() }
        guard let value = digits.flatMap(read) else {
            throw QueryError(
                .syntax, "'\(digits ?? "")' is not a valid \(name).",
                advice: name == "oid"
                    ? "Write 24 hexadecimal digits." : "Write 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12.",
                at: position(start))
        }
        try expect(")", "Close the bracket.")
        return value
    }

    /// Reads `T1700000000:5`: seconds since 1970 and nanoseconds.
    private mutating func timestamp(_ name: String) throws(QueryError) -> Value? {
        guard let first = name.utf8.first, first | 0x20 == UInt8(ascii: "t"), token.keyword != nil else { return nil }
        let seconds: Int64
        if let digits = Int64(name.dropFirst()), following.kind == .symbol(":") {
            seconds = digits
            take()
        } else if name.utf8.count == 1, case .int(let negative) = following.kind, negative < 0, isDate {
            // The lexer read the sign as part of a number.
            seconds = negative
            take()
            take()
        } else {
            return nil
        }
        take()
        guard case .int(let nanoseconds) = token.kind, abs(nanoseconds.clamped) <= 999_999_999 else {
            throw unexpected("nanoseconds", "Write a date as T, seconds since 1970, ':' and nanoseconds.")
        }
        guard seconds == 0 || nanoseconds == 0 || (seconds < 0) == (nanoseconds < 0) else {
            throw unexpected(
                "nanoseconds with the sign of the seconds",
                "Write both with one sign: T-1:-500000000 is half a second before T-1:0.")
        }
        take()
        return .date(Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)))
    }

    // MARK: Paths

    mutating func path() throws(QueryError) -> PropertyPath {
        let start = token
        var path = PropertyPath([], position: position(start))
        if case .word(let name, isEscaped: false) = token.kind, name.hasPrefix("$") {
            path.variable = name
            take()
        } else if token.keyword == "SELF" {
            take()
        } else {
            try component(of: &path)
        }
        while true {
            if take(symbol: ".") {
                try component(of: &path)
            } else if token.kind == .symbol("[") {
                take()
                try subscripted(&path)
            } else {
                break
            }
        }
        guard path.components.count + path.elementPath.count <= Limits.queryPathLength else {
            throw QueryError(
                .limit, "The path has more than \(Limits.queryPathLength) properties.",
                advice: "Query in two steps.", at: path.position)
        }
        return path
    }

    private mutating func component(of path: inout PropertyPath) throws(QueryError) {
        let start = token
        switch token.kind {
        case .word(let name, let isEscaped):
            take()
            try add(KeyPathName(name, isOperator: !isEscaped && name.hasPrefix("@")), to: &path, start)
        case .argument(UInt8(ascii: "K")):
            let text: String
            switch try argument(for: take()) {
            case .name(let name), .value(.string(let name)): text = name
            default:
                throw QueryError(
                    .argument, "The argument for '%K' is not a key path.",
                    advice: "Give the name of a property, as a string.", at: position(start))
            }
            for part in PropertyPath.names(in: text) { try add(part, to: &path, start) }
        default:
            throw unexpected(
                "the name of a property", "A path continues after its dot; '#in' is a property named 'in'.")
        }
    }

    private func add(_ name: KeyPathName, to path: inout PropertyPath, _ start: QueryToken) throws(QueryError) {
        let aggregate: PropertyPath.Aggregate? =
            switch name.isOperator ? name.text.lowercased() : "" {
            case "@count", "@size": .count
            case "@min": .min
            case "@max": .max
            case "@sum": .sum
            case "@avg", "@average": .average
            default: nil
            }
        if name.text.isEmpty {
            throw QueryError(
                .syntax, "A name on the path is empty.", advice: "Write a key path like 'dog.owner.name'.",
                at: position(start))
        }
        if let aggregate {
            guard path.aggregate == nil else {
                throw QueryError(
                    .unsupported, "A path can contain only one of @count, @min, @max, @sum and @avg.",
                    advice: "Remove the inner one, or use SUBQUERY.", at: position(start))
            }
            path.aggregate = aggregate
            return
        }
        let component: PropertyPath.Component = name.isOperator ? .keyword(name.text) : .name(name.text)
        if path.aggregate == nil { path.components.append(component) } else { path.elementPath.append(component) }
    }

    private mutating func subscripted(_ path: inout PropertyPath) throws(QueryError) {
        let start = token
        guard path.aggregate == nil, !path.components.isEmpty else {
            throw unexpected("an operator", "Only maps, lists and mixed values have elements by key.")
        }
        if take(keyword: "SIZE") {
            path.aggregate = .count
        } else if take(keyword: "FIRST") {
            path.components.append(.index(0))
        } else if take(symbol: "*") {
            path.components.append(.each)
        } else {
            switch try literal() {
            case .value(.string(let key)), .name(let key): path.components.append(.key(key))
            case .value(.int(let index)) where index >= 0 && index < Int64(Limits.listCount):
                path.components.append(.index(Int(index)))
            default:
                throw QueryError(
                    .syntax, "The element's key is neither a string nor an index from 0 on.",
                    advice: "Write map['key'], list[0], or mixed[*] for each element of a mixed value.",
                    at: position(start))
            }
        }
        try expect("]", "Close the bracket.")
    }

    // MARK: SUBQUERY

    private mutating func subquery() throws(QueryError) -> Operand {
        take()
        take()
        let path = try path()
        try expect(",", "Write SUBQUERY(list, $x, $x.age > 3).@count.")
        guard case .word(let variable, isEscaped: false) = token.kind, variable.hasPrefix("$"), variable.utf8.count > 1
        else {
            throw unexpected("a variable", "Name the element like '$x'.")
        }
        take()
        try expect(",", "Write SUBQUERY(list, $x, $x.age > 3).@count.")
        let predicate = try nested { (parser) throws(QueryError) in try parser.disjunction() }
        try expect(")", "Close the bracket of SUBQUERY.")
        guard take(symbol: "."), token.keyword == "@COUNT" || token.keyword == "@SIZE" else {
            throw unexpected(
                "'.@count'", "Only the number of what SUBQUERY finds can be compared: SUBQUERY(…).@count > 0.")
        }
        take()
        return .subquery(path: path, variable: variable, predicate: predicate)
    }
}

// MARK: - Identifiers in hexadecimal

extension PredicateParser {
    static func uuid(_ text: String) -> Value? {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count)
        guard groups == [8, 4, 4, 4, 12] || groups == [32] else { return nil }
        let digits = text.filter { $0 != "-" }
        guard let high = hex(digits.prefix(16)), let low = hex(digits.suffix(16)) else { return nil }
        return .uuid(UUIDBytes(high: high, low: low))
    }

    static func objectID(_ text: String) -> Value? {
        guard text.utf8.count == 24, let a = hex(text.prefix(8)), let b = hex(text.dropFirst(8)) else { return nil }
        return .objectID(
            ObjectIDBytes(a: UInt32(a), b: UInt32(truncatingIfNeeded: b >> 32), c: UInt32(truncatingIfNeeded: b)))
    }

    private static func hex(_ digits: Substring) -> UInt64? {
        // `UInt64.init` would also accept a leading sign.
        digits.utf8.first.map { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") } == false
            ? UInt64(digits, radix: 16) : nil
    }
}

extension Int64 {
    /// The value itself, except for the one value whose magnitude doesn't fit in an Int64.
    fileprivate var clamped: Int64 { Swift.max(self, -Int64.max) }
}
