import Foundation
import Testing

@testable import Firn

class Forgetful: Object {
    @Persisted var first = 1
    @Persisted var text = "text"
    @Persisted var skipped = 42
    @Persisted var skippedText = "ours"
    @Persisted var skippedOptional: Int?
    @Persisted var skippedLink: Forgetful?
    @Persisted var skippedList: List<Int>
    @Persisted var skippedMood = Mood.wild
    @Persisted(originProperty: "friend") var skippedFriends: LinkingObjects<Forgetful>
    @Persisted var friend: Forgetful?
    override class func ignoredProperties() -> [String] {
        [
            "skipped", "skippedText", "skippedOptional", "skippedLink", "skippedList", "skippedMood", "skippedFriends",
        ]
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class KeyIgnored: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var other = 1
    override class func ignoredProperties() -> [String] { ["id"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Unwrapped: Object {
    @Persisted var name = ""
    let list = List<Int>()
    var set = MutableSet<String>()
    let map = Map<String, Int>()
    let backlinks = LinkingObjects<Unwrapped>(fromType: Unwrapped.self, property: "friend")
    // These may be meant so.
    var results: Results<Forgetful>?
    var later: List<Int>?
    lazy var lazily = List<Int>()
    var number = 1
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@available(*, deprecated)
private class UnwrappedBox: Object {
    let box = RealmProperty<Int?>()
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class UnwrappedIgnored: Unwrapped {
    override class func ignoredProperties() -> [String] { ["list", "set", "map", "backlinks", "number"] }
}

private class Bare: Object {
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Firn leaves an ignored property alone, even one that is `@Persisted` (SPEC S50).
@Suite(.timeLimit(.minutes(20))) struct IgnoredPropertyTests {
    private func realm() throws -> Realm { try memoryRealm([Forgetful.self]) }

    @Test func anIgnoredPropertyKeepsItsOwnValueAndChangesNoOther() throws {
        let realm = try realm()
        let object = Forgetful()
        object.skipped = 43
        object.skippedList.append(1)
        let other = Forgetful()
        try realm.write { realm.add([object, other]) }
        #expect(object.skipped == 43 && object.skippedText == "ours" && Array(object.skippedList) == [1])
        // It is an ordinary property, also outside of a write.
        object.skipped = 99
        object.skippedText = "mine"
        object.skippedOptional = 7
        object.skippedLink = Forgetful()
        object.skippedMood = .calm
        object.skippedList.append(2)
        #expect(object.first == 1 && object.text == "text" && object.friend == nil)
        #expect(object.skipped == 99 && object.skippedText == "mine" && object.skippedOptional == 7)
        #expect(object.skippedLink?.realm == nil && object.skippedLink?.first == 1 && object.skippedMood == .calm)
        #expect(Array(object.skippedList) == [1, 2] && object.skippedFriends.count == 0)
        try realm.write {
            object.first = 5
            object.skipped = 100
            object.skippedList = [9]
        }
        #expect(object.first == 5 && object.skipped == 100 && Array(object.skippedList) == [9])
        #expect(realm.objects(Forgetful.self).map(\.first) == [5, 1])
        try realm.write { realm.delete(object) }
        #expect(object.isInvalidated && object.skipped == 100)
    }

    @Test func anObjectReadFromTheStoreStartsWithTheDeclaredValue() throws {
        let realm = try realm()
        try realm.write { realm.add(Forgetful(value: ["first": 3])) }
        let read = realm.objects(Forgetful.self)[0]
        let frozen = read.freeze()
        for one in [read, frozen] {
            #expect(one.first == 3 && one.skipped == 42 && one.skippedText == "ours" && one.skippedMood == .wild)
            #expect(one.skippedOptional == nil && one.skippedLink == nil && one.skippedList.count == 0)
            #expect(one.skippedFriends.count == 0)
            one.skipped = 1
            one.skippedText = "two"
            one.skippedList.append(5)
            #expect(one.skipped == 1 && one.skippedText == "two" && one.first == 3 && one.text == "text")
        }
        #expect(Array(read.skippedList) == [5])
        #expect(realm.objects(Forgetful.self)[0].skipped == 42)
    }

    @Test func theSchemaHasNoIgnoredProperty() throws {
        let schema = try #require(try realm().schema["Forgetful"])
        #expect(schema.properties.map(\.name) == ["first", "text", "friend"])
    }

    @Test func valuesForIgnoredPropertiesAreSkipped() throws {
        let realm = try realm()
        #expect(Forgetful(value: ["skipped": 1, "first": 2]).skipped == 42)
        #expect(Forgetful(value: [7, "seven"]).text == "seven")
        let made = try realm.write { realm.create(Forgetful.self, value: ["skippedText": 5, "first": 2]) }
        #expect(made.first == 2 && made.skippedText == "ours")
    }

    @Test func textQueriesOnAnIgnoredPropertyAreRefused() throws {
        let all = try realm().objects(Forgetful.self)
        for text in ["skipped == 1", "skippedText == 'x'", "friend.skipped == 1"] {
            let error = try #require(throws: Realm.Error.self) { _ = try all.filter(validating: text) }
            #expect(error.code == .invalidInput && error.message.contains("skipped"), "\(error)")
            #expect(error.message.contains("ignoredProperties()"), "\(error)")
        }
    }

    @Test func typedQueriesOnAnIgnoredPropertyStop() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Forgetful.self])
            try realm.write { realm.add(Forgetful()) }
            print(realm.objects(Forgetful.self).where { $0.skipped == 1 }.count)
        }
        expectMessage(result, "Firn: ", "Forgetful.skipped", "ignoredProperties()")
    }

    @Test func typedQueriesThroughAnIgnoredLinkStop() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Forgetful.self])
            print(realm.objects(Forgetful.self).where { $0.skippedLink.first == 1 }.count)
        }
        expectMessage(result, "Firn: ", "Forgetful.skippedLink", "ignoredProperties()")
    }

    @Test func sortingByAnIgnoredPropertyStops() async {
        let byKeyPath = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            print(try memoryRealm([Forgetful.self]).objects(Forgetful.self).sorted(by: \.skipped).count)
        }
        expectMessage(byKeyPath, "Firn: ", "Forgetful.skipped", "ignoredProperties()")
        let byName = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            print(try memoryRealm([Forgetful.self]).objects(Forgetful.self).sorted(byKeyPath: "skippedText").count)
        }
        expectMessage(byName, "Firn: ", "skippedText", "ignoredProperties()")
    }

    @Test func observingAnIgnoredPropertyStops() async {
        let byKeyPath = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Forgetful.self])
            _ = realm.objects(Forgetful.self).observe(keyPaths: [\Forgetful.skipped], on: .main) { _ in }
        }
        expectMessage(byKeyPath, "Firn: ", "Forgetful.skipped", "ignoredProperties()")
        let byName = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm([Forgetful.self])
            let object = Forgetful()
            try realm.write { realm.add(object) }
            _ = object.observe(keyPaths: ["friend.skipped"], on: .main) { (_: ObjectChange<Forgetful>) in }
        }
        expectMessage(byName, "Firn: ", "Forgetful", "skipped", "ignoredProperties()")
    }

    @Test func anIgnoredPropertyIsNotReachedByName() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            print(Forgetful()["skipped"] ?? "nil")
        }
        expectMessage(result, "Firn: ", "skipped", "ignoredProperties()")
    }

    @Test func anIgnoredPrimaryKeyIsRefused() throws {
        let error = try #require(throws: Realm.Error.self) { _ = try memoryRealm([KeyIgnored.self]) }
        #expect(error.code == .schemaMismatch && error.message.contains("\"id\"") && error.message.contains("ignored"))
    }

    /// What looks like a collection and would not be stored is refused, with the line to write.
    @Test func collectionsWithoutAWrapperAreRefused() throws {
        let error = try #require(throws: Realm.Error.self) { try memoryRealm([Unwrapped.self, Forgetful.self]) }
        #expect(error.code == .schemaMismatch)
        for (name, declaration) in [
            ("list", "@Persisted var list: List<Int>"), ("set", "@Persisted var set: MutableSet<String>"),
            ("map", "@Persisted var map: Map<String, Int>"),
            ("backlinks", "@Persisted(originProperty: \"…\") var backlinks: LinkingObjects<Unwrapped>"),
        ] {
            #expect(
                error.message.contains(
                    "Unwrapped.\(name) is declared without @Persisted, so it would not be stored; write `\(declaration)`"
                ),
                "\(error.message)")
        }
        for name in ["results", "later", "lazily", "number", "name"] {
            #expect(!error.message.contains("Unwrapped.\(name) "), "\(error.message)")
        }
        let realm = try memoryRealm([UnwrappedIgnored.self, Forgetful.self])
        try realm.write { realm.create(UnwrappedIgnored.self, value: ["name": "Ann"]) }
        let object = realm.objects(UnwrappedIgnored.self)[0]
        #expect(object.name == "Ann" && object.list.isEmpty && object.number == 1)
    }

    @available(*, deprecated)
    @Test func aBoxWithoutAWrapperIsRefused() throws {
        let error = try #require(throws: Realm.Error.self) { try memoryRealm([UnwrappedBox.self]) }
        #expect(error.message.contains("write `@Persisted var box: RealmProperty<Optional<Int>>`"))
    }

    /// A class of which nothing is stored is a warning, unless others inherit from it.
    @Test func aClassWithoutPropertiesIsKnown() throws {
        class Derived: Bare {
            @Persisted var name = ""
        }
        let infos = [Bare.self, Derived.self, Forgetful.self].map { ClassInfo.of($0) }
        #expect(infos[0].isEmpty(among: [infos[0], infos[2]]) && !infos[0].isEmpty(among: infos))
        #expect(!infos[1].isEmpty(among: infos))
    }
}
