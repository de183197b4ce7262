import Firn
import Foundation
import Testing

@MainActor
@Suite(.timeLimit(.minutes(20))) struct CollectionNotificationTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private func open() throws -> Realm { try memoryRealm(types, name) }

    /// An observer that notes what it is told, and keeps a copy of the collection up to date by it.
    @MainActor
    final class Follower<C: RealmCollection> {
        var told: [String] = []
        var copy: [C.Element] = []
        var token: NotificationToken?
        private let realm: Realm

        init(_ collection: C, _ keyPaths: [String]? = nil) {
            realm = collection.realm!
            token = collection.observe(keyPaths: keyPaths) { [weak self] change in
                MainActor.assumeIsolated {
                    guard let self else { return }
                    switch change {
                    case .initial(let now):
                        self.told.append("initial \(now.count)")
                        self.copy = Array(now)
                    case .update(let now, let deletions, let insertions, let modifications):
                        self.told.append("\(deletions) \(insertions) \(modifications)")
                        for index in deletions.reversed() { self.copy.remove(at: index) }
                        for index in insertions where index <= self.copy.count {
                            self.copy.insert(now[index], at: index)
                        }
                    case .error: self.told.append("error")
                    }
                }
            }
        }
        func next(_ count: Int = 1) async -> [String] {
            await wait { told.count >= count }
            await settle(realm)
            defer { told = [] }
            return told
        }
    }

    /// SEMANTICS 51, 52
    @Test func resultsAreToldOfAtFirstAndThenOfTheirChanges() async throws {
        let realm = try open()
        try realm.write { for id in 0..<5 { realm.add(Dog(id, "n\(id)", age: id)) } }
        let dogs = realm.objects(Dog.self)
        let follower = Follower(dogs)
        #expect(follower.told.isEmpty)
        try realm.write { realm.add(Dog(5, "n5", age: 5)) }
        #expect(await follower.next() == ["initial 6"])
        try realm.write {
            realm.delete(dogs[1])
            dogs[0].age = 7
            dogs[3].age = 8
            realm.add(Dog(9, "new"))
        }
        #expect(await follower.next() == ["[1] [5] [0, 4]"])
        #expect(follower.copy.map(\.id) == dogs.map(\.id))
        try realm.write {}
        await settle(realm)
        #expect(follower.told.isEmpty)
    }

    /// SEMANTICS 53
    @Test func anElementThatMovesIsDeletedAndInserted() async throws {
        let realm = try open()
        try realm.write { for id in 0..<6 { realm.add(Dog(id, "n", age: id * 10)) } }
        let sorted = realm.objects(Dog.self).where { $0.age >= 10 }.sorted(byKeyPath: "age")
        let follower = Follower(sorted)
        #expect(await follower.next() == ["initial 5"])
        try realm.write {
            sorted[0].age = 45
            realm.object(ofType: Dog.self, forPrimaryKey: 2)!.name = "changed"
        }
        #expect(await follower.next() == ["[0] [3] [1]"])
        try realm.write { sorted[0].age = 1 }
        #expect(await follower.next() == ["[0] [] []"])
    }

    /// SEMANTICS 54, 55
    @Test func changesBehindLinksCountUpToFourLinksAway() async throws {
        let realm = try open()
        var people: [Person] = []
        try realm.write {
            for _ in 0..<7 { people.append(realm.create(Person.self)) }
            for index in 0..<6 { people[index].friend = people[index + 1] }
        }
        let follower = Follower(realm.objects(Person.self))
        let byName = Follower(realm.objects(Person.self), ["name"])
        let byFriend = Follower(realm.objects(Person.self), ["friend.name"])
        _ = await (follower.next(), byName.next(), byFriend.next())
        try realm.write { people[6].name = "last" }
        #expect(await follower.next() == ["[] [] [2, 3, 4, 5, 6]"])
        #expect(byName.told == ["[] [] [6]"] && byFriend.told == ["[] [] [5]"])
        byName.told = []
        byFriend.told = []
        try realm.write { people[0].age = 3 }
        #expect(await follower.next() == ["[] [] [0]"])
        #expect(byName.told.isEmpty && byFriend.told.isEmpty)
        try realm.write { realm.delete(people[6]) }
        #expect(await byName.next() == ["[6] [] []"])
    }

    /// DESIGN "Observers": lists tell exactly which elements were meant.
    @Test func listsTellWhatWasDoneToThem() async throws {
        let realm = try open()
        let person = Person(value: ["numbers": [1, 1, 1, 2], "dogs": [[1, "a"], [2, "b"], [3, "c"]]])
        try realm.write { realm.add(person) }
        let numbers = Follower(person.numbers)
        let dogs = Follower(person.dogs)
        _ = await (numbers.next(), dogs.next())
        try realm.write { person.numbers.remove(at: 1) }
        #expect(await numbers.next() == ["[1] [] []"])
        try realm.write {
            person.numbers[0] = 1
            person.numbers.append(5)
        }
        #expect(await numbers.next() == ["[] [3] [0]"])
        try realm.write { person.dogs.move(from: 0, to: 2) }
        #expect(await dogs.next() == ["[0] [2] []"])
        try realm.write { person.dogs[1].name = "x" }
        #expect(await dogs.next() == ["[] [] [1]"])
        try realm.write { realm.delete(person.dogs[0]) }
        #expect(await dogs.next() == ["[0] [] []"])
        #expect(dogs.copy.map(\.id) == person.dogs.map(\.id))
    }

    /// SEMANTICS 60
    @Test func aListIsToldItsEndWhenItsOwnerGoes() async throws {
        let realm = try open()
        let person = Person(value: ["numbers": [1, 2, 3]])
        try realm.write { realm.add(person) }
        let follower = Follower(person.numbers)
        _ = await follower.next()
        try realm.write { realm.delete(person) }
        #expect(await follower.next() == ["[0, 1, 2] [] []"])
    }

    /// SEMANTICS 56
    @Test func tokensThatWereNamedAreNotTold() async throws {
        let realm = try open()
        let follower = Follower(realm.objects(Dog.self))
        let other = Follower(realm.objects(Dog.self).sorted(byKeyPath: "id"))
        _ = await (follower.next(), other.next())
        try realm.write(withoutNotifying: [follower.token!, other.token!]) { realm.add(Dog(1, "a")) }
        await settle(realm)
        #expect(follower.told.isEmpty && other.told.isEmpty)
        try realm.write { realm.add(Dog(2, "b")) }
        #expect(await follower.next() == ["[] [1] []"])
        #expect(await other.next() == ["[] [1] []"])
    }

    /// SEMANTICS 57, 15
    @Test func realmObserversAreToldWithinTheCommit() throws {
        let realm = try open()
        var seen: [Realm.Notification] = []
        let token = realm.observe { notification, _ in seen.append(notification) }
        try realm.write {}
        #expect(seen == [.didChange])
        try onAnotherThread(name, types) { other in try other.write { other.add(Dog(1, "x")) } }
        #expect(seen.count == 1)
        _ = realm.isEmpty
        realm.refresh()
        #expect(seen.count == 2)
        token.invalidate()
        try realm.write {}
        #expect(seen.count == 2)
    }

    /// SEMANTICS 6
    @Test func aRealmThatDoesNotRefreshIsToldThatItShould() async throws {
        let realm = try open()
        #expect(realm.isEmpty)
        realm.autorefresh = false
        var seen: [Realm.Notification] = []
        let token = realm.observe { notification, _ in seen.append(notification) }
        try onAnotherThread(name, types) { other in try other.write { other.add(Dog(1, "x")) } }
        await wait { seen.count == 1 }
        #expect(seen == [.refreshRequired] && realm.isEmpty)
        realm.refresh()
        #expect(seen == [.refreshRequired, .didChange] && !realm.isEmpty)
        token.invalidate()
    }

    /// SEMANTICS 5, also where a commit calls the block.
    @Test func refreshDoesNothingWithinARealmObserver() throws {
        let realm = try open()
        var refreshed: [Bool] = []
        var calls = 0
        let token = realm.observe { _, realm in
            calls += 1
            guard calls == 1 else { return }
            do {
                try onAnotherThread(name, types) { other in try other.write { other.add(Dog(1, "x")) } }
            } catch { Issue.record(error) }
            refreshed.append(realm.refresh())
        }
        try realm.write {}
        #expect(refreshed == [false] && calls == 1 && realm.isEmpty)
        #expect(realm.refresh() && calls == 2 && !realm.isEmpty)
        token.invalidate()
    }

    /// SEMANTICS 6: it is told so that it may.
    @Test func aRealmThatIsToldThatItShouldRefreshMayDoSoAtOnce() async throws {
        let realm = try open()
        #expect(realm.isEmpty)
        realm.autorefresh = false
        var refreshed: [Bool] = []
        let token = realm.observe { notification, realm in
            if notification == .refreshRequired { refreshed.append(realm.refresh()) }
        }
        try onAnotherThread(name, types) { other in try other.write { other.add(Dog(1, "x")) } }
        await wait { !refreshed.isEmpty }
        #expect(refreshed == [true] && !realm.isEmpty)
        token.invalidate()
    }

    /// SEMANTICS 6: without being asked, at a later turn.
    @Test func aRealmRefreshesByItself() async throws {
        let realm = try open()
        #expect(realm.isEmpty)
        try onAnotherThread(name, types) { other in try other.write { other.add(Dog(1, "x")) } }
        #expect(realm.isEmpty)
        await wait { !realm.isEmpty }
        #expect(!realm.isEmpty)
    }

    /// SEMANTICS 58
    @Test func aBlockMayWrite() async throws {
        let realm = try open()
        let dogs = realm.objects(Dog.self)
        var updates = 0
        let token = dogs.observe { change in
            guard case .update(let now, _, _, _) = change else { return }
            updates += 1
            #expect(!now.realm!.refresh())
            if now.count < 4 { try! now.realm!.write { now.realm!.add(Dog(now.count, "more")) } }
        }
        await settle(realm)
        try realm.write { realm.add(Dog(0, "first")) }
        await wait { updates == 4 }
        await settle(realm)
        #expect(updates == 4 && dogs.count == 4)
        token.invalidate()
    }

    /// SEMANTICS 59
    @Test func observingAfterAChangeInAWriteStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { @MainActor in
            let realm = try memoryRealm()
            try realm.write {
                realm.add(Dog(1, ""))
                _ = realm.objects(Dog.self).observe { _ in }
            }
        }
        expectMessage(result, "in a write transaction that has changed something")
    }

    /// SEMANTICS 60, before the first call: that has an empty collection.
    @Test func theFirstCallIsEmptyWhereTheOwnerHasGone() async throws {
        let realm = try open()
        let person = Person(value: ["numbers": [1, 2], "dogs": [[1, "Rex"]]])
        try realm.write { realm.add(person) }
        var told: [Int] = []
        let tokens = [
            person.numbers.observe { change in if case .initial(let now) = change { told.append(now.count) } },
            person.dogs.observe { change in if case .initial(let now) = change { told.append(now.count) } },
            person.owned.observe { change in if case .initial(let now) = change { told.append(now.count) } },
        ]
        try realm.write { realm.delete(person) }
        await wait { told.count == 3 }
        #expect(told == [0, 0, 0])
        withExtendedLifetime(tokens) {}
    }

    @Test func aQueueGetsItsOwnCollection() async throws {
        let realm = try open()
        let queue = DispatchQueue(label: "observer")
        let seen = Seen()
        let token = realm.objects(Dog.self).where { $0.age > 3 }.observe(on: queue) { change in
            switch change {
            case .initial(let now): seen.append("initial \(now.count)")
            case .update(let now, let deletions, let insertions, let modifications):
                seen.append("\(now.count) \(deletions) \(insertions) \(modifications)")
            case .error: break
            }
        }
        await wait { seen.all.count == 1 }
        try realm.write { for id in 0..<6 { realm.add(Dog(id, "", age: id)) } }
        await wait { seen.all.count == 2 }
        #expect(seen.all == ["initial 0", "2 [] [0, 1] []"])
        token.invalidate()
    }
}
