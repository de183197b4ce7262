import Firn
import Foundation

// RealmSwift has these functions for values of any type, so that generic code can use them if it only knows
// `RealmCollectionValue`. Firn's own are available only where the compiler knows that the values are objects. Each
// function costs what the `RealmCollection` function of the same name costs, and stops the program for the same
// reasons. Each also stops it if the values are not objects, unless its comment says otherwise.

extension RealmKeyedCollection {
    /// Whether an entry satisfies a condition. O(n). The condition throws nothing, so that this function can satisfy a
    /// protocol's requirement.
    @_disfavoredOverload
    public func contains(where predicate: (_ key: Key, _ value: Value) -> Bool) -> Bool {
        contains { predicate($0.key, $0.value) }
    }

    /// The objects that match the predicate in a text, live.
    @_disfavoredOverload
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value> {
        queried.filtered(predicateFormat, args)
    }

    /// The objects for which the condition holds, live.
    @_disfavoredOverload
    public func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value> { queried.filtered(isIncluded) }

    /// The objects sorted by a property, live. Values that are not objects can be sorted by `self`.
    @_disfavoredOverload
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Value> {
        queried.sortedByNames([SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// The objects sorted by several properties, live. Values that are not objects can be sorted by `self`.
    @_disfavoredOverload
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor {
        queried.sortedByNames(Array(sortDescriptors))
    }

    /// The sorted values, live. Stops the program if the values are objects.
    @_disfavoredOverload
    public func sorted(ascending: Bool = true) -> Results<Value> {
        sorted(byKeyPath: "self", ascending: ascending)
    }

    /// The first object of each combination of properties' values, in the order of the keys, live. For values that are
    /// not objects, `self` gives each value once.
    @_disfavoredOverload
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Value> where S.Element == String {
        queried.distinctByNames(Array(keyPaths))
    }

    // MARK: Aggregates

    /// The smallest value of a property; nil if there are no values.
    @_disfavoredOverload
    public func min<V: MinMaxType>(ofProperty property: String) -> V? { aggregated.minByName(property) }

    /// The largest value of a property; nil if there are no values.
    @_disfavoredOverload
    public func max<V: MinMaxType>(ofProperty property: String) -> V? { aggregated.maxByName(property) }

    /// The sum of a property; 0 if there are no values.
    @_disfavoredOverload
    public func sum<V: AddableType>(ofProperty property: String) -> V { aggregated.sumByName(property) }

    /// The average of a property; nil if there are no values.
    @_disfavoredOverload
    public func average<V: AddableType>(ofProperty property: String) -> V? { aggregated.averageByName(property) }
}

#if !canImport(ObjectiveC)
    extension RealmKeyedCollection {
        /// The objects for which the condition holds, live. Also stops the program for a predicate that was made from a
        /// block.
        @_disfavoredOverload
        public func filter(_ predicate: NSPredicate) -> Results<Value> {
            let text = RealmPredicate(predicate)
            return queried.filtered(text.predicateFormat, text.arguments)
        }
    }
#endif
