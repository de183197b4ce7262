import Firn
import Foundation
import Testing

/// `activeVersions` lists the holders of each version by their call sites in the program.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ActiveVersionTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]

    private func callSite(_ line: Int) -> String { "\(#fileID):\(line)" }

    /// Adds a person with a dog, and returns the person.
    private func fill(_ realm: Realm) throws -> Person {
        let person = Person(value: ["name": "Ann", "dogs": [[1, "Rex"]]])
        try realm.write { realm.add(person) }
        return person
    }

    private func open(line: UInt = #line) throws -> Realm {
        try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: types), line: line)
    }

    @Test func everyKindOfFreezingIsListedWithItsCaller() throws {
        let realm = try open()
        let person = try fill(realm)
        let dog = person.dogs[0]
        var kept: [Any] = []
        func expect(_ line: Int, _ frozen: Any, at location: SourceLocation = #_sourceLocation) throws {
            kept.append(frozen)
            let newest = realm.activeVersions.last
            let version = try #require(newest, sourceLocation: location)
            #expect(version.pinnedAt.last == callSite(line), sourceLocation: location)
            #expect(version.holders == 2, sourceLocation: location)
            realm.beginWrite()
            realm.objects(Dog.self)[0].age += 1
            try realm.commitWrite()
        }
        func generic<T: ThreadConfined>(_ thing: T) -> T { thing.freeze() }
        try expect(#line, realm.freeze())
        try expect(#line, dog.freeze())
        try expect(#line, person.dogs.freeze())
        try expect(#line, realm.objects(Dog.self).freeze())
        try expect(#line, realm.objects(Dog.self).where { $0.age > 0 }.freeze())
        try expect(#line, dog.keepers.freeze())
        try expect(#line, realm.freeze(dog))
        try expect(#line, realm.freeze(person.dogs))
        try expect(#line - 9, generic(dog))
        #expect(realm.activeVersions.count == 10 && kept.count == 9)
        kept = []
        #expect(realm.activeVersions.count == 1)
    }

    @Test func aRealmIsListedWithWhereItWasOpenedRefreshedOrWritten() throws {
        let other = try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: types))
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: name, objectTypes: types), queue: DispatchQueue.main)
        #expect(realm == other)
        let opened = #line - 4
        #expect(realm.isEmpty)
        #expect(realm.activeVersions.map(\.pinnedAt) == [[callSite(opened)]])
        try realm.write { realm.add(Dog(1, "Rex")) }
        #expect(realm.activeVersions.map(\.pinnedAt) == [[callSite(#line - 1)]])
        realm.beginWrite()
        #expect(realm.activeVersions.map(\.pinnedAt) == [[callSite(#line - 1)]])
        realm.cancelWrite()
        try realm.tryBeginWrite()
        try realm.commitWrite()
        #expect(realm.activeVersions.map(\.pinnedAt) == [[callSite(#line - 2)]])
        try onAnotherThread(name, types: types) { other in try other.write { other.add(Dog(2, "Max")) } }
        #expect(realm.refresh())
        #expect(realm.activeVersions.map(\.pinnedAt) == [[callSite(#line - 1)]])
        realm.invalidate()
        #expect(realm.activeVersions.map(\.holders) == [0])
        #expect(realm.objects(Dog.self).count == 2)
        #expect(realm.activeVersions.map(\.pinnedAt) == [[callSite(opened)]])
    }

    @Test func aThawedRealmIsListedWithWhereItWasThawed() throws {
        let realm = try open()
        nonisolated(unsafe) let frozen = try fill(realm).freeze()
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var callSites: [String] = []
        let line = #line + 2
        Thread {
            if let thawed = frozen.thaw(), thawed.name == "Ann" { callSites = thawed.realm!.activeVersions[0].pinnedAt }
            done.signal()
        }.start()
        try #require(done.wait(timeout: .testTimeout) == .success, "the thread hangs")
        #expect(callSites.contains(callSite(line)), "\(callSites)")
        withExtendedLifetime(realm) {}
    }

    @Test func versionsHeldByObserversAreListedWithTheirCaller() async throws {
        let realm = try open()
        let person = try fill(realm)
        let dogs = realm.objects(Dog.self)
        var calls = 0
        var lines: [Int] = []
        var tokens: [NotificationToken] = []
        lines.append(#line + 1)
        tokens.append(person.observe { (_: ObjectChange<Person>) in calls += 1 })
        lines.append(#line + 1)
        tokens.append(person.observe(keyPaths: [\Person.name]) { (_: ObjectChange<Person>) in calls += 1 })
        lines.append(#line + 1)
        tokens.append(dogs.observe { _ in calls += 1 })
        lines.append(#line + 1)
        tokens.append(dogs.observe(keyPaths: ["name"]) { _ in calls += 1 })
        lines.append(#line + 1)
        tokens.append(dogs.observe(keyPaths: [\Dog.age]) { _ in calls += 1 })
        lines.append(#line + 1)
        tokens.append(person.dogs.observe { _ in calls += 1 })
        lines.append(#line + 1)
        tokens.append(await dogs.observe(on: MainActor.shared) { _, _ in })
        lines.append(#line + 1)
        tokens.append(await person.observe(on: MainActor.shared) { (_, _: ObjectChange<Person>) in })
        let expected = lines.map(callSite)
        func held() -> [String] { realm.activeVersions.flatMap(\.pinnedAt).filter(expected.contains).sorted() }
        #expect(held() == expected.sorted())
        // The first call of a collection's block advances its observer, and so does each later one; the call sites
        // stay.
        await wait { calls == 4 }
        #expect(held() == expected.sorted())
        try realm.write {
            person.name = "Bob"
            person.dogs[0].age = 9
            person.dogs[0].name = "Max"
        }
        await wait { calls == 10 }
        await waitForDeliveries(of: realm)
        #expect(calls == 10)
        #expect(held() == expected.sorted())
        #expect(realm.activeVersions.count == 1)
        #expect(realm.activeVersions[0].holders == expected.count + 1)
        tokens = []
        #expect(held().isEmpty && realm.activeVersions[0].holders == 1)
    }

    @Test func anObserverOnAQueueIsListedWithItsCaller() async throws {
        let realm = try open()
        let person = try fill(realm)
        let queue = DispatchQueue(label: "observers")
        nonisolated(unsafe) var calls = 0
        let lines = #line + 1
        let one = realm.objects(Dog.self).observe(on: queue) { _ in calls += 1 }
        let two = person.observe(on: queue) { (_: ObjectChange<Person>) in calls += 1 }
        await wait { queue.sync { calls } == 1 }
        try realm.write {
            person.name = "Bob"
            person.dogs[0].age = 3
        }
        await wait { queue.sync { calls } == 3 }
        let callSites = realm.activeVersions.flatMap(\.pinnedAt)
        #expect(callSites.contains(callSite(lines)) && callSites.contains(callSite(lines + 1)))
        #expect(callSites.allSatisfy { $0.hasPrefix("FirnTests/") })
        withExtendedLifetime((one, two)) {}
    }

    /// It only learns that there is newer data, so it needs none of the old versions.
    @Test func anObserverOfTheRealmHoldsNoVersion() throws {
        let realm = try open()
        var calls = 0
        let token = realm.observe { _, _ in calls += 1 }
        for id in 0..<5 { try realm.write { realm.add(Dog(id, "Rex")) } }
        #expect(calls == 5)
        #expect(realm.activeVersions.map(\.holders) == [1])
        withExtendedLifetime(token) {}
    }

    @Test func anIterationHoldsItsVersionAndWhatItRetainsIsListed() throws {
        let realm = try open()
        try realm.write { for id in 0..<300 { realm.add(Dog(id, "Rex")) } }
        let date = Date()
        var iterator = realm.objects(Dog.self).makeIterator()
        #expect(iterator.next()?.id == 0)
        try realm.write { for dog in realm.objects(Dog.self) { dog.age = 5 } }
        let versions = realm.activeVersions
        #expect(versions.count == 2 && versions[0].number + 1 == versions[1].number)
        #expect(versions[0].retainedBytes > 2400 && versions[1].retainedBytes == 0)
        #expect(abs(versions[0].date.timeIntervalSince(date)) < 3600 && versions[0].date <= versions[1].date)
        while iterator.next() != nil {}
        iterator = realm.objects(Dog.self).makeIterator()
        #expect(realm.activeVersions.count == 1)
    }
}
