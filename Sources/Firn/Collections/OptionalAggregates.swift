// Aggregates of collections whose elements may be nil. Nil is passed over.

extension RealmCollection where Element: _OptionalProtocol {
    /// The elements that are not nil.
    fileprivate var present: [Element.Wrapped] { compactMap { $0 as? Element.Wrapped } }
}

extension RealmCollection where Element: _OptionalProtocol, Element.Wrapped: MinMaxType & Comparable {
    /// The smallest element; nil if there are none. O(n).
    public func min() -> Element.Wrapped? { present.min() }
    /// The largest element; nil if there are none. O(n).
    public func max() -> Element.Wrapped? { present.max() }
}

extension RealmCollection where Element: _OptionalProtocol, Element.Wrapped: AddableType {
    /// The sum of the elements; 0 if there are none. O(n). Computed by the rules of `sum(ofProperty:)`.
    public func sum() -> Element.Wrapped { Element.Wrapped._sum(present) }
    /// The average as another type: `let average: Float? = dog.weights.average()`. Integer types truncate a fraction.
    /// O(n).
    @_disfavoredOverload
    public func average<A: AddableType>() -> A? { A(_aggregate: Element.Wrapped._average(present)) }
}

extension RealmCollection where Element: _OptionalProtocol, Element.Wrapped: AddableType & BinaryInteger {
    /// The average of the elements, added as doubles; nil if there are none. O(n).
    public func average() -> Double? { Element.Wrapped.average(present) }
}

extension RealmCollection where Element: _OptionalProtocol, Element.Wrapped: AddableType & BinaryFloatingPoint {
    /// The average of the elements, added as doubles; nil if there are none. NaN if an element is NaN. O(n).
    public func average() -> Double? { Element.Wrapped.average(present) }
}

extension RealmCollection where Element == Decimal128? {
    /// The average of the elements that are not NaN; nil if there are none. O(n).
    public func average() -> Decimal128? { Decimal128.average(present) }
}

extension RealmKeyedCollection where Value: _OptionalProtocol {
    /// The values that are not nil.
    fileprivate var present: [Value.Wrapped] { values.compactMap { $0 as? Value.Wrapped } }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: MinMaxType & Comparable {
    /// The smallest value; nil if there are none. O(n).
    public func min() -> Value.Wrapped? { present.min() }
    /// The largest value; nil if there are none. O(n).
    public func max() -> Value.Wrapped? { present.max() }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: AddableType {
    /// The sum of the values; 0 if there are none. O(n). Computed by the rules of a collection's `sum(ofProperty:)`.
    public func sum() -> Value.Wrapped { Value.Wrapped._sum(present) }
    /// The average as another type: `let average: Float? = shop.prices.average()`. Integer types truncate a fraction.
    /// O(n).
    @_disfavoredOverload
    public func average<A: AddableType>() -> A? { A(_aggregate: Value.Wrapped._average(present)) }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: AddableType & BinaryInteger {
    /// The average of the values, added as doubles; nil if there are none. O(n).
    public func average() -> Double? { Value.Wrapped.average(present) }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: AddableType & BinaryFloatingPoint {
    /// The average of the values, added as doubles; nil if there are none. NaN if a value is NaN. O(n).
    public func average() -> Double? { Value.Wrapped.average(present) }
}
