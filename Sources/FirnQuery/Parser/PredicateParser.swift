import FirnCore

/// Parses a query's text in the grammar of Realm and NSPredicate.
///
/// ```
/// predicate   conjunction { (OR ||) conjunction }
/// conjunction negation { (AND &&) negation }
/// negation    [NOT !] negation | ( predicate ) | TRUEPREDICATE | FALSEPREDICATE | comparison
/// comparison  [ANY SOME ALL NONE] operand operator [ "[c]" "[d]" "[cd]" ] operand
/// operator    == = != <> < <= =< > >= => BEGINSWITH ENDSWITH CONTAINS LIKE IN BETWEEN
/// operand     path | constant | %@ | { constant, … } | SUBQUERY(path, $x, predicate).@count
/// path        (name %K $x SELF) { .name | .%K | [key] } [ .@count | .@min[.path] | .@max | .@sum | .@avg ]
/// constant    12 -0.5 6e23 0xff inf nan 'text' "text" true yes false no nil null uuid(…) oid(…) Tseconds:nanoseconds
/// ```
///
/// See `PredicateParser+Stages` for the stages that may follow a predicate in a query.
///
/// Keywords are accepted in any case. `#name` is a property whose name is a keyword. In a name, a backslash is required
/// before a byte that is no letter, digit or underscore, and before a digit at the beginning. Examples are
/// `Installed\-Size`, `full\ name` and `\@id`. In an argument for `%K`, it is required only before a dot, a backslash,
/// and an `@` at the beginning.
///
/// The text is untrusted: the parser throws a `QueryError` with the position, never traps, and limits its recursion to
/// `Limits.queryNesting`.
struct PredicateParser {
    let text: String
    private let tokens: [QueryToken]
    private var position = 0
    private var depth = 0
    private let arguments: [QueryArgument]
    private var argumentsUsed = 0

    init(_ text: String, _ arguments: [QueryArgument]) throws(QueryError) {
        self.text = text
        self.arguments = arguments
        tokens = try QueryLexer.tokens(of: text)
    }

    // MARK: Entries

    mutating func wholePredicate() throws(QueryError) -> Predicate {
        let predicate = try disjunction()
        try finish("AND, OR or the end", "Join two conditions with AND or OR.")
        return predicate
    }

    /// Checks that the text ends here, and that all arguments have been used.
    func finish(_ wanted: String, _ advice: String) throws(QueryError) {
        guard token.kind == .end else { throw unexpected(wanted, advice) }
        if argumentsUsed < arguments.count {
            throw QueryError(
                .argument,
                "The query takes \(argumentsUsed) arguments, but \(arguments.count) were given.",
                advice: "Give one argument for each '%'.", at: TextPosition(text: text, offset: text.utf8.count))
        }
    }

    mutating func lonePath() throws(QueryError) -> PropertyPath {
        guard case .word = token.kind else {
            throw unexpected("the name of a property", "Write a key path like 'dog.owner.name'.")
        }
        let path = try path()
        try finish("AND, OR or the end", "Join two conditions with AND or OR.")
        return path
    }

    // MARK: Tokens

    var token: QueryToken { tokens[position] }
    var following: QueryToken { tokens[min(position + 1, tokens.count - 1)] }

    /// Whether the token after the next one is a colon, as in `T-5:0`.
    var isDate: Bool { position + 2 < tokens.count && tokens[position + 2].kind == .symbol(":") }

    func position(_ token: QueryToken) -> TextPosition { TextPosition(text: text, offset: token.offset) }

    @discardableResult
    mutating func take() -> QueryToken {
        let token = tokens[position]
        if position < tokens.count - 1 { position += 1 }
        return token
    }

    mutating func take(symbol: String) -> Bool {
        guard token.kind == .symbol(symbol) else { return false }
        take()
        return true
    }

    mutating func take(keyword: String) -> Bool {
        guard token.keyword == keyword else { return false }
        take()
        return true
    }

    mutating func expect(_ symbol: String, _ advice: String) throws(QueryError) {
        guard take(symbol: symbol) else { throw unexpected("'\(symbol)'", advice) }
    }

    func unexpected(_ wanted: String, _ advice: String) -> QueryError {
        QueryError(.syntax, "Expected \(wanted), found \(token.spelling).", advice: advice, at: position(token))
    }

    /// Consumes and returns the next argument.
    mutating func argument(for token: QueryToken) throws(QueryError) -> QueryArgument {
        guard argumentsUsed < arguments.count else {
            throw QueryError(
                .argument, "No argument is left for \(token.spelling): \(arguments.count) were given.",
                advice: "Give one argument for each '%'.", at: position(token))
        }
        argumentsUsed += 1
        return arguments[argumentsUsed - 1]
    }

