import Firn
import Foundation
import Testing

private class Kennel: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = "kennel"
    @Persisted(indexed: true) var rooms = 1
    @Persisted var area: Double?
    @Persisted var opened = Date(timeIntervalSinceReferenceDate: 0)
    @Persisted var photo: Data?
    @Persisted var numbers: List<Int>
    @Persisted var words: List<String>
    @Persisted var dogs: List<Dog>
    @Persisted var best: Dog?
    @Persisted var none: Dog?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Settings: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var theme = "light"
    @Persisted var size = 1
    @Persisted var tags: List<String>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Screen: Object {
    @Persisted(primaryKey: true) var id: Int?
    @Persisted var settings: Settings?
    @Persisted var all: List<Settings>
    @Persisted var note = ""
    override class func defaultPropertyValues() -> [AnyHashable: Any]? { ["id": 7] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Generated: Object {
    // One test makes these, on the main actor.
    nonisolated(unsafe) static var keys: [ObjectId] = []
    private static func next() -> ObjectId {
        keys.append(.generate())
        return keys[keys.count - 1]
    }
    @Persisted(primaryKey: true) var id = Generated.next()
    @Persisted var name = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// `.all` marks every supplied property as changed, `.modified` only those whose values differ (SPEC S34 to S37,
/// SEMANTICS 25).
@MainActor
@Suite(.timeLimit(.minutes(20))) struct UpdatePolicyTests {
    private let value: [String: Any] = [
        "id": 1, "name": "north", "rooms": 3, "area": 2.5, "opened": Date(timeIntervalSinceReferenceDate: 7e8),
        "photo": Data([1, 2]), "numbers": [1, 2, 2], "words": ["a", ""], "dogs": [[1, "Rex"], [2, "Max"]],
        "best": [1, "Rex"], "none": NSNull(),
    ]
    private static let all: Set<String> = [
        "name", "rooms", "area", "opened", "photo", "numbers", "words", "dogs", "best", "none",
    ]

    /// The properties that a write is reported to have changed.
    private func reportedChanges(_ realm: Realm, kennel: Kennel, _ body: () -> Void) async throws -> Set<String> {
        var names: Set<String> = []
        let token = kennel.observe { (change: ObjectChange<Kennel>) in
            if case .change(_, let properties) = change { names.formUnion(properties.map(\.name)) }
        }
        try realm.write(body)
        await waitForDeliveries(of: realm)
        token.invalidate()
        return names
    }

    /// An unmanaged object with the values, some of them replaced.
    private func kennel(_ changed: [String: Any] = [:]) -> Kennel {
        Kennel(value: value.merging(changed) { $1 })
    }

    @Test func modifiedMarksNothingIfAllValuesAreEqual() async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        let kennel = try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        let created = try await reportedChanges(realm, kennel: kennel) {
            realm.create(Kennel.self, value: value, update: .modified)
        }
        #expect(created == [])
        let added = try await reportedChanges(realm, kennel: kennel) { realm.add(self.kennel(), update: .modified) }
        #expect(added == [])
        let dogs = realm.objects(Dog.self)
        #expect(dogs.map(\.name) == ["Rex", "Max"] && kennel.best == dogs[0] && Array(kennel.dogs) == Array(dogs))
    }

    /// An object that is given as the value for itself is returned, and nothing is marked (SPEC S31).
    @Test(arguments: [Realm.UpdatePolicy.all, .modified]) func anObjectThatIsItsOwnValueIsReturnedUnmarked(
        policy: Realm.UpdatePolicy
    ) async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        let kennel = try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        let changed = try await reportedChanges(realm, kennel: kennel) {
            #expect(realm.create(Kennel.self, value: kennel, update: policy) === kennel)
            realm.add(kennel, update: policy)
        }
        #expect(changed == [])
        #expect(realm.objects(Kennel.self).count == 1 && kennel.dogs.count == 2 && Array(kennel.numbers) == [1, 2, 2])
    }

    @Test func modifiedMarksOnlyWhatDiffers() async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        let kennel = try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        for (name, other) in [
            ("name", "south"), ("rooms", 4), ("area", NSNull()), ("area", 2.25),
            ("opened", Date(timeIntervalSinceReferenceDate: 7e8 + 1)), ("photo", Data([1])), ("numbers", [1, 2]),
            ("numbers", [2, 1]), ("words", ["a", "b"]), ("dogs", [[2, "Max"], [1, "Rex"]]), ("best", [2, "Max"]),
            ("best", NSNull()), ("none", [1, "Rex"]), ("none", NSNull()), ("numbers", []), ("dogs", []),
        ] as [(String, Any)] {
            #expect(
                try await reportedChanges(realm, kennel: kennel) {
                    realm.create(Kennel.self, value: ["id": 1, name: other], update: .modified)
                } == [name], "\(name): \(other)")
        }
        // All properties of an object are compared, so what the rounds before left is reset first.
        try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        for (name, other) in [("name", "south"), ("numbers", [7]), ("dogs", [[2, "Max"]]), ("best", [2, "Max"])]
            as [(String, Any)]
        {
            #expect(
                try await reportedChanges(realm, kennel: kennel) {
                    realm.add(self.kennel([name: other]), update: .modified)
                }
                    == [name])
            try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        }
    }

    @Test func allMarksEveryGivenValueEvenIfItIsEqual() async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        let kennel = try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        #expect(
            try await reportedChanges(realm, kennel: kennel) { realm.create(Kennel.self, value: value, update: .all) }
                == Self.all)
        #expect(
            try await reportedChanges(realm, kennel: kennel) {
                realm.create(Kennel.self, value: ["id": 1, "rooms": 3, "numbers": [1, 2, 2]], update: .all)
            } == ["rooms", "numbers"])
        #expect(try await reportedChanges(realm, kennel: kennel) { realm.add(self.kennel(), update: .all) } == Self.all)
    }

    /// An unmanaged object's list is empty, whether it was ever asked for or not.
    @Test(arguments: [Realm.UpdatePolicy.all, .modified]) func aListThatWasNeverReadIsEmpty(
        policy: Realm.UpdatePolicy
    ) async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        for isAskedFor in [false, true] {
            let stored = try realm.write { realm.create(Kennel.self, value: value, update: .all) }
            func empty() -> Kennel {
                let kennel = Kennel()
                kennel.id = 1
                if isAskedFor { #expect(kennel.numbers.isEmpty && kennel.words.isEmpty && kennel.dogs.isEmpty) }
                return kennel
            }
            let names = try await reportedChanges(realm, kennel: stored) { realm.add(empty(), update: policy) }
            #expect(stored.numbers.isEmpty && stored.words.isEmpty && stored.dogs.isEmpty)
            #expect(names == (policy == .all ? Self.all : Self.all.subtracting(["none"])))
            // The lists were empty before, so nothing differs.
            let again = try await reportedChanges(realm, kennel: stored) { realm.add(empty(), update: policy) }
            #expect(again == (policy == .all ? Self.all : []))
        }
    }

    /// A value without a key refers to the object with the key that a new object would get, and leaves what it does
    /// not name as it is (SEMANTICS 27).
    @Test(arguments: [Realm.UpdatePolicy.all, .modified]) func aValueWithoutAKeyUpdatesTheObjectWithTheDefaultKey(
        policy: Realm.UpdatePolicy
    ) throws {
        let realm = try memoryRealm([Settings.self, Screen.self])
        try realm.write {
            let first = realm.create(Settings.self, value: ["tags": ["a"], "theme": "dark", "size": 4])
            let again = realm.create(Settings.self, value: ["theme": "blue"], update: policy)
            #expect(again == first && first.theme == "blue" && first.size == 4 && Array(first.tags) == ["a"])
            let third = try realm.create(Settings.self, validating: [String: Any](), update: policy)
            #expect(third == first)
            #expect(first.theme == "blue" && first.id == 0)
            let screen = realm.create(Screen.self, value: ["settings": ["size": 5]], update: policy)
            #expect(screen.settings == first && first.size == 5 && first.theme == "blue")
            // `defaultPropertyValues` comes first.
            #expect(screen.id == 7)
            let other = realm.create(Screen.self, value: ["note": "n"], update: policy)
            #expect(other == screen && screen.settings == first && screen.note == "n")
        }
        #expect(realm.objects(Settings.self).count == 1 && realm.objects(Screen.self).count == 1)
    }

    /// Both values in one description refer to the same object: the first one creates it.
    @Test func valuesWithoutAKeyDescribeOneObject() throws {
        let realm = try memoryRealm([Settings.self, Screen.self])
        let screen = try realm.write {
            realm.create(
                Screen.self, value: ["settings": ["size": 5], "all": [["theme": "red"], ["id": 0, "tags": ["t"]]]],
                update: .modified)
        }
        let settings = realm.objects(Settings.self)
        #expect(settings.count == 1 && screen.all.count == 2 && screen.settings == settings[0])
        #expect(settings[0].size == 5 && settings[0].theme == "red" && Array(settings[0].tags) == ["t"])
    }

    @Test func aGeneratedKeyMakesANewObject() throws {
        let realm = try memoryRealm([Generated.self])
        try realm.write {
            for _ in 0..<3 {
                let before = Generated.keys.count
                let object = realm.create(Generated.self, value: ["name": "n"], update: .modified)
                // The key is the one that was generated for the object, and for no other.
                #expect(Generated.keys.count <= before + 2 && Generated.keys.contains(object.id))
            }
        }
        #expect(realm.objects(Generated.self).count == 3)
    }
}
