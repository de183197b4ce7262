import Foundation
import RealmSwift

enum P01Mood: String, PersistableEnum {
    case happy, sad, sleepy
}

enum P01Priority: Int, PersistableEnum {
    case low = 1, medium = 5, high = 10
}

class P01Geo: EmbeddedObject {
    @Persisted var lat: Double
    @Persisted var lon: Double
    convenience init(lat: Double, lon: Double) {
        self.init()
        self.lat = lat
        self.lon = lon
    }
}

class P01Address: EmbeddedObject {
    @Persisted var street: String = ""
    @Persisted var city: String?
    @Persisted var geo: P01Geo?
    @Persisted var notes: List<String>
}

final class P01Dog: Object, ObjectKeyIdentifiable {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted(indexed: true) var name = ""
    @Persisted var age: Int = 0
    @Persisted var mood: P01Mood = .happy
    @Persisted(originProperty: "dogs") var owners: LinkingObjects<P01Person>
}

final class P01Person: Object {
    @Persisted(primaryKey: true) var id = UUID()
    @Persisted(indexed: true) var name: String
    @Persisted var address: P01Address?
    @Persisted var oldAddresses: List<P01Address>
    @Persisted var dogs: List<P01Dog>
    @Persisted var favourite: P01Dog?
    @Persisted var dogsByNick: Map<String, P01Dog?>
    @Persisted var dogSet: MutableSet<P01Dog>

    convenience init(name: String) {
        self.init()
        self.name = name
    }
}

class P01Everything: Object {
    @Persisted var bool: Bool
    @Persisted var int: Int
    @Persisted var int8: Int8
    @Persisted var int16: Int16
    @Persisted var int32: Int32
    @Persisted var int64: Int64
    @Persisted var float: Float
    @Persisted var double: Double
    @Persisted var string: String
    @Persisted var data: Data
    @Persisted var date: Date
    @Persisted var decimal: Decimal128
    @Persisted var uuid: UUID
    @Persisted var oid: ObjectId
    @Persisted var any: AnyRealmValue
    @Persisted var mood: P01Mood
    @Persisted var priority: P01Priority
    @Persisted var optBool: Bool?
    @Persisted var optInt: Int?
    @Persisted var optInt8: Int8?
    @Persisted var optFloat: Float?
    @Persisted var optDouble: Double?
    @Persisted var optString: String?
    @Persisted var optData: Data?
    @Persisted var optDate: Date?
    @Persisted var optDecimal: Decimal128?
    @Persisted var optUuid: UUID?
    @Persisted var optOid: ObjectId?
    @Persisted var optMood: P01Mood?
    @Persisted var ints: List<Int>
    @Persisted var optStrings: List<String?>
    @Persisted var moods: List<P01Mood>
    @Persisted var tags: MutableSet<String>
    @Persisted var scores: Map<String, Int>
    @Persisted var optScores: Map<String, Double?>
    @Persisted var anys: List<AnyRealmValue>
    @Persisted var anyMap: Map<String, AnyRealmValue>
    var ignored = 3
    var computed: String { string + "!" }
}

nonisolated(unsafe) private var failures = 0
private func expect(_ ok: Bool, _ what: String, line: UInt = #line) {
    if !ok { failures += 1; print("01:\(line): FAILED: \(what)") }
}

private func defaults() {
    let e = P01Everything()
    expect(e.bool == false && e.int == 0 && e.string == "" && e.data == Data(), "plain defaults")
    expect(e.mood == .happy && e.priority == .low, "enum default is the first case")
    expect(e.optMood == nil && e.optInt == nil && e.any == .none, "optional defaults")
    expect(e.decimal == 0 && e.ints.isEmpty && e.tags.count == 0 && e.scores.count == 0, "collection defaults")
    expect(e.realm == nil && !e.isInvalidated && e.objectSchema.className == "P01Everything", "unmanaged")
    expect(P01Everything.className() == "P01Everything", "className")
    expect(P01Dog.sharedSchema()?.primaryKeyProperty?.name == "_id", "sharedSchema")
    let a = P01Dog(), b = P01Dog()
    expect(a._id != b._id, "ObjectId default is generated")
    expect(a != b && a == a, "unmanaged equality is identity")
}

