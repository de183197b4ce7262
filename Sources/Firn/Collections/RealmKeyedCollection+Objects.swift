import FirnCore
import FirnQuery
import FirnStorage

/// Queries over the objects of a map. Keys whose object is nil are left out. Each function costs as much as the
/// function of `RealmCollection` with the same name, and stops the program in the same cases.
extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: ObjectBase {
    private var objects: Results<Value.Wrapped> { Results(_source) }

    /// The objects for which the condition holds, live: `shop.staff.where { $0.age > 30 }`.
    public func `where`(_ isIncluded: (Query<Value.Wrapped>) -> Query<Bool>) -> Results<Value> {
        Results(objects.where(isIncluded)._source)
    }

    /// The objects that satisfy a predicate text, live.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value> {
        Results(objects.filtered(predicateFormat, args)._source)
    }

    /// The objects sorted by a property, live.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Value> {
        Results(objects.sorted(byKeyPath: keyPath, ascending: ascending)._source)
    }

    /// The objects sorted by a property, live: `shop.staff.sorted(by: \.age)`.
    public func sorted<V>(by keyPath: KeyPath<Value.Wrapped, V>, ascending: Bool = true) -> Results<Value> {
        Results(objects.sorted(by: keyPath, ascending: ascending)._source)
    }

    /// The objects sorted by several properties, live.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor {
        Results(objects.sorted(by: sortDescriptors)._source)
    }

    /// The smallest value of a property of the objects; nil if there are none. In an unmanaged map, this and the other
    /// aggregates read the objects one by one.
    public func min<V: MinMaxType>(ofProperty property: String) -> V? { aggregated.minByName(property) }
    /// The largest value of a property of the objects; nil if there are none.
    public func max<V: MinMaxType>(ofProperty property: String) -> V? { aggregated.maxByName(property) }
    /// The sum of a property of the objects; 0 if there are none.
    public func sum<V: AddableType>(ofProperty property: String) -> V { aggregated.sumByName(property) }
    /// The average of a property of the objects; nil if there are none.
    public func average<V: AddableType>(ofProperty property: String) -> V? { aggregated.averageByName(property) }
    /// The smallest value of a property of the objects; nil if there are none.
    public func min<V: MinMaxType>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? {
        aggregate(.min, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The largest value of a property of the objects; nil if there are none.
    public func max<V: MinMaxType>(of keyPath: KeyPath<Value.Wrapped, V>) -> V? {
        aggregate(.max, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The sum of a property of the objects; 0 if there are none.
    public func sum<V: AddableType>(of keyPath: KeyPath<Value.Wrapped, V>) -> V {
        aggregate(.sum, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) } ?? V._zero
    }
    /// The average of a property of the objects; nil if there are none.
    public func average<V: AddableType, A: AddableType>(of keyPath: KeyPath<Value.Wrapped, V>) -> A? {
        aggregate(.average, TracedKeyPath.of(keyPath).path).flatMap { A(_aggregate: $0) }
    }
}

/// Helpers that compile for any type of values.
extension RealmKeyedCollection {
    /// The values as results, for queries. Stops the program if the map is unmanaged.
    package var queried: Results<Value> { Results(_source) }

    /// The values as a collection, for aggregates. The values of an unmanaged map are copied to an unmanaged list.
    package var aggregated: any RealmCollection {
        if realm != nil { return queried }
        let list = List<Value>()
        list.append(objectsIn: values)
        return list
    }

    func aggregate(_ aggregate: PropertyPath.Aggregate, _ property: String) -> FirnCore.Value? {
        aggregated.aggregate(aggregate, property)
    }

    func aggregate(_ aggregate: PropertyPath.Aggregate, _ path: PropertyPath) -> FirnCore.Value? {
        aggregated.aggregate(aggregate, path)
    }
}
