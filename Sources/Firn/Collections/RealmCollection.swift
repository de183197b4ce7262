import FirnCore
import FirnQuery
import FirnStorage

/// The common part of collections with indices and with keys: elements that queries read and that observers are shown.
public protocol _SourcedCollection: ThreadConfined, CustomStringConvertible, Equatable {
    /// The source of the elements for queries over the collection. Stops the program if the collection is unmanaged.
    var _source: _CollectionSource { get }
    /// An empty collection. It is read instead of this one if the object that owns this one is gone.
    var _withoutOwner: Self { get }
}

/// A collection that may belong to a realm: `Results`, `List`, `MutableSet`, `LinkingObjects`.
///
/// Managed collections are live. Iterating is safe while the realm is written: an iteration goes over the elements that
/// were there when it began. An index that is out of bounds stops the program.
///
/// **Cost of reading.** For a list, a set and all objects of a class, `count` and `isEmpty` are O(1), and an element is
/// O(log n). The results of a query and backlinks are evaluated at the first read after a change of the realm,
/// whichever class the change concerns. `Results` and `LinkingObjects` say what that costs. Further reads of the same
/// value are then O(1), and finding an element's object is O(log objects).
///
/// **Where it may be used.** A managed collection belongs to its realm's thread, queue or actor, and stops the program
/// if it is used elsewhere. A frozen collection may be used on any thread. Queries, sorts and observing stop the
/// program if the collection is unmanaged.
public protocol RealmCollection<Element>: RandomAccessCollection, _SourcedCollection
where Element: RealmCollectionValue, Index == Int {
    /// The type of the elements, under the name that older programs use. It can be used in a `where` clause.
    typealias ElementType = Element
}

extension RealmCollection {
    /// The first element; nil if there is none. Costs as much as `count` and reading one element.
    public var first: Element? { count == 0 ? nil : self[0] }
    /// The last element; nil if there is none. Costs as much as `count` and reading one element.
    public var last: Element? {
        let count = count
        return count == 0 ? nil : self[count - 1]
    }

    /// The index after `index`. O(1).
    public func index(after index: Int) -> Int { index + 1 }
    /// The index before `index`. O(1).
    public func index(before index: Int) -> Int { index - 1 }

    /// The elements at several indices, at the cost of reading each. Stops the program if an index is out of bounds.
    public func objects(at positions: some Sequence<Int>) -> [Element] { positions.map { self[$0] } }

    /// The index of the first element that equals `element`; nil if there is none. Texts are equal if their UTF-8 bytes
    /// are equal, as in queries; Swift's own `firstIndex(of:)` considers "é" and "e\u{301}" equal. A NaN equals
    /// nothing. O(n).
    public func index(of element: Element) -> Int? { firstIndex { $0.isSameElement(as: element) } }

    /// Whether an element equals `element`, by the rules of `index(of:)`. O(n).
    public func contains(_ element: Element) -> Bool { index(of: element) != nil }
}

extension RealmCollectionValue {
    /// Whether two elements are equal by the store's rules: texts by their bytes, objects by their rows.
    func isSameElement(as other: Self) -> Bool {
        guard self == other else { return _rowMember.map { $0 == other._rowMember } ?? false }
        guard let text = self as? String, let other = other as? String else { return true }
        return Value.sameBytes(text, other)
    }
}

extension RealmCollection where Element: _QueriedObject {
    /// The index of an object; nil if the collection does not contain the object, or if the object was deleted. An
    /// unmanaged object is found in unmanaged collections only.
    ///
    /// O(log n) for all objects of a class, else O(n). A query that is due is evaluated first. Stops the program if the
    /// object belongs to another realm than the collection; a frozen realm and a live realm are different realms.
    /// Elements of a dynamic collection of values are compared by their values instead.
    public func index(of object: Element) -> Int? {
        if realm == nil { return firstIndex { $0._root.isSameObject(as: object._root) } }
        // Dynamic elements of a collection of values are compared by the values that they show.
        if object._root.isDynamic, _source.binding == nil {
            return firstIndex { $0._root == object._root || $0._root.isSameObject(as: object._root) }
        }
        return _source.index(of: object._root)
    }

