public import Dispatch
import FirnCore

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
    func elementWays(_ purpose: _KeyPathTracer.Purpose) -> [[PropertyInfo]] { base.ways(purpose) }

    /// The values in order, of the objects that are in the list when the loop begins: a loop may write the list. Costs
    /// what iterating the list costs, and reading the property of each.
    public func makeIterator() -> AnyIterator<Element> { base.makeIterator() }

    /// Whether both have equal elements in the same order, or both are invalidated. O(n).
    public static func == (a: ProjectedCollection, b: ProjectedCollection) -> Bool {
        a.isInvalidated || b.isInvalidated ? a.isInvalidated && b.isInvalidated : a.elementsEqual(b)
    }

    /// The type and the first 100 elements, for people. Stops the program on the wrong thread.
    public var description: String {
        if isInvalidated { return "[invalidated ProjectedCollection<\(Element.self)>]" }
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
        base.observe(keyPaths, on: queue, block: block, file: file, line: line)
    }

    /// Calls `block` on an actor, with the actor's own collection: `observe(keyPaths:on:_:file:line:)` as
    /// `RealmCollection.observe(keyPaths:on:isolation:_:file:line:)` has it for actors.
    public func observe<A: Actor>(
        keyPaths: [String]? = nil, on actor: A, isolation: isolated (any Actor)? = #isolation,
        _ block: @escaping @Sendable (isolated A, RealmCollectionChange<ProjectedCollection>) -> Void,
        file: StaticString = #fileID, line: UInt = #line
    ) async -> NotificationToken {
        await base.observe(keyPaths, on: actor, isolation: isolation, block: block, file: file, line: line)
    }
}

@available(
    *, unavailable, message: "collections belong to the thread, queue or actor of their realm; hand over frozen ones"
)
extension ProjectedCollection: Sendable {}

/// A `ProjectedCollection` of any element.
protocol ProjectsElements {
    /// The ways to the elements' properties that are read, each outermost first. For naming there is one.
    func elementWays(_ purpose: _KeyPathTracer.Purpose) -> [[PropertyInfo]]
}

/// What a `ProjectedCollection` reads: a collection of objects of some class, and a key path in it.
private class ProjectedElements<Element: RealmCollectionValue> {
    var count: Int { abstract() }
    var realm: Realm? { abstract() }
    var isInvalidated: Bool { abstract() }
    var isFrozen: Bool { abstract() }
    func ways(_ purpose: _KeyPathTracer.Purpose) -> [[PropertyInfo]] { abstract() }
    func makeIterator() -> AnyIterator<Element> { abstract() }
    func element(_ position: Int) -> Element { abstract() }
    func set(_ position: Int, _ value: Element) { abstract() }
    func index(matching predicate: RealmPredicate) -> Int? { abstract() }
    func frozen(_ file: StaticString, _ line: UInt) -> ProjectedElements { abstract() }
    func thawed(_ file: StaticString, _ line: UInt) -> ProjectedElements? { abstract() }
    func moved(to realm: _RealmInstance) -> ProjectedElements { abstract() }
    func observe(
        _ keyPaths: [String]?, on queue: DispatchQueue?,
        block: @escaping (RealmCollectionChange<ProjectedCollection<Element>>) -> Void, file: StaticString,
        line: UInt
    ) -> NotificationToken { abstract() }

    func observe<A: Actor>(
        _ keyPaths: [String]?, on actor: A, isolation: isolated (any Actor)?,
        block: @escaping @Sendable (isolated A, RealmCollectionChange<ProjectedCollection<Element>>) -> Void,
        file: StaticString, line: UInt
    ) async -> NotificationToken { abstract() }

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
    override func ways(_ purpose: _KeyPathTracer.Purpose) -> [[PropertyInfo]] {
        purpose == .naming ? [TracedKeyPath.of(keyPath).properties] : ObservableKeyPath.of(keyPath).ways
    }
    override func makeIterator() -> AnyIterator<Element> {
        var objects = base.makeIterator()
        return AnyIterator { [keyPath] in objects.next()?[keyPath: keyPath] }
    }
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
        _ keyPaths: [String]?, on queue: DispatchQueue?,
        block: @escaping (RealmCollectionChange<ProjectedCollection<Element>>) -> Void, file: StaticString,
        line: UInt
    ) -> NotificationToken {
        base.observe(
            keyPaths: observed(keyPaths), on: queue, { [keyPath] in block(projected($0, keyPath)) }, file: file,
            line: line)
    }

    override func observe<A: Actor>(
        _ keyPaths: [String]?, on actor: A, isolation: isolated (any Actor)?,
        block: @escaping @Sendable (isolated A, RealmCollectionChange<ProjectedCollection<Element>>) -> Void,
        file: StaticString, line: UInt
    ) async -> NotificationToken {
        await base.observe(
            observed(keyPaths), on: actor, isolation: isolation, at: CallSite(file, line), block: block
        ) { [keyPath] base, start, paths, block in
            CollectionSubscription(collection: base, from: start, paths: paths) { block(projected($0, keyPath)) }
        }
    }

    /// The names to observe: all that the key path reads, if none are given.
    private func observed(_ keyPaths: [String]?) -> [String]? {
        keyPaths.flatMap { $0.isEmpty ? nil : $0 } ?? ways(.observing).map(\.dotted)
    }
}

private func projected<Base: RealmCollection, Element: RealmCollectionValue>(
    _ change: RealmCollectionChange<Base>, _ keyPath: KeyPath<Base.Element, Element>
) -> RealmCollectionChange<ProjectedCollection<Element>> where Base.Element: ObjectBase {
    func projected(_ base: Base) -> ProjectedCollection<Element> { ProjectedCollection(ElementsOf(base, keyPath)) }
    return switch change {
    case .initial(let base): .initial(projected(base))
    case .update(let base, let deletions, let insertions, let modifications):
        .update(projected(base), deletions: deletions, insertions: insertions, modifications: modifications)
    case .error(let error): .error(error)
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
