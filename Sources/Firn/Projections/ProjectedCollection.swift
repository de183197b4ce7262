public import Dispatch

/// One property of the elements of a list or set: a live collection of its values.
///
/// ```swift
/// @Projected(\Person.friends.projectTo.name) var friends: ProjectedCollection<String>
///
/// for name in card.friends { print(name) }
/// try realm.write { card.friends[0] = "Ben" }      // sets the name of the first friend
/// ```
///
/// It stores nothing: the count is that of the list, and an element costs what finding the object in the list and
/// reading its property cost. It belongs to the thread, queue or actor of the list's realm. An index that is out of
/// bounds stops the program.
public struct ProjectedCollection<Element: RealmCollectionValue>: RandomAccessCollection, ThreadConfined, Equatable,
    CustomStringConvertible, ProjectsElements
{
    /// The indices are numbers from 0.
    public typealias Index = Int

    private let base: ProjectedElements<Element>

    fileprivate init(_ base: ProjectedElements<Element>) { self.base = base }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements. Costs what the count of the list costs.
    public var endIndex: Int { base.count }

    /// The value of the property of the element at an index. Setting it sets that property of the object: it stops the
    /// program outside a write transaction, and if the key path can't be set.
    public subscript(position: Int) -> Element {
        get { base.element(position) }
        nonmutating set { base.set(position, newValue) }
    }

    /// The index of the first element with a value; nil if there is none. O(n).
    public func index(of value: Element) -> Int? { firstIndex(of: value) }

    /// The index of the first object in the list for which a condition on its class holds; nil if there is none. Costs
    /// what `RealmCollection.index(matching:)` costs, and stops the program as that does.
    public func index(matching predicate: RealmPredicate) -> Int? { base.index(matching: predicate) }

    /// The realm of the list; nil if it is unmanaged. O(1).
    public var realm: Realm? { base.realm }
    /// Whether the object that the list belongs to is gone, or its realm was invalidated.
    public var isInvalidated: Bool { base.isInvalidated }
    /// Whether the list is frozen. O(1). May be read on any thread.
    public var isFrozen: Bool { base.isFrozen }
    /// What `freeze()` does.
    public func _freeze(_ file: StaticString, _ line: UInt) -> ProjectedCollection {
        ProjectedCollection(base.frozen(file, line))
    }
    /// What `thaw()` does.
    public func _thaw(_ file: StaticString, _ line: UInt) -> ProjectedCollection? {
        base.thawed(file, line).map { ProjectedCollection($0) }
    }
    /// The same collection in another realm of the store.
    public func _moved(to realm: _RealmInstance) -> ProjectedCollection { ProjectedCollection(base.moved(to: realm)) }
    /// The property's path in the class of the elements.
    var elementProperties: [PropertyInfo] { base.properties }

    /// Whether both have equal elements in the same order. O(n).
    public static func == (a: ProjectedCollection, b: ProjectedCollection) -> Bool { a.elementsEqual(b) }

    /// The type and the first 100 elements, for people. Stops the program on the wrong thread.
    public var description: String {
        let lines = prefix(100).enumerated().map { "    [\($0.offset)] \($0.element);\n" }
        let rest = count > 100 ? "    … \(count - 100) more;\n" : ""
        return "ProjectedCollection<\(Element.self)> {\n\(lines.joined())\(rest)}"
    }

    /// Calls `block` once with the collection, then after each write that inserts, deletes or moves elements of the
    /// list, or changes the property of one. See `RealmCollection.observe(keyPaths:on:_:file:line:)` for when, where
    /// and at what cost, and for what stops the program.
    ///
    /// - Parameters:
    ///   - keyPaths: names of the elements' properties that matter, instead of the projected one; nil or an empty array
    ///     for that.
    ///   - queue: a serial queue to be called on, with the collection of that queue.
    ///   - block: is called with the change.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Returns: a token to be held as long as the block is to be called.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection>) -> Void, file: StaticString = #fileID,
        line: UInt = #line
    ) -> NotificationToken {
        base.observe(keyPaths, queue, block, file, line)
    }
}

@available(
    *, unavailable, message: "collections belong to the thread, queue or actor of their realm; hand over frozen ones"
)
extension ProjectedCollection: Sendable {}

/// A `ProjectedCollection` of any element.
protocol ProjectsElements {
    /// The property's path in the class of the elements.
    var elementProperties: [PropertyInfo] { get }
}

