extension Query where T: _QueriedObject {
    /// A property of the object. Stops the program if the key path does not lead to a stored property.
    public subscript<V>(dynamicMember member: KeyPath<T, V>) -> Query<V> {
        Query<V>(expression.appending(TracedKeyPath.of(member).properties))
    }
}

extension Query where T: _OptionalProtocol, T.Wrapped: _QueriedObject {
    /// A property of the linked object; nil if the link is nil. Stops the program if the key path does not lead to a
    /// stored property.
    public subscript<V>(dynamicMember member: KeyPath<T.Wrapped, V>) -> Query<V> {
        Query<V>(expression.appending(TracedKeyPath.of(member).properties))
    }
}

extension Query where T: RealmCollection, T.Element: _QueriedObject {
    /// A property of the elements. A condition on it holds if it holds for any element, and never for an empty
    /// collection. Stops the program if the key path does not lead to a stored property.
    ///
    /// ```swift
    /// people.where { $0.dogs.age > 3 && $0.dogs.name == "Rex" }     // may be two different dogs
    /// ```
    public subscript<V>(dynamicMember member: KeyPath<T.Element, V>) -> Query<V> {
        Query<V>(expression.appending(TracedKeyPath.of(member).properties))
    }
}

extension Query where T: RealmCollection {
    /// The number of elements: `people.where { $0.dogs.count > 2 }`. 0 if a link on the way to the collection is nil.
    public var count: Query<Int> { Query<Int>(expression.aggregated(.count)) }
}
