import Firn
import FirnStorage
import Foundation

// RealmSwift has these functions for elements of any type, so that generic code can use them if it only knows
// `RealmCollectionValue`. Firn's own are available only where the compiler knows that the elements are objects.

extension RealmCollection {
    /// The elements sorted by a property, live. Elements that are not objects can only be sorted by `self`. Stops the
    /// program for any other property of such elements, and for the reasons of Firn's own `sorted`.
    @_disfavoredOverload
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        sortedByNames([SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// The elements sorted by several properties, live. Elements that are not objects can only be sorted by `self`.
    /// Stops the program for any other property of such elements, and for the reasons of Firn's own `sorted`.
    @_disfavoredOverload
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
        sortedByNames(Array(sortDescriptors))
    }

    /// The first element of each combination of properties' values, live. For elements that are not objects, only
    /// `self` is possible, which gives each element once. Stops the program for any other property of such elements,
    /// and for the reasons of Firn's own `distinct`.
    @_disfavoredOverload
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
        distinctByNames(Array(keyPaths))
    }

    /// The elements that match the predicate in a text, live. Stops the program if the elements are not objects, and
    /// for the reasons of Firn's own `filter`.
    @_disfavoredOverload
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
        filtered(predicateFormat, args)
    }

    /// The elements for which the condition holds, live. Stops the program if the elements are not objects, and for the
    /// reasons of Firn's own `where`.
    @_disfavoredOverload
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> { filtered(isIncluded) }

    // MARK: Aggregates

    /// The smallest value of a property; nil if there are no values. Stops the program if the elements are not objects,
    /// unless the property is `self`, and for the reasons of Firn's own `min`.
    @_disfavoredOverload
    public func min<V: MinMaxType>(ofProperty property: String) -> V? { minByName(property) }

    /// The largest value of a property; nil if there are no values. Stops the program if the elements are not objects,
    /// unless the property is `self`, and for the reasons of Firn's own `max`.
    @_disfavoredOverload
    public func max<V: MinMaxType>(ofProperty property: String) -> V? { maxByName(property) }

    /// The sum of a property; 0 if there are no values. Stops the program if the elements are not objects,
    /// unless the property is `self`, and for the reasons of Firn's own `sum`.
    @_disfavoredOverload
    public func sum<V: AddableType>(ofProperty property: String) -> V { sumByName(property) }

    /// The average of a property; nil if there are no values. Stops the program if the elements are not objects,
    /// unless the property is `self`, and for the reasons of Firn's own `average`.
    @_disfavoredOverload
    public func average<V: AddableType>(ofProperty property: String) -> V? { averageByName(property) }

    // MARK: Values by key

    /// The values of a property of each element, as objects: nil as `NSNull`, and numbers as `NSNumber`. Chosen where
    /// the program states the type `[AnyObject]`; the other `value(forKey:)` leaves nil as nil.
    @_disfavoredOverload
    public func value(forKey key: String) -> [AnyObject] { bridged(value(forKey: key) as Any?) }

    /// The values at a key path of each element, as objects: nil as `NSNull`, and numbers as `NSNumber`. Chosen where
    /// the program states the type `[AnyObject]`; the other `value(forKeyPath:)` leaves nil as nil.
    @_disfavoredOverload
    public func value(forKeyPath keyPath: String) -> [AnyObject] { bridged(value(forKeyPath: keyPath) as Any?) }
}

/// The elements of an array as objects, nil as `NSNull`.
private func bridged(_ values: Any?) -> [AnyObject] {
    guard let values = values as? [Any?] else {
        stopProgram("value(forKey:) gave no array, which the program declares. Declare the type as Any?.")
    }
    return values.map { value in value.map { $0 as AnyObject } ?? NSNull() }
}

#if !canImport(ObjectiveC)
    extension RealmCollection {
        /// The elements for which the condition holds, live. Stops the program if the elements are not objects, and for
        /// a predicate that was made from a block.
        @_disfavoredOverload
        public func filter(_ predicate: NSPredicate) -> Results<Element> {
            let text = RealmPredicate(predicate)
            return filtered(text.predicateFormat, text.arguments)
        }

        /// The index of the first element for which the condition holds; nil if there is none. In the condition's text,
        /// `SELF` is the element. O(n). Stops the program for a predicate that was made from a block.
        @_disfavoredOverload
        public func index(matching predicate: NSPredicate) -> Int? { index(matching: RealmPredicate(predicate)) }
    }
#endif
