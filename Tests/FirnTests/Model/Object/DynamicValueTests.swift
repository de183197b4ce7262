import Firn
import FirnTestSupport
import Foundation
import Testing

private enum Level: Int, PersistableEnum { case low = 1, high = 9 }

private class Narrow: Object {
    @Persisted var small: List<Int8>
    @Persisted var levels: List<Level>
    @Persisted var levelsOrNil: List<Level?>
    @Persisted var smallSet: MutableSet<Int8>
    @Persisted var smallByName: Map<String, Int16>
    @Persisted var ints: List<Int>
    @Persisted var intsOrNil: List<Int?>
    @Persisted var intSet: MutableSet<Int>
    @Persisted var words: MutableSet<String>
    @Persisted var dog: Dog?
    @Persisted var dogs: List<Dog>
    @Persisted var any: AnyRealmValue
    @Persisted var mixed: List<AnyRealmValue>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Shares no property with `Dog`, and is in no realm's schema.
private class Unlisted: Object {
    @Persisted var colour = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Elements of dynamic collections of values, where values of other types and objects are expected.
@Suite(.timeLimit(.minutes(20))) struct DynamicValueTests {
    private static func filled() throws -> (Realm, Narrow) {
        let realm = try memoryRealm([Narrow.self, Dog.self, Person.self])
        let narrow = Narrow()
        narrow.ints.append(objectsIn: [300, 77, 9])
        narrow.intSet.insert(1)
        narrow.words.insert("x")
        narrow.dogs.append(Dog(9, "Rex"))
        try realm.write { realm.add(narrow) }
        return (realm, narrow)
    }

    @Test func valuesThatTheElementsCanHaveAreTaken() throws {
        let (realm, narrow) = try Self.filled()
        try realm.write {
            let nine = narrow.dynamicList("ints")[2]
            narrow.dynamicList("small").append(nine)
            narrow.dynamicList("levels").append(nine)
            narrow.dynamicMutableSet("smallSet").insert(nine)
            narrow.dynamicMap("smallByName")["n"] = narrow.dynamicList("ints")[0]
        }
        #expect(Array(narrow.small) == [9] && Array(narrow.levels) == [.high] && Array(narrow.smallSet) == [9])
        #expect(narrow.smallByName["n"] == 300)
    }

    private enum Misfit: String, CaseIterable, Codable {
        case small, levels, levelsOrNil, smallSet, smallByName

        var value: Int {
            switch self {
            case .small, .smallSet: 300
            case .levels, .levelsOrNil: 77
            case .smallByName: 70_000
            }
        }

        func add(_ element: DynamicObject, to narrow: Narrow) {
            switch self {
            case .small, .levels, .levelsOrNil: narrow.dynamicList(rawValue).append(element)
            case .smallSet: narrow.dynamicMutableSet(rawValue).insert(element)
            case .smallByName: narrow.dynamicMap(rawValue)["n"] = element
            }
        }
    }

    /// They would be stored, and stop each program that reads them.
    @Test(arguments: Misfit.allCases) private func valuesThatTheElementsCanNotHaveStop(_ misfit: Misfit) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misfit] in
            let (realm, narrow) = try Self.filled()
            try realm.write {
                narrow.ints.append(misfit.value)
                misfit.add(narrow.dynamicList("ints")[3], to: narrow)
            }
        }
        expectMessage(
            result, "the element is the value \(misfit.value), and Narrow.\(misfit.rawValue) takes no such value")
    }

    @Test func elementsAreTheirValuesWhereValuesAreExpected() throws {
        let (realm, narrow) = try Self.filled()
        let other = try realm.write {
            let other = realm.create(Narrow.self, value: ["ints": narrow.dynamicList("ints")])
            other["any"] = narrow.dynamicList("ints")[0]
            other["mixed"] = narrow.dynamicList("ints")
            return other
        }
        #expect(Array(other.ints) == [300, 77, 9] && other.any == .int(300))
        #expect(Array(other.mixed) == [.int(300), .int(77), .int(9)])
        try realm.write {
            other.mixed.append(.none)
            other["intsOrNil"] = other.dynamicList("mixed")
            other["dog"] = other.dynamicList("mixed")[3]
        }
        #expect(Array(other.intsOrNil) == [300, 77, 9, nil] && other.dog == nil)
        let unmanaged = Narrow(value: ["ints": narrow.dynamicList("ints")])
        #expect(Array(unmanaged.ints) == [300, 77, 9])
        #expect(realm.objects(Narrow.self).filter("ANY ints == %@", narrow.dynamicList("ints")[1]).count == 2)
    }

    @Test func anElementIsNotTheObjectThatItsValueIs() {
        let (dog, narrow) = (Dog(1, "Rex"), Narrow())
        narrow.mixed.append(.object(dog))
        let element = narrow.dynamicList("mixed")[0]
        #expect(!dog.isEqual(element) && !element.isEqual(dog))
    }

    /// They became objects with nothing but default values, which replaced those that were there.
    @Test func valuesAreNoObjects() throws {
        let (realm, narrow) = try Self.filled()
        let held = narrow.dynamicList("ints")
        let noObjects: [Any] = [held, [DynamicObject()], [Unlisted()], [held[0]]]
        realm.beginWrite()
        defer { realm.cancelWrite() }
        for value in noObjects {
            #expect(throws: Realm.Error.self) { try realm.create(Narrow.self, validating: ["dogs": value]) }
        }
        #expect(throws: Realm.Error.self) { try realm.create(Dog.self, validating: held[0], update: .modified) }
        #expect(throws: Realm.Error.self) { try Dog(validating: held[0]) }
        #expect(realm.objects(Dog.self).count == 1 && narrow.dogs.first?.name == "Rex")
    }

    @Test func objectsOfUnknownClassesInMixedValuesAreErrors() throws {
        let (realm, _) = try Self.filled()
        realm.beginWrite()
        defer { realm.cancelWrite() }
        for value in [["any": Unlisted()], ["mixed": [Unlisted()]], ["any": DynamicObject()]] as [[String: Any]] {
            #expect(throws: Realm.Error.self) { try realm.create(Narrow.self, validating: value) }
        }
    }

    /// As lists do, which are asked by their elements' order.
    @Test func setsDoNotContainValuesOfOtherTypes() throws {
        let (realm, narrow) = try Self.filled()
        let (ints, words) = (narrow.dynamicMutableSet("intSet"), narrow.dynamicMutableSet("words"))
        let dog = try #require(realm.dynamicObjects("Dog").first)
        #expect(!ints.contains(words[0]) && !words.contains(ints[0]) && !ints.contains(dog))
        #expect(!ints.intersects(words) && !ints.isSubset(of: words) && ints.contains(ints[0]))
        try realm.write {
            ints.remove(words[0])
            ints.remove(dog)
        }
        #expect(Array(narrow.intSet) == [1])
    }

    /// It became nil in a collection of mixed values.
    @Test func anOldObjectThatAMigrationHasDeletedIsNotAdded() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let folder = TemporaryFolder()
            var configuration = Realm.Configuration(
                fileURL: URL(filePath: folder.path + "/n.firn"), objectTypes: [Narrow.self, Dog.self, Person.self])
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    realm.add(Narrow())
                    realm.add(Dog(1, "Rex"))
                }
            }
            configuration.schemaVersion = 1
            configuration.migrationBlock = { migration, _ in
                nonisolated(unsafe) var deleted: MigrationObject?
                migration.enumerateObjects(ofType: "Dog") { old, new in
                    deleted = old
                    migration.delete(new!)
                }
                migration.enumerateObjects(ofType: "Narrow") { _, new in
                    new!.dynamicList("mixed").append(deleted!)
                }
            }
            _ = try Realm(configuration: configuration)
        }
        expectMessage(result, "the migration has deleted the object that is added")
    }
}
