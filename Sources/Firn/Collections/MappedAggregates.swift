import FirnBytes
import FirnCore
import FirnStorage

// Aggregates, sorting and `distinct` of enums and of the application's own types. They work on the stored values, such
// as an enum's raw values, and convert the result back.

extension RealmCollection where Element: _MappedValue, Element._Mapped: MinMaxType & Comparable {
    /// The element with the smallest stored value; nil if there are none. O(n).
    public func min() -> Element? { Element._known(map(\._mapped).min()) }
    /// The element with the largest stored value; nil if there are none. O(n).
    public func max() -> Element? { Element._known(map(\._mapped).max()) }
}

extension RealmCollection where Element: _MappedValue, Element._Mapped: AddableType {
    /// The sum of the stored values, converted back to the elements' type. O(n). Stops the program if the type has no
    /// value for the sum, for example an enum without a case of that raw value.
    public func sum() -> Element { Element._computed("sum", Element._Mapped._sum(map(\._mapped))) }
    /// The average of the stored values as a number: `let average: Double? = dog.levels.average()`. Integer types
    /// truncate a fraction. Nil if there are no elements. O(n).
    public func average<A: AddableType>() -> A? { A(_aggregate: Element._Mapped._average(map(\._mapped))) }
    /// The average of the stored values, converted to the type `A`: `let average: Celsius? = day.readings.average()`.
    /// Nil if there are no elements. O(n). Stops the program if `A` has no value for the average.
    public func average<A: _MappedValue>() -> A? where A._Mapped: AddableType {
        A._computed("average", A._Mapped(_aggregate: Element._Mapped._average(map(\._mapped))))
    }
}

extension RealmCollection where Element: _MappedValue, Element._Mapped: SortableType {
    /// The elements in the order of their stored values, live. See `sorted(ascending:)` of a collection of numbers.
    public func sorted(ascending: Bool = true) -> Results<Element> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of elements with equal stored values, in the collection's order, live.
    public func distinct() -> Results<Element> { Results(_source.adding(.distinct)) }
}

extension RealmCollection where Element: _OptionalProtocol, Element.Wrapped: _MappedValue {
    /// The stored values of the elements that are not nil.
    fileprivate var stored: [Element.Wrapped._Mapped] { compactMap { ($0 as? Element.Wrapped)?._mapped } }
}

extension RealmCollection
where Element: _OptionalProtocol, Element.Wrapped: _MappedValue, Element.Wrapped._Mapped: MinMaxType & Comparable {
    /// The element with the smallest stored value; nil if there are none. Nil is passed over. O(n).
    public func min() -> Element.Wrapped? { Element.Wrapped._known(stored.min()) }
    /// The element with the largest stored value; nil if there are none. Nil is passed over. O(n).
    public func max() -> Element.Wrapped? { Element.Wrapped._known(stored.max()) }
}

extension RealmCollection
where Element: _OptionalProtocol, Element.Wrapped: _MappedValue, Element.Wrapped._Mapped: AddableType {
    /// The sum of the stored values, converted back to the elements' type. Nil is passed over. O(n). Stops the program
    /// if the type has no value for the sum.
    public func sum() -> Element.Wrapped { Element.Wrapped._computed("sum", Element.Wrapped._Mapped._sum(stored)) }
    /// The average of the stored values as a number; nil if there are none. Nil is passed over. O(n).
    public func average<A: AddableType>() -> A? { A(_aggregate: Element.Wrapped._Mapped._average(stored)) }
    /// The average of the stored values, converted to the type `A`; nil if there are none. Nil is passed over. O(n).
    /// Stops the program if `A` has no value for the average.
    public func average<A: _MappedValue>() -> A? where A._Mapped: AddableType {
        A._computed("average", A._Mapped(_aggregate: Element.Wrapped._Mapped._average(stored)))
    }
}

extension RealmCollection
where Element: _OptionalProtocol, Element.Wrapped: _MappedValue, Element.Wrapped._Mapped: SortableType {
    /// The elements in the order of their stored values, live. Nil comes first, or last if descending.
    public func sorted(ascending: Bool = true) -> Results<Element> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of elements with equal stored values, in the collection's order, live.
    public func distinct() -> Results<Element> { Results(_source.adding(.distinct)) }
}

extension RealmKeyedCollection where Value: _MappedValue, Value._Mapped: MinMaxType & Comparable {
    /// The value with the smallest stored value; nil if there are none. O(n).
    public func min() -> Value? { Value._known(values.map(\._mapped).min()) }
    /// The value with the largest stored value; nil if there are none. O(n).
    public func max() -> Value? { Value._known(values.map(\._mapped).max()) }
}

