import FirnCore
import FirnQuery

// Enums and types of the application are compared by what is stored of them.

// MARK: Order

/// Holds if what is stored is less than what is stored of `value`. Never holds for nil.
public func < <V: _MappedValue>(property: Query<V>, value: V) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .less, value._mapped))
}
/// Holds if what is stored is less than what is stored of `value`. Nil compares as it does for numbers.
public func < <V: _MappedValue>(property: Query<V?>, value: V?) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .less, value?._mapped))
}
/// Holds if the first property's stored value is less than the second's. Never holds if one of the two is nil.
public func < <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(a, .less, b))
}
/// Holds if what is stored of any element is less than what is stored of `value`.
public func < <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _MappedValue, C.Element._Mapped: _QueryOrdered {
    Query(.compare(collection.expression, .less, value._mapped))
}
/// Holds if what is stored is less than or equal to what is stored of `value`. Never holds for nil.
public func <= <V: _MappedValue>(property: Query<V>, value: V) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .lessOrEqual, value._mapped))
}
/// Holds if what is stored is less than or equal to what is stored of `value`. Nil compares as it does for numbers.
public func <= <V: _MappedValue>(property: Query<V?>, value: V?) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .lessOrEqual, value?._mapped))
}
/// Holds if the first property's stored value is less than or equal to the second's. Never holds if one of the two is
/// nil.
public func <= <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(a, .lessOrEqual, b))
}
/// Holds if what is stored of any element is less than or equal to what is stored of `value`.
public func <= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _MappedValue, C.Element._Mapped: _QueryOrdered {
    Query(.compare(collection.expression, .lessOrEqual, value._mapped))
}
/// Holds if what is stored is greater than what is stored of `value`. Never holds for nil.
public func > <V: _MappedValue>(property: Query<V>, value: V) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .greater, value._mapped))
}
/// Holds if what is stored is greater than what is stored of `value`. Nil compares as it does for numbers.
public func > <V: _MappedValue>(property: Query<V?>, value: V?) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .greater, value?._mapped))
}
/// Holds if the first property's stored value is greater than the second's. Never holds if one of the two is nil.
public func > <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(a, .greater, b))
}
/// Holds if what is stored of any element is greater than what is stored of `value`.
public func > <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _MappedValue, C.Element._Mapped: _QueryOrdered {
    Query(.compare(collection.expression, .greater, value._mapped))
}
/// Holds if what is stored is greater than or equal to what is stored of `value`. Never holds for nil.
public func >= <V: _MappedValue>(property: Query<V>, value: V) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .greaterOrEqual, value._mapped))
}
/// Holds if what is stored is greater than or equal to what is stored of `value`. Nil compares as it does for numbers.
public func >= <V: _MappedValue>(property: Query<V?>, value: V?) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(property.expression, .greaterOrEqual, value?._mapped))
}
/// Holds if the first property's stored value is greater than or equal to the second's. Never holds if one of the two
/// is nil.
public func >= <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _QueryOrdered {
    Query(.compare(a, .greaterOrEqual, b))
}
/// Holds if what is stored of any element is greater than or equal to what is stored of `value`.
public func >= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _MappedValue, C.Element._Mapped: _QueryOrdered {
    Query(.compare(collection.expression, .greaterOrEqual, value._mapped))
}

// MARK: Two properties

/// Holds if the two properties have the same value.
public func == <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .equal, b))
}
/// Holds if the two properties have different values.
public func != <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .notEqual, b))
}
/// Holds if the two optional properties have the same value, or are both nil.
public func == <V: _MappedValue>(a: Query<V?>, b: Query<V?>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .equal, b))
}
/// Holds if the two optional properties have different values, or if only one of them is nil.
public func != <V: _MappedValue>(a: Query<V?>, b: Query<V?>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .notEqual, b))
}

// MARK: Text

