import Foundation
import RealmSwift
import Testing

enum Species: String, PersistableEnum {
    case dog, cat
}

class Pet: Object {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted(indexed: true) var name = ""
    @Persisted var species = Species.dog
    @Persisted var chip: UUID
    @Persisted var age: Int?
    @Persisted var fee: Decimal128
    @Persisted var toys: MutableSet<String>
    @Persisted var weights: Map<String, Double>
    @Persisted(originProperty: "pets") var owners: LinkingObjects<Owner>

    convenience init(name: String, age: Int? = nil) {
        self.init()
        self.name = name
        self.age = age
    }
}

class Owner: Object {
    @Persisted var name = ""
    @Persisted var pets: List<Pet>
}

/// A program that was written for RealmSwift, with its own import.
@Suite(.timeLimit(.minutes(20))) struct RealmSwiftTests {
    @Test func aProgramForRealmSwiftRunsAsItStands() throws {
        let realm = try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Pet.self, Owner.self]))
        let ann = Owner()
        ann.name = "Ann"
        try realm.write {
            realm.add(ann)
            ann.pets.append(objectsIn: [Pet(name: "Rex", age: 3), Pet(name: "Tom"), Pet(name: "Bo", age: 9)])
            ann.pets[1].species = .cat
            ann.pets[0].toys.insert(objectsIn: ["ball", "bone"])
            ann.pets[0].weights["2026"] = 12.5
            ann.pets[0].fee = "19.90"
        }
        // Each object has an identity of its own, although the class gives no initial value.
        #expect(Set(ann.pets.map(\._id)).count == 3 && Set(ann.pets.map(\.chip)).count == 3)
        let old = realm.objects(Pet.self).where { $0.age > 2 && $0.species == .dog }.sorted(byKeyPath: "name")
        #expect(old.map(\.name) == ["Bo", "Rex"] && old.last?.owners.first?.name == "Ann")
        #expect(realm.objects(Pet.self).filter("ANY owners.name = %@ AND name BEGINSWITH[c] 't'", "Ann").count == 1)
        #expect(old.last?.toys.contains("bone") == true && old.last?.weights["2026"] == 12.5 && old.last?.fee == 19.9)
        let frozen = ann.freeze()
        try realm.write { realm.delete(old) }
        #expect(ann.pets.map(\.name) == ["Tom"] && frozen.pets.count == 3 && frozen.thaw()?.pets.count == 1)
    }
}
