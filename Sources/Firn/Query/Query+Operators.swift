import FirnCore
import FirnQuery

// MARK: Logic

/// Holds where both do.
public func && (a: Query<Bool>, b: Query<Bool>) -> Query<Bool> {
    Query(
        QueryExpression(
            kind: .condition(a.expression.condition && b.expression.condition),
            objects: a.expression.objects + b.expression.objects))
}

/// Holds where at least one does.
public func || (a: Query<Bool>, b: Query<Bool>) -> Query<Bool> {
    Query(
        QueryExpression(
            kind: .condition(a.expression.condition || b.expression.condition),
            objects: a.expression.objects + b.expression.objects))
}

/// Holds where the condition does not.
public prefix func ! (a: Query<Bool>) -> Query<Bool> {
    Query(QueryExpression(kind: .condition(!a.expression.condition), objects: a.expression.objects))
}

// MARK: A property and a value

public func == <V: _QueryValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .equal, value))
}
public func != <V: _QueryValue>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .notEqual, value))
}
public func < <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .less, value))
}
public func <= <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .lessOrEqual, value))
}
public func > <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greater, value))
}
public func >= <V: _QueryOrdered>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greaterOrEqual, value))
}

// Strings compare by their UTF-8 bytes.
public func < <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .less, value))
}
public func <= <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .lessOrEqual, value))
}
public func > <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greater, value))
}
public func >= <V: _QueryText>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .greaterOrEqual, value))
}

public func == <V: PersistableEnum>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .equal, .value(value._value)))
}
public func != <V: PersistableEnum>(property: Query<V>, value: V) -> Query<Bool> {
    Query(.compare(property.expression, .notEqual, .value(value._value)))
}
public func == <V: PersistableEnum>(property: Query<V?>, value: V?) -> Query<Bool> {
    Query(.compare(property.expression, .equal, .value(value.map(\._value) ?? .null)))
}
public func != <V: PersistableEnum>(property: Query<V?>, value: V?) -> Query<Bool> {
    Query(.compare(property.expression, .notEqual, .value(value.map(\._value) ?? .null)))
}

// MARK: Two properties

public func == <V: _QueryValue>(a: Query<V>, b: Query<V>) -> Query<Bool> { Query(.compare(a, .equal, b)) }
public func != <V: _QueryValue>(a: Query<V>, b: Query<V>) -> Query<Bool> { Query(.compare(a, .notEqual, b)) }
@_disfavoredOverload
public func == <V: _QueryNumber, U: _QueryNumber>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .equal, b))
}
@_disfavoredOverload
public func != <V: _QueryNumber, U: _QueryNumber>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .notEqual, b))
}
public func < <V: _QueryOrdered, U: _QueryOrdered>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .less, b))
}
public func <= <V: _QueryOrdered, U: _QueryOrdered>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .lessOrEqual, b))
}
public func > <V: _QueryOrdered, U: _QueryOrdered>(a: Query<V>, b: Query<U>) -> Query<Bool> {
    Query(.compare(a, .greater, b))
}
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

public func == <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryValue {
    Query(.compare(collection.expression, .equal, value))
}
public func != <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryValue {
    Query(.compare(collection.expression, .notEqual, value))
}
public func < <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .less, value))
}
public func <= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .lessOrEqual, value))
}
public func > <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .greater, value))
}
public func >= <C: RealmCollection>(collection: Query<C>, value: C.Element) -> Query<Bool>
where C.Element: _QueryOrdered {
    Query(.compare(collection.expression, .greaterOrEqual, value))
}