extension RealmKeyedCollection where Value: _MappedValue, Value._Mapped: AddableType {
    /// The sum of the stored values, converted back to the values' type. O(n). Stops the program if the type has no
    /// value for the sum.
    public func sum() -> Value { Value._computed("sum", Value._Mapped._sum(values.map(\._mapped))) }
    /// The average of the stored values as a number; nil if there are none. O(n).
    public func average<A: AddableType>() -> A? { A(_aggregate: Value._Mapped._average(values.map(\._mapped))) }
    /// The average of the stored values, converted to the type `A`; nil if there are none. O(n). Stops the program if
    /// `A` has no value for the average.
    public func average<A: _MappedValue>() -> A? where A._Mapped: AddableType {
        A._computed("average", A._Mapped(_aggregate: Value._Mapped._average(values.map(\._mapped))))
    }
}

extension RealmKeyedCollection where Value: _MappedValue, Value._Mapped: SortableType {
    /// The values in the order of their stored values, live.
    public func sorted(ascending: Bool = true) -> Results<Value> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of values with equal stored values, in the order of their keys, live.
    public func distinct() -> Results<Value> { Results(_source.adding(.distinct)) }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: _MappedValue {
    /// The stored values of the values that are not nil.
    fileprivate var stored: [Value.Wrapped._Mapped] { values.compactMap { ($0 as? Value.Wrapped)?._mapped } }
}

extension RealmKeyedCollection
where Value: _OptionalProtocol, Value.Wrapped: _MappedValue, Value.Wrapped._Mapped: MinMaxType & Comparable {
    /// The value with the smallest stored value; nil if there are none. Nil is passed over. O(n).
    public func min() -> Value.Wrapped? { Value.Wrapped._known(stored.min()) }
    /// The value with the largest stored value; nil if there are none. Nil is passed over. O(n).
    public func max() -> Value.Wrapped? { Value.Wrapped._known(stored.max()) }
}

extension RealmKeyedCollection
where Value: _OptionalProtocol, Value.Wrapped: _MappedValue, Value.Wrapped._Mapped: AddableType {
    /// The sum of the stored values, converted back to the values' type. Nil is passed over. O(n). Stops the program if
    /// the type has no value for the sum.
    public func sum() -> Value.Wrapped { Value.Wrapped._computed("sum", Value.Wrapped._Mapped._sum(stored)) }
    /// The average of the stored values as a number; nil if there are none. Nil is passed over. O(n).
    public func average<A: AddableType>() -> A? { A(_aggregate: Value.Wrapped._Mapped._average(stored)) }
    /// The average of the stored values, converted to the type `A`; nil if there are none. Nil is passed over. O(n).
    /// Stops the program if `A` has no value for the average.
    public func average<A: _MappedValue>() -> A? where A._Mapped: AddableType {
        A._computed("average", A._Mapped(_aggregate: Value.Wrapped._Mapped._average(stored)))
    }
}

extension RealmKeyedCollection
where Value: _OptionalProtocol, Value.Wrapped: _MappedValue, Value.Wrapped._Mapped: SortableType {
    /// The values in the order of their stored values, live. Nil comes first, or last if descending.
    public func sorted(ascending: Bool = true) -> Results<Value> {
        Results(_source.adding(.sort(ascending: ascending)))
    }

    /// The first of each group of values with equal stored values, in the order of their keys, live.
    public func distinct() -> Results<Value> { Results(_source.adding(.distinct)) }
}

extension _MappedValue {
    /// The value whose stored value is `stored`; nil for nil. Stops the program if there is no such value.
    fileprivate static func _known(_ stored: _Mapped?) -> Self? { stored.map { _known($0) } }

    /// The value whose stored value is the result of an aggregate. Stops the program if there is no such value.
    static func _computed(_ aggregate: String, _ stored: _Mapped) -> Self {
        guard let value = Self(_mapped: stored) else {
            stopProgram(
                "the \(aggregate) of what is stored of values of \(Self.self) is \(DisplayText.line("\(stored)")), which stands for no such value. Aggregate what is stored itself, as in values.map(\\.rawValue)."
            )
        }
        return value
    }

    /// The value whose stored value is the result of an aggregate; nil for nil. Stops the program if there is no such
    /// value.
    static func _computed(_ aggregate: String, _ stored: _Mapped?) -> Self? { stored.map { _computed(aggregate, $0) } }
}
