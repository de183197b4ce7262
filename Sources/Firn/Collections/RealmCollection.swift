import FirnCore
import FirnQuery

/// A collection that may belong to a realm: `Results`, `List`, `LinkingObjects`.
///
/// Managed ones are live. Iterating is safe while the realm is written: it runs over the elements that were there when it began. An index that is out of bounds
/// stops the program.
public protocol RealmCollection: RandomAccessCollection, ThreadConfined, CustomStringConvertible, Equatable
where Element: RealmCollectionValue, Index == Int {
    /// What a query over the collection begins from.
    var _source: CollectionSource { get }
    /// The same collection in another realm of its store, whether what it belongs to is there or not.
    func _moved(to realm: RealmInstance) -> Self
    /// What can be read in its place when what it belongs to is gone: an empty collection.
    var _withoutOwner: Self { get }
}

extension RealmCollection {
    /// The first element; nil where there is none.
    public var first: Element? { count == 0 ? nil : self[0] }
    /// The last element; nil where there is none.
    public var last: Element? {
        let count = count
        return count == 0 ? nil : self[count - 1]
    }

    /// The elements at several positions, which must exist.
    public func objects(at positions: some Sequence<Int>) -> [Element] { positions.map { self[$0] } }
}

extension RealmCollection where Element: Object {
    /// The position of an object; nil where it is not there. An unmanaged or deleted object is nowhere.
    public func index(of object: Element) -> Int? { _source.index(of: object) }

    /// The position of the first element for which the condition holds.
    public func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int? {
        guard let found = `where`(isIncluded).first else { return nil }
        return index(of: found)
    }

    /// The position of the first element for which the text holds.
    public func index(matching predicateFormat: String, _ args: Any...) -> Int? {
        guard let found = filtered(predicateFormat, args).first else { return nil }
        return index(of: found)
    }

    // MARK: Queries

    /// The elements for which the condition holds, live: `dogs.where { $0.age > 3 }`. Costs nothing until the results are read.
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> {
        let expression = isIncluded(Query(.root)).expression
        _source.check(expression.objects)
        do { return Results(try _source.filtered(expression.condition)) } catch {
            fatalError("Firn: where { } on \(Element.self): \(error)")
        }
    }

    /// The elements for which the text holds, live: `dogs.filter("age > %@ AND name BEGINSWITH[c] %@", 3, "r")`.
    ///
    /// Stops the program where the text or an argument is wrong; `filter(validating:)` throws instead.
    public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element> {
        filtered(predicateFormat, args)
    }

    /// As `filter(_:_:)`.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, showing the place in the text.
    public func filter(validating predicateFormat: String, _ args: Any...) throws -> Results<Element> {
        do { return Results(try _source.filtered(predicateFormat, args)) } catch { throw Realm.Error(error) }
    }

    func filtered(_ predicateFormat: String, _ args: [Any]) -> Results<Element> {
        do { return Results(try _source.filtered(predicateFormat, args)) } catch {
            fatalError("Firn: filter(\"\(predicateFormat)\") on \(Element.self): \(error)")
        }
    }

    // MARK: Sorting

    /// The elements by a property, live. Equal ones keep their order; nil comes first. The key path may lead through links to one object.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        sorted(by: [SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }

    /// The elements by a property, live.
    public func sorted<V>(by keyPath: KeyPath<Element, V>, ascending: Bool = true) -> Results<Element> {
        sorted(byKeyPath: KeyPathTracer.name(keyPath), ascending: ascending)
    }

    /// The elements by several properties, the first one deciding first, live.
    public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element> where S.Element == SortDescriptor {
        do { return Results(try _source.sorted(Array(sortDescriptors))) } catch {
            fatalError("Firn: sorting \(Element.self): \(error)")
        }
    }

