public import FirnCore
import FirnStorage
public import Foundation
import FirnQuery

/// A property, or a condition on properties, in `where { }`: `dogs.where { $0.age > 3 && $0.owner.name == "Ann" }`.
///
/// It is built by naming properties and using operators. The compiler checks it, and it runs like the text `age > 3 AND
/// owner.name == 'Ann'`. Building a condition reads no data, and takes microseconds. A condition can't be compared. If
/// a condition is on the elements of a collection, its `count` is the number of elements for which it holds.
///
/// **Nil.** A property is nil if it holds nil, and if a link on the way to it is nil. Nil equals nil and differs from
/// every value. A nil property is neither less nor greater than anything, nil included, and contains no text. Any other
/// value is greater than the constant nil. Each condition either holds for an object or does not, and `!` is the
/// opposite. If the age of a dog is nil, `$0.age >= 3` does not hold for it, and `!($0.age < 3)` does.
///
/// **NaN** equals nothing, itself included, and is neither less nor greater than anything.
@dynamicMemberLookup
public struct Query<T> {
    let expression: QueryExpression

    init(_ expression: QueryExpression) { self.expression = expression }
}

/// The property path or the condition that a `Query` consists of.
struct QueryExpression {
    enum Kind {
        case path(PropertyPath)
        case condition(FirnQuery.Predicate)
        /// The number of elements for which a condition holds.
        case matchCount(Operand)
    }

    var kind: Kind
    /// The number of a path's components up to and including its first collection; nil if it has none.
    var collectionLength: Int?
    /// The number of a path's components up to and including its last collection, if that is not the first one.
    var innerLength: Int?
    /// The objects that the condition compares with. They must belong to the realm that is queried.
    var objects: [ObjectBase] = []
    /// The collections whose elements a condition is about.
    var collections: Set<[PropertyPath.Component]> = []
    /// The paths in the condition that lead through another collection behind the first.
    var innerPaths: Set<[PropertyPath.Component]> = []

    static var root: QueryExpression { QueryExpression(kind: .path(PropertyPath([]))) }

    /// The path with one more property at the end.
    func appending(_ name: String, isCollection: Bool = false) -> QueryExpression {
        guard case .path(var path) = kind else { stopProgram("a condition has no property \(name).") }
        path.components.append(.name(name))
        return QueryExpression(
            kind: .path(path), collectionLength: collectionLength ?? (isCollection ? path.components.count : nil),
            innerLength: collectionLength != nil && isCollection ? path.components.count : innerLength, objects: objects
        )
    }

    func appending(_ properties: [PropertyInfo]) -> QueryExpression {
        properties.reduce(self) { $0.appending($1.name, isCollection: $1.isCollection || $1.isLinkingObjects) }
    }

    var operand: Operand {
        switch kind {
        case .path(let path): .path(path)
        case .matchCount(let operand): operand
        case .condition: stopProgram("a condition can't be compared; combine conditions with &&, || and !.")
        }
    }

    /// The condition. A property of the type Bool is a condition by itself.
    var condition: FirnQuery.Predicate {
        switch kind {
        case .condition(let predicate): predicate
        case .path(let path): .compare(.path(path), .equal, .value(.bool(true)), quantifier: quantifier)
        case .matchCount: stopProgram("a number of elements is no condition; compare it.")
        }
    }

    /// The collections whose elements the condition is about, even if the condition is only a property of the type
    /// Bool.
    var ownCollections: Set<[PropertyPath.Component]> {
        guard case .path(let path) = kind, let collectionLength else { return collections }
        return [Array(path.components[..<collectionLength])]
    }

    fileprivate var ownInnerPaths: Set<[PropertyPath.Component]> {
        guard case .path(let path) = kind, innerLength != nil else { return innerPaths }
        return [path.components]
    }

    /// A condition on a path through a collection holds if it holds for any element.
    private var quantifier: Comparison.Quantifier? { collectionLength == nil ? nil : .any }

    /// The path to one element of the value that this path leads to.
    func taking(_ component: PropertyPath.Component, isElement: Bool = true) -> QueryExpression {
        guard case .path(var path) = kind else { stopProgram("a condition has no elements.") }
        // A path to one element of a collection does not lead to a collection any more.
        let takes = isElement && component != .each
        var length = takes && collectionLength == path.components.count ? nil : collectionLength
        var inner = takes && innerLength == path.components.count ? nil : innerLength
        path.components.append(component)
        if component == .each {
            if length == nil { length = path.components.count } else { inner = path.components.count }
        }
        return QueryExpression(kind: .path(path), collectionLength: length, innerLength: inner, objects: objects)
    }

    func aggregated(_ aggregate: PropertyPath.Aggregate) -> QueryExpression {
        guard case .path(var path) = kind else { stopProgram("a condition has no \(aggregate).") }
        let length = collectionLength ?? path.components.count
        // Within a subquery the aggregate is computed for each element, over the last collection on the path.
        let outer = innerLength == nil ? [] : [Array(path.components[..<length])]
        let inner = innerLength.map { [Array(path.components[..<$0])] } ?? []
        path.elementPath = Array(path.components[length...])
        path.components = Array(path.components[..<length])
        path.aggregate = aggregate
        return QueryExpression(
            kind: .path(path), objects: objects, collections: Set(outer), innerPaths: Set(inner))
    }