    mutating func nested<T>(_ body: (inout PredicateParser) throws(QueryError) -> T) throws(QueryError) -> T {
        guard depth < Limits.queryNesting else {
            throw QueryError(
                .limit, "The query is nested more than \(Limits.queryNesting) deep.",
                advice: "Leave out brackets that only join ANDs or ORs of one kind.", at: position(token))
        }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    // MARK: Logic

    mutating func disjunction() throws(QueryError) -> Predicate {
        var parts = [try conjunction()]
        while take(symbol: "||") || take(keyword: "OR") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func conjunction() throws(QueryError) -> Predicate {
        var parts = [try negation()]
        while take(symbol: "&&") || take(keyword: "AND") { parts.append(try negation()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func negation() throws(QueryError) -> Predicate {
        if take(symbol: "!") || take(keyword: "NOT") {
            return .not(try nested { (parser) throws(QueryError) in try parser.negation() })
        }
        if take(symbol: "(") {
            let inner = try nested { (parser) throws(QueryError) in try parser.disjunction() }
            try expect(")", "Close the bracket.")
            return inner
        }
        if take(keyword: "TRUEPREDICATE") { return .constant(true) }
        if take(keyword: "FALSEPREDICATE") { return .constant(false) }
        return try comparison()
    }

    // MARK: Comparisons

    private mutating func comparison() throws(QueryError) -> Predicate {
        let start = token
        let quantifier: Comparison.Quantifier? =
            switch token.keyword {
            case "ANY", "SOME": .any
            case "ALL": .all
            case "NONE": Comparison.Quantifier.none
            default: nil
            }
        if quantifier != nil { take() }
        let left = try operand()
        let (operation, options) = try operation()
        let right: Operand = operation == .in || operation == .between ? try rightOfIn() : try operand()
        let comparison = Comparison(
            quantifier: quantifier, left: left, operation: operation, options: options, right: right,
            position: position(start))
        return .comparison(comparison)
    }

    private mutating func operation() throws(QueryError) -> (Comparison.Operation, Comparison.Options) {
        let operation: Comparison.Operation
        switch (token.kind, token.keyword) {
        case (.symbol("=="), _): operation = .equal
        case (.symbol("!="), _): operation = .notEqual
        case (.symbol("<"), _): operation = .less
        case (.symbol("<="), _): operation = .lessOrEqual
        case (.symbol(">"), _): operation = .greater
        case (.symbol(">="), _): operation = .greaterOrEqual
        case (_, "BEGINSWITH"): operation = .beginsWith
        case (_, "ENDSWITH"): operation = .endsWith
        case (_, "CONTAINS"): operation = .contains
        case (_, "LIKE"): operation = .like
        case (_, "IN"): operation = .in
        case (_, "BETWEEN"): operation = .between
        case (_, "MATCHES"):
            throw QueryError(
                .unsupported, "Regular expressions (MATCHES) are not supported.",
                advice: "Use LIKE with * and ?, CONTAINS, BEGINSWITH or ENDSWITH.", at: position(token))
        default:
            throw unexpected("an operator", "Write a comparison like 'age > 3'; a Bool property like 'active == true'.")
        }
        take()
        var options: Comparison.Options = []
        if token.kind == .symbol("[") {
            take()
            guard case .word(let letters, _) = token.kind, letters.lowercased().allSatisfy({ $0 == "c" || $0 == "d" })
            else {
                throw unexpected("c, d or cd", "[c] ignores case, [d] diacritics, [cd] both.")
            }
            if letters.lowercased().contains("c") { options.insert(.caseInsensitive) }
            if letters.lowercased().contains("d") { options.insert(.diacriticInsensitive) }
            take()
            try expect("]", "Write the options as [c], [d] or [cd].")
        }
        return (operation, options)
    }
}

extension Predicate {
    /// Parses a predicate from text. `arguments` replace its `%@`, `%K`… in order.
    ///
    ///     try Predicate(parsing: "age > %@ AND name BEGINSWITH[c] 'j'", [.value(.int(3))])
    ///
    /// - Throws: `QueryError` with the position in the text. Cost: linear in the text.
    package init(parsing text: String, _ arguments: [QueryArgument] = []) throws(QueryError) {
        var parser = try PredicateParser(text, arguments)
        self = try parser.wholePredicate()
    }
}
