extension Comparison {
    /// The error for a comparison of two constants.
    var constantsFault: QueryError {
        QueryError(
            .type, "A constant is compared with a constant.",
            advice:
                "Write a property's name without quotes. A backslash stands before a space, hyphen or other sign in it, or pass the name as '%K'. TRUEPREDICATE finds all objects.",
            at: position)
    }
}

extension Predicate {
    /// Throws if a constant is compared with a constant, like the compiler of a query. O(size).
    package func checkConstants() throws(QueryError) {
        switch self {
        case .constant: break
        case .not(let part): try part.checkConstants()
        case .all(let parts), .any(let parts): for part in parts { try part.checkConstants() }
        case .comparison(let comparison):
            if comparison.left.isConstant, comparison.right.isConstant { throw comparison.constantsFault }
            for case .subquery(_, _, let predicate) in [comparison.left, comparison.right] {
                try predicate.checkConstants()
            }
        }
    }
}

extension Operand {
    fileprivate var isConstant: Bool {
        switch self {
        case .value, .values: true
        case .region, .path, .subquery: false
        }
    }
}
