import Firn
import Foundation
import Testing

class MixedHolder: Object {
    @Persisted var any: AnyRealmValue
    @Persisted var list: List<AnyRealmValue>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@MainActor
@Suite(.timeLimit(.minutes(20))) struct CollectionNotificationTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private func open() throws -> Realm { try memoryRealm(types, name) }

    /// An observer that records its calls, and keeps a copy of the collection up to date with them.
    @MainActor
    final class Follower<C: RealmCollection> {
        var received: [String] = []
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
                        self.received.append("initial \(now.count)")
                        self.copy = Array(now)
                    case .update(let now, let deletions, let insertions, let modifications):
                        self.received.append("\(deletions) \(insertions) \(modifications)")
                        for index in deletions.reversed() { self.copy.remove(at: index) }
                        for index in insertions where index <= self.copy.count {
                            self.copy.insert(now[index], at: index)
                        }
                    case .error: self.received.append("error")
                    }
                }
            }
        }
        func next(_ count: Int = 1) async -> [String] {
            await wait { received.count >= count }
            await waitForDeliveries(of: realm)
            defer { received = [] }
            return received
        }
    }

    /// If each element were looked up by making the list's keys again, this would take hours.
    @Test func aChangedElementOfALongListIsFoundInOneSearch() async throws {
        let realm = try open()
        var owner: Person?
        try realm.write {
            for id in 0..<11 { realm.add(Dog(id, "n\(id)", age: id)) }
            let person = Person()
            realm.add(person)
            let dogs = Array(realm.objects(Dog.self))
            for index in 0..<200_000 { person.dogs.append(dogs[index % 10]) }
            owner = person
        }
        var calls: [[Int]] = []
        let token = owner!.dogs.observe { change in
            MainActor.assumeIsolated {
                if case .update(_, _, _, let modifications) = change { calls.append(modifications) }
            }
        }
        await waitForDeliveries(of: realm)
        let dogs = realm.objects(Dog.self)
        try realm.write { dogs[3].age = 100 }
        await waitForDeliveries(of: realm)
        #expect(calls == [Array(stride(from: 3, to: 200_000, by: 10))])
        // An object of the class that the list does not hold.
        try realm.write { dogs[10].age = 100 }
        await waitForDeliveries(of: realm)
        #expect(calls.count == 1)
        // The backlinks are read where a compaction has put them.
        try realm.compact()
        try realm.write {
            dogs[4].age = 100
            dogs[10].age = 101
        }
        await waitForDeliveries(of: realm)
        #expect(calls.dropFirst() == [Array(stride(from: 4, to: 200_000, by: 10))])
        token.invalidate()
    }

    /// The first call is `.initial`, and includes writes made before it (SEMANTICS 51), also the realm's own, unlike in
    /// Realm (SEMANTICS 94). Then deletions and modifications are old indices, insertions are new ones (SEMANTICS 52).
    @Test func observersOfResultsGetAnInitialCallAndThenChanges() async throws {
        let realm = try open()
        try realm.write { for id in 0..<5 { realm.add(Dog(id, "n\(id)", age: id)) } }
        let dogs = realm.objects(Dog.self)
        let follower = Follower(dogs)
        #expect(follower.received.isEmpty)
        try realm.write { realm.add(Dog(5, "n5", age: 5)) }
        #expect(follower.received == ["initial 5"])
        #expect(await follower.next(2) == ["initial 5", "[] [5] []"])
        try realm.write {
            realm.delete(dogs[1])
            dogs[0].age = 7
            dogs[3].age = 8
            realm.add(Dog(9, "new"))
        }
        #expect(await follower.next() == ["[1] [5] [0, 4]"])
        #expect(follower.copy.map(\.id) == dogs.map(\.id))
        try realm.write {}
        await waitForDeliveries(of: realm)
        #expect(follower.received.isEmpty)
    }

    /// A moved element is a deletion and an insertion, and counts as modified only if it did not move (SEMANTICS 53).
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

    /// Without key paths collection observers follow links at most 4 levels deep (SEMANTICS 54). With key paths only
    /// those count, but insertions and deletions always notify (SEMANTICS 55).
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
        #expect(byName.received == ["[] [] [6]"] && byFriend.received == ["[] [] [5]"])
        byName.received = []
        byFriend.received = []
        try realm.write { people[0].age = 3 }
        #expect(await follower.next() == ["[] [] [0]"])
        #expect(byName.received.isEmpty && byFriend.received.isEmpty)
        try realm.write { realm.delete(people[6]) }
        #expect(await byName.next() == ["[6] [] []"])
    }

    /// A link in a mixed value is one of the links that are followed (SEMANTICS 54).
    @Test func changesBehindMixedLinksCount() async throws {
        let realm = try memoryRealm([MixedHolder.self, Person.self, Dog.self])
        let (person, dog) = (Person(), Dog(value: [1, "Rex"]))
        try realm.write {
            person.dogs.append(dog)
            realm.add(MixedHolder(value: [AnyRealmValue.object(person)]))
            realm.add(MixedHolder(value: [AnyRealmValue.none, [AnyRealmValue.object(dog)]] as [Any]))
            realm.add(MixedHolder(value: [AnyRealmValue.fromArray([.int(1), .object(person)])]))
            realm.add(MixedHolder(value: [AnyRealmValue.int(0)]))
        }
        let follower = Follower(realm.objects(MixedHolder.self))
        let shallow = Follower(realm.objects(MixedHolder.self), ["any"])
        _ = await (follower.next(), shallow.next())
        try realm.write { dog.name = "Max" }
        #expect(await follower.next() == ["[] [] [0, 1, 2]"])
        try realm.write { person.name = "Ann" }
        #expect(await follower.next() == ["[] [] [0, 2]"])
        #expect(shallow.received.isEmpty)
    }

    /// So do the elements of a list and the values of a map (SEMANTICS 54).
    @MainActor @Test func changesBehindMixedElementsCount() async throws {
        let realm = try memoryRealm(Box.types)
        let (person, dog, box) = (Person(), Dog(value: [1, "Rex"]), Box(1))
        person.dogs.append(dog)
        let values: [AnyRealmValue] = [
            .int(0), .object(dog), .fromArray([.fromDictionary(["x": .object(person)])]), .object(dog),
        ]
        box.list.append(objectsIn: Array(repeating: .int(7), count: 100) + values)
        for (index, value) in values.enumerated() { box.map["\(index)"] = value }
        let alone = Dog(value: [2, "Max"])
        try realm.write { realm.add([box, person, alone] as [Object]) }
        let follower = Follower(box.list)
        let sorted = Follower(box.list.sorted(ascending: true))
        var maps: [[String]] = []
        let token = box.map.observe { (change: RealmMapChange<Map<String, AnyRealmValue>>) in
            if case .update(_, let deletions, let insertions, let modifications) = change {
                maps.append(deletions + insertions + modifications)
            }
        }
        _ = await (follower.next(), sorted.next())
        try realm.write { dog.name = "Mex" }
        #expect(await follower.next() == ["[] [] [101, 102, 103]"])
        _ = await sorted.next()
        await wait { !maps.isEmpty }
        #expect(maps == [["1", "2", "3"]])
        try realm.write { alone.name = "Ben" }
        try realm.write { person.name = "Ann" }
        #expect(await follower.next() == ["[] [] [102]"])
        try realm.write {
            box.list.remove(at: 0)
            dog.age += 1
        }
        #expect(await follower.next() == ["[0] [] [101, 102, 103]"])
        await wait { maps.count == 3 }
        #expect(maps.last == ["1", "2", "3"])
        token.invalidate()
    }

    /// An empty array of key paths means the same as nil, for results and lists, on the realm's thread, a queue and an
    /// actor (SPEC S86).
    @Test func anEmptyArrayOfKeyPathsMeansAllProperties() async throws {
        let realm = try open()
        let person = Person(value: ["dogs": [[1, "Rex"]]])
        try realm.write { realm.add(person) }
        let (queue, keeper, seen) = (DispatchQueue(label: "observer"), Keeper(), Seen())
        let names = [String]()
        let paths = [PartialKeyPath<Dog>]()
        var tokens: [NotificationToken] = []
        func observe<C: RealmCollection>(_ name: String, _ dogs: C) where C.Element == Dog {
            tokens += [
                dogs.observe(keyPaths: names) { seen.append("\(name), own names", $0) },
                dogs.observe(keyPaths: paths) { seen.append("\(name), own paths", $0) },
                dogs.observe(keyPaths: names, on: queue) { seen.append("\(name), queue's names", $0) },
                dogs.observe(keyPaths: paths, on: queue) { seen.append("\(name), queue's paths", $0) },
            ]
        }
        let (all, old) = (realm.objects(Dog.self), realm.objects(Dog.self).where { $0.age > 0 })
        observe("all", all)
        observe("filtered", old)
        observe("list", person.dogs)
        tokens += [
            await all.observe(keyPaths: names, on: keeper) { seen.append("all, actor's names", $1) },
            await old.observe(keyPaths: names, on: keeper) { seen.append("filtered, actor's names", $1) },
            await person.dogs.observe(keyPaths: names, on: keeper) { seen.append("list, actor's names", $1) },
        ]
        await wait { seen.all.count == 15 }
        try realm.write { person.dogs[0].age = 2 }
        await wait { seen.all.count == 30 }
        let expected = ["all", "filtered", "list"].flatMap { name in
            ["actor's names", "own names", "own paths", "queue's names", "queue's paths"].map { "\(name), \($0)" }
        }
        #expect(seen.all.dropFirst(15).sorted() == expected)
        for token in tokens { token.invalidate() }
    }

    /// Lists report exactly the edits that were made, even if equal elements make others possible.
    @Test func observersOfListsGetTheEdits() async throws {
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

    /// After the owner of an observed list is deleted, one last update reports every index as deleted (SEMANTICS 60).
    @Test func observersOfAListGetAnEmptyListWhenItsOwnerIsDeleted() async throws {
        let realm = try open()
        let person = Person(value: ["numbers": [1, 2, 3]])
        try realm.write { realm.add(person) }
        let follower = Follower(person.numbers)
        _ = await follower.next()
        try realm.write { realm.delete(person) }
        #expect(await follower.next() == ["[0, 1, 2] [] []"])
    }

    /// Tokens passed to `withoutNotifying:` skip the transaction; later changes are relative to it (SEMANTICS 56).
    @Test func skippedTokensAreNotNotified() async throws {
        let realm = try open()
        let follower = Follower(realm.objects(Dog.self))
        let other = Follower(realm.objects(Dog.self).sorted(byKeyPath: "id"))
        _ = await (follower.next(), other.next())
        try realm.write(withoutNotifying: [follower.token!, other.token!]) { realm.add(Dog(1, "a")) }
        await waitForDeliveries(of: realm)
        #expect(follower.received.isEmpty && other.received.isEmpty)
        try realm.write { realm.add(Dog(2, "b")) }
        #expect(await follower.next() == ["[] [1] []"])
        #expect(await other.next() == ["[] [1] []"])
    }

    /// Only tokens of the realm that is written can be skipped (SEMANTICS 56): one of another realm stops.
    @Test(arguments: [true, false]) func skippingATokenOfAnotherRealmStops(observesObject: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            @MainActor [observesObject] in
            let (realm, other) = (try memoryRealm(), try memoryRealm())
            let dog = Dog(1, "Rex")
            try other.write { other.add(dog) }
            let token =
                observesObject
                ? dog.observe { (_: ObjectChange<Dog>) in } : other.objects(Dog.self).observe { _ in }
            try realm.write(withoutNotifying: [token]) { realm.add(Dog(1, "Max")) }
        }
        expectMessage(result, "Firn: withoutNotifying: was given a token of another realm")
    }

    /// Realm observers run synchronously inside the commit (SEMANTICS 57), even of an empty write (SEMANTICS 15).
    @Test func realmObserversAreNotifiedWithinTheCommit() throws {
        let realm = try open()
        var seen: [Realm.Notification] = []
        let token = realm.observe { notification, _ in seen.append(notification) }
        try realm.write {}
        #expect(seen == [.didChange])
        try onAnotherThread(name, types: types) { other in try other.write { other.add(Dog(1, "x")) } }
        #expect(seen.count == 1)
        _ = realm.isEmpty
        realm.refresh()
        #expect(seen.count == 2)
        token.invalidate()
        try realm.write {}
        #expect(seen.count == 2)
    }

    /// With `autorefresh` off, `.refreshRequired` is sent and data stay old until `refresh()` (SEMANTICS 6).
    @Test func aRealmWithoutAutorefreshIsNotifiedThatItShouldRefresh() async throws {
        let realm = try open()
        #expect(realm.isEmpty)
        realm.autorefresh = false
        var seen: [Realm.Notification] = []
        let token = realm.observe { notification, _ in seen.append(notification) }
        try onAnotherThread(name, types: types) { other in try other.write { other.add(Dog(1, "x")) } }
        await wait { seen.count == 1 }
        #expect(seen == [.refreshRequired] && realm.isEmpty)
        realm.refresh()
        #expect(seen == [.refreshRequired, .didChange] && !realm.isEmpty)
        token.invalidate()
    }

    /// `refresh()` does nothing while notifications are being sent (SEMANTICS 5), even if a commit calls the block.
    @Test func refreshDoesNothingWithinARealmObserver() throws {
        let realm = try open()
        var refreshed: [Bool] = []
        var calls = 0
        let token = realm.observe { _, realm in
            calls += 1
            guard calls == 1 else { return }
            do {
                try onAnotherThread(name, types: types) { other in try other.write { other.add(Dog(1, "x")) } }
            } catch { Issue.record(error) }
            refreshed.append(realm.refresh())
        }
        try realm.write {}
        #expect(refreshed == [false] && calls == 1 && realm.isEmpty)
        #expect(realm.refresh() && calls == 2 && !realm.isEmpty)
        token.invalidate()
    }

    /// The block that gets `.refreshRequired` (SEMANTICS 6) may refresh at once.
    @Test func aRealmMayRefreshInTheNotificationThatItShould() async throws {
        let realm = try open()
        #expect(realm.isEmpty)
        realm.autorefresh = false
        var refreshed: [Bool] = []
        let token = realm.observe { notification, realm in
            if notification == .refreshRequired { refreshed.append(realm.refresh()) }
        }
        try onAnotherThread(name, types: types) { other in try other.write { other.add(Dog(1, "x")) } }
        await wait { !refreshed.isEmpty }
        #expect(refreshed == [true] && !realm.isEmpty)
        token.invalidate()
    }

    /// Autorefresh advances the realm by itself, at a later turn of its queue (SEMANTICS 6).
    @Test func aRealmRefreshesAutomatically() async throws {
        let realm = try open()
        #expect(realm.isEmpty)
        try onAnotherThread(name, types: types) { other in try other.write { other.add(Dog(1, "x")) } }
        #expect(realm.isEmpty)
        await wait { !realm.isEmpty }
        #expect(!realm.isEmpty)
    }

    /// A block may write: this delivers what is newly due, the block is not re-entered, and `refresh()` does nothing
    /// there (SEMANTICS 58).
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
        await waitForDeliveries(of: realm)
        try realm.write { realm.add(Dog(0, "first")) }
        await wait { updates == 4 }
        await waitForDeliveries(of: realm)
        #expect(updates == 4 && dogs.count == 4)
        token.invalidate()
    }

    /// An observer may be added inside a write transaction only while that has made no change (SEMANTICS 59).
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

    /// Unmanaged collections can't be observed (SEMANTICS 59).
    @Test(arguments: [
        ("list", "an unmanaged list can't be queried or observed"),
        ("set", "an unmanaged set can't be queried or observed"),
        ("map", "an unmanaged map can't be queried or observed"),
        ("backlinks", "backlinks of an unmanaged object can't be queried"),
    ])
    func observingAnUnmanagedCollectionStops(kind: String, message: String) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            @MainActor [kind] in
            switch kind {
            case "list": _ = Person().dogs.observe { _ in }
            case "set": _ = Box().set.observe { _ in }
            case "map": _ = Box().map.observe { (_: RealmMapChange<Map<String, AnyRealmValue>>) in }
            default: _ = Dog(1, "").keepers.observe { _ in }
            }
        }
        expectMessage(result, "Firn: \(message)")
    }

    /// If the owner is deleted (SEMANTICS 60) before the first call, that call has an empty collection.
    @Test func theInitialCallHasAnEmptyListIfTheOwnerWasDeleted() async throws {
        let realm = try open()
        let person = Person(value: ["numbers": [1, 2], "dogs": [[1, "Rex"]]])
        try realm.write { realm.add(person) }
        var received: [Int] = []
        let tokens = [
            person.numbers.observe { change in if case .initial(let now) = change { received.append(now.count) } },
            person.dogs.observe { change in if case .initial(let now) = change { received.append(now.count) } },
            person.owned.observe { change in if case .initial(let now) = change { received.append(now.count) } },
        ]
        try onAnotherThread(name, types: types) { other in
            try other.write { other.delete(other.objects(Person.self)[0]) }
        }
        await wait { received.count == 3 }
        #expect(received == [0, 0, 0])
        withExtendedLifetime(tokens) {}
    }

    /// A queue's realm refreshes on its queue, without a run loop (SEMANTICS 7, 61).
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

extension Seen {
    /// Appends what a collection's first call shows, or a change of its first element.
    fileprivate func append<C: RealmCollection>(_ label: String, _ change: RealmCollectionChange<C>) {
        switch change {
        case .initial: append("initial")
        case .update(_, [], [], [0]): append(label)
        case .update, .error: append("\(label): \(change)")
        }
    }
}
