import Firn
import Foundation

enum Mood: String, PersistableEnum {
    case calm, wild
}

class Dog: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name = ""
    @Persisted var age = 1
    @Persisted var owner: Person?
    @Persisted(originProperty: "dogs") var keepers: LinkingObjects<Person>

    convenience init(_ id: Int, _ name: String, age: Int = 1) {
        self.init()
        self.id = id
        self.name = name
        self.age = age
    }
}

class Person: Object {
    @Persisted var name = "nobody"
    @Persisted var age: Int?
    @Persisted var dogs: List<Dog>
    @Persisted var numbers: List<Int>
    @Persisted var friend: Person?
    @Persisted(originProperty: "owner") var owned: LinkingObjects<Dog>
    @Persisted(originProperty: "friend") var friends: LinkingObjects<Person>
}

class Everything: Object {
    @Persisted var bool = true
    @Persisted var int8: Int8 = -8
    @Persisted var int16: Int16 = -16
    @Persisted var int32: Int32 = -32
    @Persisted var int64: Int64 = -64
    @Persisted var int = 5
    @Persisted var float: Float = 1.5
    @Persisted var double = 2.25
    @Persisted var string = "text"
    @Persisted var data = Data([1, 2, 3])
    @Persisted var date = Date(timeIntervalSinceReferenceDate: 700_000_000.123456)
    @Persisted var objectId = ObjectId("0123456789abcdef01234567")
    @Persisted var uuid = UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")!
    @Persisted var mood = Mood.wild
    @Persisted var decimal: Decimal128 = "1.50"
    @Persisted var optionalBool: Bool?
    @Persisted var optionalInt: Int?
    @Persisted var optionalInt8: Int8?
    @Persisted var optionalFloat: Float?
    @Persisted var optionalDouble: Double?
    @Persisted var optionalString: String?
    @Persisted var optionalData: Data?
    @Persisted var optionalDate: Date?
    @Persisted var optionalObjectId: ObjectId?
    @Persisted var optionalUUID: UUID?
    @Persisted var optionalMood: Mood?
    @Persisted var optionalDecimal: Decimal128?
    var ignored = 17
}

/// Opens a new realm in memory, or the one with the given name.
func memoryRealm(
    _ types: [ObjectBase.Type] = [Dog.self, Person.self, Everything.self], _ name: String = UUID().uuidString,
    file: StaticString = #fileID, line: UInt = #line
) throws -> Realm {
    try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: types), file: file, line: line)
}
