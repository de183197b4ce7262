import Foundation
import RealmSwift

enum P03Kind: Int, PersistableEnum { case none, red, blue }

class P03Dog: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var owner: P03Person?

    override static func indexedProperties() -> [String] {
        return ["name"]
    }

    convenience init(name: String, age: Int) {
        self.init()
        self.name = name
        self.age = age
    }
}

class P03Person: Object {
    @Persisted var id = 0
    @Persisted var name = ""
    @Persisted var birthdate: Date? = nil
    @Persisted var picture: Data? = nil
    @Persisted var dogs = List<P03Dog>()
    @Persisted var kind = P03Kind.none
    @Persisted var nick: String?
    @Persisted var tmpID = 0
    let numbers = List<Int>()
    let pals = LinkingObjects(fromType: P03Person.self, property: "friends")
    let friends = List<P03Person>()
    var fullName: String { return name + " " + (nick ?? "") }

    override static func primaryKey() -> String? {
        return "id"
    }
    override class func ignoredProperties() -> [String] {
        // RealmSwift ignores lists without @Persisted in a class that has @Persisted properties; Firn wants them named.
        return ["tmpID", "numbers", "pals", "friends"]
    }
}

// A designated init which assigns before super.init()
class P03Item: Object {
    @Persisted(primaryKey: true) var uuid = UUID().uuidString
    @Persisted var title: String
    @Persisted var amount: Int
    @Persisted var done: Bool
    @Persisted var due: Date?
    @Persisted var tags: List<String>

    init(named title: String, amount: Int = 1) {
        self.title = title
        self.amount = amount
        self.done = false
        super.init()
        self.tags.append("new")
    }

    required init() {
        super.init()
    }
}

class P03Animal: Object {
    @Persisted var legs = 4
    @Persisted var name = ""
    override class func primaryKey() -> String? { "name" }
    override class func indexedProperties() -> [String] { ["legs"] }
}
class P03Cat: P03Animal {
    @Persisted var lives = 9
    override class func ignoredProperties() -> [String] { [] }
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("03:\(line): FAILED: \(what)") }
}

final class P03Store: Sendable {
    static let shared = P03Store()
    private init() {}
    var realm: Realm {
        return try! Realm()
    }
    func save(_ o: Object) {
        let realm = self.realm
        try! realm.write {
            realm.add(o, update: .modified)
        }
    }
    func all<T: Object>(_ type: T.Type) -> [T] {
        return realm.objects(type).compactMap { $0 as T }
    }
    func nextId() -> Int {
        return (realm.objects(P03Person.self).max(ofProperty: "id") as Int? ?? 0) + 1
    }
}

private func schema() {
    let s = P03Person.sharedSchema()!
    expect(s.primaryKeyProperty?.name == "id", "primaryKey()")
    expect(s["tmpID"] == nil && s["fullName"] == nil, "ignored")
    expect(P03Dog.sharedSchema()?["name"]?.isIndexed == true, "indexedProperties()")
    expect(P03Dog.sharedSchema()?["age"]?.isIndexed == false, "not indexed")
    expect(s["birthdate"]?.isOptional == true && s["birthdate"]?.type == .date, "optional date")
    expect(s["dogs"]?.isArray == true && s["dogs"]?.objectClassName == "P03Dog", "list property")
    let cat = P03Cat.sharedSchema()!
    expect(cat.primaryKeyProperty?.name == "name" && cat["legs"]?.isIndexed == true && cat["lives"] != nil, "inherited")
    expect(P03Person.primaryKey() == "id" && P03Item.primaryKey() == nil, "class funcs")
}

private func boxes() throws {
    let realm = try Realm()
    let p = P03Person()
    p.id = 1; p.name = "Old"; p.tmpID = 42
    p.numbers.append(objectsIn: [3, 1, 2])
    expect(p.tmpID == 42, "unmanaged")
    let known = P03Person.sharedSchema()!
    // In RealmSwift, once a class has @Persisted properties, plain List properties are not managed.
    expect(known["numbers"] == nil, "non-@Persisted ignored")
    try realm.write { realm.add(p) }
    expect(p.numbers.count == 3 && p.numbers.realm == nil, "still unmanaged")
    let again = realm.object(ofType: P03Person.self, forPrimaryKey: 1)!
    expect(again.numbers.isEmpty && again.tmpID == 0, "not stored")
    try realm.write { realm.delete(p) }
}

