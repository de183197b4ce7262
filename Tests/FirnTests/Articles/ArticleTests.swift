import Firn
import FirnTestSupport
import Foundation
import Observation
import Testing

/// The code of the articles (`Tools/check articles`): it compiles, and it does what they say.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ArticleTests {
    private let temporary = TemporaryFolder()
    private var folder: URL { URL(filePath: temporary.path) }

    @Test func gettingStarted() throws {
        // article: GettingStarted
        class Poet: Object {
            @Persisted(primaryKey: true) var id: Int
            @Persisted var name = ""
            @Persisted var poems: List<Poem>
        }

        class Poem: Object {
            @Persisted(indexed: true) var title = ""
            @Persisted var lines = 0
            @Persisted(originProperty: "poems") var poets: LinkingObjects<Poet>
        }
        // end
        func open() throws -> Realm {
            // article: GettingStarted
            let url = folder.appendingPathComponent("poems.firn")
            let realm = try Realm(configuration: .init(fileURL: url, objectTypes: [Poet.self, Poem.self]))
            try realm.write {
                let ann = realm.create(Poet.self, value: ["id": 1, "name": "Ann"], update: .modified)
                ann.poems.append(Poem(value: ["title": "Dawn", "lines": 30]))
                ann.poems.append(Poem(value: ["title": "The Sea", "lines": 500]))
            }
            // end
            return realm
        }
        let realm = try open()
        // article: GettingStarted
        let long = realm.objects(Poem.self).where { $0.lines > 400 }.sorted(by: \.title)
        let byAnn = realm.objects(Poem.self).filter("ANY poets.name == %@", "Ann")
        let ann = realm.object(ofType: Poet.self, forPrimaryKey: 1)
        print(long.count, byAnn.count, ann?.poems.first?.title ?? "none")
        // end
        #expect(long.map(\.title) == ["The Sea"] && byAnn.count == 2 && ann?.poems.count == 2)
        // article: GettingStarted
        let frozen = Frozen(realm.objects(Poem.self))
        try realm.write { realm.delete(realm.objects(Poem.self)) }
        let names = DispatchQueue.global().sync { frozen.value.map(\.title) }
        print(names)  // as they were
        // end
        #expect(names == ["Dawn", "The Sea"] && long.isEmpty)
        // article: GettingStarted
        let token = realm.objects(Poem.self).observe { change in
            switch change {
            case .initial(let poems): print("\(poems.count) poems")
            case .update(_, let deletions, let insertions, let modifications):
                print(deletions, insertions, modifications)
            case .error: break
            }
        }
        RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1))
        try realm.write { ann?.poems.append(Poem(value: ["title": "Dusk", "lines": 20])) }
        RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1))
        token.invalidate()
        // end
        #expect(ann?.poems.map(\.title) == ["Dusk"])
    }

    class Dog: Object {
        @Persisted var name = ""
        @Persisted var age = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Kennel: Object {
        @Persisted var dogs: List<Dog>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    @Test func queries() throws {
        class Toy: Object {
            @Persisted var name = ""
            @Persisted var price = 0
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class Owner: Object {
            @Persisted var name = ""
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        class Dog: Object {
            @Persisted(indexed: true) var name = ""
            @Persisted var age = 0
            @Persisted var owner: Owner?
            @Persisted var toys: List<Toy>
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try Realm(
            configuration: .init(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Owner.self, Toy.self]))
        try realm.write {
            for (name, age) in [("Rex", 4), ("Rex", 6), ("Ida", 9)] {
                realm.create(
                    Dog.self,
                    value: [
                        "name": name, "age": age, "owner": ["name": "Ann"], "toys": [["name": "ball", "price": age]],
                    ]
                        as [String: Any])
            }
        }
        // article: Queries
        let dogs = realm.objects(Dog.self)
        let found = dogs.where { $0.age > 3 && $0.owner.name.starts(with: "A") }
            .sorted(by: [SortDescriptor(keyPath: "age", ascending: false), "name"])
            .distinct(by: ["name"])
        print(found.count, found.first?.name ?? "none")
        // end
        #expect(found.map(\.name) == ["Ida", "Rex"] && found[1].age == 6)
        #expect(dogs.where { ($0.toys.price > 5 && $0.toys.name == "ball").count > 0 }.count == 2)
        // article: Queries
        let least = 3
        let grown = dogs.filter(#Predicate { $0.age > least && $0.name.starts(with: "R") })
        print(try RealmPredicate(#Predicate<Dog> { $0.toys.contains { $0.price > 5 } }))
        // end
        #expect(grown.map(\.age) == [4, 6])
        // article: Queries
        let text =
            "age BETWEEN {3, 9} AND (name LIKE[c] 'r*' OR ANY toys.price > %@) SORT(age DESC, name ASC) LIMIT(10)"
        for dog in try dogs.filter(validating: text, 5) { print(dog.name) }
        // end
        #expect(try dogs.filter(validating: text, 5).map(\.age) == [9, 6, 4])
        // article: Queries
        let byAge = dogs.sectioned(by: \.age)
        for section in byAge { print(section.key, section.map(\.name)) }
        // end
        #expect(byAge.allKeys == [4, 6, 9])
        // article: Queries
        print(dogs.where { $0.name == "Rex" }.sorted(by: \.age).explain())
        // end
    }

    @Test func observing() async throws {
        let realm = try Realm(
            configuration: .init(
                inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Kennel.self]),
            queue: nil)
        let kennel = try realm.write { realm.create(Kennel.self, value: ["dogs": [["name": "Rex"]]]) }
        let rex = kennel.dogs[0]
        var names = ["Rex"]
        // article: Observing
        let token = kennel.dogs.observe { change in
            guard case .update(let dogs, let deletions, let insertions, let modifications) = change else { return }
            // Deletions and modifications are indices of before, insertions those of now.
            for index in deletions.reversed() { names.remove(at: index) }
            for index in insertions { names.insert(dogs[index].name, at: index) }
            print(modifications)
        }
        // end
        // article: Observing
        let objectToken = rex.observe { (change: ObjectChange<Dog>) in
            switch change {
            case .change(let dog, let properties):
                for property in properties { print(dog.name, property.name, property.newValue ?? "nil") }
            case .deleted: print("gone")
            case .error: break
            }
        }
        // end
        // article: Observing
        Task {
            try realm.write {
                rex.age = 4
                kennel.dogs.append(Dog(value: ["name": "Ida"]))
            }
        }
        for await change in kennel.dogs.changes {
            if case .update(let dogs, _, let insertions, _) = change {
                for index in insertions { print("new:", dogs[index].name) }
                break
            }
        }
        // end
        await wait { names == ["Rex", "Ida"] }
        #expect(names == ["Rex", "Ida"])
        for token in [token, objectToken] { token.invalidate() }
    }

    @Test func observationFramework() async throws {
        // article: Observing
        class Collar: Object, Observable {
            @Persisted var text = ""
        }
        // end
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Collar.self]), queue: nil)
        let collar = Collar()
        try realm.write { realm.add(collar) }
        // article: Observing
        withObservationTracking {
            print(collar.text)
        } onChange: {
            print("draw it again")
        }
        try realm.write { collar.text = "Rex" }
        try await Task.sleep(for: .milliseconds(100))  // in which the main actor calls `onChange`
        // end
    }

    @Test func history() throws {
        let url = folder.appendingPathComponent("history.firn")
        func run() throws {
            // article: History
            var configuration = Realm.Configuration(fileURL: url, objectTypes: [Dog.self])
            configuration.historyRetention = .age(30 * 24 * 3600)
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.create(Dog.self, value: ["name": "Rex"]) }

            let before = try realm.asOf(version: realm.versions[0].number)
            print(before.objects(Dog.self).count)

            for change in try realm.changes(from: realm.versions.first!.number, to: realm.versions.last!.number) {
                print(change.kind, change.objectType, change.primaryKey ?? "", change.properties.map(\.name))
            }

            for past in try realm.objects(Dog.self)[0].history() {
                print(past.version, past.date, past.object.name)
            }
            // end
        }
        try run()
    }

    @Test func holdingVersions() throws {
        let realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self]))
        // article: HoldingVersions
        for version in realm.activeVersions {
            print(version.number, version.date, version.holders, version.retainedBytes, version.pinnedAt)
        }
        // end
        // article: HoldingVersions
        var configuration = Realm.Configuration()
        configuration.maximumNumberOfActiveVersions = 16
        configuration.maximumRetainedBytes = 256 << 20
        configuration.activeVersionPolicy = .fail
        // end
        // article: HoldingVersions
        configuration.maximumNumberOfActiveVersions = 16
        configuration.maximumRetainedBytes = 256 << 20
        configuration.activeVersionPolicy = .spill
        // end
        #expect(configuration.activeVersionPolicy == .spill)
    }

    private class PersonBefore: Object {
        @Persisted var firstName = "Ann"
        @Persisted var surname = "Lee"
        override class func _realmObjectName() -> String? { "Person" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class PersonAfter: Object {
        @Persisted var firstName = ""
        @Persisted var lastName = ""
        @Persisted var fullName = ""
        override class func _realmObjectName() -> String? { "Person" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    @Test func migrations() throws {
        let url = folder.appendingPathComponent("people.firn")
        func fill() throws {
            let realm = try Realm(
                configuration: .init(fileURL: url, schemaVersion: 1, objectTypes: [PersonBefore.self]), queue: nil)
            try realm.write { realm.add(PersonBefore()) }
        }
        try fill()
        let classes = [PersonAfter.self]
        // article: Migrations
        var configuration = Realm.Configuration(fileURL: url, schemaVersion: 3, objectTypes: classes)
        configuration.migrationBlock = { migration, oldVersion in
            if oldVersion < 2 {
                migration.renameProperty(onType: "Person", from: "surname", to: "lastName")
            }
            if oldVersion < 3 {
                migration.enumerateObjects(ofType: "Person") { old, new in
                    guard let old, let new else { return }
                    new["fullName"] = "\(old["firstName"] ?? "") \(new["lastName"] ?? "")"
                }
                migration.deleteData(forType: "Draft")
            }
        }
        let realm = try Realm(configuration: configuration)
        // end
        #expect(realm.objects(PersonAfter.self).map(\.fullName) == ["Ann Lee"])
    }
}
