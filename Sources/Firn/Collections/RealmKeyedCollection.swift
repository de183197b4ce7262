import FirnCore
import FirnQuery
import FirnStorage
import Foundation

/// A collection of values by keys, which may belong to a realm: `Map`.
public protocol RealmKeyedCollection: CollectionBase, Sequence, _SourcedCollection
where Element == SingleMapEntry<Key, Value> {
    /// The type of the keys.
    associatedtype Key: _MapKey
    /// The type of the values.
    associatedtype Value: RealmCollectionValue

    /// The number of entries.
    var count: Int { get }
    /// All keys, in order.
    var keys: [Key] { get }
    /// All values, in the order of their keys.
    var values: [Value] { get }
    /// The value of a key; nil if the collection does not have the key. Setting nil removes the key.
    subscript(key: Key) -> Value? { get set }
    /// Sets the value of a key.
    func updateValue(_ value: Value, forKey key: Key)
    /// Removes a key.
    func removeObject(for key: Key)
    /// Removes all entries.
    func removeAll()
}

extension RealmKeyedCollection {
    /// Whether there are no entries. O(1).
    public var isEmpty: Bool { count == 0 }

    /// Whether an entry satisfies a condition. O(n). Throws what the condition throws.
    public func contains(where predicate: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> Bool {
        try contains { try predicate($0.key, $0.value) }
    }

    /// The entries that satisfy a condition, as a dictionary. Of several keys that are equal in Swift, the dictionary
    /// has the first. O(n). Throws what the condition throws.
    public func filter(_ isIncluded: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> [Key: Value] {
        var result: [Key: Value] = [:]
        for entry in self where try isIncluded(entry.key, entry.value) && result[entry.key] == nil {
            result[entry.key] = entry.value
        }
        return result
    }

    /// The value of a key, untyped: numbers are returned as `NSNumber`. Nil if the collection does not have the key.
    public func value(forKey key: String) -> Any? { self[Key._key(key)].flatMap { Value._any($0) } }

    /// Sets the value of a key to an untyped value, which is converted to the type of the values. Nil removes the key,
    /// and `NSNull` sets nil. Stops the program if the value does not fit, if the key is not allowed, and outside a
    /// write transaction if the collection is managed.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value = unwrapped(value) ?? (value is NSNull ? value : nil) else {
            return removeObject(for: Key._key(key))
        }
        do { updateValue(try Value._fromAny(value), forKey: Key._key(key)) } catch {
            stopProgram("setValue(_:forKey: \"\(key.prefix(100))\"): \(error).")
        }
    }
}

extension RealmKeyedCollection where Value: MinMaxType {
    /// The smallest value; nil if there are none. O(n). Mixed values are ordered as in `RealmCollection.min()`.
    public func min() -> Value? { Value._min(values) }
    /// The largest value; nil if there are none. O(n). Mixed values are ordered as in `RealmCollection.max()`.
    public func max() -> Value? { Value._max(values) }
}

extension RealmKeyedCollection where Value: AddableType {
    /// The sum of the values; 0 if there are none. O(n). Computed by the rules of a collection's `sum(ofProperty:)`.
    public func sum() -> Value { Value._sum(values) }
    /// The average as another type: `let average: Float? = shop.prices.average()`. Integer types truncate a fraction.
    /// O(n).
    @_disfavoredOverload
    public func average<A: AddableType>() -> A? { A(_aggregate: Value._average(values)) }
}

extension RealmKeyedCollection where Value: AddableType & BinaryInteger {
    /// The average of the values, added as doubles; nil if there are none. O(n).
    public func average() -> Double? { Value.average(values) }
}

extension RealmKeyedCollection where Value: AddableType & BinaryFloatingPoint {
    /// The average of the values, added as doubles; nil if there are none. NaN if a value is NaN. O(n).
    public func average() -> Double? { Value.average(values) }
}

extension RealmKeyedCollection where Value == Decimal128 {
    /// The average of the values: exact, then rounded to 34 digits; nil if there are none. NaN is passed over. O(n).
    public func average() -> Decimal128? { Decimal128.average(values) }
}