private func creating() throws {
    let realm = try! Realm()
    try realm.write {
        let p = realm.create(
            P03Person.self,
            value: ["id": 1, "name": "Jim", "dogs": [["name": "Buster", "age": 5], ["Buddy", 6]], "kind": 2]
                as [String: Any])
        expect(p.dogs.count == 2 && p.dogs[1].name == "Buddy" && p.kind == .blue, "nested create")
        // properties in order of declaration
        realm.create(P03Dog.self, value: ["Arr", 9, NSNull()] as [Any])
        realm.create(P03Dog.self, value: ["name": "Dict"])
        realm.create(P03Dog.self, value: P03Dog(name: "Copy", age: 2))
    }
    expect(realm.objects(P03Dog.self).count == 5, "dogs")
    expect(realm.objects(P03Dog.self).filter("name = 'Arr' AND age = 9").first?.owner == nil, "array create")
    try realm.write {
        realm.create(P03Person.self, value: ["id": 1, "nick": "Jimbo"] as [String: Any], update: .modified)
        realm.create(P03Person.self, value: ["id": 2, "name": "Ann"] as [String: Any], update: .all)
        realm.create(
            P03Item.self,
            value: ["title": "Milk", "amount": NSNumber(value: 3), "done": true, "due": NSNull()] as [String: Any])
    }
    let jim = realm.object(ofType: P03Person.self, forPrimaryKey: 1)!
    expect(jim.fullName == "Jim Jimbo" && jim.dogs.count == 2, "modified keeps the rest")
    let milk = realm.objects(P03Item.self).first!
    expect(milk.amount == 3 && milk.done && milk.due == nil, "NSNumber and NSNull")
    try realm.write {
        jim.setValue("Tim", forKey: "name")
        jim.setValue(nil, forKey: "nick")
        jim.dogs.setValue(1, forKey: "age")
        realm.objects(P03Dog.self).setValue(jim, forKey: "owner")
    }
    expect(jim.name == "Tim" && jim.nick == nil && jim.dogs.sum(ofProperty: "age") as Int == 2, "KVC")
    expect(jim.dogs.value(forKey: "name") as? [String] == ["Buster", "Buddy"], "collection value(forKey:)")
    expect(realm.objects(P03Dog.self).filter("owner.id == 1").count == 5, "owner set")
    expect(jim.value(forKeyPath: "dogs.@count") as? Int == 2 || jim.dogs.count == 2, "key path")
    expect(realm.objects(P03Dog.self).value(forKeyPath: "@max.age") as? Int == 9, "@max via key path")
    expect((jim.dynamicList("dogs") as List<DynamicObject>).first?["name"] as? String == "Buster", "dynamicList")
}

private func initNamed() {
    let item = P03Item(named: "Bread", amount: 2)
    expect(
        item.title == "Bread" && item.amount == 2 && Array(item.tags) == ["new"] && item.uuid.count == 36,
        "init(named:)")
    P03Store.shared.save(item)
    P03Store.shared.save(P03Item(value: ["title": "Eggs"]))
    expect(P03Store.shared.all(P03Item.self).count == 3, "store")
    expect(P03Store.shared.nextId() == 3, "next id")
    let realm = P03Store.shared.realm
    expect(realm.objects(P03Item.self).filter("title CONTAINS[c] %@", "BREA").first?.uuid == item.uuid, "query")
    let cat = P03Cat(value: ["name": "Tom", "legs": 3])
    P03Store.shared.save(cat)
    P03Store.shared.save(P03Animal(value: ["name": "Cow"]))
    expect(realm.objects(P03Cat.self).count == 1 && realm.objects(P03Animal.self).count == 1, "no polymorphism")
    expect(realm.objects(P03Cat.self)[0].lives == 9 && realm.objects(P03Cat.self)[0].legs == 3, "inherited values")
    expect(
        item.description.hasPrefix("P03Item {\n\tuuid = ") && item.description.contains("\ttitle = Bread;"),
        "description: \(item.description)")
}

func run03() throws {
    let saved = Realm.Configuration.defaultConfiguration
    defer { Realm.Configuration.defaultConfiguration = saved }
    var config = Realm.Configuration()
    config.fileURL = config.fileURL!.deletingLastPathComponent().appendingPathComponent("P03.realm")
    config.inMemoryIdentifier = "P03"
    expect(config.fileURL == nil, "in-memory clears the file URL")
    config.schemaVersion = 3
    Realm.Configuration.defaultConfiguration = config
    let keepAlive = try Realm()
    expect(keepAlive.configuration.schemaVersion == 3 && keepAlive.isEmpty, "default configuration")
    schema()
    try boxes()
    try creating()
    initNamed()
    try keepAlive.write { keepAlive.deleteAll() }
    expect(keepAlive.isEmpty, "deleteAll")
    print(failures == 0 ? "03 passed" : "03: \(failures) failures")
}
