import FirnCore
public import Foundation

/// A step that a query applies to the elements of a collection of values.
enum ValueStage {
    /// Sorts in the order of all values, in which nil comes first. Equal elements keep their order.
    case sort(ascending: Bool)
    /// Keeps the first of several equal elements.
    case distinct

    func apply(to values: inout [Value]) {
        switch self {
        case .sort(ascending: true): values.sort(by: Value.precedes)
        case .sort(ascending: false): values.sort { Value.precedes($1, $0) }
        case .distinct:
            var seen: Set<Value> = []
            values.removeAll { !seen.insert($0.unifiedNumber).inserted }
        }
    }
}

/// A type by whose values a collection can be sorted: numbers, Booleans, texts, bytes, dates and identities.
public protocol SortableType {}

extension Bool: SortableType {}
extension Int: SortableType {}
extension Int8: SortableType {}
extension Int16: SortableType {}
extension Int32: SortableType {}
extension Int64: SortableType {}
extension Float: SortableType {}
extension Double: SortableType {}
extension Decimal128: SortableType {}
extension String: SortableType {}
extension Data: SortableType {}
extension Date: SortableType {}
extension ObjectId: SortableType {}
extension UUID: SortableType {}
extension Optional: SortableType where Wrapped: SortableType {}

extension RealmCollection where Element: SortableType {
    /// The values in ascending or descending order, live. Nil comes first, or last if descending. Strings are ordered
    /// by their UTF-8 bytes. NaN comes before all other numbers.
    ///
    /// Nothing is read here: sorting takes place at the first read after a change, in O(n log n). Stops the program if
    /// the collection is unmanaged, and on the wrong thread.
    public func sorted(ascending: Bool = true) -> Results<Element> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of equal values, in the collection's order, live. Costs O(n) at the first read after a
    /// change, and stops the program in the same cases as `sorted(ascending:)`.
    public func distinct() -> Results<Element> { Results(_source.adding(.distinct)) }
}

extension RealmKeyedCollection where Value: SortableType {
    /// The values in ascending or descending order, live: see `RealmCollection.sorted(ascending:)`.
    public func sorted(ascending: Bool = true) -> Results<Value> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of equal values, in the order of their keys, live.
    public func distinct() -> Results<Value> { Results(_source.adding(.distinct)) }
}
