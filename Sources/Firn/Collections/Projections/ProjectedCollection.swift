import FirnCore
import FirnStorage

/// The values of one property of the elements of a list or set, as a live collection.
///
/// ```swift
/// @Projected(\Person.friends.projectTo.name) var friends: ProjectedCollection<String>
///
/// for name in card.friends { print(name) }
/// try realm.write { card.friends[0] = "Ben" }      // sets the name of the first friend
/// ```
///
/// The collection stores nothing. Its count is the list's count, and an access to an element finds the object in the
/// list and reads its property. The collection belongs to the thread, queue or actor of the list's realm. An index that
/// is out of bounds stops the program.
public struct ProjectedCollection<NewElement: RealmCollectionValue>: RandomAccessCollection, ThreadConfined, Equatable,
    CustomStringConvertible, ProjectsElements
{
    /// The type of the property's values.
    public typealias Element = NewElement
    /// The indices are numbers from 0.
    public typealias Index = Int

    let elements: any ProjectedElements<Element>

    init(_ elements: any ProjectedElements<Element>) { self.elements = elements }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of elements. Costs as much as the list's count.
    public var endIndex: Int { elements.base.count }

    /// The value of the property of the element at an index. Setting it sets that property of the object. This stops
    /// the program outside a write transaction, and if the key path can't be set.
    public subscript(position: Int) -> Element {
        get { elements.element(position) }
        nonmutating set { elements.set(position, newValue) }
    }

    /// The index of the first element with a value; nil if there is none. O(n).
    public func index(of value: Element) -> Int? { firstIndex(of: value) }

    /// The index of the first object in the list that satisfies a predicate on its class; nil if there is none. Costs
    /// as much as `RealmCollection.index(matching:)`, and stops the program in the same cases.
    public func index(matching predicate: RealmPredicate) -> Int? { elements.index(matching: predicate) }

    /// The realm of the list; nil if it is unmanaged. O(1).
    public var realm: Realm? { elements.base.realm }
    /// Whether the object that owns the list is gone, or its realm was invalidated.
    public var isInvalidated: Bool { elements.base.isInvalidated }
    /// Whether the list is frozen. O(1). May be read on any thread.
    public var isFrozen: Bool { elements.base.isFrozen }
    /// Implements `freeze()`.
    public func _freeze(_ file: StaticString, _ line: UInt) -> ProjectedCollection {
        ProjectedCollection(elements.frozen(file, line))
    }
    /// Implements `thaw()`.
    public func _thaw(_ file: StaticString, _ line: UInt) -> ProjectedCollection? {
        elements.thawed(file, line).map { ProjectedCollection($0) }
    }
    /// The same collection in another realm of the store.
    public func _moved(to realm: _RealmInstance) -> ProjectedCollection {
        ProjectedCollection(elements.moved(to: realm))
    }
    func elementWays(_ purpose: _KeyPathTracer.Purpose) -> [[PropertyInfo]] { elements.ways(purpose) }

    /// Iterates over the values of the objects that are in the list when the loop begins, in the list's order. The loop
    /// may change the list. Costs as much as iterating over the list and reading the property of each object.
    public func makeIterator() -> AnyIterator<Element> { elements.makeIterator() }

    /// Whether both have equal elements in the same order, or both are invalidated. O(n).
    public static func == (a: ProjectedCollection, b: ProjectedCollection) -> Bool {
        a.isInvalidated || b.isInvalidated ? a.isInvalidated && b.isInvalidated : a.elementsEqual(b)
    }

    /// The type and the first 100 elements as text. Stops the program on the wrong thread.
    public var description: String {
        if isInvalidated { return "[invalidated ProjectedCollection<\(Element.self)>]" }
        let lines = prefix(100).enumerated().map { "    [\($0.offset)] \($0.element);\n" }
        let rest = count > 100 ? "    … \(count - 100) more;\n" : ""
        return "ProjectedCollection<\(Element.self)> {\n\(lines.joined())\(rest)}"
    }
}

@available(
    *, unavailable, message: "collections belong to the thread, queue or actor of their realm; hand over frozen ones"
)
extension ProjectedCollection: Sendable {}

/// A `ProjectedCollection` with elements of any type.
protocol ProjectsElements {
    /// The paths to the properties that are read. Each path begins with a property of the list's elements. For the
    /// purpose `.naming` there is one path.
    func elementWays(_ purpose: _KeyPathTracer.Purpose) -> [[PropertyInfo]]
}

/// The parts of a `ProjectedCollection`: a collection of objects of some class, and a key path of that class.
protocol ProjectedElements<Element> {
    associatedtype Base: RealmCollection where Base.Element: ObjectBase
    associatedtype Element: RealmCollectionValue
    var base: Base { get }
    var keyPath: KeyPath<Base.Element, Element> { get }
}

struct ElementsOf<Base: RealmCollection, Element: RealmCollectionValue>: ProjectedElements
where Base.Element: ObjectBase {
    let base: Base
    let keyPath: KeyPath<Base.Element, Element>

    init(_ base: Base, _ keyPath: KeyPath<Base.Element, Element>) {
        self.base = base
        self.keyPath = keyPath
    }
}

extension ProjectedElements {
    func ways(_ purpose: _KeyPathTracer.Purpose) -> [[PropertyInfo]] {
        purpose == .naming ? [TracedKeyPath.of(keyPath).properties] : ObservableKeyPath.of(keyPath).ways
    }

    func makeIterator() -> AnyIterator<Element> {
        var objects = base.makeIterator()
        return AnyIterator { [keyPath] in objects.next()?[keyPath: keyPath] }
    }

    func element(_ position: Int) -> Element { base[position][keyPath: keyPath] }

    func set(_ position: Int, _ value: Element) {
        guard let writable = keyPath as? ReferenceWritableKeyPath<Base.Element, Element> else {
            stopProgram("\(keyPath) can't be set in a projected collection. Project a property that can be set.")
        }
        base[position][keyPath: writable] = value
    }

    func index(matching predicate: RealmPredicate) -> Int? { base.index(matching: predicate) }

    func frozen(_ file: StaticString, _ line: UInt) -> any ProjectedElements<Element> {
        ElementsOf(base._freeze(file, line), keyPath)
    }

    func thawed(_ file: StaticString, _ line: UInt) -> (any ProjectedElements<Element>)? {
        base._thaw(file, line).map { ElementsOf($0, keyPath) }
    }

    func moved(to realm: _RealmInstance) -> any ProjectedElements<Element> {
        ElementsOf(base._moved(to: realm), keyPath)
    }
}

/// Gives the values of a property of the elements of a list or set, for a key path: `\Person.friends.projectTo.name`.
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
    /// Gives the values of a property of the elements, for a `@Projected` property: `\Person.friends.projectTo.name`.
    /// O(1).
    public var projectTo: ElementProjection<List> { ElementProjection(base: self) }
}

extension MutableSet where Element: ObjectBase {
    /// Gives the values of a property of the elements, for a `@Projected` property: `\Person.groups.projectTo.name`.
    /// O(1).
    public var projectTo: ElementProjection<MutableSet> { ElementProjection(base: self) }
}

extension LinkingObjects {
    /// Gives the values of a property of the linking objects, for a `@Projected` property:
    /// `\Dog.owners.projectTo.name`. O(1).
    public var projectTo: ElementProjection<LinkingObjects> { ElementProjection(base: self) }
}