extension Query where T: _MappedValue, T._Mapped: _QueryTextual {
    /// Whether the stored string contains what is stored of `value`.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.contains, value, options: options)
    }
    /// Whether the stored string begins with what is stored of `value`.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.beginsWith, value, options: options)
    }
    /// Whether the stored string ends with what is stored of `value`.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.endsWith, value, options: options)
    }
    /// Whether the stored string equals what is stored of `value`, under the options.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.equal, value, options: options)
    }
    /// Whether the stored string differs from what is stored of `value`, under the options.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.notEqual, value, options: options)
    }
    /// Whether the whole stored string matches what is stored of `value`, in which `*` stands for any characters and
    /// `?` for one code point.
    public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
        stored(.like, value, options: caseInsensitive ? .caseInsensitive : [])
    }

    private func stored(
        _ operation: Comparison.Operation, _ value: T, options: StringOptions
    ) -> Query<Bool> {
        let stored = value._mapped._queryValue
        return Query<Bool>(.compare(expression, operation, .value(stored), options: options.comparison))
    }
}

extension Query where T: _OptionalProtocol, T.Wrapped: _MappedValue, T.Wrapped._Mapped: _QueryTextual {
    /// Whether the stored string contains what is stored of `value`. Nil matches only nil.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.contains, value, options: options)
    }
    /// Whether the stored string begins with what is stored of `value`. Nil matches only nil.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.beginsWith, value, options: options)
    }
    /// Whether the stored string ends with what is stored of `value`. Nil matches only nil.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.endsWith, value, options: options)
    }
    /// Whether the stored string equals what is stored of `value`, under the options. Nil matches only nil.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.equal, value, options: options)
    }
    /// Whether the stored string differs from what is stored of `value`, under the options. Nil matches only nil.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        stored(.notEqual, value, options: options)
    }
    /// Whether the whole stored string matches what is stored of `value`, in which `*` stands for any characters and
    /// `?` for one code point. Nil matches only nil.
    public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
        stored(.like, value, options: caseInsensitive ? .caseInsensitive : [])
    }

    private func stored(
        _ operation: Comparison.Operation, _ value: T, options: StringOptions
    ) -> Query<Bool> {
        let stored = (value as? T.Wrapped)?._mapped._queryValue ?? .null
        return Query<Bool>(.compare(expression, operation, .value(stored), options: options.comparison))
    }
}

// MARK: Aggregates

extension Query where T: RealmCollection, T.Element: _MappedValue, T.Element._Mapped: _QueryOrdered {
    /// The element with the smallest stored value; nil if there is none.
    public var min: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.min)) }
    /// The element with the largest stored value; nil if there is none.
    public var max: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.max)) }
}

extension Query where T: RealmCollection, T.Element: _MappedValue, T.Element._Mapped: _QueryNumber {
    /// The sum of the stored values, to be compared with what is stored of a value; 0 if there are none.
    public var sum: Query<T.Element> { Query<T.Element>(expression.aggregated(.sum)) }
    /// The average of the stored values, to be compared with what is stored of a value; nil if there are none.
    public var avg: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.average)) }
}

extension Query where T: RealmKeyedCollection, T.Value: _MappedValue, T.Value._Mapped: _QueryOrdered {
    /// The value with the smallest stored value; nil if there is none.
    public var min: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.min)) }
    /// The value with the largest stored value; nil if there is none.
    public var max: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.max)) }
}

extension Query where T: RealmKeyedCollection, T.Value: _MappedValue, T.Value._Mapped: _QueryNumber {
    /// The sum of the stored values, to be compared with what is stored of a value; 0 if there are none.
    public var sum: Query<T.Value> { Query<T.Value>(expression.aggregated(.sum)) }
    /// The average of the stored values, to be compared with what is stored of a value; nil if there are none.
    public var avg: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.average)) }
}

extension Query where T: _MappedValue, T._Mapped: _QueryOrdered {
    /// The smallest stored value of the property among the elements of the collection that the path leads through; nil
    /// if there is none. If the path leads through no collection, `where` stops the program.
    public var min: Query<T?> { Query<T?>(expression.aggregated(.min)) }
    /// The largest stored value of the property among these elements; nil if there is none. If the path leads through
    /// no collection, `where` stops the program.
    public var max: Query<T?> { Query<T?>(expression.aggregated(.max)) }
}

extension Query where T: _MappedValue, T._Mapped: _QueryNumber {
    /// The sum of the stored values of the property over the elements of the collection that the path leads through. If
    /// the path leads through no collection, `where` stops the program.
    public var sum: Query<T> { Query<T>(expression.aggregated(.sum)) }
    /// The average of these values; nil if there are none. If the path leads through no collection, `where` stops the
    /// program.
    public var avg: Query<T?> { Query<T?>(expression.aggregated(.average)) }
}
