import Foundation
import RealmSwift

// MARK: Codable models
enum P07State: String, PersistableEnum, Codable { case open, closed, unknown }

class P07Label: EmbeddedObject, Codable {
    @Persisted var name: String
    @Persisted var color: String?
}
final class P07Repo: Object, Codable, Identifiable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var stars: Int?
    @Persisted var isPrivate: Bool
    @Persisted var pushedAt: Date?
    @Persisted var topics: List<String>
    @Persisted var langs: MutableSet<String>
    @Persisted var sizes: Map<String, Int>
    @Persisted var labels: List<P07Label>
    @Persisted var owner: P07Owner?
    @Persisted var state: P07State
    @Persisted var uid: UUID?
    @Persisted var oid: ObjectId?
    @Persisted var price: Decimal128?

    private enum CodingKeys: String, CodingKey {
        case id, name, stars, topics, langs, sizes, labels, owner, state, uid, oid, price
        case isPrivate = "private"
        case pushedAt = "pushed_at"
    }
}
final class P07Owner: Object, Codable {
    @Persisted(primaryKey: true) var login: String
    @Persisted var followers: Int
    @Persisted(originProperty: "owner") var repos: LinkingObjects<P07Repo>
    enum CodingKeys: CodingKey { case login, followers }
}
// everything synthesized
final class P07Plain: Object, Codable {
    @Persisted(primaryKey: true) var _id: ObjectId = ObjectId.generate()
    @Persisted var text: String = "none"
    @Persisted var when: Date
    @Persisted var blob: Data?
    @Persisted var maybe: List<Int?>
}
// by hand
class P07Manual: Object, Decodable {
    @Persisted(primaryKey: true) var id = ""
    @Persisted var tags = List<String>()
    @Persisted var total: Double
    enum CodingKeys: String, CodingKey { case id, tags, amount }
    enum AmountKeys: String, CodingKey { case total }

    convenience required init(from decoder: Decoder) throws {
        self.init()
        let c = try decoder.container(keyedBy: CodingKeys.self)
        id = try c.decode(String.self, forKey: .id)
        let tags = try c.decodeIfPresent([String].self, forKey: .tags) ?? []
        self.tags.append(objectsIn: tags)
        total = try c.nestedContainer(keyedBy: AmountKeys.self, forKey: .amount).decode(Double.self, forKey: .total)
    }
}

// MARK: DTOs
struct P07UserDTO: Codable, Equatable {
    var id: Int
    var name: String
    var emails: [String]
    var address: AddressDTO?
    struct AddressDTO: Codable, Equatable { var city: String, zip: String? }
}
protocol P07Persistable {
    associatedtype ManagedObject: RealmSwift.Object
    init(managedObject: ManagedObject)
    func managedObject() -> ManagedObject
}
class P07UserObject: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var emails: List<String>
    @Persisted var address: P07AddressObject?
    @Persisted var lastSeen: Date?
}
class P07AddressObject: EmbeddedObject {
    @Persisted var city: String
    @Persisted var zip: String?
}
extension P07UserDTO: P07Persistable {
    init(managedObject o: P07UserObject) {
        self.init(
            id: o.id, name: o.name, emails: Array(o.emails),
            address: o.address.map { AddressDTO(city: $0.city, zip: $0.zip) })
    }
    func managedObject() -> P07UserObject {
        let o = P07UserObject()
        o.id = id
        o.name = name
        o.emails.append(objectsIn: emails)
        if let a = address { o.address = P07AddressObject(value: ["city": a.city, "zip": a.zip as Any]) }
        return o
    }
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("07:\(line): FAILED: \(what)") }
}
private let json = """
    [{"id": 1, "name": "firn", "stars": 5, "private": false, "pushed_at": "2020-09-13T12:26:40Z", "topics": ["db", "swift"], "langs": ["swift", "c"],
      "sizes": {"src": 10, "test": 20}, "labels": [{"name": "bug", "color": "red"}, {"name": "ok", "color": null}],
      "owner": {"login": "ann", "followers": 3}, "state": "closed", "uid": "137DECC8-B300-4954-A233-F89909F4FD89", "oid": "507f1f77bcf86cd799439011", "price": "1.25"},
     {"id": 2, "name": "two", "stars": null, "private": true, "pushed_at": null, "topics": [], "langs": [], "sizes": {}, "labels": [], "owner": {"login": "ann", "followers": 4}, "state": "open", "uid": null, "oid": null, "price": null}]
    """.data(using: .utf8)!

