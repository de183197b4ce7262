public import FirnCore
public import Foundation
import FirnQuery

/// A property, or a condition on properties, in `where { }`: `dogs.where { $0.age > 3 && $0.owner.name == "Ann" }`.
///
/// Built by naming properties and using operators; it is checked by the compiler and runs like the text `age > 3 AND owner.name == 'Ann'`.
@dynamicMemberLookup
public struct Query<T> {
    let expression: QueryExpression

    init(_ expression: QueryExpression) { self.expression = expression }
}

/// What a `Query` stands for.
struct QueryExpression {
    enum Kind {
        case path(PropertyPath)
        case condition(FirnQuery.Predicate)
    }

    var kind: Kind
    /// How many components of a path lead to a collection, if it passes one.
    var collectionLength: Int?
    /// The objects that it is compared with, which must be of the realm that is queried.
    var objects: [ObjectBase] = []

    static var root: QueryExpression { QueryExpression(kind: .path(PropertyPath([]))) }

    /// The path with another property behind it.
    func appending(_ name: String, isCollection: Bool = false) -> QueryExpression {
        guard case .path(var path) = kind else { fatalError("Firn: a condition has no property \(name).") }
        path.components.append(.name(name))
        return QueryExpression(
            kind: .path(path), collectionLength: collectionLength ?? (isCollection ? path.components.count : nil),
            objects: objects)
    }

    func appending(_ properties: [PropertyInfo]) -> QueryExpression {
        properties.reduce(self) { $0.appending($1.name, isCollection: $1.isCollection || $1.isLinkingObjects) }
    }

    var operand: Operand {
        switch kind {
        case .path(let path): .path(path)
        case .condition: fatalError("Firn: a condition can't be compared; combine conditions with &&, || and !.")
        }
    }

    /// The condition; a property of type Bool is one by itself.
    var condition: FirnQuery.Predicate {
        switch kind {
        case .condition(let predicate): predicate
        case .path(let path): .compare(.path(path), .equal, .value(.bool(true)), quantifier: quantifier)
        }
    }

    /// A path through a collection speaks of any of its elements.
    private var quantifier: Comparison.Quantifier? { collectionLength == nil ? nil : .any }

    func aggregated(_ aggregate: PropertyPath.Aggregate) -> QueryExpression {
        guard case .path(var path) = kind else { fatalError("Firn: a condition has no \(aggregate).") }
        let length = collectionLength ?? path.components.count
        path.elementPath = Array(path.components[length...])
        path.components = Array(path.components[..<length])
        path.aggregate = aggregate
        return QueryExpression(kind: .path(path), objects: objects)
    }

    static func compare(
        _ left: QueryExpression, _ operation: Comparison.Operation, _ right: Operand, options: Comparison.Options = [],
        objects: [ObjectBase] = []
    ) -> QueryExpression {
        QueryExpression(
            kind: .condition(
                .compare(
                    left.operand, operation, right, options: options, quantifier: left.quantifier)),
            objects: left.objects + objects)
    }

    static func compare(_ left: QueryExpression, _ operation: Comparison.Operation, _ right: any _QueryValue)
        -> QueryExpression
    {
        compare(left, operation, .value(right._queryValue), objects: right._queryObject.map { [$0] } ?? [])
    }
}

/// What a property can be compared with.
public protocol _QueryValue {
    var _queryValue: Value { get }
    var _queryObject: ObjectBase? { get }
}

extension _QueryValue {
    public var _queryObject: ObjectBase? { nil }
}

extension _Scalar {
    public var _queryValue: Value { _value }
}

extension Bool: _QueryValue {}
extension Int: _QueryValue, _QueryNumber {}
extension Int8: _QueryValue, _QueryNumber {}
extension Int16: _QueryValue, _QueryNumber {}
extension Int32: _QueryValue, _QueryNumber {}
extension Int64: _QueryValue, _QueryNumber {}
extension Float: _QueryValue, _QueryNumber {}
extension Double: _QueryValue, _QueryNumber {}
extension String: _QueryValue, _QueryText {}
extension Data: _QueryValue {}
extension Date: _QueryValue, _QueryOrdered {}
extension ObjectId: _QueryValue {}
extension UUID: _QueryValue {}

extension Optional: _QueryValue where Wrapped: _QueryValue {
    public var _queryValue: Value { self?._queryValue ?? .null }
    public var _queryObject: ObjectBase? { self?._queryObject }
}

extension Object: _QueryValue {
    /// Names the object's table, as keys of different classes say nothing of each other.
    public var _queryValue: Value { isManaged ? .typedLink(TableBinding.of(_row).table, _row.key) : .link(-1) }
    public var _queryObject: ObjectBase? { self }
}

/// Values that have an order: numbers and dates.
public protocol _QueryOrdered: _QueryValue {}
/// Numbers.
public protocol _QueryNumber: _QueryOrdered {}
/// Strings.
public protocol _QueryText: _QueryValue {}

extension Optional: _QueryOrdered where Wrapped: _QueryOrdered {}
extension Optional: _QueryNumber where Wrapped: _QueryNumber {}
extension Optional: _QueryText where Wrapped: _QueryText {}

/// An optional, where a generic constraint must say so.
public protocol OptionalProtocol {
    associatedtype Wrapped
}
extension Optional: OptionalProtocol {}

/// How strings are compared.
public struct StringOptions: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Case is folded, without regard to a locale.
    public static let caseInsensitive = StringOptions(rawValue: 1)
    /// Diacritics are taken off.
    public static let diacriticInsensitive = StringOptions(rawValue: 2)

    var comparison: Comparison.Options { Comparison.Options(rawValue: rawValue) }
}
