// Aggregates of collections in conditions. Enums and types of the application are compared by their stored values. Nil
// is ignored; min and max also ignore NaN.

// MARK: Elements of a collection

extension Query where T: RealmCollection, T.Element: _Scalar & _QueryOrdered {
    /// The smallest element; nil if there is none.
    public var min: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.min)) }
    /// The largest element; nil if there is none.
    public var max: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.max)) }
}

extension Query where T: RealmCollection, T.Element: _MappedValue, T.Element._Stored: _QueryOrdered {
    /// The smallest element; nil if there is none.
    public var min: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.min)) }
    /// The largest element; nil if there is none.
    public var max: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.max)) }
}

extension Query
where
    T: RealmCollection, T.Element: _Persistable & _OptionalProtocol, T.Element._Stored: _QueryOrdered
{
    /// The smallest element; nil if there is none.
    public var min: Query<T.Element> { Query<T.Element>(expression.aggregated(.min)) }
    /// The largest element; nil if there is none.
    public var max: Query<T.Element> { Query<T.Element>(expression.aggregated(.max)) }
}

extension Query where T: RealmCollection, T.Element == AnyRealmValue {
    /// The smallest element; nil if there is none.
    public var min: Query<T.Element> { Query<T.Element>(expression.aggregated(.min)) }
    /// The largest element; nil if there is none.
    public var max: Query<T.Element> { Query<T.Element>(expression.aggregated(.max)) }
}

extension Query where T: RealmCollection, T.Element: _QueryOrdered & _QueryTextual {
    /// The smallest mixed value, as an optional that can be compared with nil.
    public var min: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.min)) }
    /// The largest mixed value, as an optional that can be compared with nil.
    public var max: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.max)) }
}

extension Query where T: RealmCollection, T.Element: _QueryNumber {
    /// The sum of the elements; 0 if there are none.
    public var sum: Query<T.Element> { Query<T.Element>(expression.aggregated(.sum)) }
    /// The average of the elements that are not nil; nil if there are none.
    public var avg: Query<Double?> { Query<Double?>(expression.aggregated(.average)) }
}

extension Query where T: RealmCollection, T.Element: _MappedValue, T.Element._Stored: _QueryNumber {
    /// The sum of the stored values; 0 if there are none. It is compared with the stored form of a value.
    public var sum: Query<T.Element> { Query<T.Element>(expression.aggregated(.sum)) }
    /// The average of the stored values; nil if there are none. It is compared with the stored form of a value.
    public var avg: Query<T.Element?> { Query<T.Element?>(expression.aggregated(.average)) }
}

extension Query
where
    T: RealmCollection, T.Element: _OptionalProtocol, T.Element.Wrapped: _MappedValue,
    T.Element.Wrapped._Stored: _QueryNumber
{
    /// The sum of the stored values; 0 if there are none. It is compared with the stored form of a value.
    public var sum: Query<T.Element> { Query<T.Element>(expression.aggregated(.sum)) }
    /// The average of the stored values; nil if there are none. It is compared with the stored form of a value.
    public var avg: Query<T.Element> { Query<T.Element>(expression.aggregated(.average)) }
}

// MARK: Values of a map

extension Query where T: RealmKeyedCollection, T.Value: _Scalar & _QueryOrdered {
    /// The smallest value; nil if there is none.
    public var min: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.min)) }
    /// The largest value; nil if there is none.
    public var max: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.max)) }
}

extension Query where T: RealmKeyedCollection, T.Value: _MappedValue, T.Value._Stored: _QueryOrdered {
    /// The smallest value; nil if there is none.
    public var min: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.min)) }
    /// The largest value; nil if there is none.
    public var max: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.max)) }
}

extension Query
where
    T: RealmKeyedCollection, T.Value: _Persistable & _OptionalProtocol, T.Value._Stored: _QueryOrdered
{
    /// The smallest value; nil if there is none.
    public var min: Query<T.Value> { Query<T.Value>(expression.aggregated(.min)) }
    /// The largest value; nil if there is none.
    public var max: Query<T.Value> { Query<T.Value>(expression.aggregated(.max)) }
}

extension Query where T: RealmKeyedCollection, T.Value == AnyRealmValue {
    /// The smallest value; nil if there is none.
    public var min: Query<T.Value> { Query<T.Value>(expression.aggregated(.min)) }
    /// The largest value; nil if there is none.
    public var max: Query<T.Value> { Query<T.Value>(expression.aggregated(.max)) }
}

extension Query where T: RealmKeyedCollection, T.Value: _QueryOrdered & _QueryTextual {
    /// The smallest mixed value, as an optional that can be compared with nil.
    public var min: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.min)) }
    /// The largest mixed value, as an optional that can be compared with nil.
    public var max: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.max)) }
}

extension Query where T: RealmKeyedCollection, T.Value: _QueryNumber {
    /// The sum of the values; 0 if there are none.
    public var sum: Query<T.Value> { Query<T.Value>(expression.aggregated(.sum)) }
    /// The average of the values that are not nil; nil if there are none.
    public var avg: Query<Double?> { Query<Double?>(expression.aggregated(.average)) }
}