private func models(_ realm: Realm) throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let repos = try decoder.decode([P07Repo].self, from: json)
    let one = repos[0]
    expect(
        one.realm == nil && one.stars == 5 && !one.isPrivate
            && one.pushedAt == Date(timeIntervalSince1970: 1_600_000_000), "scalars")
    expect(Array(one.topics) == ["db", "swift"] && one.langs.contains("c") && one.sizes["test"] == 20, "collections")
    expect(one.labels.count == 2 && one.labels[0].color == "red" && one.labels[1].color == nil, "embedded")
    expect(
        one.state == .closed && one.uid?.uuidString.hasPrefix("137D") == true
            && one.oid?.stringValue == "507f1f77bcf86cd799439011" && one.price == 1.25, "ids")
    try realm.write { realm.add(repos, update: .modified) }
    expect(realm.objects(P07Repo.self).count == 2 && realm.objects(P07Owner.self).count == 1, "owner upserted")
    let ann = realm.object(ofType: P07Owner.self, forPrimaryKey: "ann")!
    expect(ann.followers == 4 && ann.repos.count == 2, "last owner wins")
    let again = try decoder.decode([P07Repo].self, from: json)
    try realm.write { for r in again { realm.add(r, update: .all) } }
    expect(
        realm.objects(P07Repo.self).count == 2 && realm.objects(P07Repo.self)[0].labels.count == 2,
        "upsert replaces lists")

    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys]
    let managed = realm.object(ofType: P07Repo.self, forPrimaryKey: 1)!
    let copy = P07Repo(value: managed)
    expect(
        copy.realm == nil && copy.name == "firn" && copy.topics.realm == nil && copy.labels[0].name == "bug",
        "value copy")
    expect(copy.owner?.realm != nil && copy.owner == managed.owner, "the copy is shallow")
    copy.owner = P07Owner(value: ["login": "ann", "followers": 4] as [String: Any])
    let labels = Array(copy.labels.map { P07Label(value: ["name": $0.name, "color": $0.color as Any]) })
    copy.labels.removeAll()
    copy.labels.append(objectsIn: labels)
    let text = String(decoding: try encoder.encode(copy), as: UTF8.self)
    expect(
        text.contains("\"private\":false") && text.contains("\"pushed_at\":\"2020-09-13T12:26:40Z\"")
            && text.contains("\"topics\":[\"db\",\"swift\"]"), "encode: \(text)")
    expect(
        text.contains("\"labels\":[{\"color\":\"red\",\"name\":\"bug\"},{\"color\":null,\"name\":\"ok\"}]"),
        "encoded nil is null: \(text)")
    expect(
        text.contains("\"sizes\":{\"src\":10,\"test\":20}") && text.contains("\"state\":\"closed\"")
            && text.contains("\"oid\":\"507f1f77bcf86cd799439011\"") && text.contains("\"price\":\"1.25\""),
        "encoded ids: \(text)")
    do {
        _ = try encoder.encode(managed); expect(false, "encoding a managed object should throw")
    } catch is EncodingError {}
    let back = try decoder.decode(P07Repo.self, from: Data(text.utf8))
    expect(back.sizes["src"] == 10 && back.owner?.login == "ann", "round trip")
    let list = try encoder.encode(managed.topics)
    expect(String(decoding: list, as: UTF8.self) == "[\"db\",\"swift\"]", "encode collections")
    let l = try decoder.decode(List<Int>.self, from: Data("[1,2]".utf8)),
        m = try decoder.decode(Map<String, Bool>.self, from: Data("{\"a\":true}".utf8))
    expect(l.count == 2 && m["a"] == true, "decode collections")
}
private func strict() throws {
    let d = JSONDecoder()
    do {
        _ = try d.decode(P07Owner.self, from: Data("{\"login\": \"x\"}".utf8));
        expect(false, "a missing key should throw")
    } catch DecodingError.keyNotFound(let key, _) { expect(key.stringValue == "followers", "key") }
    do {
        _ = try d.decode(P07Owner.self, from: Data("{\"login\": 5, \"followers\": 1}".utf8));
        expect(false, "a mismatch should throw")
    } catch DecodingError.typeMismatch {}
    // an optional whose key is missing
    let label = try d.decode(P07Label.self, from: Data("{\"name\": \"n\"}".utf8))
    expect(label.color == nil, "missing optional")
    let p = P07Plain()
    p.text = "t"; p.maybe.append(objectsIn: [1, nil]); p.when = Date(timeIntervalSinceReferenceDate: 10);
    p.blob = Data([1])
    let e = JSONEncoder(); e.outputFormatting = .sortedKeys
    let text = String(decoding: try e.encode(p), as: UTF8.self)
    expect(
        text == "{\"_id\":\"\(p._id.stringValue)\",\"blob\":\"AQ==\",\"maybe\":[1,null],\"text\":\"t\",\"when\":10}",
        "plain: \(text)")
    let q = try d.decode(P07Plain.self, from: Data(text.utf8))
    expect(q._id == p._id && q.maybe[1] == nil && q.blob == Data([1]), "plain round trip")
    let manual = try d.decode(P07Manual.self, from: Data("{\"id\": \"m\", \"amount\": {\"total\": 2.5}}".utf8))
    expect(manual.total == 2.5 && manual.tags.isEmpty && manual.id == "m", "manual")
}
private func dtos(_ realm: Realm) throws {
    let users = try JSONDecoder().decode(
        [P07UserDTO].self,
        from: Data(
            """
            [{"id": 1, "name": "A", "emails": ["a@x", "b@x"], "address": {"city": "Rome"}}, {"id": 2, "name": "B", "emails": []}]
            """.utf8))
    try realm.write { realm.add(users.map { $0.managedObject() }, update: .modified) }
    let back = realm.objects(P07UserObject.self).sorted(byKeyPath: "id").map(P07UserDTO.init(managedObject:))
    expect(Array(back) == users, "DTO round trip")
    // straight from JSONSerialization
    let raw = try JSONSerialization.jsonObject(
        with: Data(
            "{\"id\": 1, \"name\": \"A2\", \"emails\": [\"c\"], \"address\": {\"city\": \"Oslo\", \"zip\": null}, \"extra\": 1}"
                .utf8))
    try realm.write { realm.create(P07UserObject.self, value: raw, update: .modified) }
    let a = realm.object(ofType: P07UserObject.self, forPrimaryKey: 1)!
    expect(
        a.name == "A2" && Array(a.emails) == ["c"] && a.address?.city == "Oslo" && a.address?.zip == nil,
        "from JSONSerialization")
    let dict = a.objectSchema.properties.reduce(into: [String: Any]()) { $0[$1.name] = a[$1.name] }
    expect(dict["name"] as? String == "A2" && dict.count >= 4, "dictionary from the schema")
}

func run07() throws {
    let realm = try Realm(configuration: .init(inMemoryIdentifier: "P07"))
    try models(realm)
    try strict()
    try dtos(realm)
    print(failures == 0 ? "07 passed" : "07: \(failures) failures")
}
