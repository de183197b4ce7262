import Firn
import FirnTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct TransactionTests {
    struct Oops: Error {}

    /// A block that throws is rolled back, and its error is rethrown; a block that ends the transaction itself is not
    /// committed again (SEMANTICS 12). Cancelling invalidates what was added (SEMANTICS 13). `write` returns the
    /// block's value (SEMANTICS 14).
    @Test func aWriteWhoseBlockThrowsIsUndone() throws {
        let realm = try memoryRealm()
        let kept = Dog(1, "Rex")
        try realm.write { realm.add(kept) }
        let added = Dog(2, "Max")
        #expect(throws: Oops.self) {
            try realm.write {
                kept.name = "changed"
                realm.add(added)
                throw Oops()
            }
        }
        #expect(kept.name == "Rex" && added.isInvalidated && added.realm != nil && realm.objects(Dog.self).count == 1)
        #expect(try realm.write { 7 } == 7)
        try realm.write { realm.cancelWrite() }
        try realm.write { try realm.commitWrite() }
        #expect(!realm.isInWriteTransaction)
    }

    /// Cancelled objects stay invalid (SEMANTICS 13): they are never mistaken for what is made later, here, by
    /// another thread, or after an error.
    @Test(arguments: 0..<3) func objectsOfAnUndoneWriteRemainInvalid(_ end: Int) throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: "undone \(end)", objectTypes: [Dog.self, Person.self])
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(Dog(1, "Rex")) }
        let undone = [Dog(2, "Max"), Dog(3, "Lux")]
        let person = Person()
        if end == 0 {
            realm.beginWrite()
            realm.add(undone)
            realm.add(person)
            realm.cancelWrite()
        } else {
            #expect(throws: Oops.self) {
                try realm.write {
                    realm.add(undone)
                    realm.add(person)
                    throw Oops()
                }
            }
        }
        let dogs = person.dogs
        #expect(undone.allSatisfy(\.isInvalidated) && person.isInvalidated && dogs.isInvalidated)
        for round in 0..<3 {
            if end == 2 {
                try onAnotherThread("undone \(end)", types: [Dog.self, Person.self]) { other in
                    try other.write { other.add([Dog(10 + round, "other"), Dog(20 + round, "another")]) }
                }
                realm.refresh()
            } else {
                try realm.write { realm.add([Dog(10 + round, "other"), Dog(20 + round, "another")]) }
            }
            try realm.write { realm.add(Person()) }
            #expect(undone.allSatisfy(\.isInvalidated) && person.isInvalidated && dogs.isInvalidated)
            #expect(realm.objects(Dog.self).count == 3 + 2 * round)
            #expect(!realm.objects(Dog.self).contains { undone.contains($0) })
        }
    }

    /// Results show uncommitted changes of their own transaction at once (SEMANTICS 4).
    @Test func resultsShowTheirOwnRealmsUncommittedChanges() throws {
        let realm = try memoryRealm()
        let old = realm.objects(Dog.self).where { $0.age > 3 }
        realm.beginWrite()
        let dog = Dog(1, "Rex", age: 5)
        realm.add(dog)
        #expect(old.count == 1)
        dog.age = 2
        #expect(old.count == 0)
        dog.age = 6
        #expect(old.count == 1 && old.first == dog)
        realm.cancelWrite()
        #expect(old.count == 0 && realm.isEmpty)
    }

    /// `invalidate()` makes accessors invalid and results empty, and keeps the realm usable; a later write does not
    /// revive old accessors (SEMANTICS 10).
    @Test func invalidatingEndsAccessorsPermanentlyAndKeepsTheRealm() throws {
        let realm = try memoryRealm()
        let dog = Dog(1, "Rex")
        let ann = Person(value: ["name": "Ann", "dogs": [dog]])
        try realm.write { realm.add(ann) }
        let dogs = realm.objects(Dog.self)
        let (list, keepers) = (ann.dogs, dog.keepers)
        let results = [dogs, dogs.where { $0.age > 0 }, dogs.sorted(by: \.name), list.where { $0.age > 0 }]
        let sum = { (results: Results<Dog>) -> Int in results.sum(of: \.age) }
        #expect(results.allSatisfy { $0.count == 1 && !$0.isInvalidated && $0.first == dog && sum($0) == 1 })
        #expect(keepers.count == 1)
        realm.invalidate()
        for round in 0..<3 {
            #expect(dog.isInvalidated && list.isInvalidated && keepers.isInvalidated && keepers.isEmpty)
            #expect(keepers.thaw() == nil)
            let derived = results.map { $0.where { $0.age > 0 } } + [list.where { $0.age > 0 }, dogs.freeze()]
            for results in results + derived {
                #expect(results.isEmpty && results.first == nil && Array(results).isEmpty && sum(results) == 0)
                #expect(results.isInvalidated || results.isFrozen)
                if !results.isFrozen { #expect(results.index(of: realm.objects(Dog.self)[0]) == nil) }
            }
            let new = realm.objects(Dog.self)
            #expect(new.count == 1 && !new.isInvalidated && new.where { $0.age > 0 }.count == 1)
            try realm.write { new[0].age = 9 + round }
            #expect(new[0].age == 9 + round && realm.objects(Person.self)[0].dogs[0].keepers.count == 1)
        }
    }

    /// `invalidate()` undoes what the open transaction has changed, and ends it (SEMANTICS 10).
    @Test func invalidatingUndoesTheOpenTransaction() throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        let dog = Dog(1, "Rex", age: 3)
        try realm.write { realm.add(dog) }
        realm.beginWrite()
        dog.age = 4
        realm.add(Dog(2, "Max"))
        realm.invalidate()
        #expect(!realm.isInWriteTransaction && realm.objects(Dog.self).map(\.age) == [3])
        // The lock is free again.
        try addDog(3, to: name)
        try realm.write { realm.add(Dog(4, "Bo")) }
        #expect(realm.objects(Dog.self).map(\.id) == [1, 3, 4] && realm.objects(Dog.self)[0].age == 3)
    }

    /// Such an observer would never be called.
    @Test(arguments: 0..<4) func observingOrFreezingAnObjectFromBeforeAnInvalidateStops(what: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            @MainActor [what] in
            let realm = try memoryRealm()
            let ann = Person(value: ["dogs": [[1, "Rex"]]])
            try realm.write { realm.add(ann) }
            let (list, all) = (ann.dogs, realm.objects(Dog.self))
            let keepers = list[0].keepers
            realm.invalidate()
            switch what {
            case 0: _ = all.observe { _ in }
            case 1: _ = list.observe { _ in }
            case 2: _ = keepers.observe { _ in }
            default: _ = list.freeze()
            }
        }
        expectMessage(result, what == 3 ? "whose object is gone" : "whose realm was invalidated")
    }

    /// A loop sees what was there when it began (SEMANTICS 35).
    @Test func iterationVisitsTheElementsThatExistedWhenItBegan() throws {
        let realm = try memoryRealm()
        try realm.write { for id in 0..<1000 { realm.add(Dog(id, "n\(id)", age: id % 10)) } }
        var seen = 0
        try realm.write {
            for dog in realm.objects(Dog.self) {
                seen += 1
                if dog.id % 2 == 0 { realm.delete(dog) } else { dog.age += 100 }
                if seen < 50 { realm.add(Dog(10_000 + seen, "new")) }
            }
        }
        #expect(seen == 1000 && realm.objects(Dog.self).count == 549)
        let young = realm.objects(Dog.self).where { $0.age < 100 }
        try realm.write { for dog in young { dog.age = 200 } }
        #expect(young.count == 0)
    }

    /// A nested write stops (SEMANTICS 11).
    @Test func aNestedWriteStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            realm.beginWrite()
            realm.beginWrite()
        }
        expectMessage(result, "in a write transaction already")
    }

    /// So does committing without a transaction (SEMANTICS 11).
    @Test func committingWithoutATransactionStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try memoryRealm().commitWrite()
        }
        expectMessage(result, "commitWrite() without")
    }

    /// And so does cancelling without one (SEMANTICS 11).
    @Test func cancellingWithoutATransactionStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try memoryRealm().cancelWrite()
        }
        expectMessage(result, "cancelWrite() without")
    }

    @Test func writesOfManyThreadsAreAllKept() throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        #expect(realm.objects(Dog.self).count == 0)
        let group = DispatchGroup()
        for thread in 0..<4 {
            group.enter()
            Thread {
                defer { group.leave() }
                do {
                    let own = try memoryRealm([Dog.self, Person.self], name)
                    for number in 0..<50 { try own.write { own.add(Dog(thread * 1000 + number, "t")) } }
                } catch { Issue.record(error) }
            }.start()
        }
        try #require(group.wait(timeout: .testTimeout) == .success, "a thread hangs")
        // The version that was read first is shown until the realm advances (SEMANTICS 1).
        #expect(realm.objects(Dog.self).count == 0)
        #expect(realm.refresh())
        #expect(realm.objects(Dog.self).count == 200)
        #expect(realm.object(ofType: Dog.self, forPrimaryKey: 3049)?.name == "t")
    }

    /// Others' commits are seen only after the realm has advanced (SEMANTICS 1, 4).
    @Test func aRealmShowsOneVersionUntilItAdvances() throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        #expect(realm.objects(Dog.self).count == 0)
        try addDog(1, to: name)
        #expect(realm.objects(Dog.self).count == 0)
        #expect(realm.refresh() && !realm.refresh())
        #expect(realm.objects(Dog.self).count == 1)
    }

    /// A realm that has read nothing begins with what it is refreshed to, and not with its first read (SEMANTICS 1).
    @Test func refreshingARealmThatHasReadNothingBegins() throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        try addDog(1, to: name)
        #expect(realm.refresh() && !realm.refresh())
        try addDog(2, to: name)
        #expect(realm.objects(Dog.self).count == 1)
        #expect(realm.refresh() && realm.objects(Dog.self).count == 2)
        realm.invalidate()
        #expect(realm.refresh())
        try addDog(3, to: name)
        #expect(realm.objects(Dog.self).count == 2)
    }

    /// In a write transaction, `refresh()` does nothing and returns false (SEMANTICS 5): what is uncommitted is shown
    /// on.
    @Test func refreshingWithinAWriteDoesNothing() throws {
        let realm = try memoryRealm()
        realm.beginWrite()
        realm.add(Dog(1, "Rex"))
        #expect(!realm.refresh())
        #expect(realm.isInWriteTransaction && realm.objects(Dog.self).map(\.name) == ["Rex"])
        try realm.commitWrite()
        #expect(realm.objects(Dog.self).count == 1)
    }

    /// A read-only realm is neither refreshed (SEMANTICS 5) nor written (SEMANTICS 20).
    @Test(arguments: [true, false]) func refreshingOrWritingAReadOnlyRealmStops(refreshes: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [refreshes] in
            let folder = TemporaryFolder()
            var configuration = Realm.Configuration(
                fileURL: URL(filePath: folder.path + "/r.firn"), objectTypes: [Dog.self, Person.self])
            do { _ = try Realm(configuration: configuration) }
            configuration.readOnly = true
            let realm = try Realm(configuration: configuration)
            if refreshes { realm.refresh() } else { try realm.write {} }
        }
        expectMessage(
            result,
            refreshes
                ? "Firn: a realm that was opened read-only can't be refreshed" : "Firn: the realm was opened read-only")
    }

    /// What an invalidated realm begins to show is announced (SEMANTICS 46).
    @Test @MainActor func observersOfAnInvalidatedRealmAreTold() async throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        var calls = 0
        let token = realm.observe { _, _ in calls += 1 }
        realm.invalidate()
        try addDog(1, to: name)
        #expect(realm.refresh() && calls == 1)
        realm.invalidate()
        try addDog(2, to: name)
        // A read tells at the next turn.
        #expect(realm.objects(Dog.self).count == 2 && calls == 1)
        await wait { calls == 2 }
        realm.invalidate()
        #expect(await realm.asyncRefresh() && calls == 2)
        try addDog(3, to: name)
        #expect(realm.objects(Dog.self).count == 2)
        token.invalidate()
    }

    /// While `asyncRefresh()` waits, the actor may advance the realm, or begin to show: the caller is told, too.
    @Test @MainActor func anAwaitedRefreshCountsWhatTheActorAdvancesMeanwhile() async throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        let token = realm.observe { _, _ in }
        for id in 0..<100 {
            if id % 2 == 0 { realm.invalidate() }
            // Its turn comes before the actor goes on.
            try addDog(id, to: name)
            #expect(await realm.asyncRefresh() && realm.objects(Dog.self).count == id + 1)
            #expect(await !realm.asyncRefresh())
        }
        token.invalidate()
    }

    /// Adds a dog on another thread.
    private func addDog(_ id: Int, to name: String) throws {
        let thread = Thread {
            do {
                let own = try memoryRealm([Dog.self, Person.self], name)
                try own.write { own.add(Dog(id, "x")) }
            } catch { Issue.record(error) }
        }
        thread.start()
        let end = Date(timeIntervalSinceNow: Double(TestTimeout.seconds))
        while !thread.isFinished, Date() < end { usleep(1000) }
        try #require(thread.isFinished, "the thread hangs")
    }
}
