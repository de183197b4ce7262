import Foundation
import RealmSwift

// MARK: Models
class P04Entity: Object {
    @Persisted(primaryKey: true) var id = UUID().uuidString
    @Persisted var updatedAt = Date()
}
final class P04User: Object, P04Identifiable {
    @Persisted(primaryKey: true) var id: String = UUID().uuidString
    @Persisted var name: String = ""
    @Persisted var age: Int = 0
    @Persisted var posts: List<P04Post>
    @Persisted var nicknames: List<String>
}
final class P04Post: Object, P04Identifiable {
    @Persisted(primaryKey: true) var id: String = UUID().uuidString
    @Persisted var title: String = ""
    @Persisted var likes: Int = 0
    @Persisted(originProperty: "posts") var authors: LinkingObjects<P04User>
}
final class P04Note: P04Entity {
    @Persisted var text = ""
}

// MARK: Protocols
protocol P04Identifiable {
    var id: String { get }
}

protocol P04RealmProtocol {
    var isInWriteTransaction: Bool { get }
    var isEmpty: Bool { get }
    var configuration: Realm.Configuration { get }
    @discardableResult
    func write<Result>(withoutNotifying tokens: [NotificationToken], _ block: (() throws -> Result)) throws -> Result
    func beginWrite()
    func commitWrite(withoutNotifying tokens: [NotificationToken]) throws
    func cancelWrite()
    func add(_ object: Object, update: Realm.UpdatePolicy)
    func add<S: Sequence>(_ objects: S, update: Realm.UpdatePolicy) where S.Iterator.Element: Object
    @discardableResult
    func create<T: Object>(_ type: T.Type, value: Any, update: Realm.UpdatePolicy) -> T
    func delete(_ object: ObjectBase)
    func delete<S: Sequence>(_ objects: S) where S.Iterator.Element: ObjectBase
    func deleteAll()
    func objects<Element: RealmFetchable>(_ type: Element.Type) -> Results<Element>
    func object<Element: Object, KeyType>(ofType type: Element.Type, forPrimaryKey key: KeyType) -> Element?
    func observe(_ block: @escaping NotificationBlock) -> NotificationToken
    @discardableResult
    func refresh() -> Bool
    func invalidate()
}
extension Realm: P04RealmProtocol {}

protocol P04RepositoryProtocol {
    associatedtype Item: Object
    func get(_ id: String) -> Item?
    func list(_ filter: NSPredicate?, sortedBy: String?, ascending: Bool) -> Results<Item>
    func upsert(_ items: [Item]) throws
}

// MARK: Repository
class P04Repository<T: Object>: P04RepositoryProtocol {
    typealias Item = T
    private let realmProvider: () throws -> Realm

    init(realmProvider: @escaping () throws -> Realm) {
        self.realmProvider = realmProvider
    }
    convenience init(configuration: Realm.Configuration) {
        self.init { try Realm(configuration: configuration) }
    }
    var realm: Realm { try! realmProvider() }

    func get(_ id: String) -> T? { realm.object(ofType: T.self, forPrimaryKey: id) }

    func list(_ filter: NSPredicate? = nil, sortedBy: String? = nil, ascending: Bool = true) -> Results<T> {
        var results = realm.objects(T.self)
        if let filter = filter { results = results.filter(filter) }
        if let key = sortedBy { results = results.sorted(byKeyPath: key, ascending: ascending) }
        return results
    }
    func list(where isIncluded: (Query<T>) -> Query<Bool>) -> Results<T> {
        realm.objects(T.self).where(isIncluded)
    }
    func upsert(_ items: [T]) throws {
        let realm = self.realm
        try realm.write { realm.add(items, update: .modified) }
    }
    func update(_ id: String, _ change: (T) -> Void) throws {
        guard let item = get(id), let realm = item.realm else { throw P04Error.notFound(id) }
        try realm.safeWrite { change(item) }
    }
    func delete(_ filter: @escaping (T) -> Bool) throws -> Int {
        let realm = self.realm
        let doomed = Array(realm.objects(T.self).filter { filter($0) })
        return try realm.write {
            realm.delete(doomed)
            return doomed.count
        }
    }
    func total(_ path: KeyPath<T, Int>) -> Int { realm.objects(T.self).sum(of: path) }
}

enum P04Error: Error, Equatable { case notFound(String), oops }

extension Realm {
    func safeWrite(_ block: () throws -> Void) throws {
        if isInWriteTransaction { try block() } else { try write(block) }
    }
}
extension Results {
    func p04Array() -> [Element] { Array(self) }
    func page(_ offset: Int, _ limit: Int) -> [Element] {
        Array(self.dropFirst(offset).prefix(limit))
    }
}
extension RealmCollection {
    func firstOrDefault(_ d: Element) -> Element { first ?? d }
    var middle: Element? { isEmpty ? nil : self[index(startIndex, offsetBy: count / 2)] }
}
extension Object {
    static func all(in realm: Realm) -> Results<Object>? { nil }
    var isManaged: Bool { realm != nil && !isInvalidated }
}
extension RealmCollection where Element: P04Identifiable {
    var ids: [String] { map { $0.id } }
}

// a cache which keeps any kind of collection
final class P04Source<Element: RealmCollectionValue> {
    let items: AnyRealmCollection<Element>
    init<C: RealmCollection>(_ c: C) where C.Element == Element { items = AnyRealmCollection(c) }
    var count: Int { items.count }
    func at(_ i: Int) -> Element { items[i] }
}
func p04Describe<T: RealmCollectionValue>(_ results: Results<T>) -> String { "\(T.self):\(results.count)" }
func p04Freeze<T: ThreadConfined>(_ t: T) -> T { t.freeze() }

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("04:\(line): FAILED: \(what)") }
}

