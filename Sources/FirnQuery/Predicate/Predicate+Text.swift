import FirnCore

/// Writes a predicate in the grammar that `PredicateParser` reads.
struct PredicateText {
    private(set) var text = ""
    private(set) var arguments: [QueryArgument] = []
    /// Whether values without a literal become `%@` and an argument. Otherwise they are described.
    private let isForParsing: Bool

    init(_ predicate: Predicate, isForParsing: Bool) {
        self.isForParsing = isForParsing
        write(predicate)
    }

    static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\0": text += "\\0"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    private mutating func write(_ predicate: Predicate) {
        switch predicate {
        case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): write(comparison)
        case .all(let parts): write(parts, " AND ", empty: "TRUEPREDICATE")
        case .any(let parts): write(parts, " OR ", empty: "FALSEPREDICATE")
        case .not(let part):
            text += "NOT ("
            write(part)
            text += ")"
        }
    }

    private mutating func write(_ parts: [Predicate], _ joint: String, empty: String) {
        if parts.isEmpty { text += empty }
        for (index, part) in parts.enumerated() {
            if index > 0 { text += joint }
            if case .comparison = part {
                write(part)
            } else {
                text += "("
                write(part)
                text += ")"
            }
        }
    }

    private mutating func write(_ comparison: Comparison) {
        switch comparison.quantifier {
        case .any: text += "ANY "
        case .all: text += "ALL "
        case .some(.none): text += "NONE "
        case nil: break
        }
        write(comparison.left)
        text += " " + comparison.operation.keyword
        if !comparison.options.isEmpty {
            text += "["
            if comparison.options.contains(.caseInsensitive) { text += "c" }
            if comparison.options.contains(.diacriticInsensitive) { text += "d" }
            text += "]"
        }
        text += " "
        write(comparison.right)
    }

    private mutating func write(_ operand: Operand) {
        switch operand {
        case .value(let value): write(value)
        case .path(let path): text += path.text
        case .values(let values):
            text += "{"
            for (index, value) in values.enumerated() {
                if index > 0 { text += ", " }
                write(value)
            }
            text += "}"
        case .region(let region):
            text += isForParsing ? "%@" : "<\(region.text)>"
            if isForParsing { arguments.append(.region(region)) }
        case .subquery(let path, let variable, let predicate):
            text += "SUBQUERY(\(path.text), \(variable), "
            write(predicate)
            text += ").@count"
        }
    }

    private mutating func write(_ value: Value) {
        switch value {
        case .null: text += "nil"
        case .bool(let value): text += value ? "true" : "false"
        case .int(let value): text += "\(value)"
        // There is only one NaN in a condition, whatever its sign and its other bits.
        case .double(let value): text += value.isNaN ? "nan" : "\(value)"
        case .string(let value): text += PredicateText.quoted(value)
        case .date(let value): text += "T\(value.seconds):\(value.nanoseconds)"
        case .uuid(let value):
            text += "uuid(\"\(PredicateText.hex(value.high, 16))\(PredicateText.hex(value.low, 16))\")"
        case .objectID(let value):
            let words = [value.words.0, value.words.1, value.words.2]
            text += "oid(\"\(words.map { PredicateText.hex(UInt64($0), 8) }.joined())\")"
        default:
            if isForParsing {
                text += "%@"
                arguments.append(.value(value))
            } else {
                text += PredicateText.described(value)
            }
        }
    }

    private static func described(_ value: Value) -> String {
        switch value {
        case .float(let value): "\(value)"
        case .data(let value): "<\(value.count) bytes>"
        case .link(let key), .typedLink(_, let key): "<object \(key)>"
        case .decimal(let value): value.text
        default: "<\(value)>"
        }
    }

    private static func hex(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }
}

extension Predicate: CustomStringConvertible {
    /// The predicate as text for people. Values without a literal are described.
    package var description: String { PredicateText(self, isForParsing: false).text }

    /// The predicate as a format and its arguments. Parsing them gives an equal predicate.
    package var format: (text: String, arguments: [QueryArgument]) {
        let text = PredicateText(self, isForParsing: true)
        return (text.text, text.arguments)
    }
}

extension Comparison.Operation {
    /// The operation as it is written in a query.
    var keyword: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .contains: "CONTAINS"
        case .like: "LIKE"
        case .in: "IN"
        case .between: "BETWEEN"
        }
    }
}
