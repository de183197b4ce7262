import FirnCore
import FirnQuery

/// A collection that may belong to a realm: `Results`, `List`, `LinkingObjects`.
///
/// Managed ones are live. Iterating is safe while the realm is written: it runs over the elements that were there
/// when it began. An index that is out of bounds stops the program.
///
/// A managed collection belongs to its realm's thread, queue or actor, and stops the program if it is used elsewhere.
/// A frozen one may be used on any thread. Queries, sorts, `index(of:)`, aggregates of a property and observing stop
/// the program if the collection is unmanaged.
public protocol RealmCollection: RandomAccessCollection, ThreadConfined, CustomStringConvertible, Equatable
where Element: RealmCollectionValue, Index == Int {
    /// The elements that a query over the collection reads. Stops the program if the collection is unmanaged.
    var _source: _CollectionSource { get }
    /// The same collection in another realm of its store, whether the object that it belongs to exists there or not.
    func _moved(to realm: _RealmInstance) -> Self
    /// An empty collection, to be read instead of this one if the object that it belongs to is gone.
    var _withoutOwner: Self { get }
}

extension RealmCollection {
    /// The first element; nil if there is none.
    public var first: Element? { count == 0 ? nil : self[0] }
    /// The last element; nil if there is none.
    public var last: Element? {
        let count = count
        return count == 0 ? nil : self[count - 1]
    }

    /// The elements at several indices. Stops the program if one is out of bounds.
    public func objects(at positions: some Sequence<Int>) -> [Element] { positions.map { self[$0] } }
}

extension RealmCollection where Element: Object {
    /// The index of an object; nil if the collection does not have it, or if it is unmanaged or deleted.
    ///
    /// O(log n) for all objects of a class, else O(n). Stops the program if the object is of another realm.
    public func index(of object: Element) -> Int? { _source.index(of: object) }

    /// The index of the first element for which the condition holds; nil if there is none. Runs the query and looks
    /// the object up.
    public func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int? {
        guard let found = `where`(isIncluded).first else { return nil }
        return index(of: found)
    }

    /// The index of the first element for which the text holds; nil if there is none. Stops the program as
    /// `filter(_:_:)` does.
    public func index(matching predicateFormat: String, _ args: Any...) -> Int? {
        guard let found = filtered(predicateFormat, args).first else { return nil }
        return index(of: found)
    }

    // MARK: Queries

    /// The elements for which the condition holds, live: `dogs.where { $0.age > 3 }`.
    ///
    /// Compiles the condition; nothing is evaluated until the results are read. Stops the program if the condition
    /// compares with an object that is unmanaged or of another realm, or if the collection has values instead of
    /// objects.
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> {
        let expression = isIncluded(Query(.root)).expression
        _source.check(expression.objects)
        do { return Results(try _source.filtered(expression.condition)) } catch {
            fatalError("Firn: where { } on \(Element.self): \(error)")
        }
    }

