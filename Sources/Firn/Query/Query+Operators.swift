import FirnCore
import FirnQuery

// MARK: Logic

/// Holds if both conditions hold. The cheaper one is tested first, and the other one only for the remaining objects.
public func && (a: Query<Bool>, b: Query<Bool>) -> Query<Bool> {
    Query(.combining(a.expression, b.expression, predicate: a.expression.condition && b.expression.condition))
}

/// Holds if at least one of the conditions holds. The cheaper one is tested first, and the other one only for the
/// remaining objects.
public func || (a: Query<Bool>, b: Query<Bool>) -> Query<Bool> {
    Query(.combining(a.expression, b.expression, predicate: a.expression.condition || b.expression.condition))
}

/// Holds if the condition does not hold. So it holds for objects whose property is nil if the condition does not hold
/// for nil.
public prefix func ! (a: Query<Bool>) -> Query<Bool> {
    Query(a.expression.negated)
}

// MARK: A property and a value

/// Holds if the property equals `value`, which may be nil if the property is optional: nil equals only nil. A NaN
/// equals nothing. An index on the property is used if that costs less than a scan.
public func == <V: _QueryValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .equal, value))
}
/// Holds if the property differs from `value`. Nil differs from every other value, so objects with a nil property, or
/// with a nil link on the way to it, are found. A NaN differs from everything.
public func != <V: _QueryValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .notEqual, value))
}
// Numbers and dates have their usual order, strings the order of their UTF-8 bytes, and other types the order of their
// stored values.

/// Holds if the property is less than `value`. Never holds for nil and NaN.
public func < <V: _Persistable>(property: Query<V>, value: V) -> Query<Bool> where V._Stored: _QueryComparable {
    Query(.compare(property.expression, .less, V._wrap(value)))
}
/// Holds if the property is less than or equal to `value`. Nil is equal only to nil, and NaN to nothing.
public func <= <V: _Persistable>(property: Query<V>, value: V) -> Query<Bool> where V._Stored: _QueryComparable {
    Query(.compare(property.expression, .lessOrEqual, V._wrap(value)))
}
/// Holds if the property is greater than `value`. If `value` is nil, every property that is not nil is greater, even
/// NaN. Otherwise never holds for nil and NaN.
public func > <V: _Persistable>(property: Query<V>, value: V) -> Query<Bool> where V._Stored: _QueryComparable {
    Query(.compare(property.expression, .greater, V._wrap(value)))
}
/// Holds if the property is greater than or equal to `value`. Always holds if `value` is nil. Otherwise never holds for
/// nil and NaN.
public func >= <V: _Persistable>(property: Query<V>, value: V) -> Query<Bool> where V._Stored: _QueryComparable {
    Query(.compare(property.expression, .greaterOrEqual, V._wrap(value)))
}

/// Holds if the property has this value. Never holds if a link on the way to it is nil. A value that is stored as an
/// embedded object is compared member by member.
public func == <V: _MappedValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(property.expression.isEqual(to: value))
}
/// Holds if the property has another value, or if a link on the way to it is nil.
public func != <V: _MappedValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(property.expression.isUnequal(to: value))
}
/// Holds if the optional property has this value; if `value` is nil, if the property is nil.
public func == <V: _MappedValue>(property: Query<V?>, value: V?) -> Query<Bool> {
    Query(property.expression.isEqual(to: value))
}
/// Holds if the optional property has another value than `value`, or if only one of the two is nil.
public func != <V: _MappedValue>(property: Query<V?>, value: V?) -> Query<Bool> {
    Query(property.expression.isUnequal(to: value))
}

// MARK: An average and a number of another type

/// Holds if the average equals `value`: `people.where { $0.ages.avg == limit }`. Never holds if there is no average.
@_disfavoredOverload
public func == <V: _QueryNumber>(average: Query<Double?>, value: V) -> Query<Bool> {
    Query(.compare(average.expression, .equal, value))
}
/// Holds if the average differs from `value`, or if there is none.
@_disfavoredOverload
public func != <V: _QueryNumber>(average: Query<Double?>, value: V) -> Query<Bool> {
    Query(.compare(average.expression, .notEqual, value))
}
/// Holds if the average is less than `value`. Never holds if there is none.
@_disfavoredOverload
public func < <V: _QueryNumber>(average: Query<Double?>, value: V) -> Query<Bool> {
    Query(.compare(average.expression, .less, value))
}
/// Holds if the average is less than or equal to `value`. Never holds if there is none.
@_disfavoredOverload
public func <= <V: _QueryNumber>(average: Query<Double?>, value: V) -> Query<Bool> {
    Query(.compare(average.expression, .lessOrEqual, value))
}
/// Holds if the average is greater than `value`. Never holds if there is none.
@_disfavoredOverload
public func > <V: _QueryNumber>(average: Query<Double?>, value: V) -> Query<Bool> {
    Query(.compare(average.expression, .greater, value))
}
/// Holds if the average is greater than or equal to `value`. Never holds if there is none.
@_disfavoredOverload
public func >= <V: _QueryNumber>(average: Query<Double?>, value: V) -> Query<Bool> {
    Query(.compare(average.expression, .greaterOrEqual, value))
}