private func crud(_ realm: Realm) throws {
    let rex = P01Dog(value: ["name": "Rex", "age": 3, "mood": "sad"] as [String: Any])
    expect(rex.mood == .sad && rex.age == 3, "init(value:) with a raw enum value")
    let fido = P01Dog(value: [ObjectId.generate(), "Fido", 7, P01Mood.sleepy.rawValue] as [Any])
    let ann = P01Person(name: "Ann")
    ann.dogs.append(objectsIn: [rex, fido])
    ann.favourite = fido
    ann.address = P01Address(
        value: ["street": "Main St", "city": "Rome", "geo": ["lat": 1.5, "lon": 2.5], "notes": ["a", "b"]]
            as [String: Any])
    ann.dogsByNick["r"] = rex
    ann.dogSet.insert(rex)
    try realm.write {
        realm.add(ann)
        ann.oldAddresses.append(P01Address(value: ["street": "Old St"]))
    }
    expect(realm.objects(P01Dog.self).count == 2, "dogs added through the list")
    expect(rex.owners.count == 1 && rex.owners.first?.name == "Ann", "linking objects")
    expect(ann.address?.geo?.lat == 1.5 && ann.address?.notes.last == "b", "embedded")
    expect(ann.dogsByNick["r"]??.name == "Rex", "map of objects")
    expect(ann.dogSet.contains(rex) && !ann.dogSet.contains(fido), "set of objects")
    expect(realm.object(ofType: P01Person.self, forPrimaryKey: ann.id)?.name == "Ann", "UUID key")
    expect(realm.object(ofType: P01Dog.self, forPrimaryKey: rex._id) == rex, "ObjectId key, managed equality")

    try realm.write {
        realm.create(P01Dog.self, value: ["_id": rex._id, "age": 4] as [String: Any], update: .modified)
        ann.address?.geo = P01Geo(lat: 9, lon: 8)
        ann.oldAddresses.first?.city = "Pisa"
    }
    expect(rex.age == 4 && rex.name == "Rex", "partial upsert")
    expect(ann.address?.geo?.lon == 8 && ann.oldAddresses[0].city == "Pisa", "embedded replaced")

    expect(realm.objects(P01Person.self).filter("ANY dogs.name == %@", "Fido").count == 1, "string query over list")
    expect(realm.objects(P01Dog.self).where { $0.mood == .sleepy }.first?.name == "Fido", "enum query")
    expect(realm.objects(P01Person.self).where { $0.address.city == "Rome" }.count == 1, "embedded query")
    expect(realm.objects(P01Person.self).where { $0.dogsByNick["r"].name == "Rex" }.count == 1, "map key query")
    expect(realm.objects(P01Dog.self).where { $0.owners.name == "Ann" }.count == 2, "linking objects query")
    expect(realm.objects(P01Dog.self).sorted(byKeyPath: "age", ascending: false).first == fido, "sorted")
    expect(realm.objects(P01Dog.self).sum(of: \.age) == 11, "sum(of:)")
    expect(realm.objects(P01Dog.self).max(ofProperty: "age") as Int? == 7, "max(ofProperty:)")
    try realm.write { realm.delete(fido) }
    expect(fido.isInvalidated && ann.dogs.count == 1 && ann.favourite == nil, "delete clears links")
    try realm.write { realm.delete(ann) }
    expect(realm.objects(P01Dog.self).count == 1 && rex.owners.isEmpty, "dog outlives owner")
}

