import FirnQuery

/// Conditions on maps, and on elements of mixed values.
extension Query where T: RealmKeyedCollection {
    /// The keys: a condition holds if it holds for any of them, as in `shops.where { $0.prices.keys == "tea" }`.
    public var keys: Query<T.Key> { Query<T.Key>(expression.taking(.keyword("@allKeys"), isElement: false)) }
    /// The values: a condition holds if it holds for any of them.
    public var values: Query<T.Value> { Query<T.Value>(expression) }
    /// The value of a key; nil if the map does not have the key.
    public subscript(key: T.Key) -> Query<T.Value> { Query<T.Value>(expression.taking(.key(key._keyText))) }
    /// The number of entries.
    public var count: Query<Int> { Query<Int>(expression.aggregated(.count)) }
}

extension Query where T: RealmKeyedCollection, T.Value: _QueryValue {
    /// Whether the map has the value.
    public func contains(_ value: T.Value) -> Query<Bool> { values == value }

    /// Whether the map has any of the values. The sequence is read immediately. Never holds if it is empty.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Value {
        self.values.in(values)
    }
}

extension Query where T: RealmKeyedCollection, T.Value: _Persistable & Comparable, T.Value._Stored: _QueryOrdered {
    /// Whether all values lie within the range, its end excluded, as in RealmSwift. NaN is ignored. Never holds if no
    /// other value is left.
    public func contains(_ range: Range<T.Value>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
    /// Whether all values lie within the range, both ends included. NaN is ignored. Never holds if no other value is
    /// left.
    public func contains(_ range: ClosedRange<T.Value>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
}

extension Query
where
    T: RealmKeyedCollection, T.Value: _OptionalProtocol, T.Value.Wrapped: _Persistable & Comparable,
    T.Value.Wrapped._Stored: _QueryOrdered
{
    /// Whether all values lie within the range, its end excluded. Nil and NaN are ignored. Never holds if no other
    /// value is left.
    public func contains(_ range: Range<T.Value.Wrapped>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
    /// Whether all values lie within the range, both ends included. Nil and NaN are ignored. Never holds if no other
    /// value is left.
    public func contains(_ range: ClosedRange<T.Value.Wrapped>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
}

extension Query where T: RealmCollection {
    /// The element of a list at an index; nil if the list is shorter. `where` stops the program for a set, and for
    /// backlinks.
    public subscript(index: Int) -> Query<T.Element> { Query<T.Element>(expression.taking(.index(index))) }
}

extension Query where T == AnyRealmValue {
    /// The element of a list in the mixed value; nil if there is none, or if the value is not a list.
    public subscript(index: Int) -> Query<AnyRealmValue> { Query<AnyRealmValue>(expression.taking(.index(index))) }
    /// The value for a key of a dictionary in the mixed value; nil if there is none, or if the value is not a
    /// dictionary.
    public subscript(key: String) -> Query<AnyRealmValue> { Query<AnyRealmValue>(expression.taking(.key(key))) }
    /// Each element of a list or dictionary in the mixed value: a condition holds if it holds for any of them.
    public var any: Query<AnyRealmValue> { Query<AnyRealmValue>(expression.taking(.each)) }
}
