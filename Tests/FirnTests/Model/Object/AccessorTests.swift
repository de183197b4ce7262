import Firn
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct AccessorTests {
    /// Properties have values of all types (SPEC S4, R62, R63).
    @Test func anObjectKeepsItsValuesWhenItIsAddedAndReadAgain() throws {
        let realm = try memoryRealm()
        let object = Everything()
        object.string = String(repeating: "long ", count: 1000)
        try realm.write { realm.add(object) }
        let read = realm.objects(Everything.self)[0]
        for one in [object, read] {
            #expect(
                one.bool && one.int8 == -8 && one.int16 == -16 && one.int32 == -32 && one.int64 == -64 && one.int == 5)
            #expect(one.float == 1.5 && one.double == 2.25 && one.string.utf8.count == 5000)
            #expect(one.data == Data([1, 2, 3]))
            #expect(one.date == Date(timeIntervalSinceReferenceDate: 700_000_000.123456))
            #expect(one.objectId.stringValue == "0123456789abcdef01234567")
            #expect(one.uuid.uuidString == "00112233-4455-6677-8899-AABBCCDDEEFF")
            #expect(one.mood == .wild)
            #expect(
                one.optionalBool == nil && one.optionalInt == nil && one.optionalInt8 == nil && one.optionalFloat == nil
            )
            #expect(
                one.optionalDouble == nil && one.optionalString == nil && one.optionalData == nil
                    && one.optionalDate == nil)
            #expect(one.optionalObjectId == nil && one.optionalUUID == nil && one.optionalMood == nil)
        }
        #expect(object.ignored == 17)
    }

    /// Optional properties of all types (SPEC S4, S5).
    @Test func everyTypeCanBeSetAndMadeNil() throws {
        let realm = try memoryRealm()
        let object = Everything()
        try realm.write {
            realm.add(object)
            object.bool = false
            object.int8 = 127
            object.int = .min
            object.double = .nan
            object.string = ""
            object.data = Data(count: 100_000)
            object.date = .init(timeIntervalSince1970: -0.5)
            object.uuid = UUID(uuidString: "FF112233-4455-6677-8899-AABBCCDDEEFF")!
            object.mood = .calm
            object.optionalBool = true
            object.optionalInt = 3
            object.optionalInt8 = -3
            object.optionalFloat = 3.5
            object.optionalDouble = 4.5
            object.optionalString = "s"
            object.optionalData = Data()
            object.optionalDate = Date(timeIntervalSinceReferenceDate: 0)
            object.optionalObjectId = object.objectId
            object.optionalUUID = object.uuid
            object.optionalMood = .wild
        }
        #expect(!object.bool && object.int8 == 127 && object.int == .min && object.double.isNaN && object.string == "")
        #expect(object.data == Data(count: 100_000) && object.date.timeIntervalSince1970 == -0.5)
        #expect(object.uuid.uuidString.hasPrefix("FF11") && object.mood == .calm)
        #expect(object.optionalBool == true && object.optionalInt == 3 && object.optionalInt8 == -3)
        #expect(object.optionalFloat == 3.5 && object.optionalDouble == 4.5 && object.optionalString == "s")
        #expect(object.optionalData == Data() && object.optionalDate?.timeIntervalSinceReferenceDate == 0)
        #expect(
            object.optionalObjectId == object.objectId && object.optionalUUID == object.uuid
                && object.optionalMood == .wild)
        try realm.write {
            object.optionalBool = nil
            object.optionalInt = nil
            object.optionalString = nil
            object.optionalData = nil
            object.optionalDate = nil
            object.optionalMood = nil
        }
        #expect(object.optionalBool == nil && object.optionalInt == nil && object.optionalString == nil)
        #expect(object.optionalData == nil && object.optionalDate == nil && object.optionalMood == nil)
    }

    /// Dates keep their nanoseconds (SEMANTICS 74).
    @Test(arguments: [
        0, 0.1, -0.1, 1e-9, 978_307_200.000_000_1, -978_307_200.5, -978_307_199.25, 123_456_789.987_654_321, 7e8, -2e9,
        6.3e10,
    ])
    func datesAreKeptToTheNanosecond(interval: Double) throws {
        let realm = try memoryRealm()
        let object = Everything()
        object.date = Date(timeIntervalSinceReferenceDate: interval)
        try realm.write { realm.add(object) }
        #expect(abs(object.date.timeIntervalSinceReferenceDate - interval) <= Swift.max(5e-10, interval.ulp))
        if abs(interval) >= 1 { #expect(object.date.timeIntervalSinceReferenceDate == interval) }
    }

    /// NaN becomes the epoch; infinities become the largest and smallest dates that can be stored (SEMANTICS 74).
    @Test func datesThatCannotBeStoredAreReplaced() throws {
        let realm = try memoryRealm()
        let object = Everything()
        try realm.write {
            realm.add(object)
            object.date = Date(timeIntervalSinceReferenceDate: .nan)
        }
        #expect(object.date == Date(timeIntervalSince1970: 0))
        try realm.write { object.date = Date(timeIntervalSinceReferenceDate: .infinity) }
        #expect(object.date > Date(timeIntervalSinceNow: 1e9))
    }

    /// With a primary key, two live accessors of one row are equal; without, they are only `isSameObject`, and frozen
    /// ones of one version are equal (SEMANTICS 41). Hashes agree (SEMANTICS 42).
    @Test func objectsAreEqualByRowWithAPrimaryKeyAndByInstanceWithoutOne() throws {
        let realm = try memoryRealm()
        try realm.write {
            realm.add(Dog(1, "Rex"))
            realm.add(Person())
        }
        let dogs = realm.objects(Dog.self)
        #expect(dogs[0] == dogs[0] && dogs[0].hash == dogs[0].hash && dogs[0] !== dogs[0])
        #expect(dogs[0] != Dog(1, "Rex"))
        let people = realm.objects(Person.self)
        #expect(people[0] != people[0] && people[0].isSameObject(as: people[0]))
        #expect(people[0].freeze() == people[0].freeze())
        #expect(Set([people[0].freeze(), people[0].freeze()]).count == 1)
    }

    /// Deleting an object sets links to it to nil and invalidates its accessors (SEMANTICS 33). Deleting while
    /// iterating is legal (SEMANTICS 35).
    @Test func aDeletedObjectIsInvalidAndLinksToItAreNil() throws {
        let realm = try memoryRealm()
        let dog = Dog(1, "Rex")
        let person = Person()
        try realm.write {
            realm.add(person)
            person.dogs.append(dog)
            person.dogs.append(dog)
            dog.owner = person
            #expect(dog.keepers.count == 2)
        }
        #expect(person.owned.count == 1 && person.owned[0] == dog)
        try realm.write { realm.delete(person) }
        #expect(person.isInvalidated && dog.owner == nil && dog.keepers.count == 0 && person.realm != nil)
        try realm.write { for dog in realm.objects(Dog.self) { realm.delete(dog) } }
        #expect(realm.objects(Dog.self).count == 0 && dog.isInvalidated)
    }

    /// A thread has one realm of a store (SEMANTICS 2).
    @Test func openingTwiceOnAThreadReturnsTheSameRealm() throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        #expect(try memoryRealm([Dog.self, Person.self], name) == realm)
        #expect(try memoryRealm([Dog.self, Person.self]) != realm)
    }

    /// Properties are read and set by name; numbers are converted if they fit exactly (SPEC S59, SEMANTICS 32).
    @Test func propertiesCanBeReadAndSetByName() throws {
        let realm = try memoryRealm()
        let object = Everything()
        for _ in 0..<2 {
            #expect(object["int"] as! Int == 5 && object["int"] as! Int8 == 5 && object["int"] as! Double == 5)
            #expect(object["string"] as? String == "text" && object["optionalInt"] == nil)
            if object.realm == nil { try realm.write { realm.add(object) } }
        }
        try realm.write {
            object["int"] = 6.0
            object["optionalInt"] = NSNumber(value: 3)
            object["uuid"] = "00000000-4455-6677-8899-AABBCCDDEEFF"
        }
        #expect(object.int == 6 && object.optionalInt == 3 && object.uuid.uuidString.hasPrefix("0000"))
        try realm.write { object["optionalInt"] = NSNull() }
        #expect(object.optionalInt == nil)
    }

    @Test func settingOutsideOfAWriteStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            dog.age = 3
        }
        expectMessage(result, "Firn: ", "outside of a write transaction")
    }

    @Test func usingADeletedObjectStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            try realm.write { realm.delete(dog) }
            print(dog.age)
        }
        expectMessage(result, "Firn: ", "is gone")
    }

    /// Once an object is managed, every assignment to its primary key stops, whatever the value (SEMANTICS 29).
    @Test func changingThePrimaryKeyOfAManagedObjectStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write {
                realm.add(dog)
                dog.id = 1
            }
        }
        expectMessage(result, "Firn: ", "is the primary key")
    }

    /// By name, too (SEMANTICS 29): with the subscript, and with `setValue`. An unmanaged object's key can be set.
    @Test(arguments: [true, false]) func changingThePrimaryKeyByNameStops(subscripted: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [subscripted] in
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            dog["id"] = 2
            dog.setValue(3, forKey: "id")
            guard dog.id == 3 else { exit(0) }
            try realm.write {
                realm.add(dog)
                if subscripted { dog["id"] = 3 } else { dog.setValue(3, forKey: "id") }
            }
        }
        expectMessage(result, "Firn: Dog.id is the primary key")
    }

    /// Even if the transaction has already copied the object's chunk.
    @Test func writingAnObjectOfAQueueElsewhereStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = DispatchQueue(label: "owner")
            nonisolated(unsafe) var handed: Dog?
            try queue.sync {
                let realm = try Realm(
                    configuration: .init(inMemoryIdentifier: "queue's", objectTypes: [Dog.self, Person.self]),
                    queue: queue)
                realm.beginWrite()
                let dog = realm.create(Dog.self, value: ["id": 1])
                dog.age = 2
                handed = dog
            }
            handed?.age = 7
        }
        expectMessage(result, "Firn: ", "queue")
    }

    @Test func anIteratorOfARunningWriteThatIsReleasedElsewhereStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            realm.beginWrite()
            realm.add([Dog(1, "Rex"), Dog(2, "Max")])
            nonisolated(unsafe) var iterator: RealmCollectionIterator<Dog>? = realm.objects(Dog.self).makeIterator()
            _ = iterator?.next()
            let done = DispatchSemaphore(value: 0)
            Thread {
                iterator = nil
                done.signal()
            }.start()
            _ = done.wait(timeout: .testTimeout)
        }
        expectMessage(result, "Firn: ", "on another thread")
    }

    @Test func aLiveObjectOnAnotherThreadStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            nonisolated(unsafe) let other = dog
            let done = DispatchSemaphore(value: 0)
            Thread {
                print(other.age)
                done.signal()
            }.start()
            _ = done.wait(timeout: .testTimeout)
        }
        expectMessage(result, "Firn: ", "on another thread")
    }
}
