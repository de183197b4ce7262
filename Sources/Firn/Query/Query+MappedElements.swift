import FirnCore
import FirnQuery

// MARK: What is stored of enums and of types of the application

extension Query where T: PersistableEnum {
    /// The raw value, for conditions on it: `tasks.where { $0.status.rawValue.starts(with: "in") }`.
    public var rawValue: Query<T.RawValue> { Query<T.RawValue>(expression) }
}

extension Query where T: _OptionalProtocol, T.Wrapped: PersistableEnum {
    /// The raw value, for conditions on it; nil if the property is nil.
    public var rawValue: Query<T.Wrapped.RawValue?> { Query<T.Wrapped.RawValue?>(expression) }
}

extension Query where T: RealmCollection, T.Element: PersistableEnum {
    /// The raw values of the elements: a condition holds if it holds for any of them.
    public var rawValue: Query<T.Element.RawValue> { Query<T.Element.RawValue>(expression) }
}

extension Query where T: RealmCollection, T.Element: _CustomPersistable {
    /// The stored values of the elements: a condition holds if it holds for any of them.
    public var persistableValue: Query<T.Element.PersistedType> { Query<T.Element.PersistedType>(expression) }
}

// MARK: Collections of them

/// Holds if any element has this value. Never holds for an empty collection.
public func == <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _MappedValue {
    Query(collection.expression.isEqual(to: value))
}
/// Holds if any element has another value. Never holds for an empty collection.
public func != <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _MappedValue {
    Query(collection.expression.isUnequal(to: value))
}
/// Holds if any element has this value; if `value` is nil, if any element is nil. Never holds for an empty collection.
public func == <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _OptionalProtocol, C.Element.Wrapped: _MappedValue {
    Query(collection.expression.isEqual(to: value as? C.Element.Wrapped))
}
/// Holds if any element has another value, or if only one of the two is nil. Never holds for an empty collection.
public func != <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _OptionalProtocol, C.Element.Wrapped: _MappedValue {
    Query(collection.expression.isUnequal(to: value as? C.Element.Wrapped))
}

extension Query where T: RealmCollection, T.Element: _MappedValue {
    /// Whether the collection contains the element. Through a path with another collection, whether any of the
    /// collections does.
    public func contains(_ value: T.Element) -> Query<Bool> { self == value }

    /// Whether the collection contains any of the elements. The sequence is read immediately. Never holds if it is
    /// empty.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
        Query<Bool>(expression.isOne(of: values.map { Optional($0) }))
    }
}

extension Query where T: RealmCollection, T.Element: _OptionalProtocol, T.Element.Wrapped: _MappedValue {
    /// Whether the collection contains the element, which may be nil.
    public func contains(_ value: T.Element) -> Query<Bool> { self == value }

    /// Whether the collection contains any of the elements. The sequence is read immediately. Never holds if it is
    /// empty.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
        Query<Bool>(expression.isOne(of: values.map { $0 as? T.Element.Wrapped }))
    }
}

extension Query where T: RealmKeyedCollection, T.Value: _MappedValue {
    /// Whether the map has the value.
    public func contains(_ value: T.Value) -> Query<Bool> { values == value }

    /// Whether the map has any of the values. The sequence is read immediately. Never holds if it is empty.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Value {
        self.values.in(values)
    }
}

extension Query where T: RealmKeyedCollection, T.Value: _OptionalProtocol, T.Value.Wrapped: _MappedValue {
    /// Whether the map has the value, which may be nil.
    public func contains(_ value: T.Value) -> Query<Bool> {
        Query<Bool>(expression.isEqual(to: value as? T.Value.Wrapped))
    }

    /// Whether the map has any of the values. The sequence is read immediately. Never holds if it is empty.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Value {
        Query<Bool>(expression.isOne(of: values.map { $0 as? T.Value.Wrapped }))
    }
}

extension Query where T: RealmKeyedCollection, T.Value: PersistableEnum {
    /// The raw values of the map's values: a condition holds if it holds for any of them.
    public var rawValue: Query<T.Value.RawValue> { Query<T.Value.RawValue>(expression) }
}

extension Query where T: RealmKeyedCollection, T.Value: _CustomPersistable {
    /// The stored values of the map's values: a condition holds if it holds for any of them.
    public var persistableValue: Query<T.Value.PersistedType> { Query<T.Value.PersistedType>(expression) }
}
