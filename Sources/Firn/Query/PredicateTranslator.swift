import FirnCore
import FirnQuery
import Foundation

/// A condition as text, and the values for its `%@` and `%K` in that order.
struct PredicateText {
    var format: String
    var arguments: [Any] = []

    static func + (a: PredicateText, b: PredicateText) -> PredicateText {
        PredicateText(format: a.format + b.format, arguments: a.arguments + b.arguments)
    }
    static func + (a: PredicateText, b: String) -> PredicateText { a + PredicateText(format: b) }
    static func + (a: String, b: PredicateText) -> PredicateText { PredicateText(format: a) + b }

    var negated: PredicateText { "NOT (" + self + ")" }
}

/// The translation of a part of a `#Predicate`.
enum PredicateTerm {
    /// Names that lead to a value from the object, or from the variable of a SUBQUERY.
    struct Path {
        /// The variable, such as `$x1`; empty for the object itself.
        var variable = ""
        var names: [String] = []
        /// The end of the path, such as `.@count`.
        var suffix = ""
        /// ANY or ALL, if the path leads to each element of a collection of values.
        var quantifier = ""
        /// A SUBQUERY in place of the names.
        var subquery: PredicateText?

        var text: PredicateText {
            if let subquery { return subquery + suffix }
            let start = quantifier.isEmpty ? "" : quantifier + " "
            if names.isEmpty { return PredicateText(format: start + (variable.isEmpty ? "SELF" : variable) + suffix) }
            let format = start + (variable.isEmpty ? "%K" : variable + ".%K") + suffix
            return PredicateText(format: format, arguments: [PropertyPath.keyPath(names)])
        }

        /// A comparison with a constant.
        func compared(_ symbol: String, _ value: Any?) -> PredicateText {
            "(" + text + PredicateText(format: " \(symbol) %@)", arguments: [value ?? NSNull()])
        }

        /// A condition that holds if `text` holds and the path is not nil.
        func present(and text: PredicateText) -> PredicateText { "(" + compared("!=", nil) + " AND " + text + ")" }

        /// The path with more names. Nil if it ends with an element or an aggregate, behind which the text can't
        /// continue.
        func appending(_ names: [String]) -> Path? {
            guard suffix.isEmpty, subquery == nil else { return nil }
            var path = self
            path.names += names
            return path
        }
        func with(_ suffix: String) -> Path {
            var path = self
            path.suffix += suffix
            return path
        }
    }

    case path(Path)
    case constant(Any?)
    /// A path, and the constant that replaces its nil (`??`).
    case coalesced(Path, Any?)
    case condition(PredicateText)
    /// A condition that is nil if the path is nil.
    case optionalCondition(PredicateText, Path)
    /// The elements of a collection for which a condition holds.
    case filtered(PredicateText)
}

/// Translates the expression of a `#Predicate` to text for `filter(_:_:)`.
struct PredicateTranslator {
    private var variables: [PredicateExpressions.VariableID: PredicateTerm] = [:]
    private var depth = 0

    mutating func bind(_ variable: PredicateExpressions.VariableID, to term: PredicateTerm) {
        variables[variable] = term
    }

    func term(of variable: PredicateExpressions.VariableID) throws -> PredicateTerm {
        guard let term = variables[variable] else { throw Fault("it reads a variable that is not its own") }
        return term
    }

    /// Translates an expression.
    func term<E: PredicateExpression>(_ expression: E) throws -> PredicateTerm {
        do {
            guard let expression = expression as? any TranslatableExpression else {
                throw Fault("it has \(Self.name(E.self)) of a property")
            }
            return try expression.term(self)
        } catch {
            // An expression that reads no property is a constant. If it reads one, its evaluation throws, because no
            // object is given.
            guard let value = try? expression.evaluate(PredicateBindings()) else { throw error }
            return .constant(unwrapped(value))
        }
    }

    /// The kind of an expression, such as `Arithmetic`.
    static func name(_ type: Any.Type) -> String {
        let name = String(describing: type)
        return String(name.prefix { $0 != "<" })
    }

    // MARK: Conditions

    func condition<E: PredicateExpression>(of expression: E) throws -> PredicateText {
        switch try term(expression) {
        case .condition(let text): return text
        case .path(let path) where wrappedType(E.Output.self) == Bool.self:
            return path.compared("==", true)
        case .constant(let value as Bool):
            return PredicateText(format: value ? "TRUEPREDICATE" : "FALSEPREDICATE")
        case .path, .coalesced, .constant, .optionalCondition, .filtered:
            throw Fault("\(Self.name(E.self)) is no condition")
        }
    }

