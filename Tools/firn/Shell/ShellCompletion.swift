import FirnCore
import FirnQuery

/// Completes words in a line of `firn shell`. The line begins with a subcommand or a class name. Then come property
/// names, also behind the dots of a path, and the words of queries.
struct ShellCompletion {
    struct Result: Equatable {
        /// The possible words, in their order.
        var words: [String] = []
        /// How many characters of the word are typed already.
        var typedCount = 0
        /// The text that is added behind the word if only one is possible.
        var suffix = " "
    }

    let schema: StoreSchema
    let subcommands: [String]

    private static let queryWords = [
        "ALL", "AND", "ANY", "BEGINSWITH", "BETWEEN", "CONTAINS", "DISTINCT(", "ENDSWITH", "FALSEPREDICATE", "IN",
        "LIKE", "LIMIT(", "NONE", "NOT", "OR", "SORT(", "SUBQUERY(", "TRUEPREDICATE", "WHERE",
    ]

    func callAsFunction(_ before: String) -> Result {
        let typed = String(before.reversed().prefix { !Self.separates($0) }.reversed())
        let head = before.dropLast(typed.count)
        let words = head.split { $0.isWhitespace }
        guard let first = words.first.map(String.init) else {
            return choose(subcommands + classNames, typed)
        }
        guard let subcommand = subcommands.first(where: { $0 == first }) else {
            return schema.table(named: first).map { completeQuery(typed, $0) } ?? Result()
        }
        switch subcommand {
        case "query", "explain":
            guard words.count > 1 else { return choose(classNames, typed) }
            let name = words[1].drop { $0 == "'" || $0 == "\"" }
            return schema.table(named: String(name)).map { completeQuery(typed, $0) } ?? Result()
        case "help": return choose(subcommands, typed)
        default: return choose(classNames, typed)
        }
    }

    private static func separates(_ character: Character) -> Bool {
        character.isWhitespace || "()[]{},=!<>&|'\"+-*/".contains(character)
    }

    private var classNames: [String] {
        schema.tables.filter { !$0.isRemoved && !$0.isEmbedded }.map(\.name).sorted()
    }

    /// Properties of the class, or of the class that a path leads to, and words of queries.
    private func completeQuery(_ typed: String, _ table: TableID) -> Result {
        let steps = typed.split(separator: ".", omittingEmptySubsequences: false)
        var target = table
        for step in steps.dropLast() {
            guard let column = schema[target].column(named: String(step)),
                let next = schema[target].columns[column].target
            else { return Result() }
            target = next
        }
        let last = String(steps.last ?? "")
        let columns = schema[target].columns.filter { !$0.isRemoved }
        let names = columns.map { PropertyPath.escaped($0.name) }
        var result = choose(names + (steps.count == 1 ? Self.queryWords : []), last)
        if result.words.count == 1, let column = names.firstIndex(of: result.words[0]),
            columns[column].target != nil
        {
            result.suffix = ""
        }
        return result
    }

    /// The words that begin with what is typed. If there are none, upper and lower case count as the same.
    private func choose(_ words: [String], _ typed: String) -> Result {
        let folded = typed.lowercased()
        var found = words.filter { $0.hasPrefix(typed) }
        if found.isEmpty { found = words.filter { $0.lowercased().hasPrefix(folded) } }
        var result = Result(words: found, typedCount: typed.count)
        if found.count == 1, found[0].hasSuffix("(") { result.suffix = "" }
        return result
    }
}
