import RealmSwift
import Testing

// RealmSwift's signatures of lists, sets and backlinks, as requirements. The compiler checks that they are satisfied.

private protocol ListSurface: AnyObject {
    associatedtype Element: RealmCollectionValue
    init()
    subscript(position: Int) -> Element { get set }
    func append(_ object: Element)
    func append<S: Sequence>(objectsIn objects: S) where S.Iterator.Element == Element
    func insert(_ object: Element, at index: Int)
    func insert<C: Collection>(contentsOf newElements: C, at i: Int) where C.Iterator.Element == Element
    func remove(at index: Int)
    func remove(atOffsets offsets: IndexSet)
    func removeAll()
    func removeFirst(_ number: Int)
    func removeLast(_ number: Int)
    func removeSubrange<R>(_ boundsExpression: R) where R: RangeExpression, Int == R.Bound
    func replace(index: Int, object: Element)
    func replaceSubrange<C: Collection, R>(_ subrange: R, with newElements: C)
    where C.Iterator.Element == Element, R: RangeExpression, Int == R.Bound
    func move(from: Int, to: Int)
    func move(fromOffsets offsets: IndexSet, toOffset destination: Int)
    func swapAt(_ index1: Int, _ index2: Int)
    func value(forKey key: String) -> [AnyObject]
    func value(forKeyPath keyPath: String) -> [AnyObject]
}
extension List: ListSurface {}

/// A list's ranges are slices of it, which is also the type of its subsequences.
private protocol SlicedSurface: MutableCollection where SubSequence == Slice<Self> {
    subscript(bounds: Range<Int>) -> Slice<Self> { get set }
}
extension List: SlicedSurface {}

private protocol SetSurface: AnyObject {
    associatedtype Element: RealmCollectionValue
    init()
    subscript(position: Int) -> Element { get }
    func contains(_ object: Element) -> Bool
    func insert(_ object: Element)
    func insert<S: Sequence>(objectsIn objects: S) where S.Iterator.Element == Element
    func remove(_ object: Element)
    func removeAll()
    func isSubset(of possibleSuperset: MutableSet<Element>) -> Bool
    func intersects(_ otherSet: MutableSet<Element>) -> Bool
    func formIntersection(_ other: MutableSet<Element>)
    func formUnion(_ other: MutableSet<Element>)
    func subtract(_ other: MutableSet<Element>)
    func value(forKey key: String) -> [AnyObject]
    func value(forKeyPath keyPath: String) -> [AnyObject]
}
extension MutableSet: SetSurface {}

private protocol DecodableSurface {
    init(from decoder: Decoder) throws
}
extension List: DecodableSurface where Element: Decodable {}
extension MutableSet: DecodableSurface where Element: Decodable {}

/// What each collection has whose elements are coded.
private protocol EncodableSurface {
    associatedtype Element: RealmCollectionValue
    func encode(to encoder: Encoder) throws
}
extension List: EncodableSurface where Element: Encodable {}
extension Results: EncodableSurface where Element: Encodable {}
extension LinkingObjects: EncodableSurface where Element: Encodable {}
extension MutableSet: EncodableSurface where Element: Encodable {}
extension AnyRealmCollection: EncodableSurface where Element: Encodable {}

private protocol LinksSurface {
    associatedtype Element: ObjectBase
    init(fromType _: Element.Type, property propertyName: String)
    subscript(index: Int) -> Element { get }
}
extension LinkingObjects: LinksSurface {}

private protocol ErasedSurface {
    associatedtype Element: RealmCollectionValue
    init<C: RealmCollection>(_ base: C) where C.Element == Element
}
extension AnyRealmCollection: ErasedSurface {}

