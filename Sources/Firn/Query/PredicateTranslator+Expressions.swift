import FirnCore
import Foundation

// The translation of each expression of Foundation.

extension PredicateExpressions.Variable: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm { try translator.term(of: key) }
}

extension PredicateExpressions.Value: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm { .constant(unwrapped(value)) }
}

extension PredicateExpressions.NilLiteral: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm { .constant(nil) }
}

extension PredicateExpressions.KeyPath: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        switch try translator.term(root) {
        case .path(let path):
            if let type = Root.Output.self as? any _QueriedObject.Type {
                guard let longer = path.appending(try names(type, keyPath)) else {
                    throw Fault("it reads \(keyPath) of an element that is named by its index")
                }
                return .path(longer)
            }
            let type = Root.Output.self as? any CountedCollection.Type
            if keyPath == type?.countKeyPath { return .path(path.with(".@count")) }
            if keyPath == type?.isEmptyKeyPath { return .condition("(" + path.text + ".@count == 0)") }
            throw Fault("it reads \(keyPath) of a \(Root.Output.self), which Firn does not store")
        case .filtered(let subquery) where kind == .collectionCount:
            return .path(.init(suffix: ".@count", subquery: subquery))
        case .filtered(let subquery) where kind == .collectionIsEmpty:
            return .condition("(" + subquery + ".@count == 0)")
        case .constant: throw Fault("it reads \(keyPath) of nil")
        case .coalesced, .condition, .optionalCondition, .filtered:
            throw Fault("it reads \(keyPath) of something that it computes")
        }
    }

    private func names<R: _QueriedObject>(_: R.Type, _ keyPath: AnyKeyPath) throws -> [String] {
        guard let keyPath = keyPath as? PartialKeyPath<R> else {
            throw Fault("\(keyPath) is not of \(R.self)")
        }
        return try TracedKeyPath.trying(keyPath).properties.map(\.name)
    }
}

/// A collection whose elements the store can count. Foundation's own `kind` knows only the key paths of Swift's
/// collections.
private protocol CountedCollection {
    static var countKeyPath: AnyKeyPath { get }
    static var isEmptyKeyPath: AnyKeyPath { get }
}

extension List: CountedCollection {
    fileprivate static var countKeyPath: AnyKeyPath { \List.count }
    fileprivate static var isEmptyKeyPath: AnyKeyPath { \List.isEmpty }
}

extension MutableSet: CountedCollection {
    fileprivate static var countKeyPath: AnyKeyPath { \MutableSet.count }
    fileprivate static var isEmptyKeyPath: AnyKeyPath { \MutableSet.isEmpty }
}

extension LinkingObjects: CountedCollection {
    fileprivate static var countKeyPath: AnyKeyPath { \LinkingObjects.count }
    fileprivate static var isEmptyKeyPath: AnyKeyPath { \LinkingObjects.isEmpty }
}

extension PredicateExpressions.OptionalFlatMap: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        let wrapped = try translator.term(wrapped)
        guard case .path(let path) = wrapped else {
            throw Fault("it unwraps something that it computes")
        }
        var inner = translator
        inner.bind(variable.key, to: wrapped)
        let term = try inner.term(transform)
        if case .condition(let text) = term { return .optionalCondition(text, path) }
        // Behind a nil link the store counts 0, but Swift returns nil.
        if case .path(let inner) = term, !inner.suffix.isEmpty {
            throw Fault("it counts or picks elements behind an optional link, which may be nil")
        }
        return term
    }
}

extension PredicateExpressions.ForcedUnwrap: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm { try translator.term(inner) }
}

extension PredicateExpressions.NilCoalesce: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        let right = try translator.term(rhs)
        switch (try translator.term(lhs), right) {
        case (.path(let path), .constant(let value)): return .coalesced(path, value)
        case (.constant(let value), _): return value == nil ? right : .constant(value)
        case (.optionalCondition(let text, let path), .constant(let value as Bool)):
            guard value else { return .condition(path.present(and: text)) }
            return .condition("(" + text + " OR " + path.compared("==", nil) + ")")
        default: throw Fault("what stands behind ?? is no constant")
        }
    }
}

// MARK: Logic and comparisons

extension PredicateExpressions.Conjunction: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        .condition(try translator.joined(lhs, "AND", rhs))
    }
}

extension PredicateExpressions.Disjunction: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        .condition(try translator.joined(lhs, "OR", rhs))
    }
}

extension PredicateExpressions.Negation: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        .condition(try translator.condition(of: wrapped).negated)
    }
}

extension PredicateExpressions.Conditional: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        let test = try translator.condition(of: test)
        let (yes, no) = (try translator.condition(of: trueBranch), try translator.condition(of: falseBranch))
        return .condition("((" + test + " AND " + yes + ") OR (" + test.negated + " AND " + no + "))")
    }
}

extension PredicateExpressions.Equal: TranslatableExpression, SingleComparison {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        .condition(try translator.comparison(lhs, "==", rhs))
    }
}

