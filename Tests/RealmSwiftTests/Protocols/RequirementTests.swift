import RealmSwift
import Testing

// Protocols that programs write for RealmSwift's types, with RealmSwift's own signatures: those of RxRealm, and what a
// mock of `Realm` or of a collection needs. That they compile is the test.

private protocol RealmLike {
    init(configuration: Realm.Configuration, queue: DispatchQueue?) throws
    init(queue: DispatchQueue?) throws
    init(fileURL: URL) throws
    var schema: Schema { get }
    var configuration: Realm.Configuration { get }
    var isEmpty: Bool { get }
    var isInWriteTransaction: Bool { get }
    var isPerformingAsynchronousWriteOperations: Bool { get }
    var autorefresh: Bool { get nonmutating set }
    var isFrozen: Bool { get }
    func write<Result>(withoutNotifying tokens: [NotificationToken], _ block: () throws -> Result) throws -> Result
    func beginWrite()
    func commitWrite(withoutNotifying tokens: [NotificationToken]) throws
    func cancelWrite()
    func writeAsync(_ block: @escaping () -> Void, onComplete: ((Error?) -> Void)?) -> AsyncTransactionId
    func beginAsyncWrite(_ asyncWriteBlock: @escaping () -> Void) -> AsyncTransactionId
    func commitAsyncWrite(allowGrouping: Bool, _ onComplete: ((Error?) -> Void)?) -> AsyncTransactionId
    func cancelAsyncWrite(_ asyncTransactionId: AsyncTransactionId) throws
    func add(_ object: Object, update: Realm.UpdatePolicy)
    func add<S: Sequence>(_ objects: S, update: Realm.UpdatePolicy) where S.Iterator.Element: Object
    func create<T: Object>(_ type: T.Type, value: Any, update: Realm.UpdatePolicy) -> T
    func dynamicCreate(_ typeName: String, value: Any, update: Realm.UpdatePolicy) -> DynamicObject
    func delete(_ object: ObjectBase)
    func delete<S: Sequence>(_ objects: S) where S.Iterator.Element: ObjectBase
    func delete<Element: ObjectBase>(_ objects: List<Element>)
    func delete<Element: ObjectBase>(_ objects: Results<Element>)
    func delete<Element: ObjectBase>(_ map: Map<String, Element?>)
    func deleteAll()
    func objects<Element: RealmFetchable>(_ type: Element.Type) -> Results<Element>
    func dynamicObjects(_ typeName: String) -> Results<DynamicObject>
    func object<Element: Object, KeyType>(ofType type: Element.Type, forPrimaryKey key: KeyType) -> Element?
    func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject?
    func observe(_ block: @escaping NotificationBlock) -> NotificationToken
    func refresh() -> Bool
    func invalidate()
    func writeCopy(toFile fileURL: URL, encryptionKey: Data?) throws
    func writeCopy(configuration: Realm.Configuration) throws
    func freeze() -> Realm
    func thaw() -> Realm
    func freeze<T: ObjectBase>(_ object: T) -> T
    func thaw<T: ObjectBase>(_ object: T) -> T?
    func freeze<Collection: RealmCollection>(_ collection: Collection) -> Collection
    func resolve<Confined>(_ reference: ThreadSafeReference<Confined>) -> Confined?
    static func performMigration(for configuration: Realm.Configuration) throws
    static func fileExists(for configuration: Realm.Configuration) -> Bool
    static func deleteFiles(for configuration: Realm.Configuration) throws -> Bool
    static func asyncOpen(
        configuration: Realm.Configuration, callbackQueue: DispatchQueue,
        callback: @escaping (Result<Realm, any Error>) -> Void
    ) -> Realm.AsyncOpenTask
}
extension Realm: RealmLike {}

