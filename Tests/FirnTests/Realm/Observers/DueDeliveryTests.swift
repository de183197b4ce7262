import FirnCore
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// A delivery that falls into a transaction is due again when the transaction ends, however it ends. An observer is
/// shown everything after the call that made it.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct DueDeliveryTests {
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
    func theInitialCallComesAfterATransactionThatEndsWithoutACommit(_ ending: Ending) async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex")) }
        var received: [String] = []
        realm.beginWrite()
        let token = realm.objects(Dog.self).observe { change in
            if case .initial(let dogs) = change { received.append("initial \(dogs.count)") }
        }
        // The turn that would call the observer falls into the transaction.
        await turnOfTheMainQueue()
        #expect(received.isEmpty)
        end(realm, ending)
        await wait { !received.isEmpty }
        #expect(received == ["initial 1"])
        token.invalidate()
    }

    /// A limit on the length of files makes the commit fail, so this runs in its own process.
    @Test func theInitialCallComesAfterAFailedCommit() async {
        await #expect(processExitsWith: .success) { try await failCommit() }
    }

    @Test(arguments: Ending.allCases)
    func anotherRealmsCommitIsDeliveredAfterATransactionThatEndsWithoutACommit(_ ending: Ending) async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var received: [String] = []
        let token = dog.observe { (change: ObjectChange<Dog>) in
            if case .change(let dog, let properties) = change { received += properties.map { "\($0.name) \(dog.age)" } }
        }
        var changes = 0
        let realmToken = realm.observe { notification, _ in if notification == .didChange { changes += 1 } }
        await turnOfTheMainQueue()
        let before = changes

        // This version is written before the transaction begins on it, and published while the transaction runs.
        let store = realm.instance.store
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try store.beginWrite()
        other.set(binding.table, column: binding.column(age), key: 0, to: .int(9))
        let version = try other.commitWithoutWaiting().number
        realm.beginWrite()
        try store.waitUntilPublished(version)
        await turnOfTheMainQueue()
        #expect(received.isEmpty && changes == before)
        end(realm, ending)
        await wait { !received.isEmpty }
        #expect(received == ["age 9"])
        #expect(changes == before + 1)
        token.invalidate()
        realmToken.invalidate()
    }

    /// A block is shown what others wrote before the realm's own write that is hidden from it. What is frozen there is
    /// of that version, and what is frozen afterwards of the realm's.
    @Test func aFreezeInABlockThatIsShownAnEarlierVersionIsOfThatVersion() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var ages: [Int] = []
        let token = dog.observe { (_: ObjectChange<Dog>) in ages += [dog.age, realm.freeze().objects(Dog.self)[0].age] }
        await turnOfTheMainQueue()
        // This version is written before the transaction begins on it, and published with the transaction's.
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try realm.instance.store.beginWrite()
        other.set(binding.table, column: binding.column(age), key: 0, to: .int(9))
        _ = try other.commitWithoutWaiting()
        try realm.write(withoutNotifying: [token]) { dog.age += 1 }
        #expect(ages == [9, 9])
        #expect(dog.age == 10 && realm.freeze().objects(Dog.self)[0].age == 10)
        await turnOfTheMainQueue()
        #expect(ages == [9, 9])
        token.invalidate()
    }

    /// Observers continue after `invalidate()`, and get a collection that can be read.
    @Test func aCollectionThatIsDeliveredAfterAnInvalidateCanBeRead() async throws {
        let realm = try open()
        try realm.write { realm.add(Person(value: ["name": "Ann", "dogs": [[1, "Rex"]]])) }
        var received: [String] = []
        func note<C: RealmCollection>(_ what: String, _ change: RealmCollectionChange<C>) {
            switch change {
            case .initial(let all):
                received.append("\(what) \(all.count) \(all.isInvalidated) \(Array(all).count)")
            case .update(let all, _, let insertions, _):
                received.append("\(what) \(all.count) \(all.isInvalidated) \(Array(all).count) \(insertions)")
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
        await wait { received.count == 6 }
        #expect(
            received == [
                "list 1 false 1", "values 0 false 0", "of list 1 false 1", "backlinks 1 false 1", "all 1 false 1",
                "sorted 1 false 1",
            ])
        for round in 1...2 {
            received = []
            realm.invalidate()
            try onAnotherThread(name, types: types) { other in
                try other.write {
                    let ann = other.objects(Person.self)[0]
                    ann.dogs.append(objectsIn: [Dog(1 + round, "Max"), ann.dogs[0]])
                    ann.numbers.append(7)
                }
            }
            await wait { received.count == 6 }
            let (dogs, all) = (1 + 2 * round, 1 + round)
            #expect(
                received == [
                    "list \(dogs) false \(dogs) [\(dogs - 2), \(dogs - 1)]",
                    "values \(round) false \(round) [\(round - 1)]",
                    "of list \(dogs) false \(dogs) [\(dogs - 2), \(dogs - 1)]",
                    "backlinks \(1 + round) false \(1 + round) [\(round)]", "all \(all) false \(all) [\(all - 1)]",
                    "sorted \(all) false \(all) [\(round == 1 ? 0 : 1)]",
                ])
        }
        withExtendedLifetime(tokens) {}
    }

    /// A write that a block begins shows the other observers what is due, and the one whose block runs later.
    @Test func aWriteInABlockShowsTheOtherObserversWhatIsDue() async throws {
        let realm = try open()
        var received: [String] = []
        let first = realm.objects(Dog.self).observe { _ in
            received.append("first")
            if received.count == 1 { realm.beginWrite() }
        }
        let second = realm.objects(Dog.self).observe { _ in received.append("second") }
        await wait { !received.isEmpty }
        await turnOfTheMainQueue()
        #expect(received == ["first", "second"] && realm.isInWriteTransaction)
        realm.cancelWrite()
        await turnOfTheMainQueue()
        #expect(received == ["first", "second"])
        first.invalidate()
        second.invalidate()
    }

    /// The realm's own next write makes the first calls that are due, before it begins, so that its changes follow as
    /// an update (SEMANTICS 51, 94): however it is made, and for the other observers of one whose block writes.
    @Test(arguments: ["write", "invalidated", "beginWrite", "writeAsync", "asyncWrite", "in a block"])
    func theInitialCallComesBeforeTheRealmsNextWrite(_ kind: String) async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(0, "Rex")) }
        var received: [String] = []
        func note(_ name: String, _ change: RealmCollectionChange<Results<Dog>>) {
            switch change {
            case .initial(let dogs): received.append("\(name) initial \(dogs.count)")
            case .update(_, _, let insertions, _): received.append("\(name) \(insertions)")
            case .error(let error): Issue.record(error)
            }
        }
        let dogs = realm.objects(Dog.self)
        let first = dogs.observe { change in
            note("first", change)
            guard kind == "in a block", case .initial = change else { return }
            do { try realm.write { realm.add(Dog(1, "Max")) } } catch { Issue.record(error) }
        }
        let second = dogs.observe { note("second", $0) }
        // An object has no first call.
        let object = dogs[0].observe { (_: ObjectChange<Dog>) in received.append("object") }
        switch kind {
        case "write": try realm.write { realm.add(Dog(1, "Max")) }
        case "invalidated":
            realm.invalidate()
            try realm.write { realm.add(Dog(1, "Max")) }
        case "beginWrite":
            realm.beginWrite()
            #expect(received == ["first initial 1", "second initial 1"])
            realm.add(Dog(1, "Max"))
            try realm.commitWrite()
        case "writeAsync":
            realm.writeAsync { realm.add(Dog(1, "Max")) }
            await wait { received.count == 4 }
        case "asyncWrite":
            try await realm.asyncWrite { realm.add(Dog(1, "Max")) }
            // The write has called the actor's observers.
            #expect(received.count == 4)
        default: break
        }
        await wait { received.count == 4 }
        await turnOfTheMainQueue()
        // The block that has written is called last.
        let last = kind == "in a block" ? ["second [1]", "first [1]"] : ["first [1]", "second [1]"]
        #expect(received == ["first initial 1", "second initial 1"] + last)
        for token in [first, second, object] { token.invalidate() }
    }

    /// A write shows its realm's observers what is due before it begins (SEMANTICS 8, 94).
    @Test func beginningAWriteStopsIfADueObserverLeftOneOpen() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { @MainActor in
            // If it waited for itself, the test would end without the message.
            alarm(UInt32(TestTimeout.seconds))
            let name = UUID().uuidString
            let types: [ObjectBase.Type] = [Dog.self, Person.self]
            let realm = try memoryRealm(types, name)
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            let token = dog.observe { (_: ObjectChange<Dog>) in realm.beginWrite() }
            try onAnotherThread(name, types: types) { other in try other.write { other.objects(Dog.self)[0].age = 7 } }
            realm.beginWrite()
            token.invalidate()
        }
        expectMessage(result, "in a write transaction already")
    }

    /// A realm never goes back: after a cancelled transaction it still shows the version that the transaction began
    /// from.
    @Test(arguments: Ending.allCases)
    func aCancelledWriteNeverShowsAnOlderVersionThanItBeganWith(_ ending: Ending) async throws {
        let realm = try open()
        let dog = Dog(1, "Rex", age: 9)
        try realm.write { realm.add(dog) }
        let binding = realm.instance.binding(of: Dog.self)
        let age = try #require(binding.info.stored.first { $0.name == "age" })
        let other = try realm.instance.store.beginWrite()
        other.set(binding.table, column: binding.column(age), key: 0, to: .int(10))
        _ = try other.commitWithoutWaiting()
        realm.beginWrite()
        let shown = realm.objects(Dog.self)[0].age
        end(realm, ending)
        #expect(shown == 10 && realm.objects(Dog.self)[0].age == 10)
    }

    @Test func anObserverOnAQueueGetsEveryAssignmentSinceObserveReturned() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex", age: 3)
        try realm.write { realm.add(dog) }
        let queue = DispatchQueue(label: "observer")
        let received = Received()
        queue.suspend()
        let token = dog.observe(on: queue) { (change: ObjectChange<Dog>) in
            if case .change(_, let properties) = change {
                received.append(properties.map(\.name).joined(separator: " "))
            }
        }
        // Values stay equal, so only the change summaries show the assignments.
        try realm.write { dog.age = 3 }
        try realm.write { dog.name = "Max" }
        try realm.write { dog.name = "Rex" }
        queue.resume()
        await wait { !received.all.isEmpty }
        #expect(received.all == ["name age"])
        token.invalidate()
    }

    /// Invalidating a token suppresses the calls that are due (SEMANTICS 62).
    @Test func aTokenThatIsInvalidatedWhileItsQueueIsSuspendedIsNeverNotified() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let queue = DispatchQueue(label: "observer")
        let received = Received()
        // One token is invalidated before the queue has seen it, one when it is about to be called.
        queue.suspend()
        let early = dog.observe(on: queue) { (_: ObjectChange<Dog>) in received.append("early") }
        let late = dog.observe(on: queue) { (_: ObjectChange<Dog>) in received.append("late") }
        let kept = dog.observe(on: queue) { (_: ObjectChange<Dog>) in received.append("kept") }
        early.invalidate()
        queue.resume()
        queue.sync {}
        queue.suspend()
        try realm.write { dog.age = 2 }
        late.invalidate()
        queue.resume()
        await wait { !received.all.isEmpty }
        // When the queue is done, everything that the same turn had to deliver was delivered.
        queue.sync {}
        #expect(received.all == ["kept"])
        kept.invalidate()
    }

    @Test func anObserverThatAnotherInvalidatesInTheSameTurnIsNotNotified() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var received: [String] = []
        var second: NotificationToken?
        var realmToken: NotificationToken?
        var realmCalls = 0
        let invalidating = realm.observe { _, _ in realmToken?.invalidate() }
        realmToken = realm.observe { _, _ in realmCalls += 1 }
        let first = dog.observe { (_: ObjectChange<Dog>) in
            received.append("first")
            second?.invalidate()
        }
        second = dog.observe { (_: ObjectChange<Dog>) in received.append("second") }
        let third = dog.observe { (_: ObjectChange<Dog>) in received.append("third") }
        try realm.write { dog.age = 2 }
        await wait { received.contains("third") }
        #expect(received == ["first", "third"] && realmCalls == 0)
        for token in [invalidating, first, third] { token.invalidate() }
    }

    @Test func anObserverThatAnotherInvalidatesGetsNoInitialCall() async throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex")) }
        let dogs = realm.objects(Dog.self)
        var received: [String] = []
        var second: NotificationToken?
        let first = dogs.observe { _ in
            received.append("first")
            second?.invalidate()
        }
        second = dogs.observe { _ in received.append("second") }
        let third = dogs.observe { _ in received.append("third") }
        await wait { received.contains("third") }
        #expect(received == ["first", "third"])
        for token in [first, third] { token.invalidate() }
    }
}

/// What was received on another queue, guarded by the lock.
private final class Received: @unchecked Sendable {
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
    let realm = try await Realm(
        configuration: .init(
            fileURL: URL(fileURLWithPath: folder.path + "/store"), objectTypes: [Dog.self, Person.self]))
    try realm.write { realm.add(Dog(1, "Rex")) }
    var received: [String] = []
    realm.beginWrite()
    let token = realm.objects(Dog.self).observe { change in
        if case .initial(let dogs) = change { received.append("initial \(dogs.count)") }
    }
    await turnOfTheMainQueue()
    #expect(received.isEmpty)
    realm.add(Dog(2, "Max"))
    limitFileLength()
    #expect(throws: Realm.Error.self) { try realm.commitWrite() }
    await wait { !received.isEmpty }
    #expect(received == ["initial 1"])
    token.invalidate()
}

/// Returns when the main queue has run everything that was scheduled before.
@MainActor
private func turnOfTheMainQueue() async {
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
}