/// What a `ProjectedCollection` reads: a collection of objects of some class, and a key path in it.
private class ProjectedElements<Element: RealmCollectionValue> {
    var count: Int { abstract() }
    var realm: Realm? { abstract() }
    var isInvalidated: Bool { abstract() }
    var isFrozen: Bool { abstract() }
    var properties: [PropertyInfo] { abstract() }
    func element(_ position: Int) -> Element { abstract() }
    func set(_ position: Int, _ value: Element) { abstract() }
    func index(matching predicate: RealmPredicate) -> Int? { abstract() }
    func frozen(_ file: StaticString, _ line: UInt) -> ProjectedElements { abstract() }
    func thawed(_ file: StaticString, _ line: UInt) -> ProjectedElements? { abstract() }
    func moved(to realm: _RealmInstance) -> ProjectedElements { abstract() }
    func observe(
        _ keyPaths: [String]?, _ queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection<Element>>) -> Void, _ file: StaticString,
        _ line: UInt
    ) -> NotificationToken { abstract() }

    private func abstract() -> Never { fatalError("Firn: ProjectedElements has no elements by itself.") }
}

private final class ElementsOf<Base: RealmCollection, Element: RealmCollectionValue>: ProjectedElements<Element>
where Base.Element: ObjectBase {
    private let base: Base
    private let keyPath: KeyPath<Base.Element, Element>

    init(_ base: Base, _ keyPath: KeyPath<Base.Element, Element>) {
        self.base = base
        self.keyPath = keyPath
    }

    override var count: Int { base.count }
    override var realm: Realm? { base.realm }
    override var isInvalidated: Bool { base.isInvalidated }
    override var isFrozen: Bool { base.isFrozen }
    override var properties: [PropertyInfo] { _KeyPathTracer.allProperties(keyPath) }
    override func element(_ position: Int) -> Element { base[position][keyPath: keyPath] }

    override func set(_ position: Int, _ value: Element) {
        guard let writable = keyPath as? ReferenceWritableKeyPath<Base.Element, Element> else {
            fatalError("Firn: \(keyPath) can't be set in a projected collection. Project a property that can be set.")
        }
        base[position][keyPath: writable] = value
    }

    override func index(matching predicate: RealmPredicate) -> Int? { base.index(matching: predicate) }

    override func frozen(_ file: StaticString, _ line: UInt) -> ProjectedElements<Element> {
        ElementsOf(base._freeze(file, line), keyPath)
    }
    override func thawed(_ file: StaticString, _ line: UInt) -> ProjectedElements<Element>? {
        base._thaw(file, line).map { ElementsOf($0, keyPath) }
    }
    override func moved(to realm: _RealmInstance) -> ProjectedElements<Element> {
        ElementsOf(base._moved(to: realm), keyPath)
    }

    override func observe(
        _ keyPaths: [String]?, _ queue: DispatchQueue?,
        _ block: @escaping (RealmCollectionChange<ProjectedCollection<Element>>) -> Void, _ file: StaticString,
        _ line: UInt
    ) -> NotificationToken {
        let names = keyPaths.flatMap { $0.isEmpty ? nil : $0 } ?? [properties.map(\.name).joined(separator: ".")]
        let keyPath = keyPath
        func projected(_ base: Base) -> ProjectedCollection<Element> { ProjectedCollection(ElementsOf(base, keyPath)) }
        return base.observe(
            keyPaths: names, on: queue,
            { change in
                switch change {
                case .initial(let base): block(.initial(projected(base)))
                case .update(let base, let deletions, let insertions, let modifications):
                    block(
                        .update(
                            projected(base), deletions: deletions, insertions: insertions,
                            modifications: modifications))
                case .error(let error): block(.error(error))
                }
            }, file: file, line: line)
    }
}

/// Names a property of the elements of a list or set, for a key path: `\Person.friends.projectTo.name`.
@dynamicMemberLookup
public struct ElementProjection<Base: RealmCollection> where Base.Element: ObjectBase {
    fileprivate let base: Base

    /// The values of a property of the elements.
    public subscript<V: RealmCollectionValue>(
        dynamicMember keyPath: KeyPath<Base.Element, V>
    ) -> ProjectedCollection<V> {
        ProjectedCollection(ElementsOf(base, keyPath))
    }
}

extension List where Element: ObjectBase {
    /// Names a property of the elements, for a `@Projected` property: `\Person.friends.projectTo.name`. O(1).
    public var projectTo: ElementProjection<List> { ElementProjection(base: self) }
}

extension MutableSet where Element: ObjectBase {
    /// Names a property of the elements, for a `@Projected` property: `\Person.groups.projectTo.name`. O(1).
    public var projectTo: ElementProjection<MutableSet> { ElementProjection(base: self) }
}

extension LinkingObjects {
    /// Names a property of the linking objects, for a `@Projected` property: `\Dog.owners.projectTo.name`. O(1).
    public var projectTo: ElementProjection<LinkingObjects> { ElementProjection(base: self) }
}
