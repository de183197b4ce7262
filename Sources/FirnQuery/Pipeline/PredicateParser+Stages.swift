import FirnCore

/// The stages that may follow the condition in a query's text, up to `Limits.queryStageCount` in any order. Each works
/// on the result of the stage before:
///
/// ```
/// query       predicate { stage }
/// stage       SORT ( path [order] { , path [order] } ) | DISTINCT ( path { , path } ) | LIMIT ( count )
/// order       ASC | ASCENDING | DESC | DESCENDING
/// ```
extension QueryPipeline {
    /// Parses a text such as `age > 3 SORT(name ASC, age DESC) DISTINCT(city) LIMIT(10)` into stages. The condition
    /// becomes a filter, which is the first stage.
    ///
    /// - Throws: `QueryError` with the position in the text. Cost: linear in the text.
    package static func stages(
        parsing text: String, _ arguments: [QueryArgument] = []
    ) throws(QueryError) -> [Stage] {
        var parser = try PredicateParser(text, arguments)
        return try parser.wholeQuery()
    }
}

extension PredicateParser {
    fileprivate mutating func wholeQuery() throws(QueryError) -> [QueryPipeline.Stage] {
        var stages: [QueryPipeline.Stage] = [.filter(try disjunction())]
        while let stage = try stage() {
            stages.append(stage)
            try checkCount(stages.count - 1)
        }
        try finish("AND, OR, SORT, DISTINCT, LIMIT or the end", "Join two conditions with AND or OR.")
        return stages
    }

    private mutating func stage() throws(QueryError) -> QueryPipeline.Stage? {
        if take(keyword: "SORT") {
            return .sort(
                try inBrackets("Write SORT(name ASC, age DESC).") { parser throws(QueryError) in
                    try parser.sortDescriptor()
                })
        }
        if take(keyword: "DISTINCT") {
            return .distinct(
                try inBrackets("Write DISTINCT(name, age).") { parser throws(QueryError) in try parser.stagePath() })
        }
        if take(keyword: "LIMIT") {
            let counts = try inBrackets("Write LIMIT(10).") { parser throws(QueryError) in try parser.limit() }
            guard counts.count == 1 else { throw unexpected("one number", "Write LIMIT(10).") }
            return .limit(counts[0])
        }
        return nil
    }

    /// Reads one or more parts between brackets, with commas between the parts.
    private mutating func inBrackets<Part>(
        _ advice: String, _ part: (inout PredicateParser) throws(QueryError) -> Part
    ) throws(QueryError) -> [Part] {
        try expect("(", advice)
        var parts = [try part(&self)]
        while take(symbol: ",") {
            parts.append(try part(&self))
            try checkCount(parts.count)
        }
        try expect(")", advice)
        return parts
    }

    private func checkCount(_ count: Int) throws(QueryError) {
        guard count > Limits.queryStageCount else { return }
        throw QueryError(
            .limit,
            "The query has more than \(Limits.queryStageCount) sorts, distincts and limits, or properties in one of them.",
            advice: "Leave out those that change nothing.", at: position(token))
    }

    private mutating func stagePath() throws(QueryError) -> PropertyPath {
        switch token.kind {
        case .word, .argument(UInt8(ascii: "K")): return try path()
        default: throw unexpected("the name of a property", "Write a key path like 'dog.owner.name'.")
        }
    }

    private mutating func sortDescriptor() throws(QueryError) -> SortDescriptor {
        let path = try stagePath()
        if take(keyword: "DESC") || take(keyword: "DESCENDING") { return SortDescriptor(path, ascending: false) }
        _ = take(keyword: "ASC") || take(keyword: "ASCENDING")
        return SortDescriptor(path)
    }

    private mutating func limit() throws(QueryError) -> Int {
        let start = token
        let count: QueryArgument? =
            if case .argument = start.kind { try argument(for: take()) } else { nil }
        switch (count, start.kind) {
        case (.value(.int(let value))?, _) where value >= 0: return Int(clamping: value)
        case (nil, .int(let value)) where value >= 0:
            take()
            return Int(clamping: value)
        default:
            throw QueryError(
                .syntax, "LIMIT takes a number from 0 on, not \(start.spelling).", advice: "Write LIMIT(10).",
                at: position(start))
        }
    }
}
