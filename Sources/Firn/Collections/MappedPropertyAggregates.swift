import FirnCore
import FirnQuery

// Aggregates of a property whose type is an enum or one of the application's own types. They work on the stored values
// and convert the result back.

extension RealmCollection where Element: _QueriedObject {
    /// The value with the smallest stored value of a property; nil if there are no values. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The value with the largest stored value of a property; nil if there are no values. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of a property's stored values, converted back to the property's type. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases. Also stops the program if the type has no value for
    /// the sum.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of a property's stored values, converted back to the property's type; nil if there are no values.
    /// Costs as much as `min(ofProperty:)`, and stops the program in the same cases. Also stops the program if the type
    /// has no value for the average.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The value with the smallest stored value of an optional property; nil if there are no values. Nil is passed
    /// over. Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The value with the largest stored value of an optional property; nil if there are no values. Nil is passed over.
    /// Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of an optional property's stored values, converted back to the property's type. Nil is passed over.
    /// Costs as much as `min(ofProperty:)`, and stops the program in the same cases. Also stops the program if the type
    /// has no value for the sum.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of an optional property's stored values, converted back to the property's type; nil if there are no
    /// values. Nil is passed over. Costs as much as `min(ofProperty:)`, and stops the program in the same cases. Also
    /// stops the program if the type has no value for the average.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The value with the smallest stored value of a property; nil if there are no values.
    ///
    /// ```swift
    /// let first: Kind? = items.min(ofProperty: "kind")
    /// ```
    ///
    /// Stops the program if `V` has no value for the smallest stored value.
    public func min<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, property))
    }
    /// The value with the largest stored value of a property; nil if there are no values. Stops the program if `V` has
    /// no value for the largest stored value.
    public func max<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, property))
    }
    /// The sum of a property's stored values, converted to the type `V`. Stops the program if `V` has no value for the
    /// sum.
    public func sum<V: _MappedValue>(ofProperty property: String) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, property))
    }
    /// The average of a property's stored values, converted to the type `V`; nil if there are no values. Stops the
    /// program if `V` has no value for the average.
    public func average<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, property))
    }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: ObjectBase {
    /// The value with the smallest stored value of a property; nil if there are no values. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The value with the largest stored value of a property; nil if there are no values. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of a property's stored values, converted back to the property's type. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases. Also stops the program if the type has no value for
    /// the sum.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of a property's stored values, converted back to the property's type; nil if there are no values.
    /// Costs as much as `min(ofProperty:)`, and stops the program in the same cases. Also stops the program if the type
    /// has no value for the average.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The value with the smallest stored value of an optional property; nil if there are no values. Nil is passed
    /// over. Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The value with the largest stored value of an optional property; nil if there are no values. Nil is passed over.
    /// Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of an optional property's stored values, converted back to the property's type. Nil is passed over.
    /// Costs as much as `min(ofProperty:)`, and stops the program in the same cases. Also stops the program if the type
    /// has no value for the sum.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of an optional property's stored values, converted back to the property's type; nil if there are no
    /// values. Nil is passed over. Costs as much as `min(ofProperty:)`, and stops the program in the same cases. Also
    /// stops the program if the type has no value for the average.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The value with the smallest stored value of a property; nil if there are no values.
    ///
    /// ```swift
    /// let first: Kind? = items.min(ofProperty: "kind")
    /// ```
    ///
    /// Stops the program if `V` has no value for the smallest stored value.
    public func min<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, property))
    }
    /// The value with the largest stored value of a property; nil if there are no values. Stops the program if `V` has
    /// no value for the largest stored value.
    public func max<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, property))
    }
    /// The sum of a property's stored values, converted to the type `V`. Stops the program if `V` has no value for the
    /// sum.
    public func sum<V: _MappedValue>(ofProperty property: String) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, property))
    }
    /// The average of a property's stored values, converted to the type `V`; nil if there are no values. Stops the
    /// program if `V` has no value for the average.
    public func average<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, property))
    }
}

extension _MappedValue {
    /// The value whose stored value is the result of an aggregate; nil for null. Stops the program if there is no such
    /// value.
    fileprivate static func _found(_ value: Value?) -> Self? where _Mapped: MinMaxType {
        value.flatMap { _Mapped(_aggregate: $0) }.map { _known($0) }
    }

    /// The value whose stored value is the sum (zero if there are no values). Stops the program if there is no such
    /// value.
    fileprivate static func _sum(_ value: Value?) -> Self where _Mapped: AddableType {
        _found("sum", value) ?? _computed("sum", _Mapped._zero)
    }

    /// The value whose stored value is a sum or an average; nil for null. Stops the program if there is no such value.
    fileprivate static func _found(_ aggregate: String, _ value: Value?) -> Self? where _Mapped: AddableType {
        _computed(aggregate, value.flatMap { _Mapped(_aggregate: $0) })
    }
}
