import RealmSwift
import Testing

// RealmSwift's signatures of maps, as requirements. The compiler checks that they are satisfied.

/// What a map has, whatever its values are.
private protocol MapSurface: RealmKeyedCollection {
    init()
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var count: Int { get }
    var keys: [Key] { get }
    var values: [Value] { get }
    var description: String { get }
    subscript(key: Key) -> Value? { get set }
    func updateValue(_ value: Value, forKey key: Key)
    func merge<S>(_ sequence: S, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows
    where S: Sequence, S.Element == (key: Key, value: Value)
    func merge(_ dictionary: [Key: Value], uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows
    func merge(_ dictionary: Map<Key, Value>, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows
    func removeObject(for key: Key)
    func removeAll()
    func object(forKey key: Key) -> Value?
    func value(forKey key: String) -> Any?
    func value(forKeyPath keyPath: String) -> Any?
    func setValue(_ value: Any?, forKey key: String)
    func contains(where predicate: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> Bool
    func contains(where predicate: @escaping (_ key: Key, _ value: Value) -> Bool) -> Bool
    func filter(_ isIncluded: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> [Key: Value]
    func freeze() -> Self
    func thaw() -> Self?
    func asKeyValueSequence() -> Map<Key, Value>.KeyValueSequence
    static func == (lhs: Self, rhs: Self) -> Bool
    func makeIterator() -> Iterator
    func observe(on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void) -> NotificationToken
    func observe(keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void)
        -> NotificationToken
}
extension Map: MapSurface {}

/// What a map of objects has beyond that.
private protocol ObjectMapSurface {
    func `where`(_ isIncluded: (Query<Peak>) -> Query<Bool>) -> Results<Peak?>
    func filter(_ predicate: NSPredicate) -> Results<Peak?>
    func filter(_ predicateFormat: String, _ args: Any...) -> Results<Peak?>
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Peak?>
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Peak?>
    where S.Iterator.Element == RealmSwift.SortDescriptor
    func sorted<T: SortableType>(by keyPath: KeyPath<Peak, T>, ascending: Bool) -> Results<Peak?>
    func min<T: MinMaxType>(ofProperty property: String) -> T?
    func max<T: MinMaxType>(ofProperty property: String) -> T?
    func sum<T: AddableType>(ofProperty property: String) -> T
    func average<T: AddableType>(ofProperty property: String) -> T?
    func min<T: MinMaxType>(of keyPath: KeyPath<Peak, T>) -> T?
    func max<T: MinMaxType>(of keyPath: KeyPath<Peak, T>) -> T?
    func sum<T: AddableType>(of keyPath: KeyPath<Peak, T>) -> T
    func average<T: AddableType>(of keyPath: KeyPath<Peak, T>) -> T?
    func observe(
        keyPaths: [PartialKeyPath<Peak>], on queue: DispatchQueue?,
        _ block: @escaping (RealmMapChange<Map<String, Peak?>>) -> Void
    ) -> NotificationToken
}
extension Map: ObjectMapSurface where Key == String, Value == Peak? {}

private protocol NumberMapSurface {
    func min() -> Int?
    func max() -> Int?
    func sum() -> Int
    func average<T: AddableType>() -> T?
    func sorted(ascending: Bool) -> Results<Int>
    func distinct() -> Results<Int>
    func encode(to encoder: Encoder) throws
}
extension Map: NumberMapSurface where Key == String, Value == Int {}

private protocol OptionalNumberMapSurface {
    func min() -> Int?
    func max() -> Int?
    func sum() -> Int
    func average<T: AddableType>() -> T?
    func sorted(ascending: Bool) -> Results<Int?>
    func distinct() -> Results<Int?>
}
extension Map: OptionalNumberMapSurface where Key == String, Value == Int? {}

private protocol DecodableMapSurface {
    init(from decoder: Decoder) throws
}
extension Map: DecodableMapSurface where Key: Decodable, Value: Decodable {}

private protocol EncodableMapSurface {
    func encode(to encoder: Encoder) throws
}
extension Map: EncodableMapSurface where Value: Encodable {}

/// Maps of values that RealmSwift's constraints describe.
private protocol SummedMapSurface {
    associatedtype Value: RealmCollectionValue
    func sum() -> Value
    func average<T: AddableType>() -> T?
}
extension Map: SummedMapSurface where Value: AddableType {}
private protocol SortedMapSurface {
    associatedtype Value: RealmCollectionValue
    func sorted(ascending: Bool) -> Results<Value>
}
extension Map: SortedMapSurface where Value: SortableType {}

private protocol EntrySurface {
    associatedtype Key: _MapKey
    associatedtype Value: RealmCollectionValue
    var key: Key { get set }
    var value: Value { get set }
    func hash(into hasher: inout Hasher)
}
extension SingleMapEntry: EntrySurface {}

/// The pairs of a map's sequence of keys and values.
private protocol PairsSurface: Sequence {
    func makeIterator() -> Iterator
}
extension Map.KeyValueSequence: PairsSurface {}

private protocol MapChangeSurface {
    associatedtype Collection: RealmKeyedCollection
    static func initial(_ collection: Collection) -> Self
    static func update(
        _ collection: Collection, deletions: [Collection.Key], insertions: [Collection.Key],
        modifications: [Collection.Key]
    ) -> Self
    static func error(_ error: Error) -> Self
}
extension RealmMapChange: MapChangeSurface {}
extension RealmMapChange where MapType == Map<String, Int> {
    fileprivate var isFirst: Bool { if case .initial = self { true } else { false } }
}
extension MapChangeSurface {
    fileprivate static func made(_ map: Collection, _ keys: [Collection.Key]) -> Self {
        .update(map, deletions: keys, insertions: [], modifications: keys)
    }
    fileprivate static func made(_ map: Collection) -> Self { .initial(map) }
    fileprivate static func made(_ error: any Error) -> Self { .error(error) }
}

@Suite(.timeLimit(.minutes(20))) struct MapSurfaceTests {
    private let realm: Realm
    private let high: Peak
    private let low: Peak

    init() throws {
        realm = try peaks()
        (high, low) = highAndLow(realm)
    }

    @Test func aMapIsChangedThroughItsRequirements() throws {
        func map<M: MapSurface>(_: M.Type) throws -> [M] where M.Key == String, M.Value == Int {
            let map = M()
            map.updateValue(1, forKey: "a")
            map["b"] = 2
            map.merge(["b": 3, "c": 4]) { $0 + $1 }
            map.merge([(key: "d", value: 6)]) { $0 + $1 }
            map.setValue(7, forKey: "e")
            map.removeObject(for: "a")
            let other = M()
            other["z"] = 1
            other.removeAll()
            return [map, other]
        }
        let maps = try map(Map<String, Int>.self)
        #expect(maps[0].keys == ["b", "c", "d", "e"] && maps[0].values == [5, 4, 6, 7] && maps[1].isEmpty)
        let merged = Map<String, Int>()
        merged.merge(maps[0]) { first, _ in first }
        #expect(merged == maps[0] && merged.count == 4)
    }

    @Test func aMapIsReadThroughItsRequirements() throws {
        func facts<M: MapSurface>(_ map: M) throws -> [String] where M.Key == String {
            [
                "\(map.count)", "\(map.keys)", "\(map.values.count)", "\(map.object(forKey: "road") != nil)",
                "\(map["road"] != nil)", "\(map.value(forKey: "road") ?? 0)", "\(map.contains { $0.key == "road" })",
                "\(map.filter { key, _ in key == "road" }.count)", "\(map.realm == realm)", "\(map.isInvalidated)",
                "\(map.isFrozen)", "\(map.freeze().isFrozen)", "\(map.freeze().thaw() != nil)",
                "\(map.description.isEmpty)", "\(map == map)", "\(map.asKeyValueSequence().map(\.key))",
                "\((map.value(forKeyPath: "@count") as? Int) ?? 0)",
            ]
        }
        #expect(
            try facts(high.tolls) == [
                "1", "[\"road\"]", "1", "true", "true", "5", "true", "1", "true", "false", "false", "true", "true",
                "false", "true", "[\"road\"]", "1",
            ])
    }

    @Test func aMapOfObjectsIsQueriedThroughItsRequirements() {
        func ids<M: ObjectMapSurface>(_ map: M) -> [Int?] {
            let found: [Results<Peak?>] = [
                map.where { $0.id == 2 }, map.filter(NSPredicate(format: "id == 2")), map.filter("id == %@", 2),
                map.sorted(byKeyPath: "id", ascending: true), map.sorted(by: \.id, ascending: false),
                map.sorted(by: [SortDescriptor(keyPath: "id")]),
            ]
            return found.map { $0.first??.id }
        }
        func heights<M: ObjectMapSurface>(_ map: M) -> [Double?] {
            [
                map.min(ofProperty: "height"), map.max(ofProperty: "height"), map.sum(ofProperty: "height"),
                map.average(ofProperty: "height"), map.min(of: \.height), map.max(of: \.height), map.sum(of: \.height),
                map.average(of: \.height),
            ]
        }
        #expect(ids(high.routes) == Array(repeating: 2, count: 6))
        #expect(heights(high.routes) == Array(repeating: 2362, count: 8))
    }

    @Test func aMapOfNumbersIsAggregatedThroughItsRequirements() {
        func numbers<M: NumberMapSurface>(_ map: M) -> [Double?] {
            let average: Double? = map.average()
            return [
                map.min().map(Double.init), map.max().map(Double.init), Double(map.sum()), average,
                map.sorted(ascending: true).first.map(Double.init), map.distinct().last.map(Double.init),
            ]
        }
        func optionals<M: OptionalNumberMapSurface>(_ map: M) -> [Double?] {
            let average: Double? = map.average()
            return [
                map.min().map(Double.init), map.max().map(Double.init), Double(map.sum()), average,
                map.sorted(ascending: true)[0].map(Double.init), map.distinct()[0].map(Double.init),
            ]
        }
        func sum<M: SummedMapSurface & SortedMapSurface>(_ map: M) -> [M.Value?] {
            [map.sum(), map.sorted(ascending: true).last]
        }
        #expect(numbers(high.tolls) == Array(repeating: 5, count: 6))
        #expect(optionals(high.snow) == Array(repeating: 6, count: 6) && sum(high.tolls) == [5, 5])
    }

    @Test func aMapIsCodedThroughItsRequirements() throws {
        struct Wrapped<M: DecodableMapSurface & EncodableMapSurface>: Codable {
            let map: M
            init(from decoder: any Decoder) throws { map = try M(from: decoder) }
            func encode(to encoder: any Encoder) throws { try map.encode(to: encoder) }
        }
        let text = Data(#"{"a":1}"#.utf8)
        let read = try JSONDecoder().decode(Wrapped<Map<String, Int>>.self, from: text)
        #expect(try read.map["a"] == 1 && JSONEncoder().encode(read) == text)
    }

    @Test func theEntriesOfAMapAreValues() throws {
        func changed<E: EntrySurface>(_ entry: E, _ key: E.Key, _ value: E.Value) -> (E, Int) {
            var (entry, hasher) = (entry, Hasher())
            (entry.key, entry.value) = (key, value)
            entry.hash(into: &hasher)
            return (entry, hasher.finalize())
        }
        let entry: SingleMapEntry<String, Int> = try #require(Array(high.tolls).first)
        let (path, hash) = changed(entry, "path", 0)
        #expect(path.key == "path" && path.value == 0 && entry.key == "road" && path != entry && path == path)
        #expect(hash == changed(entry, "path", 0).1)
        func first<P: PairsSurface>(_ pairs: P) -> P.Element? {
            var iterator = pairs.makeIterator()
            return iterator.next()
        }
        let pair: (key: String, value: Int)? = first(high.tolls.asKeyValueSequence())
        #expect(pair?.key == "road" && pair?.value == 5)
    }

    @Test func aMapIsObservedThroughItsRequirements() {
        let queue = DispatchQueue(label: "tolls")
        func observe<M: MapSurface>(_ map: M) -> [NotificationToken] {
            [
                map.observe(on: queue) { (_: RealmMapChange<M>) in },
                map.observe(keyPaths: nil, on: queue) { (_: RealmMapChange<M>) in },
            ]
        }
        func observeNames<M: ObjectMapSurface>(_ map: M) -> NotificationToken {
            map.observe(keyPaths: [\Peak.name], on: queue) { (_: RealmMapChange<Map<String, Peak?>>) in }
        }
        for token in observe(high.tolls) + [observeNames(high.routes)] { #expect(token.invalidate()) }
    }

    @Test func aMapChangeHasRealmSwiftsCases() {
        let changes: [RealmMapChange<Map<String, Int>>] = [
            .made(high.tolls), .made(high.tolls, ["road"]), .made(Realm.Error(.fail)),
        ]
        let texts = changes.map { change in
            switch change {
            case .initial(let map): "initial \(map.count)"
            case .update(_, let deletions, let insertions, let modifications):
                "update \(deletions) \(insertions) \(modifications)"
            case .error(let error): "error \(error is Realm.Error)"
            }
        }
        #expect(changes.map(\.isFirst) == [true, false, false])
        #expect(texts == ["initial 1", "update [\"road\"] [] [\"road\"]", "error true"])
    }
}
