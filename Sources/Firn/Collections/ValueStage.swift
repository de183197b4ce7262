import FirnCore
public import Foundation

/// What the elements of a collection of values go through.
enum ValueStage {
    /// They are sorted in the order of all values: nil comes first. Equal ones keep their order.
    case sort(ascending: Bool)
    /// The first of several equal ones stays.
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

/// A type whose values a collection can be sorted by: numbers, Booleans, texts, bytes, dates and identities.
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
    /// The values in their order, live. Nil comes first, or last if descending; strings are ordered by their UTF-8
    /// bytes; NaN comes before all other numbers.
    ///
    /// Nothing is read here: sorting takes place at the first read after a change, in O(n log n). Stops the program if
    /// the collection is unmanaged, and on the wrong thread.
    public func sorted(ascending: Bool = true) -> Results<Element> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of equal values, in the present order, live. Costs O(n) at the first read after a
    /// change, and stops the program as `sorted(ascending:)` does.
    public func distinct() -> Results<Element> { Results(_source.adding(.distinct)) }
}

extension RealmKeyedCollection where Value: SortableType {
    /// The values in their order, live: see `RealmCollection.sorted(ascending:)`.
    public func sorted(ascending: Bool = true) -> Results<Value> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of equal values, in the order of their keys, live.
    public func distinct() -> Results<Value> { Results(_source.adding(.distinct)) }
}