extension Query where T: RealmKeyedCollection, T.Value: _MappedValue, T.Value._Stored: _QueryNumber {
    /// The sum of the stored values; 0 if there are none. It is compared with the stored form of a value.
    public var sum: Query<T.Value> { Query<T.Value>(expression.aggregated(.sum)) }
    /// The average of the stored values; nil if there are none. It is compared with the stored form of a value.
    public var avg: Query<T.Value?> { Query<T.Value?>(expression.aggregated(.average)) }
}

extension Query
where
    T: RealmKeyedCollection, T.Value: _OptionalProtocol, T.Value.Wrapped: _MappedValue,
    T.Value.Wrapped._Stored: _QueryNumber
{
    /// The sum of the stored values; 0 if there are none. It is compared with the stored form of a value.
    public var sum: Query<T.Value> { Query<T.Value>(expression.aggregated(.sum)) }
    /// The average of the stored values; nil if there are none. It is compared with the stored form of a value.
    public var avg: Query<T.Value> { Query<T.Value>(expression.aggregated(.average)) }
}

// MARK: A property of the elements of a collection

// If the path leads through no collection, `where` stops the program.

extension Query where T: _Scalar & _QueryOrdered {
    /// The smallest value of the property among the elements of the collection that the path leads through, as in
    /// `people.where { $0.dogs.age.min > 3 }`; nil if there is none. If the path leads through no collection, `where`
    /// stops the program.
    public var min: Query<T?> { Query<T?>(expression.aggregated(.min)) }
    /// The largest value of the property among the elements of the collection that the path leads through; nil if there
    /// is none. If the path leads through no collection, `where` stops the program.
    public var max: Query<T?> { Query<T?>(expression.aggregated(.max)) }
}

extension Query where T: _MappedValue, T._Stored: _QueryOrdered {
    /// The smallest value of the property among the elements of the collection that the path leads through, as in
    /// `people.where { $0.dogs.age.min > 3 }`; nil if there is none. If the path leads through no collection, `where`
    /// stops the program.
    public var min: Query<T?> { Query<T?>(expression.aggregated(.min)) }
    /// The largest value of the property among the elements of the collection that the path leads through; nil if there
    /// is none. If the path leads through no collection, `where` stops the program.
    public var max: Query<T?> { Query<T?>(expression.aggregated(.max)) }
}

extension Query where T: _Persistable & _OptionalProtocol, T._Stored: _QueryOrdered {
    /// The smallest value of the property among the elements of the collection that the path leads through, as in
    /// `people.where { $0.dogs.age.min > 3 }`; nil if there is none. If the path leads through no collection, `where`
    /// stops the program.
    public var min: Query<T> { Query<T>(expression.aggregated(.min)) }
    /// The largest value of the property among the elements of the collection that the path leads through; nil if there
    /// is none. If the path leads through no collection, `where` stops the program.
    public var max: Query<T> { Query<T>(expression.aggregated(.max)) }
}

extension Query where T == AnyRealmValue {
    /// The smallest value of the property among the elements of the collection that the path leads through; nil if
    /// there is none.
    public var min: Query<T> { Query<T>(expression.aggregated(.min)) }
    /// The largest value of the property among the elements of the collection that the path leads through; nil if there
    /// is none.
    public var max: Query<T> { Query<T>(expression.aggregated(.max)) }
}

extension Query where T: _QueryOrdered & _QueryTextual {
    /// The smallest mixed value, as an optional that can be compared with nil.
    public var min: Query<T?> { Query<T?>(expression.aggregated(.min)) }
    /// The largest mixed value, as an optional that can be compared with nil.
    public var max: Query<T?> { Query<T?>(expression.aggregated(.max)) }
}

extension Query where T: _QueryNumber {
    /// The sum of the property over the elements of the collection that the path leads through; 0 if there are none. If
    /// the path leads through no collection, `where` stops the program.
    public var sum: Query<T> { Query<T>(expression.aggregated(.sum)) }
    /// The average of the property over the elements of the collection that the path leads through; nil if there are
    /// none. If the path leads through no collection, `where` stops the program.
    public var avg: Query<Double?> { Query<Double?>(expression.aggregated(.average)) }
}

extension Query where T: _MappedValue, T._Stored: _QueryNumber {
    /// The sum of the stored values of the property over the elements of the collection that the path leads through. If
    /// the path leads through no collection, `where` stops the program.
    public var sum: Query<T> { Query<T>(expression.aggregated(.sum)) }
    /// The average of the stored values of the property over the elements of the collection that the path leads
    /// through; nil if there are none. If the path leads through no collection, `where` stops the program.
    public var avg: Query<T?> { Query<T?>(expression.aggregated(.average)) }
}

extension Query where T: _OptionalProtocol, T.Wrapped: _MappedValue, T.Wrapped._Stored: _QueryNumber {
    /// The sum of the stored values of the property over the elements of the collection that the path leads through. If
    /// the path leads through no collection, `where` stops the program.
    public var sum: Query<T> { Query<T>(expression.aggregated(.sum)) }
    /// The average of the stored values of the property over the elements of the collection that the path leads
    /// through; nil if there are none. If the path leads through no collection, `where` stops the program.
    public var avg: Query<T> { Query<T>(expression.aggregated(.average)) }
}
