import FirnCore
import FirnQuery

// Aggregates of a property that is an enum or of a type of the application: those of what is stored of it.

extension RealmCollection where Element: _QueriedObject {
    /// The smallest stored value of a property, and what it stands for; nil if there are no values. Costs and stops as
    /// `min(ofProperty:)` does.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The largest stored value of a property, and what it stands for; nil if there are no values. Costs and stops as
    /// `min(ofProperty:)` does.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of a property's stored values, and what it stands for. Costs and stops as `min(ofProperty:)` does; also
    /// stops the program if the sum stands for nothing.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of a property's stored values, and what it stands for; nil if there are no values. Costs and stops
    /// as `min(ofProperty:)` does; also stops the program if the average stands for nothing.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Element, V>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The smallest stored value of an optional property, and what it stands for; nil if there are no values. Nil is
    /// passed over. Costs and stops as `min(ofProperty:)` does.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The largest stored value of an optional property, and what it stands for; nil if there are no values. Nil is
    /// passed over. Costs and stops as `min(ofProperty:)` does.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of an optional property's stored values, and what it stands for. Nil is passed over. Costs and stops as
    /// `min(ofProperty:)` does; also stops the program if the sum stands for nothing.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of an optional property's stored values, and what it stands for; nil if there are no values. Nil is
    /// passed over. Costs and stops as `min(ofProperty:)` does; also stops the program if the average stands for
    /// nothing.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Element, V?>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The smallest stored value of a property, and what it stands for; nil if there are no values.
    ///
    /// ```swift
    /// let first: Kind? = items.min(ofProperty: "kind")
    /// ```
    ///
    /// Stops the program if what is found stands for nothing.
    public func min<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, property))
    }
    /// The largest stored value of a property, and what it stands for; nil if there are no values. Stops the program if
    /// what is found stands for nothing.
    public func max<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, property))
    }
    /// What the sum of a property's stored values stands for. Stops the program if that is nothing.
    public func sum<V: _MappedValue>(ofProperty property: String) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, property))
    }
    /// What the average of a property's stored values stands for; nil if there are no values. Stops the program if that
    /// is nothing.
    public func average<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, property))
    }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: ObjectBase {
    /// The smallest stored value of a property, and what it stands for; nil if there are no values. Costs and stops as
    /// `min(ofProperty:)` does.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The largest stored value of a property, and what it stands for; nil if there are no values. Costs and stops as
    /// `min(ofProperty:)` does.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of a property's stored values, and what it stands for. Costs and stops as `min(ofProperty:)` does; also
    /// stops the program if the sum stands for nothing.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of a property's stored values, and what it stands for; nil if there are no values. Costs and stops
    /// as `min(ofProperty:)` does; also stops the program if the average stands for nothing.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The smallest stored value of an optional property, and what it stands for; nil if there are no values. Nil is
    /// passed over. Costs and stops as `min(ofProperty:)` does.
    public func min<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, TracedKeyPath.of(keyPath).path))
    }
    /// The largest stored value of an optional property, and what it stands for; nil if there are no values. Nil is
    /// passed over. Costs and stops as `min(ofProperty:)` does.
    public func max<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, TracedKeyPath.of(keyPath).path))
    }
    /// The sum of an optional property's stored values, and what it stands for. Nil is passed over. Costs and stops as
    /// `min(ofProperty:)` does; also stops the program if the sum stands for nothing.
    public func sum<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, TracedKeyPath.of(keyPath).path))
    }
    /// The average of an optional property's stored values, and what it stands for; nil if there are no values. Nil is
    /// passed over. Costs and stops as `min(ofProperty:)` does; also stops the program if the average stands for
    /// nothing.
    public func average<V: _MappedValue>(of keyPath: KeyPath<Value.Wrapped, V?>) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, TracedKeyPath.of(keyPath).path))
    }

    /// The smallest stored value of a property, and what it stands for; nil if there are no values.
    ///
    /// ```swift
    /// let first: Kind? = items.min(ofProperty: "kind")
    /// ```
    ///
    /// Stops the program if what is found stands for nothing.
    public func min<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.min, property))
    }
    /// The largest stored value of a property, and what it stands for; nil if there are no values. Stops the program if
    /// what is found stands for nothing.
    public func max<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: MinMaxType {
        V._found(aggregate(.max, property))
    }
    /// What the sum of a property's stored values stands for. Stops the program if that is nothing.
    public func sum<V: _MappedValue>(ofProperty property: String) -> V where V._Mapped: AddableType {
        V._sum(aggregate(.sum, property))
    }
    /// What the average of a property's stored values stands for; nil if there are no values. Stops the program if that
    /// is nothing.
    public func average<V: _MappedValue>(ofProperty property: String) -> V? where V._Mapped: AddableType {
        V._found("average", aggregate(.average, property))
    }
}

extension _MappedValue {
    /// What the stored value of an aggregate stands for; nil for null. Stops the program if it stands for nothing.
    fileprivate static func _found(_ value: Value?) -> Self? where _Mapped: MinMaxType {
        value.flatMap { _Mapped(_aggregate: $0) }.map { _known($0) }
    }

    /// What a sum of stored values stands for; without values, what zero does. Stops the program if that is nothing.
    fileprivate static func _sum(_ value: Value?) -> Self where _Mapped: AddableType {
        _found("sum", value) ?? _computed("sum", _Mapped._zero)
    }

    /// What a sum or an average of stored values stands for; nil for null. Stops the program if it stands for nothing.
    fileprivate static func _found(_ aggregate: String, _ value: Value?) -> Self? where _Mapped: AddableType {
        _computed(aggregate, value.flatMap { _Mapped(_aggregate: $0) })
    }
}