    /// The elements for which the text holds, live: `dogs.filter("age > %@ AND name BEGINSWITH[c] %@", 3, "r")`.
    ///
    /// Nothing is evaluated until the results are read. Stops the program if the text or an argument is wrong;
    /// `filter(validating:)` throws instead.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
        filtered(predicateFormat, args)
    }

    /// The elements for which the text holds, live. Throws where `filter(_:_:)` stops the program.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, showing the position in the text.
    public func filter(validating predicateFormat: String, _ args: Any...) throws -> Results<Element> {
        do { return Results(try _source.filtered(predicateFormat, args)) } catch { throw Realm.Error(error) }
    }

    func filtered(_ predicateFormat: String, _ args: [Any]) -> Results<Element> {
        do { return Results(try _source.filtered(predicateFormat, args)) } catch {
            fatalError("Firn: filter(\"\(predicateFormat)\") on \(Element.self): \(error)")
        }
    }

    // MARK: Sorting

    /// The elements sorted by a property, live. Equal elements keep their order; nil comes first, or last if
    /// descending.
    ///
    /// The key path may lead through links to one object. Sorting takes place when the results are first read after a
    /// change. Stops the program if the key path is wrong.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        sorted(by: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// The elements sorted by a property, live: `dogs.sorted(by: \.age)`. See `sorted(byKeyPath:ascending:)`.
    public func sorted<V>(by keyPath: KeyPath<Element, V>, ascending: Bool = true) -> Results<Element> {
        sorted([FirnQuery.SortDescriptor(TracedKeyPath.of(keyPath).path, ascending: ascending)])
    }

    /// The elements sorted by several properties, live: by the first one, then elements that are equal in it by the
    /// next one, and so on. Stops the program if a key path is wrong.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
        do { return sorted(try sortDescriptors.map { try FirnQuery.SortDescriptor($0) }) } catch {
            fatalError("Firn: sorting \(Element.self): \(error)")
        }
    }

    private func sorted(_ descriptors: [FirnQuery.SortDescriptor]) -> Results<Element> {
        do { return Results(try _source.sorted(descriptors)) } catch {
            fatalError("Firn: sorting \(Element.self): \(error)")
        }
    }

    /// The first element of each combination of the properties' values, in the present order, live.
    ///
    /// Elements behind a nil link of a key path are left out; nil values count as one value. Stops the program if a
    /// key path is wrong.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
        do { return distinct(try keyPaths.map { try PropertyPath(parsing: $0) }) } catch {
            fatalError("Firn: distinct on \(Element.self): \(error)")
        }
    }

    private func distinct(_ paths: [PropertyPath]) -> Results<Element> {
        do { return Results(try _source.distinct(paths)) } catch {
            fatalError("Firn: distinct on \(Element.self): \(error)")
        }
    }

    /// The first element of each combination of the properties' values, in the present order, live. See
    /// `distinct(by:)` for names.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == PartialKeyPath<Element> {
        distinct(keyPaths.map { TracedKeyPath.of($0).path })
    }

    // MARK: Aggregates

    /// The smallest value of a property; nil if there are no values. Nil and NaN are passed over.
    ///
    /// Aggregates of a property are computed at each call. They stop the program if the property is unknown or has no
    /// such aggregate.
    public func min<V: MinMaxType>(ofProperty property: String) -> V? {
        aggregate(.min, property).flatMap { V(_aggregate: $0) }
    }
    /// The largest value of a property; nil if there are no values. Nil and NaN are passed over.
    public func max<V: MinMaxType>(ofProperty property: String) -> V? {
        aggregate(.max, property).flatMap { V(_aggregate: $0) }
    }
    /// The sum of a property; 0 if there are no values. As an integer it is cut off. If it is beyond the type's
    /// range, it is the nearest number that the type has.
    public func sum<V: AddableType>(ofProperty property: String) -> V {
        aggregate(.sum, property).flatMap { V(_aggregate: $0) } ?? V._zero
    }
    /// The average of a property; nil if there are no values. As an integer it is cut off. If it is beyond the type's
    /// range, it is the nearest number that the type has.
    public func average<V: AddableType>(ofProperty property: String) -> V? {
        aggregate(.average, property).flatMap { V(_aggregate: $0) }
    }

    /// The smallest value of a property; nil if there are no values.
    public func min<V: MinMaxType>(of keyPath: KeyPath<Element, V>) -> V? {
        aggregate(.min, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The smallest value of an optional property; nil if there are no values.
    public func min<V: MinMaxType>(of keyPath: KeyPath<Element, V?>) -> V? {
        aggregate(.min, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The largest value of a property; nil if there are no values.
    public func max<V: MinMaxType>(of keyPath: KeyPath<Element, V>) -> V? {
        aggregate(.max, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The largest value of an optional property; nil if there are no values.
    public func max<V: MinMaxType>(of keyPath: KeyPath<Element, V?>) -> V? {
        aggregate(.max, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The sum of a property; 0 if there are no values. If it is beyond the type's range, it is the nearest number in
    /// it.
    public func sum<V: AddableType>(of keyPath: KeyPath<Element, V>) -> V {
        aggregate(.sum, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) } ?? V._zero
    }
    /// The sum of an optional property; 0 if there are no values. Nil is passed over.
    public func sum<V: AddableType>(of keyPath: KeyPath<Element, V?>) -> V {
        aggregate(.sum, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) } ?? V._zero
    }
    /// The average of a property; nil if there are no values.
    public func average<V: AddableType, A: AddableType>(of keyPath: KeyPath<Element, V>) -> A? {
        aggregate(.average, TracedKeyPath.of(keyPath).path).flatMap { A(_aggregate: $0) }
    }
    /// The average of an optional property; nil if there are no values. Nil is passed over.
    public func average<V: AddableType, A: AddableType>(of keyPath: KeyPath<Element, V?>) -> A? {
        aggregate(.average, TracedKeyPath.of(keyPath).path).flatMap { A(_aggregate: $0) }
    }

    private func aggregate(_ aggregate: PropertyPath.Aggregate, _ property: String) -> Value? {
        do {
            return try _source.aggregate(aggregate) { () throws(QueryError) in try PropertyPath(parsing: property) }
        } catch {
            fatalError("Firn: \(aggregate) of \(Element.self).\(property): \(error)")
        }
    }

    private func aggregate(_ aggregate: PropertyPath.Aggregate, _ path: PropertyPath) -> Value? {
        do { return try _source.aggregate(aggregate) { path } } catch {
            fatalError("Firn: \(aggregate) of \(Element.self).\(path.text): \(error)")
        }
    }
}

extension RealmCollection where Element: AddableType & AdditiveArithmetic {
    /// The sum of the elements; 0 if there are none. The sum of integers is exact, or the nearest number that the
    /// type has. O(n).
    public func sum() -> Element { Element._sum(self) }
}

extension RealmCollection where Element: AddableType & BinaryInteger {
    /// The average of the elements; nil if there are none. O(n).
    public func average() -> Double? { isEmpty ? nil : reduce(0.0) { $0 + Double($1) } / Double(count) }
}

extension RealmCollection where Element: AddableType & BinaryFloatingPoint {
    /// The average of the elements; nil if there are none. O(n).
    public func average() -> Double? { isEmpty ? nil : reduce(0.0) { $0 + Double($1) } / Double(count) }
}

/// One property that `sorted(by:)` sorts by, and the direction.
public struct SortDescriptor: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The property's name, or several joined by dots.
    public let keyPath: String
    /// Whether smaller values come first.
    public let ascending: Bool
    /// The properties, if they are known from a key path of Swift. They say the same as `keyPath`.
    let path: PropertyPath?

    /// Sorts by a property's name, or several joined by dots. The name is checked when the descriptor is used.
    public init(keyPath: String, ascending: Bool = true) { self.init(keyPath, nil, ascending: ascending) }

    private init(_ keyPath: String, _ path: PropertyPath?, ascending: Bool) {
        self.keyPath = keyPath
        self.path = path
        self.ascending = ascending
    }

    /// Sorts by a key path of Swift. Stops the program if it does not lead to a stored property.
    public init<Root: ObjectBase>(keyPath: PartialKeyPath<Root>, ascending: Bool = true) {
        let traced = TracedKeyPath.of(keyPath)
        self.init(traced.name, traced.path, ascending: ascending)
    }

    /// Sorts by the property of this name, ascending.
    public init(stringLiteral value: String) { self.init(keyPath: value) }

    /// The same property in the other direction.
    public func reversed() -> SortDescriptor { SortDescriptor(keyPath, path, ascending: !ascending) }

    /// Whether both sort by the same properties in the same direction.
    public static func == (a: SortDescriptor, b: SortDescriptor) -> Bool {
        a.keyPath == b.keyPath && a.ascending == b.ascending
    }

    /// Adds the key path and the direction to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(keyPath)
        hasher.combine(ascending)
    }

    /// The key path and the direction as text.
    public var description: String {
        "SortDescriptor {keyPath: \(keyPath), direction: \(ascending ? "ascending" : "descending")}"
    }
}