private func allTypes(_ realm: Realm) throws {
    let date = Date(timeIntervalSince1970: 1_600_000_000.25)
    let oid = try ObjectId(string: "507f1f77bcf86cd799439011")
    let e = P01Everything()
    e.bool = true; e.int = -5; e.int8 = 8; e.int16 = 16; e.int32 = 32; e.int64 = .max
    e.float = 1.5; e.double = 2.5; e.string = "héllo"; e.data = Data([1, 2, 3]); e.date = date
    e.decimal = try Decimal128(string: "1234.5678"); e.oid = oid
    e.uuid = UUID(uuidString: "137DECC8-B300-4954-A233-F89909F4FD89")!
    e.mood = .sleepy; e.priority = .high; e.optMood = .sad
    e.ints.append(objectsIn: 1...5)
    e.optStrings.append(objectsIn: ["a", nil, "c"])
    e.moods.append(objectsIn: [.sad, .happy])
    e.tags.insert(objectsIn: ["x", "y", "x"])
    e.scores["one"] = 1; e.scores["two"] = 2
    e.optScores["none"] = Optional<Double>.none
    e.anys.append(objectsIn: [.int(1), .string("s"), .none, .date(date), .objectId(oid), .decimal128(2.5)])
    e.any = .string("text")
    try realm.write {
        realm.add(e)
        e.anyMap["dog"] = .object(P01Dog(value: ["name": "Any"]))
    }
    let r = realm.objects(P01Everything.self).first!
    expect(r.isSameObject(as: e) && r != e && r.computed == "héllo!" && r.ignored == 3, "ignored and computed")
    expect(r.int64 == .max && r.float == 1.5 && r.data == Data([1, 2, 3]) && r.date == date, "scalars")
    expect(r.decimal == Decimal128("1234.5678") && r.oid.stringValue == "507f1f77bcf86cd799439011", "decimal and id")
    expect(r.mood == .sleepy && r.optMood == .sad && r.priority == .high, "enums")
    expect(r.ints.sum() as Int == 15 && r.ints.max() == 5 && r.ints.average() == 3.0, "list aggregates")
    expect(Array(r.optStrings) == ["a", nil, "c"] && r.moods[0] == .sad, "lists")
    expect(r.tags.count == 2 && r.tags.contains("y"), "set")
    expect(r.scores.keys.sorted() == ["one", "two"] && r.scores.values.reduce(0, +) == 3, "map keys and values")
    expect(r.anys[1].stringValue == "s" && r.anys[0].intValue == 1 && r.anys[2] == .none, "any list")
    expect(r.anys[4] == .objectId(oid) && r.anys[5].decimal128Value == 2.5, "any list 2")
    expect(r.anyMap["dog"]?.object(P01Dog.self)?.name == "Any", "object in a mixed map")
    expect(r["string"] as? String == "héllo" && r.value(forKey: "int") as? Int == -5, "subscript and KVC")
    var seen: [String: Int] = [:]
    for entry in r.scores { seen[entry.key] = entry.value }
    for (key, value) in r.scores.asKeyValueSequence() { seen[key + "2"] = value }
    expect(seen == ["one": 1, "two": 2, "one2": 1, "two2": 2], "map iteration")
    try realm.write {
        r["string"] = "via subscript"
        r.setValue(77, forKey: "int")
        r.ints.move(from: 0, to: 4); r.ints.remove(at: 0); r.ints.insert(9, at: 0); r.ints.swapAt(0, 1)
        r.tags.formUnion(Self_tags()); r.tags.remove("x")
        r.scores.removeObject(for: "one"); r.scores["three"] = 3; r.scores.updateValue(4, forKey: "four")
        r.any = .double(1.25)
        r.optInt = 5; r.optInt = nil
    }
    expect(r.string == "via subscript" && r.int == 77, "subscript set")
    expect(Array(r.ints) == [3, 9, 4, 5, 1], "list moves: \(Array(r.ints))")
    expect(Set(r.tags) == ["y", "z"] && r.scores["one"] == nil && r.scores["four"] == 4, "set and map edits")
    expect(r.any.doubleValue == 1.25 && r.any.stringValue == nil && r.optInt == nil, "any edit")
    expect(realm.objects(P01Everything.self).where { $0.any == .double(1.25) }.count == 1, "any query")
    expect(
        realm.objects(P01Everything.self).where { $0.tags.contains("z") && $0.scores["three"] == 3 }.count == 1,
        "set and map query")
    expect(
        realm.objects(P01Everything.self).where { $0.uuid == e.uuid && $0.oid == oid && $0.decimal > 1000 }.count == 1,
        "id queries")
}

private func Self_tags() -> MutableSet<String> {
    let s = MutableSet<String>()
    s.insert("z")
    return s
}

func run01() throws {
    let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: "P01"))
    defaults()
    try crud(realm)
    try allTypes(realm)
    print(failures == 0 ? "01 passed" : "01: \(failures) failures")
}