/// RxRealm's protocol, in the forms of several of its versions.
private protocol NotificationEmitter {
    associatedtype ElementType: RealmCollectionValue
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken
    func observe(
        on queue: DispatchQueue?, _ block: @escaping (RealmCollectionChange<Self>) -> Void
    ) -> NotificationToken
    func toAnyCollection() -> AnyRealmCollection<ElementType>
}
extension List: NotificationEmitter {
    func toAnyCollection() -> AnyRealmCollection<Element> { AnyRealmCollection(self) }
}
extension Results: NotificationEmitter {
    func toAnyCollection() -> AnyRealmCollection<Element> { AnyRealmCollection(self) }
}
extension LinkingObjects: NotificationEmitter {
    func toAnyCollection() -> AnyRealmCollection<Element> { AnyRealmCollection(self) }
}
extension MutableSet: NotificationEmitter {
    func toAnyCollection() -> AnyRealmCollection<Element> { AnyRealmCollection(self) }
}
extension AnyRealmCollection: NotificationEmitter {
    func toAnyCollection() -> AnyRealmCollection<Element> { self }
}

/// What every collection has, of values and of objects.
private protocol CollectionLike {
    associatedtype Element: RealmCollectionValue
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var count: Int { get }
    var first: Element? { get }
    var last: Element? { get }
    var description: String { get }
    func index(of object: Element) -> Int?
    func index(matching isIncluded: (Query<Element>) -> Query<Bool>) -> Int?
    func index(matching predicateFormat: String, _ args: Any...) -> Int?
    func filter(_ predicateFormat: String, _ args: Any...) -> Results<Element>
    func sorted(byKeyPath keyPath: String, ascending: Bool) -> Results<Element>
    func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Element>
    where S.Iterator.Element == RealmSwift.SortDescriptor
    func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Iterator.Element == String
    func value(forKey key: String) -> Any?
    func value(forKeyPath keyPath: String) -> Any?
    func freeze() -> Self
    func thaw() -> Self?
}
extension List: CollectionLike {}
extension Results: CollectionLike {}
extension LinkingObjects: CollectionLike {}
extension MutableSet: CollectionLike {}
extension AnyRealmCollection: CollectionLike {}

private protocol ListLike: AnyObject {
    associatedtype Element: RealmCollectionValue
    init()
    subscript(position: Int) -> Element { get set }
    func append(_ object: Element)
    func append<S: Sequence>(objectsIn objects: S) where S.Iterator.Element == Element
    func insert(_ object: Element, at index: Int)
    func insert<C: Collection>(contentsOf newElements: C, at i: Int) where C.Iterator.Element == Element
    func remove(at index: Int)
    func removeAll()
    func removeFirst(_ number: Int)
    func removeLast(_ number: Int)
    func replace(index: Int, object: Element)
    func move(from: Int, to: Int)
    func swapAt(_ index1: Int, _ index2: Int)
    func removeSubrange<R>(_ boundsExpression: R) where R: RangeExpression, Int == R.Bound
}
extension List: ListLike {}

private protocol SetLike: AnyObject {
    associatedtype Element: RealmCollectionValue
    init()
    func insert(_ object: Element)
    func insert<S: Sequence>(objectsIn objects: S) where S.Iterator.Element == Element
    func remove(_ object: Element)
    func removeAll()
    func contains(_ object: Element) -> Bool
    func isSubset(of possibleSuperset: MutableSet<Element>) -> Bool
    func intersects(_ otherSet: MutableSet<Element>) -> Bool
    func formIntersection(_ other: MutableSet<Element>)
    func formUnion(_ other: MutableSet<Element>)
    func subtract(_ other: MutableSet<Element>)
}
extension MutableSet: SetLike {}

private protocol MapLike: AnyObject, RealmKeyedCollection {
    var realm: Realm? { get }
    var count: Int { get }
    var keys: [Key] { get }
    var values: [Value] { get }
    subscript(key: Key) -> Value? { get set }
    func updateValue(_ value: Value, forKey key: Key)
    func removeObject(for key: Key)
    func removeAll()
    func object(forKey key: Key) -> Value?
    func setValue(_ value: Any?, forKey key: String)
    func value(forKey key: String) -> Any?
    func contains(where predicate: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> Bool
    func filter(_ isIncluded: (_ key: Key, _ value: Value) throws -> Bool) rethrows -> [Key: Value]
    func observe(on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void) -> NotificationToken
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (RealmMapChange<Self>) -> Void
    ) -> NotificationToken
    func freeze() -> Self
    func thaw() -> Self?
}
extension Map: MapLike {}

