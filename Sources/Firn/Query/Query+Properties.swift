import FirnQuery

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
    /// A property of the elements: a condition on it holds if it holds for any element, and never for an empty
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

extension Query where T: RealmCollection, T.Element: _QueryOrdered {
    /// The smallest element; nil if there is none. Nil and NaN are passed over.
    public var min: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.min)) }
    /// The largest element; nil if there is none. Nil and NaN are passed over.
    public var max: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.max)) }
}

extension Query where T: RealmCollection, T.Element: _QueryNumber {
    /// The sum of the elements; 0 if there are none. Nil is passed over.
    public var sum: Query<T.Element> { Query<T.Element>(expression.aggregated(.sum)) }
    /// The average of the elements; nil if there are none. Nil is passed over and not counted.
    public var avg: Query<Double?> { Query<Double?>(expression.aggregated(.average)) }
}

extension Query where T: _QueryOrdered {
    /// The smallest value of the property among the elements of the collection that the path leads through, as in
    /// `people.where { $0.dogs.age.min > 3 }`; nil if there is none. If the path leads through no collection, `where`
    /// stops the program.
    public var min: Query<T?> { Query<T?>(expression.aggregated(.min)) }
    /// The largest value of the property among these elements; nil if there is none. If the path leads through no
    /// collection, `where` stops the program.
    public var max: Query<T?> { Query<T?>(expression.aggregated(.max)) }
}

extension Query where T: _QueryNumber {
    /// The sum of the property over the elements of the collection that the path leads through; 0 if there are none. If
    /// the path leads through no collection, `where` stops the program.
    public var sum: Query<T> { Query<T>(expression.aggregated(.sum)) }
    /// The average of the property over these elements; nil if there are none. If the path leads through no collection,
    /// `where` stops the program.
    public var avg: Query<Double?> { Query<Double?>(expression.aggregated(.average)) }
}