    /// Whether the collection contains an object. Costs as much as `index(of:)`, and stops the program in the same
    /// cases.
    public func contains(_ object: Element) -> Bool { index(of: object) != nil }

    /// The index of the first element for which the condition holds; nil if there is none.
    ///
    /// ```swift
    /// let index = dogs.index(matching: { $0.name == "Rex" })
    /// ```
    ///
    /// Runs the query over all elements, then looks the object up as `index(of:)` does. In an unmanaged collection it
    /// tests one element after another, up to the first for which the condition holds. Stops the program in the same
    /// cases as `where(_:)`.
    public func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int? {
        if realm == nil {
            let expression = isIncluded(Query(.root)).expression
            return firstIndex { PredicateEvaluation.holds(expression, for: $0) }
        }
        guard let found = `where`(isIncluded).first else { return nil }
        return index(of: found)
    }

    /// The index of the first element that satisfies a predicate text; nil if there is none. Costs as much as the other
    /// `index(matching:)`. Stops the program in the same cases as `filter(_:_:)`.
    public func index(matching predicateFormat: String, _ args: Any...) -> Int? {
        index(matching: RealmPredicate(format: predicateFormat, argumentArray: args))
    }

    // MARK: Queries

    /// The elements for which the condition holds, live: `dogs.where { $0.age > 3 }`.
    ///
    /// The condition is compiled here, in microseconds, so an error in it is reported here. No data is read until the
    /// results are read; `Results` says what that costs. Stops the program if the condition compares with an object of
    /// another realm, or takes an aggregate of something that is not a collection. Also stops it if the collection is
    /// unmanaged, and on the wrong thread.
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> { filtered(isIncluded) }

