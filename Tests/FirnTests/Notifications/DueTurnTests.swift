import FirnCore
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// Every turn that falls into a transaction is due again when that has ended, however it ends; and an observer is told of everything after the call that made it.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct DueTurnTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private func open() throws -> Realm { try memoryRealm(types, name) }

    /// How a transaction ends without a successful commit.
    enum Ending: CaseIterable {
        case cancelled, invalidated
    }

    private func end(_ realm: Realm, _ ending: Ending) {
        switch ending {
        case .cancelled: realm.cancelWrite()
        case .invalidated: realm.invalidate()
        }
    }

    @Test(arguments: Ending.allCases)
    func theFirstCallComesAfterATransactionThatEndsWithoutACommit(_ ending: Ending) async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex")) }
        var told: [String] = []
        let token = realm.objects(Dog.self).observe { change in
            if case .initial(let dogs) = change { told.append("initial \(dogs.count)") }
        }
        realm.beginWrite()
        // The turn that would tell falls into the transaction.
        await turnOfTheMainQueue()
        #expect(told.isEmpty)
        end(realm, ending)
        await wait { !told.isEmpty }
        #expect(told == ["initial 1"])
        token.invalidate()
    }

    /// A limit on the length of files makes the commit fail, so this runs in a process of its own.
    @Test func theFirstCallComesAfterACommitThatFailed() async {
        await #expect(processExitsWith: .success) { try await failCommit() }
    }

    @Test(arguments: Ending.allCases)
    func anothersCommitIsToldAfterATransactionThatEndsWithoutACommit(_ ending: Ending) async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var told: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in
            if case .change(let dog, let properties) = change { told += properties.map { "\($0.name) \(dog.age)" } }
        }
        var changes = 0
        let realmToken = realm.observe { notification, _ in if notification == .didChange { changes += 1 } }
        await turnOfTheMainQueue()
        let before = changes

        // Written before the transaction begins on it, published while that runs.
        let store = realm.instance.store
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try store.beginWrite()
        other.set(binding.table, binding.column(age), 0, .int(9))
        let version = try other.write().number
        realm.beginWrite()
        try store.waitUntilPublished(version)
        await turnOfTheMainQueue()
        #expect(told.isEmpty && changes == before)
        end(realm, ending)
        await wait { !told.isEmpty }
        #expect(told == ["age 9"])
        #expect(changes == before + 1)
        token.invalidate()
        realmToken.invalidate()
    }

    /// Observers go on after `invalidate()`, with a collection that can be read.
    @Test func whatACollectionsObserverIsGivenAfterAnInvalidateCanBeRead() async throws {
        let realm = try open()
        try realm.write { realm.add(Person(value: ["name": "Ann", "dogs": [[1, "Rex"]]])) }
        var told: [String] = []
        func note<C: RealmCollection>(_ what: String, _ change: RealmCollectionChange<C>) {
            switch change {
            case .initial(let all):
                told.append("\(what) \(all.count) \(all.isInvalidated) \(Array(all).count)")
            case .update(let all, _, let insertions, _):
                told.append("\(what) \(all.count) \(all.isInvalidated) \(Array(all).count) \(insertions)")
            case .error(let error): Issue.record(error)
            }
        }
        let ann = realm.objects(Person.self)[0]
        let tokens = [
            ann.dogs.observe { note("list", $0) }, ann.numbers.observe { note("values", $0) },
            ann.dogs.where { $0.age > 0 }.observe { note("of list", $0) },
            ann.dogs[0].keepers.observe { note("backlinks", $0) },
            realm.objects(Dog.self).observe { note("all", $0) },
            realm.objects(Dog.self).sorted(by: \.name).observe { note("sorted", $0) },
        ]
        realm.invalidate()
        await wait { told.count == 6 }
        #expect(
            told == [
                "list 1 false 1", "values 0 false 0", "of list 1 false 1", "backlinks 1 false 1", "all 1 false 1",
                "sorted 1 false 1",
            ])
        for round in 1...2 {
            told = []
            realm.invalidate()
            try onAnotherThread(name, types) { other in
                try other.write {
                    let ann = other.objects(Person.self)[0]
                    ann.dogs.append(objectsIn: [Dog(1 + round, "Max"), ann.dogs[0]])
                    ann.numbers.append(7)
                }
            }
            await wait { told.count == 6 }
            let (dogs, all) = (1 + 2 * round, 1 + round)
            #expect(
                told == [
                    "list \(dogs) false \(dogs) [\(dogs - 2), \(dogs - 1)]",
                    "values \(round) false \(round) [\(round - 1)]",
                    "of list \(dogs) false \(dogs) [\(dogs - 2), \(dogs - 1)]",
                    "backlinks \(1 + round) false \(1 + round) [\(round)]", "all \(all) false \(all) [\(all - 1)]",
                    "sorted \(all) false \(all) [\(round == 1 ? 0 : 1)]",
                ])
        }
        withExtendedLifetime(tokens) {}
    }

    @Test func observersBehindOneThatBeginsAWriteAreToldWhenItEnds() async throws {
        let realm = try open()
        var told: [String] = []
        let first = realm.objects(Dog.self).observe { _ in
            told.append("first")
            if told.count == 1 { realm.beginWrite() }
        }
        let second = realm.objects(Dog.self).observe { _ in told.append("second") }
        await wait { !told.isEmpty }
        await turnOfTheMainQueue()
        #expect(told == ["first"] && realm.isInWriteTransaction)
        realm.cancelWrite()
        await wait { told.count == 2 }
        #expect(told == ["first", "second"])
        first.invalidate()
        second.invalidate()
    }

    @Test func beginningAWriteWhereADueObserverLeftOneOpenStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { @MainActor in
            // Were it to wait for itself, the test would end without the message.
            alarm(UInt32(Patience.seconds))
            let name = UUID().uuidString
            let types: [ObjectBase.Type] = [Dog.self, Person.self]
            let realm = try memoryRealm(types, name)
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            let token = dog.observe { (_: ObjectChange<Dog>) in realm.beginWrite() }
            try onAnotherThread(name, types) { other in try other.write { other.objects(Dog.self)[0].age = 7 } }
            realm.beginWrite()
            token.invalidate()
        }
        expectMessage(result, "in a write transaction already")
    }

    /// A realm never goes back: what a transaction began on stays shown when it is cancelled.
    @Test(arguments: Ending.allCases)
    func aCancelledWriteNeverShowsLessThanItBeganOn(_ ending: Ending) async throws {
        let realm = try open()
        let dog = Dog(1, "Rex", age: 9)
        try realm.write { realm.add(dog) }
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try realm.instance.store.beginWrite()
        other.set(binding.table, binding.column(age), 0, .int(10))
        _ = try other.write()
        realm.beginWrite()
        let shown = realm.objects(Dog.self)[0].age
        end(realm, ending)
        #expect(shown == 10 && realm.objects(Dog.self)[0].age == 10)
    }

    @Test func aQueuesObserverIsToldOfEachAssignmentSinceTheCallReturned() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex", age: 3)
        try realm.write { realm.add(dog) }
        let queue = DispatchQueue(label: "observer")
        let told = Told()
        queue.suspend()
        let token = dog.observe(on: queue) { (change: ObjectChange<Dog>) in
            if case .change(_, let properties) = change { told.append(properties.map(\.name).joined(separator: " ")) }
        }
        // Values stay equal: only the notes know.
        try realm.write { dog.age = 3 }
        try realm.write { dog.name = "Max" }
        try realm.write { dog.name = "Rex" }
        queue.resume()
        await wait { !told.all.isEmpty }
        #expect(told.all == ["name age"])
        token.invalidate()
    }

    @Test func aTokenThatIsInvalidatedWhileItsQueueIsSuspendedIsNeverTold() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let queue = DispatchQueue(label: "observer")
        let told = Told()
        // One is invalidated before the queue has heard of it, one when it is about to be told.
        queue.suspend()
        let early = dog.observe(on: queue) { (_: ObjectChange<Dog>) in told.append("early") }
        let late = dog.observe(on: queue) { (_: ObjectChange<Dog>) in told.append("late") }
        let kept = dog.observe(on: queue) { (_: ObjectChange<Dog>) in told.append("kept") }
        early.invalidate()
        queue.resume()
        queue.sync {}
        queue.suspend()
        try realm.write { dog.age = 2 }
        late.invalidate()
        queue.resume()
        await wait { !told.all.isEmpty }
        // What the same turn had to tell has been told when the queue is through.
        queue.sync {}
        #expect(told.all == ["kept"])
        kept.invalidate()
    }

    @Test func anObserverThatAnotherInvalidatesInTheSameTurnIsNotTold() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var told: [String] = []
        var second: NotificationToken?
        var realmToken: NotificationToken?
        var realmCalls = 0
        let invalidating = realm.observe { _, _ in realmToken?.invalidate() }
        realmToken = realm.observe { _, _ in realmCalls += 1 }
        let first = dog.observe { (_: ObjectChange<Dog>) in
            told.append("first")
            second?.invalidate()
        }
        second = dog.observe { (_: ObjectChange<Dog>) in told.append("second") }
        let third = dog.observe { (_: ObjectChange<Dog>) in told.append("third") }
        try realm.write { dog.age = 2 }
        await wait { told.contains("third") }
        #expect(told == ["first", "third"] && realmCalls == 0)
        for token in [invalidating, first, third] { token.invalidate() }
    }

    @Test func norIsItToldAtFirst() async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex")) }
        let dogs = realm.objects(Dog.self)
        var told: [String] = []
        var second: NotificationToken?
        let first = dogs.observe { _ in
            told.append("first")
            second?.invalidate()
        }
        second = dogs.observe { _ in told.append("second") }
        let third = dogs.observe { _ in told.append("third") }
        await wait { told.contains("third") }
        #expect(told == ["first", "third"])
        for token in [first, third] { token.invalidate() }
    }
}

/// What was told on another queue, guarded by its lock.
private final class Told: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    func append(_ line: String) { lock.withLock { lines.append(line) } }
    var all: [String] { lock.withLock { lines } }
}

private func limitFileLength() {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit(rlim_cur: 1, rlim_max: 1)
    #if canImport(Glibc)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
    #else
        #expect(setrlimit(RLIMIT_FSIZE, &limit) == 0)
    #endif
}

@MainActor
private func failCommit() async throws {
    let folder = TemporaryFolder()
    let realm = try Realm(
        configuration: .init(
            fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self]))
    try realm.write { realm.add(Dog(1, "Rex")) }
    var told: [String] = []
    let token = realm.objects(Dog.self).observe { change in
        if case .initial(let dogs) = change { told.append("initial \(dogs.count)") }
    }
    realm.beginWrite()
    await turnOfTheMainQueue()
    #expect(told.isEmpty)
    realm.add(Dog(2, "Max"))
    limitFileLength()
    #expect(throws: Realm.Error.self) { try realm.commitWrite() }
    await wait { !told.isEmpty }
    #expect(told == ["initial 1"])
    token.invalidate()
}

/// Returns when the main queue has run what was scheduled before.
@MainActor
private func turnOfTheMainQueue() async {
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
}