private protocol ObjectLike: ObjectBase {
    init()
    var realm: Realm? { get }
    var objectSchema: ObjectSchema { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    var description: String { get }
    static func primaryKey() -> String?
    static func ignoredProperties() -> [String]
    static func indexedProperties() -> [String]
    static func propertiesMapping() -> [String: String]
    static func className() -> String
    static func sharedSchema() -> ObjectSchema?
    subscript(key: String) -> Any? { get set }
    func dynamicList(_ propertyName: String) -> List<DynamicObject>
    func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject>
    func isSameObject(as object: Object?) -> Bool
    func freeze() -> Self
    func thaw() -> Self?
    func observe<T: ObjectBase>(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken
    func observe<T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on queue: DispatchQueue?, _ block: @escaping (ObjectChange<T>) -> Void
    ) -> NotificationToken
}

class Mug: Object, ObjectLike {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var sizes: List<Int>
    @Persisted var mugs: List<Mug>
    @Persisted var named: Map<String, Mug?>
    @Persisted(originProperty: "mugs") var shelves: LinkingObjects<Mug>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func primaryKey() -> String? { nil }
}

final class MugCard: Projection<Mug> {
    @Projected(\Mug.name) var name: String
    @Projected(\Mug.mugs.projectTo.name) var names: ProjectedCollection<String>
}

private protocol CardLike: AnyObject {
    associatedtype Root: ObjectBase
    init(projecting object: Root)
    var realm: Realm? { get }
    var isInvalidated: Bool { get }
    var isFrozen: Bool { get }
    func freeze() -> Self
    func thaw() -> Self?
    func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue?, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken
}
extension MugCard: CardLike {}

private protocol SectionsLike {
    associatedtype Key: _Persistable & Hashable
    var realm: Realm? { get }
    var allKeys: [Key] { get }
    var isFrozen: Bool { get }
    func freeze() -> Self
    func thaw() -> Self?
    func observe(
        keyPaths: [String]?, on queue: DispatchQueue?, _ block: @escaping (SectionedResultsChange<Self>) -> Void
    ) -> NotificationToken
}
extension SectionedResults: SectionsLike {}

/// Code that knows the realm only through a protocol.
private func names(_ realm: some RealmLike, adding name: String) throws -> [String] {
    try realm.write(withoutNotifying: []) {
        let mug = Mug()
        (mug.id, mug.name) = (realm.objects(Mug.self).count, name)
        realm.add(mug, update: .error)
    }
    realm.beginWrite()
    realm.cancelWrite()
    return realm.objects(Mug.self).map { $0.name }
}

@Suite(.timeLimit(.minutes(20))) struct RequirementTests {
    private let realm: Realm

    init() throws {
        realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Mug.self]))
    }

    @Test func aProgramThatKnowsOnlyAProtocolWorks() throws {
        #expect(try names(realm, adding: "tea") == ["tea"] && names(realm, adding: "milk") == ["tea", "milk"])
        func frozen<C: CollectionLike>(_ collection: C) -> C { collection.freeze() }
        #expect(frozen(realm.objects(Mug.self)).isFrozen && frozen(realm.objects(Mug.self)[0].sizes).isFrozen)
    }

    @Test func messagesSayThatTheCallWentThroughAProtocol() throws {
        func freeze(_ realm: some RealmLike) -> Realm { realm.freeze() }
        let frozen = freeze(realm)
        let sites = realm.activeVersions.flatMap(\.pinnedAt)
        #expect(sites.contains { $0.contains("a call through a protocol") && !$0.contains("protocol:") }, "\(sites)")
        withExtendedLifetime(frozen) {}
    }

    @MainActor @Test func observersAreCalledThroughAProtocol() throws {
        let realm = try Realm(configuration: .init(inMemoryIdentifier: "observed", objectTypes: [Mug.self]))
        nonisolated(unsafe) var counts: [Int] = []
        func observe<C: NotificationEmitter & CollectionLike>(_ collection: C) -> NotificationToken {
            collection.observe(on: nil) { change in
                if case .initial(let found) = change { counts.append(found.count) }
            }
        }
        let token = observe(realm.objects(Mug.self))
        _ = try names(realm, adding: "tea")
        #expect(counts == [0])
        token.invalidate()
    }
}