    /// The elements that satisfy a predicate text, live: `dogs.filter("age > %@ AND name BEGINSWITH[c] %@", 3, "r")`.
    ///
    /// After the condition the text may sort, keep one object for each value, and limit the number of objects, in any
    /// order: `dogs.filter("age > 3 SORT(age DESC, name ASC) DISTINCT(name) LIMIT(10)")`. A text without a condition of
    /// its own begins with `TRUEPREDICATE`: `"TRUEPREDICATE SORT(age ASC)"`.
    ///
    /// The text is parsed and compiled here; no data is read until the results are read. Stops the program if the text
    /// or an argument is wrong; `filter(validating:)` throws instead. Also stops it if the collection is unmanaged, and
    /// on the wrong thread.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
        filtered(predicateFormat, args)
    }

    /// The elements that satisfy a predicate text, live. Unlike `filter(_:_:)`, it throws if the text is wrong.
    ///
    /// ```swift
    /// do { found = try dogs.filter(validating: text) } catch Realm.Error.invalidInput { … }
    /// ```
    ///
    /// Stops the program if the collection is unmanaged, and on the wrong thread.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, which shows the position in the text, if:
    ///   - the text can't be parsed;
    ///   - it names a property that the class does not have;
    ///   - it compares values of different kinds;
    ///   - an argument is missing or can't be compared.
    public func filter(validating predicateFormat: String, _ args: Any...) throws -> Results<Element> {
        do { return Results(try _source.filtered(predicateFormat, args)) } catch { throw Realm.Error(error) }
    }

    // MARK: Sorting

    /// The elements sorted by a property, live. Equal elements keep their order; nil comes first, or last if
    /// descending.
    ///
    /// The key path may lead through links to one object. Nothing is read here: sorting takes place when an element is
    /// first read after a change, in O(n log n). `count` needs no sort, unless a filter follows it. Stops the program
    /// if the key path is wrong, if the collection is unmanaged, and on the wrong thread.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        sorted(by: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// The elements sorted by a property, live: `dogs.sorted(by: \.age)`. Costs as much as
    /// `sorted(byKeyPath:ascending:)`, and stops the program in the same cases. Also stops the program if the key path
    /// does not lead to a stored property.
    public func sorted<V>(by keyPath: KeyPath<Element, V>, ascending: Bool = true) -> Results<Element> {
        sorted([FirnQuery.SortDescriptor(TracedKeyPath.of(keyPath).path, ascending: ascending)])
    }

    /// The elements sorted by several properties, live. The first property decides; elements that are equal in it are
    /// sorted by the next property, and so on.
    ///
    /// ```swift
    /// let sorted = dogs.sorted(by: [SortDescriptor(keyPath: "age", ascending: false), "name"])
    /// ```
    ///
    /// Costs as much as `sorted(byKeyPath:ascending:)`, and stops the program in the same cases.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
        sortedByNames(Array(sortDescriptors))
    }

    /// The first element for each combination of the properties' values, in the collection's order, live.
    ///
    /// ```swift
    /// let onePerAge = dogs.sorted(by: \.name).distinct(by: ["age"])
    /// ```
    ///
    /// Elements whose key path leads through a nil link are left out; nil values count as one value. Nothing is read
    /// here: the elements are compared when the results are first read after a change, in O(n), also for `count`. Stops
    /// the program if a key path is wrong, if the collection is unmanaged, and on the wrong thread.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
        distinctByNames(Array(keyPaths))
    }

    /// The first element for each combination of the properties' values, in the collection's order, live:
    /// `distinct(by:)` with Swift key paths. Also stops the program if a key path does not lead to a stored property.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == PartialKeyPath<Element> {
        distinct(keyPaths.map { TracedKeyPath.of($0).path })
    }

    // MARK: Aggregates

    /// The smallest value of a property; nil if there are no values. Nil and NaN are passed over.
    ///
    /// ```swift
    /// let youngest: Int? = dogs.min(ofProperty: "age")
    /// ```
    ///
    /// **Aggregates of a property** are computed at each call, in O(n), without making objects. For a class, or a query
    /// whose sorts come after its filters, numbers are added or compared one leaf's column at a time. That takes about
    /// half a nanosecond for each object, besides the filter. Elements of a list, of backlinks or of another query are
    /// looked up one by one, in O(log objects) each. The property may be a path through links to one object. It may
    /// also lead through a collection; then all elements of the collection count.
    ///
    /// They stop the program if the property is unknown, or is of a type without such an aggregate. Numbers have all
    /// four, and dates have `min` and `max`. They also stop it on the wrong thread. If the realm was invalidated after
    /// the collection was made, there are no values. Mixed values that the aggregate does not take are passed over. In
    /// an unmanaged collection, the objects are read one by one, so without objects any name is taken.
    ///
    /// - Returns: nil also if `V` is of another kind, for example `Int` for a date. A number that `V` can't represent
    ///   is truncated (2.7 to 2), or becomes the nearest number of `V`.
    public func min<V: MinMaxType>(ofProperty property: String) -> V? { minByName(property) }
    /// The largest value of a property; nil if there are no values. Nil and NaN are passed over. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases.
    public func max<V: MinMaxType>(ofProperty property: String) -> V? { maxByName(property) }
    /// The sum of a property; 0 if there are no values. Nil is passed over.
    ///
    /// Integers are added exactly, and the sum is then the nearest 64-bit integer. Floating-point numbers are added as
    /// doubles: a NaN makes the sum NaN, or 0 if `V` is an integer type. Decimals are added exactly and rounded to 34
    /// digits at the end, and a decimal NaN is passed over. A sum that `V` can't represent is truncated, or becomes the
    /// nearest number of an integer type, or infinity in a floating-point type. Costs as much as `min(ofProperty:)`,
    /// and stops the program in the same cases.
    public func sum<V: AddableType>(ofProperty property: String) -> V { sumByName(property) }
    /// The average of a property; nil if there are no values. Nil is passed over and not counted.
    ///
    /// A NaN makes the average NaN, or nil if `V` is an integer type; a decimal NaN is passed over and not counted. In
    /// an integer type the average is truncated. If it is beyond the type's range, it is the nearest number in the
    /// range. Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    public func average<V: AddableType>(ofProperty property: String) -> V? { averageByName(property) }

    /// The smallest value of a property; nil if there are no values: `dogs.min(of: \.age)`. NaN is passed over. Costs
    /// as much as `min(ofProperty:)`, and stops the program in the same cases.
    public func min<V: MinMaxType>(of keyPath: KeyPath<Element, V>) -> V? {
        aggregate(.min, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The smallest value of an optional property; nil if there are no values. Nil and NaN are passed over. Costs as
    /// much as `min(ofProperty:)`, and stops the program in the same cases.
    public func min<V: MinMaxType>(of keyPath: KeyPath<Element, V?>) -> V? {
        aggregate(.min, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The largest value of a property; nil if there are no values. NaN is passed over. Costs as much as
    /// `min(ofProperty:)`, and stops the program in the same cases.
    public func max<V: MinMaxType>(of keyPath: KeyPath<Element, V>) -> V? {
        aggregate(.max, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The largest value of an optional property; nil if there are no values. Nil and NaN are passed over. Costs as
    /// much as `min(ofProperty:)`, and stops the program in the same cases.
    public func max<V: MinMaxType>(of keyPath: KeyPath<Element, V?>) -> V? {
        aggregate(.max, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) }
    }
    /// The sum of a property; 0 if there are no values. A sum beyond the type's range becomes the nearest number in the
    /// range. Computed by the rules of `sum(ofProperty:)`. Costs as much as `min(ofProperty:)`, and stops the program
    /// in the same cases.
    public func sum<V: AddableType>(of keyPath: KeyPath<Element, V>) -> V {
        aggregate(.sum, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) } ?? V._zero
    }
    /// The sum of an optional property; 0 if there are no values. Nil is passed over. Computed by the rules of
    /// `sum(ofProperty:)`. Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    public func sum<V: AddableType>(of keyPath: KeyPath<Element, V?>) -> V {
        aggregate(.sum, TracedKeyPath.of(keyPath).path).flatMap { V(_aggregate: $0) } ?? V._zero
    }
    /// The average of a property; nil if there are no values. Computed by the rules of `average(ofProperty:)`. Costs as
    /// much as `min(ofProperty:)`, and stops the program in the same cases.
    public func average<V: AddableType>(of keyPath: KeyPath<Element, V>) -> Double? {
        aggregate(.average, TracedKeyPath.of(keyPath).path).flatMap { Double(_aggregate: $0) }
    }
    /// The average of an optional property; nil if there are no values. Nil is passed over and not counted. Computed by
    /// the rules of `average(ofProperty:)`. Costs as much as `min(ofProperty:)`, and stops the program in the same
    /// cases.
    public func average<V: AddableType>(of keyPath: KeyPath<Element, V?>) -> Double? {
        aggregate(.average, TracedKeyPath.of(keyPath).path).flatMap { Double(_aggregate: $0) }
    }
    /// The average of a property as another type: `let average: Decimal128? = dogs.average(of: \.age)`. Computed by the
    /// rules of `average(ofProperty:)`. Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    @_disfavoredOverload
    public func average<V: AddableType, A: AddableType>(of keyPath: KeyPath<Element, V>) -> A? {
        aggregate(.average, TracedKeyPath.of(keyPath).path).flatMap { A(_aggregate: $0) }
    }
    /// The average of an optional property as another type. Nil is passed over and not counted. Computed by the rules
    /// of `average(ofProperty:)`. Costs as much as `min(ofProperty:)`, and stops the program in the same cases.
    @_disfavoredOverload
    public func average<V: AddableType, A: AddableType>(of keyPath: KeyPath<Element, V?>) -> A? {
        aggregate(.average, TracedKeyPath.of(keyPath).path).flatMap { A(_aggregate: $0) }
    }
}

/// Functions that compile for any type of elements. If the elements are not objects, queries stop the program; sorts,
/// `distinct` and aggregates accept only the name `self`.
extension RealmCollection {
    package func filtered(_ predicateFormat: String, _ args: [Any]) -> Results<Element> {
        do { return Results(try _source.filtered(predicateFormat, args)) } catch {
            stopProgram("filter(\"\(predicateFormat)\") on \(Element.self): \(error)")
        }
    }

    package func filtered(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> {
        let expression = isIncluded(Query(.root)).expression
        _source.check(expression.objects)
        do { return Results(try _source.filtered(expression.condition)) } catch {
            stopProgram("where { } on \(Element.self): \(error)")
        }
    }

    package func minByName<V: MinMaxType>(_ property: String) -> V? {
        aggregate(.min, property).flatMap { V(_aggregate: $0) }
    }

    package func maxByName<V: MinMaxType>(_ property: String) -> V? {
        aggregate(.max, property).flatMap { V(_aggregate: $0) }
    }

    package func sumByName<V: AddableType>(_ property: String) -> V {
        aggregate(.sum, property).flatMap { V(_aggregate: $0) } ?? V._zero
    }

    package func averageByName<V: AddableType>(_ property: String) -> V? {
        aggregate(.average, property).flatMap { V(_aggregate: $0) }
    }

    func aggregate(_ aggregate: PropertyPath.Aggregate, _ path: PropertyPath) -> Value? {
        do {
            if realm == nil { return try KeyPathValue.aggregate(aggregate, of: self, path.keyPathNames) }
            return try _source.aggregate(aggregate) { path }
        } catch {
            stopProgram("\(aggregate) of \(Element.self).\(path.text): \(error)")
        }
    }

    func aggregate(_ aggregate: PropertyPath.Aggregate, _ property: String) -> Value? {
        do {
            // In a collection of values, the only name is `self`, which names the values.
            if realm == nil || _source.isOfValues {
                return try KeyPathValue.aggregate(aggregate, of: self, PropertyPath.names(in: property))
            }
            return try _source.aggregate(aggregate) { () throws(QueryError) in try _source.path(parsing: property) }
        } catch {
            stopProgram("\(aggregate) of \(Element.self).\(property): \(error)")
        }
    }

    package func sortedByNames(_ descriptors: [SortDescriptor]) -> Results<Element> {
        let source = _source
        // `self` names the values of a collection of values. Descriptors after the first have no effect, because values
        // that are equal in `self` are equal.
        if source.binding == nil, let first = descriptors.first, descriptors.allSatisfy({ $0.keyPath == "self" }) {
            return Results(source.adding(.sort(ascending: first.ascending)))
        }
        do { return Results(try source.sorted(try descriptors.map { try source.sortDescriptor($0) })) } catch {
            stopProgram("sorting \(Element.self): \(error)")
        }
    }

    func sorted(_ descriptors: [FirnQuery.SortDescriptor]) -> Results<Element> {
        do { return Results(try _source.sorted(descriptors)) } catch {
            stopProgram("sorting \(Element.self): \(error)")
        }
    }

    package func distinctByNames(_ keyPaths: [String]) -> Results<Element> {
        let source = _source
        if source.binding == nil, !keyPaths.isEmpty, keyPaths.allSatisfy({ $0 == "self" }) {
            return Results(source.adding(.distinct))
        }
        do { return Results(try source.distinct(try keyPaths.map { try source.path(parsing: $0) })) } catch {
            stopProgram("distinct on \(Element.self): \(error)")
        }
    }

    fileprivate func distinct(_ paths: [PropertyPath]) -> Results<Element> {
        do { return Results(try _source.distinct(paths)) } catch {
            stopProgram("distinct on \(Element.self): \(error)")
        }
    }

    // MARK: Values

    /// The index of the first element for which the condition holds; nil if there is none. O(n): the elements are
    /// tested one after another.
    ///
    /// ```swift
    /// let index = dog.ages.index(matching: { $0 > 3 })
    /// ```
    public func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int? {
        let expression = isIncluded(Query(.root)).expression
        return firstIndex { PredicateEvaluation.holds(expression, for: Element._any($0) as Any) }
    }

    /// The index of the first element that satisfies a predicate text, in which `SELF` names the element: `"SELF > 3"`.
    /// Nil if there is none. O(n). Stops the program if the text or an argument is wrong.
    public func index(matching predicateFormat: String, _ args: Any...) -> Int? {
        index(matching: RealmPredicate(format: predicateFormat, argumentArray: args))
    }

    /// The index of the first element that satisfies a predicate, in whose text `SELF` names the element. Nil if there
    /// is none. O(n). Stops the program if the text or an argument is wrong.
    public func index(matching predicate: RealmPredicate) -> Int? {
        PredicateEvaluation.firstIndex(in: self, matching: predicate) { Element._any($0) as Any }
    }
}

extension RealmCollection where Element: AddableType {
    /// The sum of the elements; 0 if there are none. O(n).
    ///
    /// The sum of integers is exact, or the nearest number that the type has. Floating-point numbers are added as
    /// doubles; a NaN makes the sum NaN. Decimals are added exactly and rounded to 34 digits at the end; NaN is passed
    /// over.
    public func sum() -> Element { Element._sum(self) }
    /// The average as another type: `let average: Float? = dog.weights.average()`. Integer types truncate a fraction.
    /// O(n).
    @_disfavoredOverload
    public func average<A: AddableType>() -> A? { A(_aggregate: Element._average(self)) }
}

extension RealmCollection where Element: AddableType & BinaryInteger {
    /// The average of the elements, added as doubles; nil if there are none. O(n).
    public func average() -> Double? { Element.average(self) }
}

extension RealmCollection where Element: AddableType & BinaryFloatingPoint {
    /// The average of the elements, added as doubles; nil if there are none. NaN if an element is NaN. O(n).
    public func average() -> Double? { Element.average(self) }
}

extension RealmCollection where Element == Decimal128 {
    /// The average of the elements: exact, then rounded to 34 digits; nil if there are none. NaN is passed over and not
    /// counted. O(n).
    public func average() -> Decimal128? { Decimal128.average(self) }
}

/// One property that `sorted(by:)` sorts by, and the direction.
public struct SortDescriptor: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The property's name, or several names joined by dots.
    public let keyPath: String
    /// Whether smaller values come first.
    public let ascending: Bool
    /// The path, if the descriptor was made from a Swift key path. It names the same properties as `keyPath`.
    let path: PropertyPath?

    /// Sorts by a property, given by its name or by several names joined by dots. The names are checked when the
    /// descriptor is used: `sorted(by:)` stops the program if they are wrong.
    public init(keyPath: String, ascending: Bool = true) { self.init(keyPath, nil, ascending: ascending) }

    private init(_ keyPath: String, _ path: PropertyPath?, ascending: Bool) {
        self.keyPath = keyPath
        self.path = path
        self.ascending = ascending
    }

    /// Sorts by a Swift key path. Stops the program if the key path does not lead to a stored property.
    public init<Root: _QueriedObject>(keyPath: PartialKeyPath<Root>, ascending: Bool = true) {
        let traced = TracedKeyPath.of(keyPath)
        self.init(traced.name, traced.path, ascending: ascending)
    }

    /// Sorts by the property of this name, ascending. The name is checked when the descriptor is used.
    public init(stringLiteral value: String) { self.init(keyPath: value) }

    /// The same property in the other direction.
    public func reversed() -> SortDescriptor { SortDescriptor(keyPath, path, ascending: !ascending) }

    /// Whether both have the same key path, compared as text, and the same direction.
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
