extension PropertyPath {
    /// The path as it is written in a query.
    package var text: String {
        var text = variable ?? ""
        func add(_ components: [Component]) {
            for component in components {
                switch component {
                case .name(let name): text += (text.isEmpty ? "" : ".") + PropertyPath.escaped(name)
                case .keyword(let word): text += (text.isEmpty ? "" : ".") + word
                case .key(let key): text += "[\(PredicateText.quoted(key))]"
                case .index(let index): text += "[\(index)]"
                case .each: text += "[*]"
                }
            }
        }
        add(components)
        if let aggregate { text += (text.isEmpty ? "" : ".") + aggregate.keyword }
        add(elementPath)
        return text.isEmpty ? "SELF" : text
    }

    private static let keywords: Set<String> = [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE",
        "MATCHES",
        "TRUE", "FALSE", "YES", "NO", "NIL", "NULL", "INF", "INFINITY", "NAN", "SELF", "SUBQUERY", "TRUEPREDICATE",
        "FALSEPREDICATE", "UUID", "OID", "FIRST", "SIZE",
    ]

    /// Whether a name may begin with this byte. Within a name, all bytes but these and digits need a backslash before
    /// them.
    static func isNameStart(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
            || byte == UInt8(ascii: "@") || byte == UInt8(ascii: "$")
    }

    /// Whether a byte needs no backslash behind the first byte of a name.
    static func isWordPart(_ byte: UInt8) -> Bool { isNameStart(byte) || isDigit(byte) }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// A property's name as it is written in a query.
    package static func escaped(_ name: String) -> String {
        if keywords.contains(name.uppercased()) { return "#" + name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            // At the beginning, `@` makes a keyword and `$` a variable.
            let isPlain = bytes.isEmpty ? isNameStart(byte) && byte != 0x40 && byte != 0x24 : isWordPart(byte)
            if !isPlain { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension PropertyPath.Aggregate {
    /// The aggregate as it is written in a path.
    package var keyword: String {
        switch self {
        case .count: "@count"
        case .min: "@min"
        case .max: "@max"
        case .sum: "@sum"
        case .average: "@avg"
        }
    }
}