private func viaProtocol(_ realm: P04RealmProtocol) throws {
    expect(realm.isEmpty && !realm.isInWriteTransaction, "empty")
    let n: Int = try realm.write(withoutNotifying: []) {
        realm.create(P04Post.self, value: ["title": "Made"], update: .error)
        return 5
    }
    expect(n == 5, "write returns the block's value")
    realm.beginWrite()
    realm.add(P04Post(value: ["title": "Cancelled"]), update: .error)
    expect(realm.isInWriteTransaction && realm.objects(P04Post.self).count == 2, "in write")
    realm.cancelWrite()
    expect(realm.objects(P04Post.self).count == 1, "cancelled")
    realm.beginWrite()
    realm.delete(realm.objects(P04Post.self))
    try realm.commitWrite(withoutNotifying: [])
    expect(realm.isEmpty, "deleted")
    do {
        try realm.write(withoutNotifying: []) {
            realm.add(P04Post(), update: .error)
            throw P04Error.oops
        }
        expect(false, "should have thrown")
    } catch { expect(error as? P04Error == .oops, "rethrown \(error)") }
    expect(realm.isEmpty && !realm.isInWriteTransaction, "rolled back on throw")
}

func run04() throws {
    let config = Realm.Configuration(
        inMemoryIdentifier: "P04", objectTypes: [P04User.self, P04Post.self, P04Note.self, P04Entity.self])
    let realm = try Realm(configuration: config)
    try viaProtocol(realm)
    let users = P04Repository<P04User>(configuration: config)
    let posts = P04Repository<P04Post>(configuration: config)
    let people = (0..<10).map {
        P04User(value: ["id": "u\($0)", "name": "User \($0)", "age": 20 + $0] as [String: Any])
    }
    try users.upsert(people)
    expect(users.list().count == 10 && people[0].isManaged, "upsert manages the objects")
    try users.upsert([P04User(value: ["id": "u0", "name": "Zero"])])
    expect(users.get("u0")?.name == "Zero" && users.list().count == 10, "upsert replaces")
    // `.modified` with an object writes all of its differing properties
    expect(users.get("u0")?.age == 0, "default age was written")
    expect(
        users.list(NSPredicate(format: "age > %d", 25), sortedBy: "age", ascending: false).map { $0.age } == [
            29, 28, 27, 26,
        ], "list")
    expect(users.list(where: { $0.name.contains("User 3") }).first?.id == "u3", "typed list")
    try users.update("u3") {
        $0.posts.append(P04Post(value: ["id": "p1", "title": "Hi", "likes": 3])); $0.nicknames.append("tri")
    }
    do { try users.update("nope") { _ in }; expect(false, "should throw") } catch P04Error.notFound(let id) {
        expect(id == "nope", "id")
    }
    expect(posts.get("p1")?.authors.first?.name == "User 3", "linking")
    expect(posts.total(\.likes) == 3 && users.total(\.age) == 225, "generic sum \(users.total(\.age))")
    try realm.write { try realm.safeWrite { users.get("u4")?.age = 99 } }
    expect(users.get("u4")?.age == 99, "nested safe write")
    expect(try users.delete { $0.age > 50 } == 1 && users.list().count == 9, "generic delete")
    let sorted = users.list(sortedBy: "id")
    expect(sorted.page(2, 3).map { $0.id } == ["u2", "u3", "u5"] && sorted.p04Array().count == 9, "paging")
    expect(
        sorted.ids.first == "u0" && sorted.middle?.id == "u5",
        "collection extensions \(String(describing: sorted.middle?.id))")
    let u3 = users.get("u3")!
    expect(u3.posts.ids == ["p1"] && u3.nicknames.firstOrDefault("x") == "tri", "list extensions")
    let sources: [P04Source<P04Post>] = [
        P04Source(u3.posts), P04Source(posts.list()), P04Source(AnyRealmCollection(u3.posts)),
    ]
    expect(sources.map(\.count) == [1, 1, 1] && sources[1].at(0).title == "Hi", "AnyRealmCollection")
    expect(
        P04Source(u3.nicknames).at(0) == "tri" && P04Source(posts.get("p1")!.authors).count == 1,
        "any of strings, linking objects")
    expect(
        sources[0].items.filter("likes == 3").count == 1
            && sources[0].items.realm?.configuration.inMemoryIdentifier == "P04", "any filter")
    expect(
        p04Describe(posts.list()) == "P04Post:1"
            && p04Describe(sources[0].items.sorted(byKeyPath: "likes")) == "P04Post:1", "generic results")
    expect(
        p04Freeze(u3).isFrozen && p04Freeze(u3.posts).isFrozen && p04Freeze(sorted).count == 9
            && realm.freeze().isFrozen, "ThreadConfined")
    let notes = P04Repository<P04Note> { try Realm(configuration: config) }
    try notes.upsert([P04Note(value: ["text": "n"])])
    expect(notes.list()[0].id.count == 36 && realm.objects(P04Entity.self).isEmpty, "inherited key")
    let types: [Object.Type] = [P04User.self, P04Post.self, P04Note.self]
    expect(types.map { realm.objects($0).count } == [9, 1, 1], "objects of dynamic types")
    expect(
        realm.schema.objectSchema.map(\.className).sorted() == ["P04Entity", "P04Note", "P04Post", "P04User"], "schema")
    expect(realm.dynamicObjects("P04User").filter("age < 23").count == 3, "dynamicObjects")
    print(failures == 0 ? "04 passed" : "04: \(failures) failures")
}