    static func compare(
        _ left: QueryExpression, _ operation: Comparison.Operation, _ right: Operand, options: Comparison.Options = [],
        objects: [ObjectBase] = []
    ) -> QueryExpression {
        QueryExpression(
            kind: .condition(
                .compare(
                    left.operand, operation, right, options: options, quantifier: left.quantifier)),
            objects: left.objects + objects, collections: left.ownCollections, innerPaths: left.ownInnerPaths)
    }

    /// Combines two conditions to `predicate`.
    static func combining(
        _ a: QueryExpression, _ b: QueryExpression, predicate: FirnQuery.Predicate
    ) -> QueryExpression {
        QueryExpression(
            kind: .condition(predicate), objects: a.objects + b.objects,
            collections: a.ownCollections.union(b.ownCollections),
            innerPaths: a.ownInnerPaths.union(b.ownInnerPaths))
    }

    /// The opposite of the condition.
    var negated: QueryExpression {
        QueryExpression(
            kind: .condition(!condition), objects: objects, collections: ownCollections, innerPaths: ownInnerPaths)
    }

    static func compare(_ left: QueryExpression, _ operation: Comparison.Operation, _ right: any _QueryValue)
        -> QueryExpression
    {
        compare(left, operation, .value(right._queryValue), objects: right._queryObjects)
    }
}

/// A value that a query can compare a property with.
public protocol _QueryValue {
    /// The value in the form that the store compares.
    var _queryValue: Value { get }
    /// The objects in the value.
    var _queryObjects: [ObjectBase] { get }
}

extension _QueryValue {
    /// Empty, because most values contain no objects.
    public var _queryObjects: [ObjectBase] { [] }
}

extension _Scalar {
    /// The value in the form that the store keeps.
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
extension Decimal128: _QueryValue, _QueryNumber {}
extension String: _QueryValue, _QueryText {}
extension Data: _QueryValue, _QueryBytes {}
extension Date: _QueryValue, _QueryOrdered {}
extension ObjectId: _QueryValue {}
extension UUID: _QueryValue {}

extension Optional: _QueryValue where Wrapped: _QueryValue {
    /// The wrapped value in the form that the store compares; null if there is none.
    public var _queryValue: Value { self?._queryValue ?? .null }
    /// The objects in the wrapped value; empty if there is none.
    public var _queryObjects: [ObjectBase] { self?._queryObjects ?? [] }
}

extension ObjectBase: _QueryValue {
    /// A link that names the object's table, because objects of different classes may have the same key. An unmanaged
    /// object is equal to no link.
    public var _queryValue: Value { isManaged ? .typedLink(TableBinding.of(_row).table, _row.key) : .linkToNothing }
    /// The object itself.
    public var _queryObjects: [ObjectBase] { [self] }
}

extension Value {
    /// A link that no property has: keys are assigned in ascending order from 0, and never reach this one.
    static var linkToNothing: Value { .link(.max) }
}

/// Values that can be less than others: numbers, dates and strings.
public protocol _QueryComparable: _QueryValue {}
/// Values that have an order and bounds: numbers and dates.
public protocol _QueryOrdered: _QueryComparable {}
/// Numbers.
public protocol _QueryNumber: _QueryOrdered {}
/// Values that may contain text: strings and mixed values.
public protocol _QueryTextual: _QueryValue {}
/// Strings.
public protocol _QueryText: _QueryTextual, _QueryComparable {}
/// Data.
public protocol _QueryBytes: _QueryValue {}

extension Optional: _QueryComparable where Wrapped: _QueryComparable {}
extension Optional: _QueryOrdered where Wrapped: _QueryOrdered {}
extension Optional: _QueryNumber where Wrapped: _QueryNumber {}
extension Optional: _QueryTextual where Wrapped: _QueryTextual {}
extension Optional: _QueryText where Wrapped: _QueryText {}
extension Optional: _QueryBytes where Wrapped: _QueryBytes {}

/// Options for comparing strings in a query. Without options, strings are compared by their bytes, so "é" as one code
/// point differs from "e" with a combining accent.
///
/// ```swift
/// dogs.where { $0.name.starts(with: "re", options: [.caseInsensitive, .diacriticInsensitive]) }
/// ```
public struct StringOptions: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: Int8
    /// The options that are set in `rawValue`.
    public init(rawValue: Int8) { self.rawValue = rawValue }
    /// Ignores case, without regard to a locale.
    public static let caseInsensitive = StringOptions(rawValue: 1)
    /// Ignores diacritics.
    public static let diacriticInsensitive = StringOptions(rawValue: 2)

    var comparison: Comparison.Options { Comparison.Options(rawValue: UInt8(bitPattern: rawValue)) }
}
