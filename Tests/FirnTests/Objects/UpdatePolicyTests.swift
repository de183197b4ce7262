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

/// SEMANTICS 25: `.all` marks every property given as changed, `.modified` only those whose values differ.
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

    /// The properties that a write is told to have changed.
    private func told(_ realm: Realm, _ kennel: Kennel, _ body: () -> Void) async throws -> Set<String> {
        var names: Set<String> = []
        let token = kennel.observe { (change: ObjectChange<Kennel>) in
            if case .change(_, let properties) = change { names.formUnion(properties.map(\.name)) }
        }
        try realm.write(body)
        await settle(realm)
        token.invalidate()
        return names
    }

    /// An unmanaged object with the values, some of them others.
    private func kennel(_ changed: [String: Any] = [:]) -> Kennel {
        Kennel(value: value.merging(changed) { $1 })
    }

    @Test func modifiedMarksNothingWhereAllIsEqual() async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        let kennel = try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        let created = try await told(realm, kennel) { realm.create(Kennel.self, value: value, update: .modified) }
        #expect(created == [])
        let added = try await told(realm, kennel) { realm.add(self.kennel(), update: .modified) }
        #expect(added == [])
        let dogs = realm.objects(Dog.self)
        #expect(dogs.map(\.name) == ["Rex", "Max"] && kennel.best == dogs[0] && Array(kennel.dogs) == Array(dogs))
    }

    @Test func modifiedMarksWhatDiffersAndNothingElse() async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        let kennel = try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        for (name, other) in [
            ("name", "south"), ("rooms", 4), ("area", NSNull()), ("area", 2.25),
            ("opened", Date(timeIntervalSinceReferenceDate: 7e8 + 1)), ("photo", Data([1])), ("numbers", [1, 2]),
            ("numbers", [2, 1]), ("words", ["a", "b"]), ("dogs", [[2, "Max"], [1, "Rex"]]), ("best", [2, "Max"]),
            ("best", NSNull()), ("none", [1, "Rex"]), ("none", NSNull()), ("numbers", []), ("dogs", []),
        ] as [(String, Any)] {
            #expect(
                try await told(realm, kennel) {
                    realm.create(Kennel.self, value: ["id": 1, name: other], update: .modified)
                } == [name], "\(name): \(other)")
        }
        // An object is compared as a whole: what it has from the last rounds differs from what it is given now.
        try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        for (name, other) in [("name", "south"), ("numbers", [7]), ("dogs", [[2, "Max"]]), ("best", [2, "Max"])]
            as [(String, Any)]
        {
            #expect(
                try await told(realm, kennel) { realm.add(self.kennel([name: other]), update: .modified) } == [name])
            try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        }
    }

    @Test func allMarksWhatIsGivenAlsoWhereItIsEqual() async throws {
        let realm = try memoryRealm([Kennel.self, Dog.self, Person.self])
        let kennel = try realm.write { realm.create(Kennel.self, value: value, update: .modified) }
        #expect(
            try await told(realm, kennel) { realm.create(Kennel.self, value: value, update: .all) } == Self.all)
        #expect(
            try await told(realm, kennel) {
                realm.create(Kennel.self, value: ["id": 1, "rooms": 3, "numbers": [1, 2, 2]], update: .all)
            } == ["rooms", "numbers"])
        #expect(try await told(realm, kennel) { realm.add(self.kennel(), update: .all) } == Self.all)
    }

    /// An unmanaged object's list is empty, whether it was ever asked for or not.
    @Test(arguments: [Realm.UpdatePolicy.all, .modified]) func aListThatWasNeverAskedForIsEmpty(
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
            let names = try await told(realm, stored) { realm.add(empty(), update: policy) }
            #expect(stored.numbers.isEmpty && stored.words.isEmpty && stored.dogs.isEmpty)
            #expect(names == (policy == .all ? Self.all : Self.all.subtracting(["none"])))
            // Where they were empty, nothing differs.
            let again = try await told(realm, stored) { realm.add(empty(), update: policy) }
            #expect(again == (policy == .all ? Self.all : []))
        }
    }
}
