import FirnCore
import FirnQuery

// MARK: Logic

/// Holds if both conditions hold.
public func && (a: Query<Bool>, b: Query<Bool>) -> Query<Bool> {
    Query(
        QueryExpression(
            kind: .condition(a.expression.condition && b.expression.condition),
            objects: a.expression.objects + b.expression.objects))
}

/// Holds if at least one of the conditions holds.
public func || (a: Query<Bool>, b: Query<Bool>) -> Query<Bool> {
    Query(
        QueryExpression(
            kind: .condition(a.expression.condition || b.expression.condition),
            objects: a.expression.objects + b.expression.objects))
}

/// Holds if the condition does not hold.
public prefix func ! (a: Query<Bool>) -> Query<Bool> {
    Query(QueryExpression(kind: .condition(!a.expression.condition), objects: a.expression.objects))
}

// MARK: A property and a value

/// Holds if the property equals `value`, which may be nil if the property is optional.
public func == <V: _QueryValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .equal, value))
}
/// Holds if the property differs from `value`; nil differs from every other value.
public func != <V: _QueryValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .notEqual, value))
}
/// Holds if the number or date is less than `value`; nil never is.
public func < <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .less, value))
}
/// Holds if the number or date is less than or equal to `value`.
public func <= <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .lessOrEqual, value))
}
/// Holds if the number or date is greater than `value`; nil never is.
public func > <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greater, value))
}
/// Holds if the number or date is greater than or equal to `value`.
public func >= <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greaterOrEqual, value))
}

/// Holds if the string is less than `value`, compared by UTF-8 bytes.
public func < <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .less, value))
}
/// Holds if the string is less than or equal to `value`, compared by UTF-8 bytes.
public func <= <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .lessOrEqual, value))
}
/// Holds if the string is greater than `value`, compared by UTF-8 bytes.
public func > <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greater, value))
}
/// Holds if the string is greater than or equal to `value`, compared by UTF-8 bytes.
public func >= <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greaterOrEqual, value))
}

/// Holds if the property has this case.
public func == <V: PersistableEnum>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .equal, .value(value._value)))
}
/// Holds if the property has another case.
public func != <V: PersistableEnum>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .notEqual, .value(value._value)))
}
/// Holds if the optional property has this case, or is nil if `value` is.
public func == <V: PersistableEnum>(property: Query<V?>, value: V?) -> Query<Bool> {
    Query(.compare(property.expression, .equal, .value(value.map(\._value) ?? .null)))
}
/// Holds if the optional property has another case than `value`, or if only one of the two is nil.
public func != <V: PersistableEnum>(property: Query<V?>, value: V?) -> Query<Bool> {
    Query(.compare(property.expression, .notEqual, .value(value.map(\._value) ?? .null)))
}

// MARK: Two properties

/// Holds if the two properties are equal.
public func == <V: _QueryValue>(a: Query<V>, b: Query<V>) -> Query<Bool> { Query(.compare(a, .equal, b)) }
/// Holds if the two properties differ.
public func != <V: _QueryValue>(a: Query<V>, b: Query<V>) -> Query<Bool> { Query(.compare(a, .notEqual, b)) }
/// Holds if the two numbers are equal by value; their types may differ.
@_disfavoredOverload
public func == <V: _QueryNumber, U: _QueryNumber>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .equal, b))
}
/// Holds if the two numbers differ by value; their types may differ.
@_disfavoredOverload
public func != <V: _QueryNumber, U: _QueryNumber>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .notEqual, b))
}
/// Holds if the first property is less than the second.
public func < <V: _QueryOrdered, U: _QueryOrdered>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .less, b))
}
/// Holds if the first property is less than or equal to the second.
public func <= <V: _QueryOrdered, U: _QueryOrdered>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .lessOrEqual, b))
}
/// Holds if the first property is greater than the second.
public func > <V: _QueryOrdered, U: _QueryOrdered>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .greater, b))
}
/// Holds if the first property is greater than or equal to the second.
public func >= <V: _QueryOrdered, U: _QueryOrdered>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .greaterOrEqual, b))
}

extension QueryExpression {
    fileprivate static func compare<V, U>(_ a: Query<V>, _ operation: Comparison.Operation, _ b: Query<U>)
        -> QueryExpression
    {
        compare(a.expression, operation, b.expression.operand, objects: b.expression.objects)
    }
}

// MARK: Elements of a collection: any of them

/// Holds if any element equals `value`.
public func == <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryValue {
    Query(.compare(collection.expression, .equal, value))
}
/// Holds if any element differs from `value`.
public func != <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryValue {
    Query(.compare(collection.expression, .notEqual, value))
}
/// Holds if any element is less than `value`.
public func < <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .less, value))
}
/// Holds if any element is less than or equal to `value`.
public func <= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .lessOrEqual, value))
}
/// Holds if any element is greater than `value`.
public func > <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .greater, value))
}
/// Holds if any element is greater than or equal to `value`.
public func >= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .greaterOrEqual, value))
}