@Suite(.timeLimit(.minutes(20))) struct ListAndSetSurfaceTests {
    private let realm: Realm
    private let high: Peak
    private let low: Peak

    init() throws {
        realm = try peaks()
        (high, low) = highAndLow(realm)
    }

    @Test func aListIsChangedThroughItsRequirements() {
        func list<L: ListSurface>(_: L.Type) -> L where L.Element == Int {
            let list = L()
            list.append(1)
            list.append(objectsIn: [2, 3])
            list.insert(0, at: 0)
            list.insert(contentsOf: [4, 5, 6, 7, 8, 9], at: 4)
            list.remove(at: 0)
            list.remove(atOffsets: IndexSet(integer: 0))
            list.removeFirst(1)
            list.removeLast(1)
            list.removeSubrange(0..<1)
            list.replace(index: 0, object: 50)
            list.replaceSubrange(1..<2, with: [60, 61])
            list.move(from: 0, to: 1)
            list.move(fromOffsets: IndexSet(integer: 0), toOffset: 2)
            list.swapAt(0, 1)
            list[0] += 1
            return list
        }
        #expect(Array(list(List<Int>.self)) == [61, 50, 61, 6, 7, 8])
        func emptied<L: ListSurface>(_ list: L) -> L {
            list.removeAll()
            return list
        }
        #expect(emptied(list(List<Int>.self)).isEmpty)
    }

    @Test func aRangeOfAListIsASliceThatCanBeSet() {
        func reversed<C: SlicedSurface>(_ list: C) -> (C.SubSequence, C) where C.Index == Int {
            var list = list
            let two: List<Int>.SubSequence? = list[0..<2] as? Slice<List<Int>>
            #expect(two.map(Array.init) == [1, 2])
            list[0..<1] = list[1..<3]
            return (list[1..<3], list)
        }
        let list = List<Int>()
        list.append(objectsIn: [1, 2, 3])
        let (slice, changed) = reversed(list)
        #expect(Array(slice) == [3, 2] && Array(changed) == [2, 3, 2, 3])
    }

    @Test func aListGivesValuesByKey() {
        func values<L: ListSurface>(_ list: L) -> [String] {
            let (byKey, byPath): ([AnyObject], [AnyObject]) =
                (list.value(forKey: "name"), list.value(forKeyPath: "name"))
            return (byKey + byPath).map { "\($0)" }
        }
        func values<S: SetSurface>(_ set: S) -> [String] {
            let byKey: [AnyObject] = set.value(forKey: "name")
            return byKey.map { "\($0)" }
        }
        #expect(values(high.neighbours) == ["Niesen", "Niesen"] && values(high.rivals) == ["Niesen"])
    }

    @Test func aSetIsChangedThroughItsRequirements() {
        func set<S: SetSurface>(_: S.Type) -> S where S.Element == Int {
            let set = S()
            set.insert(1)
            set.insert(objectsIn: [1, 2, 3, 4])
            set.remove(4)
            return set
        }
        func compared<S: SetSurface>(_ set: S, _ other: MutableSet<S.Element>) -> [Bool] {
            [set.isSubset(of: other), set.intersects(other), set.contains(set[0])]
        }
        let (three, two) = (set(MutableSet<Int>.self), MutableSet<Int>())
        two.insert(objectsIn: [2, 5])
        #expect(compared(three, two) == [false, true, true])
        func combined<S: SetSurface>(_ set: S, _ other: MutableSet<S.Element>) -> S {
            set.formUnion(other)
            set.subtract(other)
            set.formUnion(other)
            set.formIntersection(other)
            return set
        }
        #expect(combined(three, two).sorted() == [2, 5])
        func emptied<S: SetSurface>(_ set: S) -> S {
            set.removeAll()
            return set
        }
        #expect(emptied(three).isEmpty)
        #expect(high.rivals.index(of: low) == 0 && high.rivals.index(matching: { $0.id == 2 }) == 0)
    }

    @Test func collectionsAreCodedThroughTheirRequirements() throws {
        struct Wrapped<C: DecodableSurface>: Decodable {
            let collection: C
            init(from decoder: any Decoder) throws { collection = try C(from: decoder) }
        }
        struct Written: Encodable {
            let collection: any EncodableSurface
            func encode(to encoder: any Encoder) throws { try collection.encode(to: encoder) }
        }
        let text = Data("[1,2]".utf8)
        let list = try JSONDecoder().decode(Wrapped<List<Int>>.self, from: text).collection
        let set = try JSONDecoder().decode(Wrapped<MutableSet<Int>>.self, from: text).collection
        for collection in [list, set, AnyRealmCollection(list)] as [any EncodableSurface] {
            #expect(try JSONEncoder().encode(Written(collection: collection)) == text)
        }
        let sorted = high.depths.sorted(ascending: true)
        #expect(try JSONEncoder().encode(Written(collection: sorted)) == Data("[1,2,3]".utf8))
    }

    @Test func backlinksAreDeclaredByClassAndProperty() {
        func links<L: LinksSurface>(_: L.Type) -> L where L.Element == Peak {
            L(fromType: Peak.self, property: "neighbours")
        }
        func first<L: LinksSurface>(_ links: L) -> L.Element { links[0] }
        #expect(links(LinkingObjects<Peak>.self).isEmpty && first(low.seenFrom).id == 1)
    }

    @Test func anErasedCollectionIsMadeOfEachCollection() {
        func erased<E: ErasedSurface>(_: E.Type) -> [E] where E.Element == Peak {
            [E(high.neighbours), E(high.rivals), E(low.seenFrom), E(realm.objects(Peak.self)), E(E2(high.neighbours))]
        }
        typealias E2 = AnyRealmCollection<Peak>
        #expect(erased(E2.self).map(\.count) == [1, 1, 1, 2, 1])
    }

    @Test func aCollectionOfObjectsIsProjected() {
        let names: [ProjectedCollection<String>] = [high.neighbours.projectTo.name, high.rivals.projectTo.name]
        #expect(names.map(Array.init) == [["Niesen"], ["Niesen"]])
    }
}