    func joined<A: PredicateExpression, B: PredicateExpression>(
        _ a: A, _ word: String, _ b: B
    ) throws -> PredicateText {
        "(" + (try condition(of: a)) + " \(word) " + (try condition(of: b)) + ")"
    }

    /// A comparison, which may have the property on either side.
    func comparison<A: PredicateExpression, B: PredicateExpression>(
        _ a: A, _ symbol: String, _ b: B
    ) throws -> PredicateText {
        let mirrored = ["<": ">", "<=": ">=", ">": "<", ">=": "<="]
        switch (try term(a), try term(b)) {
        case (.constant(let value), let other): return try compare(other, mirrored[symbol] ?? symbol, value)
        case (let term, .constant(let value)): return try compare(term, symbol, value)
        case (.path(let a), .path(let b)): return "(" + a.text + " \(symbol) " + b.text + ")"
        default: throw Fault("it compares two things that it computes")
        }
    }

    private func compare(_ term: PredicateTerm, _ symbol: String, _ value: Any?) throws -> PredicateText {
        switch term {
        case .path(let path): return path.compared(symbol, value)
        case .coalesced(let path, let other):
            guard path.quantifier.isEmpty else { throw Fault("it has ?? of the values in a collection") }
            // Nil is replaced by the other value, so a nil matches if the comparison holds for that value.
            let compared = path.compared(symbol, value)
            return try Self.holds(other, symbol, value)
                ? "(" + compared + " OR " + path.compared("==", nil) + ")" : path.present(and: compared)
        case .filtered, .constant: throw Fault("it compares what has no order")
        case .condition(let text):
            guard let value = value as? Bool, symbol == "==" || symbol == "!=" else {
                throw Fault("it compares a condition")
            }
            return value == (symbol == "==") ? text : text.negated
        case .optionalCondition(let text, let path):
            guard let value = value as? Bool, symbol == "==" else { throw Fault("it compares a condition") }
            return path.present(and: value ? text : text.negated)
        }
    }

    private static func holds(_ a: Any?, _ symbol: String, _ b: Any?) throws -> Bool {
        guard let a, let b else {
            return symbol == "==" ? (a == nil && b == nil) : symbol == "!=" && (a != nil || b != nil)
        }
        func compare<T: Comparable>(_ a: T) throws -> Bool {
            guard let b = b as? T else { throw Fault("it compares constants of two types") }
            return switch symbol {
            case "==": a == b
            case "!=": a != b
            case "<": a < b
            case "<=": a <= b
            case ">": a > b
            default: a >= b
            }
        }
        if let a = a as? any Comparable { return try compare(a) }
        if let a = a as? AnyHashable, let b = b as? AnyHashable, symbol == "==" || symbol == "!=" {
            return (a == b) == (symbol == "==")
        }
        throw Fault("it compares constants that have no order")
    }

    // MARK: Collections

    /// A condition on the elements of a collection: `SUBQUERY` for objects, ANY or ALL for values.
    func elements<S: PredicateExpression, T: PredicateExpression>(
        _ sequence: S, variable: PredicateExpressions.VariableID, test: T, purpose: ElementPurpose
    ) throws -> PredicateTerm where S.Output: Sequence {
        guard case .path(var path) = try term(sequence) else {
            throw Fault("it asks for the elements of something that is no stored collection")
        }
        guard path.quantifier.isEmpty else { throw Fault("it asks for the elements of elements") }
        var inner = self
        inner.depth += 1
        if S.Output.Element.self is any _QueriedObject.Type {
            let name = "$x\(inner.depth)"
            inner.bind(variable, to: .path(PredicateTerm.Path(variable: name)))
            let condition = try inner.condition(of: test)
            func subquery(_ condition: PredicateText) -> PredicateText {
                "SUBQUERY(" + path.text + ", \(name), " + condition + ")"
            }
            return switch purpose {
            case .any: .condition("(" + subquery(condition) + ".@count > 0)")
            case .all: .condition("(" + subquery(condition.negated) + ".@count == 0)")
            case .filtered: .filtered(subquery(condition))
            }
        }
        guard purpose != .filtered else { throw Fault("it filters values that are no objects") }
        path.quantifier = purpose == .any ? "ANY" : "ALL"
        inner.bind(variable, to: .path(path))
        // In a longer condition, each part could hold for a different element.
        let text = try inner.condition(of: test)
        guard test is any SingleComparison, text.format.hasPrefix("(\(path.quantifier) ") else {
            throw Fault("it asks more than one comparison of the values in a collection")
        }
        return .condition(text)
    }

    enum ElementPurpose { case any, all, filtered }
}

/// An expression of Foundation that can be translated.
protocol TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm
}

/// An expression that compares a value only once.
protocol SingleComparison {}
