import Firn
import FirnTestSupport
import Foundation
import Testing

private class Card: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var title = "blank"
    @Persisted var rank: Int?
    @Persisted var mark = UUID()
    @Persisted var next: Card?
    @Persisted var dog: Dog?
    @Persisted var tags: List<String>
    @Persisted var cards: List<Card>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Loose: Object {
    @Persisted var title = "loose"
    @Persisted var card: Card?
    @Persisted var inner: Loose?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The rows of the reference pages about creating and updating objects.
@Suite(.timeLimit(.minutes(20))) struct CreatingRowTests {
    private func realm() throws -> Realm { try memoryRealm([Card.self, Loose.self, Dog.self, Person.self]) }

    /// `init()` makes an unmanaged instance, and `add` makes this very instance managed (S12).
    @Test func addingKeepsTheInstance() throws {
        let realm = try realm()
        let card = Card()
        let tags = card.tags
        tags.append("before")
        try realm.write { realm.add(card) }
        #expect(card.realm == realm && card.tags === tags && tags.realm == realm && Array(tags) == ["before"])
    }

    /// `init(value:)` takes dictionaries, arrays, Foundation's forms of both, objects, classes and structs (S13, S14,
    /// S15, S22); an array has the order of the class and may be shorter (S17, S24).
    @Test func everyFormOfAValueIsTaken() throws {
        struct Source { let id = 5, title = "struct", rank: Int? = nil }
        class Other {
            let id = 6
            let title = "class"
        }
        let values: [(Any, Int, String)] = [
            (["id": 1, "title": "a"] as [String: Any], 1, "a"), ([2, "b"] as [Any], 2, "b"),
            (NSDictionary(dictionary: ["id": 3, "title": "c"]), 3, "c"), (NSArray(array: [4, "d"]), 4, "d"),
            (Source(), 5, "struct"), (Other(), 6, "class"), (Card(value: [7, "object"] as [Any]), 7, "object"),
            ([8] as [Any], 8, "blank"), (["id": 9, "unknown": 1] as [String: Any], 9, "blank"),
            (["id" as AnyHashable: 10, "title": "hashable"] as [AnyHashable: Any], 10, "hashable"),
        ]
        let realm = try realm()
        for (value, id, title) in values {
            let unmanaged = Card(value: value)
            #expect(unmanaged.id == id && unmanaged.title == title && unmanaged.realm == nil, "\(value)")
            let managed = try realm.write { Card.create(in: realm, withValue: value) }
            #expect(managed.id == id && managed.title == title && managed.realm == realm, "\(value)")
        }
        #expect(throws: Realm.Error.self) { try Card(validating: Array(repeating: 1, count: 20) as [Any]) }
        #expect(throws: Realm.Error.self) { try Card(validating: ["id": "text"]) }
    }

    /// Nested values become objects with the same call (S21), and absent properties have a new object's values, made
    /// anew for each (S25).
    @Test func nestedValuesAndDefaults() throws {
        let realm = try realm()
        let (a, b) = try realm.write {
            (
                realm.create(
                    Card.self,
                    value: [
                        "id": 1, "next": ["id": 2, "next": [3, "third"] as [Any]] as [String: Any],
                        "dog": ["id": 9, "owner": ["name": "Ann"]] as [String: Any],
                        "cards": [["id": 4], [5] as [Any]],
                    ] as [String: Any]),
                realm.create(Card.self, value: ["id": 6])
            )
        }
        #expect(a.next?.next?.title == "third" && a.dog?.owner?.name == "Ann" && a.cards.map(\.id) == [4, 5])
        #expect(a.mark != b.mark && b.title == "blank" && b.rank == nil && realm.objects(Card.self).count == 6)
    }

    /// Statics for a given realm: create, create or update, and only what differs (S20, S26, S27, S35, S39).
    @Test func staticsForAGivenRealm() throws {
        let realm = try realm()
        try realm.write {
            let card = Card.create(in: realm, withValue: ["id": 1, "title": "a"] as [String: Any])
            #expect(Card.createOrUpdate(in: realm, withValue: ["id": 1, "rank": 3] as [String: Any]) == card)
            #expect(card.title == "a" && card.rank == 3)
            #expect(
                Card.createOrUpdateModified(in: realm, withValue: ["id": 1, "title": "b"] as [String: Any]) == card)
            #expect(card.title == "b" && Card.createOrUpdate(in: realm, withValue: ["id": 2]).id == 2)
            let error = #expect(throws: Realm.Error.self) {
                try realm.create(Loose.self, validating: [String: Any](), update: .all)
            }
            #expect(error?.message.contains("needs a primary key") == true)
        }
        #expect(Card.allObjects(in: realm).count == 2 && Card.object(in: realm, forPrimaryKey: 2) != nil)
    }

    /// Nested objects with a key are updated, those without are created (S28, S38).
    @Test(arguments: [Realm.UpdatePolicy.all, .modified]) func nestedObjectsInheritThePolicy(
        policy: Realm.UpdatePolicy
    ) throws {
        let realm = try realm()
        try realm.write {
            realm.create(Card.self, value: ["id": 1, "title": "old"] as [String: Any])
            realm.create(
                Card.self,
                value: [
                    "id": 2, "next": ["id": 1, "rank": 4] as [String: Any],
                    "dog": ["id": 1, "owner": ["name": "Ann"]] as [String: Any],
                ] as [String: Any], update: policy)
            realm.create(
                Card.self,
                value: ["id": 2, "dog": ["id": 1, "owner": ["name": "Ben"]] as [String: Any]] as [String: Any],
                update: policy)
        }
        let card = try #require(realm.object(ofType: Card.self, forPrimaryKey: 2))
        #expect(card.next?.title == "old" && card.next?.rank == 4 && card.dog?.owner?.name == "Ben")
        #expect(realm.objects(Card.self).count == 2 && realm.objects(Person.self).map(\.name) == ["Ann", "Ben"])
    }

    /// The value may be an object: of this realm it is linked to, of another one copied (S29); the same object is left
    /// alone (S31). Objects give all properties, dictionaries some, and arrays the first ones (S32).
    @Test func objectsAsValues() throws {
        let (realm, other) = (try realm(), try realm())
        let foreign = Card(value: ["id": 1, "title": "foreign", "tags": ["x"]] as [String: Any])
        let second = Card(value: ["id": 2, "title": "second"] as [String: Any])
        try other.write { other.add([foreign, second]) }
        try realm.write {
            let copy = realm.create(Card.self, value: foreign, update: .all)
            #expect(copy.realm == realm && copy.title == "foreign" && Array(copy.tags) == ["x"])
            #expect(realm.create(Card.self, value: copy, update: .all) === copy)
            let holder = realm.create(Loose.self, value: ["card": copy, "inner": ["card": second]] as [String: Any])
            #expect(holder.card == copy && holder.inner?.card?.title == "second" && holder.inner?.card?.realm == realm)
        }
        let unmanaged = Card(value: ["id": 1])
        try realm.write { realm.create(Card.self, value: unmanaged, update: .all) }
        let card = try #require(realm.object(ofType: Card.self, forPrimaryKey: 1))
        #expect(card.title == "blank" && card.tags.isEmpty)
        try realm.write { realm.create(Card.self, value: [1, "array"] as [Any], update: .modified) }
        #expect(card.title == "array" && card.mark == unmanaged.mark)
    }

    /// Nil clears what may be nil, and does not fit elsewhere (S33).
    @Test func nilClears() throws {
        let realm = try realm()
        let card = try realm.write {
            realm.create(
                Card.self,
                value: ["id": 1, "rank": 2, "dog": ["id": 1], "tags": ["a"], "next": ["id": 2]] as [String: Any])
        }
        try realm.write {
            realm.create(
                Card.self,
                value: [
                    "id": 1, "rank": NSNull(), "dog": Optional<Dog>.none as Any, "tags": NSNull(), "next": NSNull(),
                ] as [String: Any], update: .all)
            #expect(throws: Realm.Error.self) {
                try realm.create(Card.self, validating: ["id": 1, "title": NSNull()] as [String: Any], update: .all)
            }
        }
        #expect(card.rank == nil && card.dog == nil && card.tags.isEmpty && card.next == nil && card.title == "blank")
    }

    /// `.all` reports every property of the value, `.modified` what differs, and nothing if nothing does (S34 to S37).
    @MainActor @Test func policiesReportWhatTheySet() async throws {
        let realm = try realm()
        let card = try realm.write {
            realm.create(Card.self, value: ["id": 1, "title": "a", "rank": 1] as [String: Any])
        }
        var seen: [[String]] = []
        let token = card.observe { (change: ObjectChange<Card>) in
            if case .change(_, let changes) = change { seen.append(changes.map(\.name).sorted()) }
        }
        for (value, policy) in [
            (["id": 1, "title": "a", "rank": 2], .all), (["id": 1, "title": "a", "rank": 3], .modified),
            (["id": 1, "title": "a", "rank": 3], .modified),
        ] as [([String: Any], Realm.UpdatePolicy)] {
            try realm.write { realm.create(Card.self, value: value, update: policy) }
            await waitForDeliveries(of: realm)
        }
        #expect(seen == [["rank", "title"], ["rank"]])
        token.invalidate()
    }

    /// Setting a to-many property by its name copies the elements, and nil empties it (S61); the subscript is the only
    /// access by name that there is (S60).
    @Test func settingByName() throws {
        let realm = try realm()
        let card = try realm.write { realm.create(Card.self, value: ["id": 1, "tags": ["a"]] as [String: Any]) }
        let tags = card.tags
        try realm.write {
            card["tags"] = ["b", "c"]
            #expect(Array(tags) == ["b", "c"] && card.tags === tags)
            card.setValue(NSArray(array: ["d"]), forKey: "tags")
            #expect(Array(tags) == ["d"] && card.value(forKey: "tags") as? List<String> == tags)
            card["tags"] = nil
            card["cards"] = realm.objects(Card.self)
            card["dog"] = ["id": 5]
        }
        #expect(tags.isEmpty && Array(card.cards) == [card] && card.dog?.id == 5)
    }
}
