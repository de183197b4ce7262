import FirnQuery

/// What has properties that a query can name: objects. A protocol, because Swift does not check the constraint to a superclass of a dynamic member that is asked
/// of another one: `$0.name.count` would compile, and trace the properties of a string.
public protocol _QueriedObject: ObjectBase {}
extension ObjectBase: _QueriedObject {}

extension Query where T: _QueriedObject {
    /// A property of the object.
    public subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> {
        Query<V>(expression.appending(KeyPathTracer.known(member)))
    }
}

extension Query where T: OptionalProtocol, T.Wrapped: _QueriedObject {
    /// A property of the linked object; nil where the link is.
    public subscript<V>(dynamicMember member: KeyPath<T.Wrapped, V>) -> Query<V> {
        Query<V>(expression.appending(KeyPathTracer.known(member)))
    }
}

extension Query where T: RealmCollection, T.Element: _QueriedObject {
    /// A property of the elements: a condition on it holds if it holds for any element.
    public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> {
        Query<V>(expression.appending(KeyPathTracer.known(member)))
    }
}

extension Query where T: RealmCollection {
    /// The number of elements.
    public var count: Query<Int> { Query<Int>(expression.aggregated(.count)) }
}

extension Query where T: RealmCollection, T.Element: _QueryOrdered {
    /// The smallest element.
    public var min: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.min)) }
    /// The largest element.
    public var max: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.max)) }
}

extension Query where T: RealmCollection, T.Element: _QueryNumber {
    /// The sum of the elements.
    public var sum: Query<T.Element> { Query<T.Element>(expression.aggregated(.sum)) }
    /// The average of the elements.
    public var avg: Query<Double?> { Query<Double?>(expression.aggregated(.average)) }
}

extension Query where T: _QueryOrdered {
    /// The smallest value of the property among the elements of the collection that the path passes.
    public var min: Query<T?> { Query<T?>(expression.aggregated(.min)) }
    /// The largest one.
    public var max: Query<T?> { Query<T?>(expression.aggregated(.max)) }
}

extension Query where T: _QueryNumber {
    /// The sum of the property over the elements of the collection that the path passes.
    public var sum: Query<T> { Query<T>(expression.aggregated(.sum)) }
    /// The average of it.
    public var avg: Query<Double?> { Query<Double?>(expression.aggregated(.average)) }
}

extension KeyPathTracer {
    /// The properties that a key path reads. Stops the program where there are none.
    static func known<Root: ObjectBase, V>(_ keyPath: KeyPath<Root, V>) -> [PropertyInfo] {
        if let known = traces.value(keyPath) { return known }
        let found = properties(keyPath)
        guard !found.isEmpty else {
            fatalError(
                "Firn: where { } uses \(keyPath), which is no @Persisted property of \(Root.self). Only stored properties can be queried."
            )
        }
        traces.keep(found, keyPath)
        return found
    }

    private static var traces: Cache<[PropertyInfo]> { Cache(.keyPathProperties) }
}