    /// The first elements of each combination of values, in their order, live.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == String {
        do { return Results(try _source.distinct(Array(keyPaths))) } catch {
            fatalError("Firn: distinct on \(Element.self): \(error)")
        }
    }

    /// The first elements of each combination of values, in their order, live.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Element == PartialKeyPath<Element> {
        distinct(by: keyPaths.map { KeyPathTracer.name($0) })
    }

    // MARK: Aggregates

    /// The smallest value of a property; nil of no values.
    public func min<V: MinMaxType>(ofProperty property: String) -> V? {
        aggregate(.min, property).flatMap { V(_aggregate: $0) }
    }
    /// The largest value of a property; nil of no values.
    public func max<V: MinMaxType>(ofProperty property: String) -> V? {
        aggregate(.max, property).flatMap { V(_aggregate: $0) }
    }
    /// The sum of a property; 0 of no values. As an integer it is cut off. Beyond the type's range it is the nearest
    /// number that the type has.
    public func sum<V: AddableType>(ofProperty property: String) -> V {
        aggregate(.sum, property).flatMap { V(_aggregate: $0) } ?? V._zero
    }
    /// The average of a property; nil of no values. As an integer it is cut off. Beyond the type's range it is the
    /// nearest number that the type has.
    public func average<V: AddableType>(ofProperty property: String) -> V? {
        aggregate(.average, property).flatMap { V(_aggregate: $0) }
    }

    /// The smallest value of a property; nil of no values.
    public func min<V: MinMaxType>(of keyPath: KeyPath<Element, V>) -> V? {
        min(ofProperty: KeyPathTracer.name(keyPath))
    }
    public func min<V: MinMaxType>(of keyPath: KeyPath<Element, V?>) -> V? {
        min(ofProperty: KeyPathTracer.name(keyPath))
    }
    /// The largest value of a property; nil of no values.
    public func max<V: MinMaxType>(of keyPath: KeyPath<Element, V>) -> V? {
        max(ofProperty: KeyPathTracer.name(keyPath))
    }
    public func max<V: MinMaxType>(of keyPath: KeyPath<Element, V?>) -> V? {
        max(ofProperty: KeyPathTracer.name(keyPath))
    }
    /// The sum of a property; 0 of no values.
    public func sum<V: AddableType>(of keyPath: KeyPath<Element, V>) -> V {
        sum(ofProperty: KeyPathTracer.name(keyPath))
    }
    public func sum<V: AddableType>(of keyPath: KeyPath<Element, V?>) -> V {
        sum(ofProperty: KeyPathTracer.name(keyPath))
    }
    /// The average of a property; nil of no values.
    public func average<V: AddableType, A: AddableType>(of keyPath: KeyPath<Element, V>) -> A? {
        average(ofProperty: KeyPathTracer.name(keyPath))
    }
    public func average<V: AddableType, A: AddableType>(of keyPath: KeyPath<Element, V?>) -> A? {
        average(ofProperty: KeyPathTracer.name(keyPath))
    }

    private func aggregate(_ aggregate: PropertyPath.Aggregate, _ property: String) -> Value? {
        do { return try _source.aggregate(aggregate, property) } catch {
            fatalError("Firn: \(aggregate) of \(Element.self).\(property): \(error)")
        }
    }
}

extension RealmCollection where Element: AddableType & AdditiveArithmetic {
    /// The sum of the elements; 0 of none. Of integers it is exact, or the nearest number that the type has.
    public func sum() -> Element { Element._sum(self) }
}

extension RealmCollection where Element: AddableType & BinaryInteger {
    /// The average of the elements; nil of none.
    public func average() -> Double? { isEmpty ? nil : reduce(0.0) { $0 + Double($1) } / Double(count) }
}

extension RealmCollection where Element: AddableType & BinaryFloatingPoint {
    /// The average of the elements; nil of none.
    public func average() -> Double? { isEmpty ? nil : reduce(0.0) { $0 + Double($1) } / Double(count) }
}

/// By what `sorted(by:)` sorts.
public struct SortDescriptor: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The property's name, or several joined by dots.
    public let keyPath: String
    public let ascending: Bool

    public init(keyPath: String, ascending: Bool = true) {
        self.keyPath = keyPath
        self.ascending = ascending
    }

    public init<Root: ObjectBase>(keyPath: PartialKeyPath<Root>, ascending: Bool = true) {
        self.init(keyPath: KeyPathTracer.name(keyPath), ascending: ascending)
    }

    public init(stringLiteral value: String) { self.init(keyPath: value) }

    /// The same in the other direction.
    public func reversed() -> SortDescriptor { SortDescriptor(keyPath: keyPath, ascending: !ascending) }

    public var description: String {
        "SortDescriptor {keyPath: \(keyPath), direction: \(ascending ? "ascending" : "descending")}"
    }
}
