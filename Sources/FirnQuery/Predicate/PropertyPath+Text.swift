extension PropertyPath {
    /// The path as it is written in a query.
    package var text: String {
        var text = variable ?? ""
        func add(_ components: [Component]) {
            for component in components {
                switch component {
                case .name(let name): text += (text.isEmpty ? "" : ".") + PropertyPath.escaped(name)
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

    private static func escaped(_ name: String) -> String { keywords.contains(name.uppercased()) ? "#" + name : name }
}

extension PropertyPath.Aggregate {
    /// The aggregate as it is written in a path.
    var keyword: String {
        switch self {
        case .count: "@count"
        case .min: "@min"
        case .max: "@max"
        case .sum: "@sum"
        case .average: "@avg"
        }
    }
}