extension PredicateExpressions.NotEqual: TranslatableExpression, SingleComparison {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        .condition(try translator.comparison(lhs, "!=", rhs))
    }
}

extension PredicateExpressions.Comparison: TranslatableExpression, SingleComparison {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        let symbol =
            switch op {
            case .lessThan: "<"
            case .lessThanOrEqual: "<="
            case .greaterThan: ">"
            case .greaterThanOrEqual: ">="
            @unknown default: throw Fault("it compares by \(op)")
            }
        return .condition(try translator.comparison(lhs, symbol, rhs))
    }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        let element = try translator.term(element)
        guard case .path(let path) = element, path.quantifier.isEmpty else {
            throw Fault("it asks of something that it computes whether it lies in a range")
        }
        guard case .constant(let value) = try translator.term(range), let range = value as? any ConstantRange else {
            throw Fault("it has a range whose bounds are not constant")
        }
        let sides = range.bounds.map { path.compared($0.symbol, $0.value) }
        return .condition(sides.count == 1 ? sides[0] : "(" + sides[0] + " AND " + sides[1] + ")")
    }
}

/// A range in the form of one or two comparisons.
private protocol ConstantRange {
    var bounds: [(symbol: String, value: Any)] { get }
}

extension Swift.Range: ConstantRange {
    fileprivate var bounds: [(symbol: String, value: Any)] { [(">=", lowerBound), ("<", upperBound)] }
}

extension Swift.ClosedRange: ConstantRange {
    fileprivate var bounds: [(symbol: String, value: Any)] { [(">=", lowerBound), ("<=", upperBound)] }
}

extension PartialRangeFrom: ConstantRange {
    fileprivate var bounds: [(symbol: String, value: Any)] { [(">=", lowerBound)] }
}

extension PartialRangeUpTo: ConstantRange {
    fileprivate var bounds: [(symbol: String, value: Any)] { [("<", upperBound)] }
}

extension PartialRangeThrough: ConstantRange {
    fileprivate var bounds: [(symbol: String, value: Any)] { [("<=", upperBound)] }
}

// MARK: Strings

extension PredicateTranslator {
    /// A comparison of a stored string with a constant string.
    fileprivate func string<A: PredicateExpression, B: PredicateExpression>(
        _ a: A, _ word: String, _ b: B
    ) throws -> PredicateTerm {
        guard case .path(let path) = try term(a), case .constant(let value as String) = try term(b) else {
            throw Fault("it asks for \(word) of something else than a stored string and a constant one")
        }
        return .condition(path.compared(word, value))
    }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableExpression, SingleComparison {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        try translator.string(base, "BEGINSWITH", prefix)
    }
}

extension PredicateExpressions.CollectionContainsCollection: TranslatableExpression, SingleComparison {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        try translator.string(base, "CONTAINS", other)
    }
}

#if canImport(Darwin)
    // Foundation has this expression only on Apple's platforms.
    extension PredicateExpressions.StringLocalizedStandardContains: TranslatableExpression, SingleComparison {
        func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
            try translator.string(root, "CONTAINS[cd]", other)
        }
    }
#endif

// MARK: Collections

extension PredicateExpressions.SequenceContains: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        switch (try translator.term(sequence), try translator.term(element)) {
        case (.constant(let sequence?), .path(let path)):
            return .condition(path.compared("IN", sequence))
        case (.path(var path), .constant(let value)) where path.quantifier.isEmpty:
            path.quantifier = "ANY"
            return .condition(path.compared("==", value))
        case (.path(var path), .path(let element)) where path.quantifier.isEmpty:
            path.quantifier = "ANY"
            return .condition("(" + path.text + " == " + element.text + ")")
        default:
            throw Fault("it asks for an element of something that it computes")
        }
    }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        try translator.elements(sequence, variable: variable.key, test: test, purpose: .any)
    }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        try translator.elements(sequence, variable: variable.key, test: test, purpose: .all)
    }
}

extension PredicateExpressions.Filter: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        try translator.elements(sequence, variable: variable.key, test: filter, purpose: .filtered)
    }
}

extension PredicateTranslator {
    fileprivate func aggregate<E: PredicateExpression>(_ elements: E, _ name: String) throws -> PredicateTerm {
        guard case .path(let path) = try term(elements), path.quantifier.isEmpty else {
            throw Fault("it asks for \(name) of something that is no stored collection")
        }
        return .path(path.with(".\(name)"))
    }
}

extension PredicateExpressions.SequenceMaximum: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        try translator.aggregate(elements, "@max")
    }
}

extension PredicateExpressions.SequenceMinimum: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        try translator.aggregate(elements, "@min")
    }
}

extension PredicateExpressions.CollectionIndexSubscript: TranslatableExpression {
    func term(_ translator: PredicateTranslator) throws -> PredicateTerm {
        guard case .path(let path) = try translator.term(wrapped),
            case .constant(let index as Int) = try translator.term(index)
        else {
            throw Fault("it reads an element whose index is not constant")
        }
        return .path(path.with("[\(index)]"))
    }
}