// MARK: Two properties

/// Holds if the two properties are equal. Nil equals only nil.
public func == <V: _QueryValue>(a: Query<V>, b: Query<V>) -> Query<Bool> { Query(.compare(a, .equal, b)) }
/// Holds if the two properties differ. Nil differs from every value, but not from nil.
public func != <V: _QueryValue>(a: Query<V>, b: Query<V>) -> Query<Bool> { Query(.compare(a, .notEqual, b)) }
/// Holds if the two numbers are equal by value; their types may differ. Nil equals only nil.
@_disfavoredOverload
public func == <V: _QueryNumber, U: _QueryNumber>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .equal, b))
}
/// Holds if the two numbers differ by value; their types may differ. Nil differs from every number, but not from nil.
@_disfavoredOverload
public func != <V: _QueryNumber, U: _QueryNumber>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .notEqual, b))
}
// Two enums, or a number and a value that is stored as a number, are compared by their stored values.

/// Holds if the first property is less than the second. Never holds if one of the two is nil or NaN.
public func < <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryOrdered, U._Stored: _QueryOrdered {
    Query(.compare(a, .less, b))
}
/// Holds if the first property is less than or equal to the second, or if both are nil. Never holds if only one of the
/// two is nil, or if one is NaN.
public func <= <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryOrdered, U._Stored: _QueryOrdered {
    Query(.compare(a, .lessOrEqual, b))
}
/// Holds if the first property is greater than the second. Never holds if one of the two is nil or NaN.
public func > <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryOrdered, U._Stored: _QueryOrdered {
    Query(.compare(a, .greater, b))
}
/// Holds if the first property is greater than or equal to the second, or if both are nil. Never holds if only one of
/// the two is nil, or if one is NaN.
public func >= <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryOrdered, U._Stored: _QueryOrdered {
    Query(.compare(a, .greaterOrEqual, b))
}

/// Holds if the first string is less than the second, compared by UTF-8 bytes. Never holds if one of the two is nil.
public func < <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryText, U._Stored: _QueryText {
    Query(.compare(a, .less, b))
}
/// Holds if the first string is less than or equal to the second, or if both are nil.
public func <= <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryText, U._Stored: _QueryText {
    Query(.compare(a, .lessOrEqual, b))
}
/// Holds if the first string is greater than the second. Never holds if one of the two is nil.
public func > <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryText, U._Stored: _QueryText {
    Query(.compare(a, .greater, b))
}
/// Holds if the first string is greater than or equal to the second, or if both are nil.
public func >= <V: _Persistable, U: _Persistable>(a: Query<V>, b: Query<U>) -> Query<Bool>
where V._Stored: _QueryText, U._Stored: _QueryText {
    Query(.compare(a, .greaterOrEqual, b))
}

extension QueryExpression {
    static func compare<V, U>(
        _ a: Query<V>, _ operation: Comparison.Operation, _ b: Query<U>, options: Comparison.Options = []
    ) -> QueryExpression {
        compare(a.expression, operation, b.expression.operand, options: options, objects: b.expression.objects)
    }
}

// MARK: Elements of a collection: any of them

/// Holds if any element equals `value`. A nil element equals only nil. Never holds for an empty collection.
public func == <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryValue {
    Query(.compare(collection.expression, .equal, value))
}
/// Holds if any element differs from `value`. A nil element differs from every other value. Never holds for an empty
/// collection.
public func != <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryValue {
    Query(.compare(collection.expression, .notEqual, value))
}
/// Holds if any element is less than `value`. An element that is nil or NaN never is.
public func < <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _Persistable, C.Element._Stored: _QueryOrdered {
    Query(.compare(collection.expression, .less, C.Element._wrap(value)))
}
/// Holds if any element is less than or equal to `value`. A nil element is equal only to nil, and a NaN to nothing.
public func <= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _Persistable, C.Element._Stored: _QueryOrdered {
    Query(.compare(collection.expression, .lessOrEqual, C.Element._wrap(value)))
}
/// Holds if any element is greater than `value`. If `value` is nil, every element that is not nil is greater, even NaN.
/// Otherwise an element that is nil or NaN never is.
public func > <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _Persistable, C.Element._Stored: _QueryOrdered {
    Query(.compare(collection.expression, .greater, C.Element._wrap(value)))
}
/// Holds if any element is greater than or equal to `value`. If `value` is nil, every element is. Otherwise an element
/// that is nil or NaN never is.
public func >= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _Persistable, C.Element._Stored: _QueryOrdered {
    Query(.compare(collection.expression, .greaterOrEqual, C.Element._wrap(value)))
}
