import FirnCore
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// `writeAsync`, `beginAsyncWrite`, `commitAsyncWrite`, `cancelAsyncWrite` (R16; SEMANTICS 16 to 18).
@MainActor @Suite(.timeLimit(.minutes(20))) struct AsyncWriteTests {
    private let name = UUID().uuidString
    nonisolated fileprivate static let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private func realm() throws -> Realm { try memoryRealm(Self.types, name) }

    /// Waits until a realm has nothing asynchronous to do any more.
    private func finish(_ realm: Realm) async {
        await wait { !realm.isPerformingAsynchronousWriteOperations }
        #expect(!realm.isPerformingAsynchronousWriteOperations && !realm.isInWriteTransaction)
    }

    @Test func blocksRunOneAtATimeInTheirOrder() async throws {
        let realm = try realm()
        var order: [String] = []
        for id in 0..<10 {
            realm.writeAsync {
                dispatchPrecondition(condition: .onQueue(.main))
                #expect(realm.isInWriteTransaction)
                #expect(realm.objects(Dog.self).count == id)
                realm.add(Dog(id, "Rex"))
                order.append("block \(id)")
                if id == 3 { realm.writeAsync { order.append("nested") } }
            } onComplete: { error in
                dispatchPrecondition(condition: .onQueue(.main))
                #expect(error == nil && !realm.isInWriteTransaction)
                order.append("end \(id)")
            }
        }
        #expect(order.isEmpty && realm.isPerformingAsynchronousWriteOperations && realm.objects(Dog.self).isEmpty)
        await finish(realm)
        #expect(order.filter { $0.hasPrefix("block") } == (0..<10).map { "block \($0)" })
        #expect(order.filter { $0.hasPrefix("end") } == (0..<10).map { "end \($0)" })
        #expect(order.contains("nested") && order.firstIndex(of: "nested")! > order.firstIndex(of: "block 9")!)
        #expect(realm.objects(Dog.self).count == 10)
    }

    /// It goes ahead of what waits, on the same realm and on another one of the thread, and what waits runs afterwards.
    @Test func aSynchronousWriteGoesAhead() async throws {
        let realm = try realm()
        let other = try memoryRealm([Person.self, Dog.self, Box.self], name)
        var order: [String] = []
        realm.writeAsync { order.append("async 1") }
        other.writeAsync { order.append("other's async") }
        realm.writeAsync { order.append("async 2") }
        try other.write { order.append("other") }
        try realm.write { order.append("own") }
        // The lock has arrived by now; the turn has not.
        pause()
        realm.beginWrite()
        order.append("open")
        await mainQueueIsThrough()
        await mainQueueIsThrough()
        #expect(order == ["other", "own", "open"])
        try realm.commitWrite()
        await finish(realm)
        await finish(other)
        #expect(order.count == 6 && Array(order.filter { $0.hasPrefix("async") }) == ["async 1", "async 2"])
    }

    /// Blocks the main thread.
    private func pause() { Thread.sleep(forTimeInterval: 0.02) }

    @Test func otherThreadsAreWaitedFor() async throws {
        let realm = try realm()
        let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        DispatchQueue.global().async { [name] in
            try? onAnotherThread(name, types: Self.types) { other in
                try other.write {
                    isHeld.signal()
                    mayEnd.wait()
                    other.add(Dog(1, "first"))
                }
            }
        }
        await Task.detached { isHeld.waitForTest() }.value
        var seen: [Int] = []
        realm.writeAsync { seen.append(realm.objects(Dog.self).count) }
        for _ in 0..<5 { await mainQueueIsThrough() }
        #expect(seen.isEmpty)
        mayEnd.signal()
        await finish(realm)
        #expect(seen == [1])
    }

    @Test func aBlockThatDoesNotCommitIsUndone() async throws {
        let realm = try realm()
        var error: (any Error)?
        var isDone = false
        let dog = Dog(1, "undone")
        realm.beginAsyncWrite { realm.add(dog) }
        realm.beginAsyncWrite {
            realm.add(Dog(2, "asynchronous"))
            realm.commitAsyncWrite {
                error = $0; isDone = true
            }
            #expect(!realm.isInWriteTransaction && realm.objects(Dog.self).count == 1)
        }
        realm.beginAsyncWrite {
            realm.add(Dog(3, "synchronous"))
            #expect(throws: Never.self) { try realm.commitWrite() }
        }
        realm.beginAsyncWrite {
            realm.add(Dog(4, "cancelled"))
            realm.cancelWrite()
        }
        await finish(realm)
        #expect(realm.objects(Dog.self).map(\.id) == [2, 3] && dog.isInvalidated && isDone && error == nil)
    }

    /// The realm shows it at once; others, observers and frozen things when it is durable.
    @Test func anAsynchronousCommitIsShownByItsRealmAtOnce() async throws {
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(
            fileURL: URL(filePath: folder.path + "/a.firn"), objectTypes: Self.types)
        let realm = try Realm(configuration: configuration, queue: nil)
        let other = try memoryRealmOf(folder, [Dog.self, Person.self, Box.self])
        var (notifications, changes) = (0, [String]())
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let tokens = [
            realm.observe { _, _ in notifications += 1 },
            dog.observe { (change: ObjectChange<Dog>) in
                if case .change(_, let properties) = change {
                    changes += properties.map { "\($0.name) \($0.oldValue ?? "nil") \($0.newValue ?? "nil")" }
                }
            },
        ]
        other.refresh()
        await waitForDeliveries(of: realm)
        notifications = 0
        // Nobody waits for this commit, so the disk is not asked.
        realm.beginWrite()
        dog.age = 5
        let version = try realm.instance.commitWithoutWaiting().version
        #expect(dog.age == 5 && realm.isPerformingAsynchronousWriteOperations)
        realm.refresh()
        other.refresh()
        await mainQueueIsThrough()
        #expect(dog.age == 5 && other.objects(Dog.self)[0].age == 1 && notifications == 0 && changes.isEmpty)
        realm.invalidate()
        #expect(realm.objects(Dog.self)[0].age == 5)
        // A transaction begins from it, and a cancelled one ends there.
        realm.beginWrite()
        realm.objects(Dog.self)[0].age = 6
        let next = try realm.instance.commitWithoutWaiting().version
        #expect(next == version + 1 && realm.objects(Dog.self)[0].age == 6)
        // What is frozen is durable.
        let frozen = realm.objects(Dog.self)[0].freeze()
        #expect(realm.instance.store.publishedVersion == next && frozen.age == 6)
        #expect(!realm.isPerformingAsynchronousWriteOperations)
        other.refresh()
        #expect(other.objects(Dog.self)[0].age == 6)
        await wait { notifications > 0 && !changes.isEmpty }
        #expect(notifications == 1 && changes == ["age nil 6"])
        for token in tokens { token.invalidate() }
    }

    private func memoryRealmOf(_ folder: TemporaryFolder, _ types: [ObjectBase.Type]) throws -> Realm {
        try Realm(
            configuration: .init(fileURL: URL(filePath: folder.path + "/a.firn"), objectTypes: types), queue: nil)
    }

    @Test func commitsAreDurableWhenTheirBlocksAreCalled() async throws {
        let folder = TemporaryFolder()
        let realm = try memoryRealmOf(folder, Self.types)
        var ended: [Int] = []
        for id in 0..<50 {
            realm.beginWrite()
            realm.add(Dog(id, "Rex"))
            realm.commitAsyncWrite(allowGrouping: id % 2 == 0) { error in
                #expect(error == nil)
                ended.append(id)
                let published = realm.freeze().objects(Dog.self).count
                #expect(published > id)
            }
            #expect(realm.objects(Dog.self).count == id + 1)
        }
        await finish(realm)
        #expect(ended == Array(0..<50))
    }

    @MainActor private final class Waiting { var isOn = true }

    /// While it waits, the thread is free: nobody asks the disk for this commit but the waiting itself.
    @Test func freezingIsAwaited() async throws {
        let folder = TemporaryFolder()
        let realm = try memoryRealmOf(folder, Self.types)
        let before = realm.version
        realm.beginWrite()
        realm.add(Dog(1, "Rex"))
        #expect(realm.version == before)
        let version = try realm.instance.commitWithoutWaiting().version
        #expect(realm.version == version && version == before + 1 && realm.isPerformingAsynchronousWriteOperations)
        let waiting = Waiting()
        let other = Task { @MainActor in #expect(waiting.isOn) }
        let frozen = await realm.asyncFreeze()
        waiting.isOn = false
        await other.value
        #expect(frozen.isFrozen && frozen.version == version && frozen.objects(Dog.self).count == 1)
        #expect(realm.instance.store.publishedVersion == version)
        let again = await [realm.asyncFreeze(), frozen.asyncFreeze()]
        #expect(again == [frozen, frozen])
        try realm.write { realm.deleteAll() }
        #expect(realm.version == version + 1 && frozen.version == version)
        #expect(try realm.asOf(version: frozen.version) == frozen)
        await finish(realm)
    }

    /// What other tasks of the actor do meanwhile is neither waited for nor frozen.
    @Test func freezingWaitsForNoLaterCommit() async throws {
        let folder = TemporaryFolder()
        let realm = try memoryRealmOf(folder, Self.types)
        realm.beginWrite()
        realm.add(Dog(1, "Rex"))
        let version = try realm.instance.commitWithoutWaiting().version
        let waiting = Waiting()
        let freezing = Task { @MainActor in
            waiting.isOn = false
            return Frozen(await realm.asyncFreeze())
        }
        while waiting.isOn { await Task.yield() }
        // It goes on only when this task suspends.
        try realm.instance.store.waitUntilPublished(version)
        realm.beginWrite()
        realm.add(Dog(2, "Ada"))
        let frozen = await freezing.value.value
        #expect(frozen.version == version && frozen.objects(Dog.self).count == 1)
        #expect(realm.isInWriteTransaction && realm.objects(Dog.self).count == 2)
        realm.cancelWrite()
        #expect(realm.freeze() == frozen)
        await finish(realm)
    }

    /// A realm shows a commit that fails no more, also if it fails while an observer is shown an older version.
    @Test(arguments: [false, true]) func aCommitThatTheDiskRefusesIsShownNoMore(whileShowingOlder: Bool) async throws {
        let storage = SimulatedStorage(seed: 1)
        let configuration = Realm.Configuration(
            fileURL: URL(filePath: "/refused-\(UUID().uuidString).firn"), objectTypes: Self.types)
        let realm = try SharedStore.$storage.withValue(storage) { try Realm(configuration: configuration, queue: nil) }
        try realm.write { realm.add(Dog(1, "Rex")) }
        let durable = realm.instance.shownPin.again(at: CallSite(#fileID, #line))
        realm.beginWrite()
        realm.add(Dog(2, "Ada"))
        storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .sync })
        #expect(try realm.instance.commitWithoutWaiting().version == durable.version + 1)
        #expect(realm.objects(Dog.self).count == 2)
        if whileShowingOlder {
            realm.instance.showing(durable) { #expect(realm.freeze().objects(Dog.self).count == 1) }
        } else {
            let frozen = await realm.asyncFreeze()
            #expect(frozen.version == durable.version && frozen.objects(Dog.self).count == 1)
        }
        #expect(storage.faultCount == 1)
        await mainQueueIsThrough()
        #expect(realm.version == durable.version && realm.objects(Dog.self).count == 1)
        #expect(realm.freeze().version == durable.version)
        let error = #expect(throws: Realm.Error.self) { try realm.write {} }
        #expect(error?.code == .writeFailed)
    }

    /// Also if the log's thread has not told yet of the commits before.
    @Test func commitsEndInTheirOrder() async throws {
        let storage = SimulatedStorage(seed: 1)
        let configuration = Realm.Configuration(
            fileURL: URL(filePath: "/order-\(UUID().uuidString).firn"), objectTypes: Self.types)
        let realm = try SharedStore.$storage.withValue(storage) { try Realm(configuration: configuration, queue: nil) }
        // Holds the log's thread.
        let gate = DispatchSemaphore(value: 0)
        realm.beginWrite()
        let held = try realm.instance.commitWithoutWaiting().version
        realm.instance.store.whenPublished(held) { _ in gate.wait() }
        var ended: [String] = []
        realm.beginWrite()
        realm.add(Dog(1, "Rex"))
        realm.commitAsyncWrite { _ in ended.append("first") }
        // The disk refuses the second one at once. It ends after the first one all the same.
        storage.inject(SimulatedFault(.io, residue: .nothing) { $0.operation == .write })
        realm.beginWrite()
        realm.add(Dog(2, "Ada"))
        realm.commitAsyncWrite { _ in ended.append("second") }
        await mainQueueIsThrough()
        // The first one may have become durable with the commit that is held, and then it may have ended.
        #expect(storage.faultCount == 1 && ended.first != "second")
        gate.signal()
        await finish(realm)
        #expect(ended == ["first", "second"])
    }

    @Test func whatIsCancelledIsNotCalled() async throws {
        let realm = try realm()
        var calls: [String] = []
        let first = realm.writeAsync {
            calls.append("first")
        } onComplete: { _ in
            calls.append("first's end")
        }
        let second = realm.beginAsyncWrite { calls.append("second") }
        try realm.cancelAsyncWrite(first)
        try realm.cancelAsyncWrite(second)
        try realm.cancelAsyncWrite(second)
        try realm.cancelAsyncWrite(4711)
        #expect(!realm.isPerformingAsynchronousWriteOperations)
        realm.beginWrite()
        realm.add(Dog(1, "Rex"))
        let commit = realm.commitAsyncWrite { _ in calls.append("commit") }
        try realm.cancelAsyncWrite(commit)
        var third: AsyncTransactionId = 0
        third = realm.writeAsync {
            #expect(throws: Never.self) { try realm.cancelAsyncWrite(third) }
            calls.append("third")
        }
        await finish(realm)
        await mainQueueIsThrough()
        #expect(calls == ["third"] && realm.objects(Dog.self).count == 1)
        // Nobody has the lock.
        try realm.write {}
    }

    @Test func errorsArePassedOn() async throws {
        var configuration = Realm.Configuration(inMemoryIdentifier: name, objectTypes: Self.types)
        configuration.maximumNumberOfActiveVersions = 2
        let realm = try Realm(configuration: configuration, queue: nil)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var held: [Dog] = []
        for age in 2...4 where age < 4 {
            held.append(dog.freeze())
            try realm.write { dog.age = age }
        }
        var errors: [(any Error)?] = []
        realm.writeAsync {
            Issue.record("it can't begin")
        } onComplete: {
            errors.append($0)
        }
        await finish(realm)
        #expect(errors.count == 1 && (errors[0] as? Realm.Error)?.code == .tooManyActiveVersions)
        held = []
        realm.writeAsync {
            dog.age = 9
        } onComplete: {
            errors.append($0)
        }
        await finish(realm)
        #expect(errors.count == 2 && errors[1] == nil && dog.age == 9)
    }

    /// `Realm` values, objects and collections may be released meanwhile.
    @Test func theRealmIsKeptUntilAllIsDone() async throws {
        let keeper = try memoryRealm([Dog.self, Person.self, Box.self], name)
        weak var instance: _RealmInstance?
        var isDone = false
        func begin() throws {
            let realm = try realm()
            instance = realm.instance
            realm.writeAsync { [unowned instance = realm.instance] in
                Realm(instance).add(Dog(1, "Rex"))
            } onComplete: { _ in
                isDone = true
            }
        }
        try begin()
        #expect(instance != nil)
        await wait { isDone }
        await wait { instance == nil }
        keeper.refresh()
        #expect(isDone && instance == nil && keeper.objects(Dog.self).count == 1)
    }

    /// A queue's realm, and a thread that ends with the lock on its way.
    @Test func queuesAndThreads() async throws {
        let realm = try realm()
        let queue = DispatchQueue(label: "writes")
        let name = name
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            queue.async {
                let own = try! Realm(
                    configuration: .init(inMemoryIdentifier: name, objectTypes: Self.types), queue: queue)
                own.writeAsync {
                    dispatchPrecondition(condition: .onQueue(queue))
                    own.add(Dog(1, "queue"))
                } onComplete: { error in
                    dispatchPrecondition(condition: .onQueue(queue))
                    #expect(error == nil)
                    done.resume()
                }
            }
        }
        realm.refresh()
        #expect(realm.objects(Dog.self).count == 1)
        for _ in 0..<5 {
            realm.beginWrite()
            try systemThread {
                nonisolated(unsafe) var own = try? memoryRealm(Self.types, name)
                let timer = Timer(timeInterval: 0, repeats: false) { _ in
                    // It waits for the lock when the thread ends.
                    own?.writeAsync { Issue.record("the thread has ended") }
                    // The run loop may keep this block.
                    own = nil
                }
                RunLoop.current.add(timer, forMode: .default)
                _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 5))
            }
            realm.objects(Dog.self)[0].age += 1
            try realm.commitWrite()
        }
        try realm.write {}
        #expect(realm.objects(Dog.self)[0].age == 6)
    }

    private actor Short {
        func begin(_ name: String, _ isCalled: @escaping @Sendable () -> Void) async throws {
            let realm = try await Realm(
                configuration: .init(inMemoryIdentifier: name, objectTypes: AsyncWriteTests.types), actor: self)
            realm.writeAsync(isCalled)
        }
    }

    /// An actor that is released does not keep the lock.
    @Test func anActorThatIsGoneKeepsNoLock() async throws {
        let realm = try realm()
        realm.beginWrite()
        for _ in 0..<3 { try await Short().begin(name) {} }
        try realm.commitWrite()
        // This thread would wait for ever.
        try realm.write { realm.add(Dog(1, "Rex")) }
        await mainQueueIsThrough()
        try realm.write { realm.add(Dog(2, "Max")) }
        #expect(realm.objects(Dog.self).count == 2)
    }

    // MARK: Defects that an audit found

    /// A grant that was taken back leaves nothing behind that keeps the realm from asking again.
    @Test func aWriteRunsAlthoughItsGrantWasTakenBack() async throws {
        let realm = try realm()
        var runs = 0
        for round in 1...3 {
            let name = name
            let hasWritten = DispatchSemaphore(value: 0)
            func blockMain() throws {
                realm.writeAsync { runs += 1 }
                // It is granted, and another writer waits longer than the realm's patience.
                Thread {
                    let other = try! memoryRealm(Self.types, name)
                    try! other.write {}
                    hasWritten.signal()
                }.start()
                #expect(hasWritten.wait(timeout: .testTimeout) == .success && runs == round - 1)
                realm.beginWrite()
            }
            try blockMain()
            await mainQueueIsThrough()
            await mainQueueIsThrough()
            try realm.commitWrite()
            await finish(realm)
            #expect(runs == round)
        }
    }

    /// Invalidating ends an open transaction (SEMANTICS 10), and not what waits.
    @Test func invalidatingARealmKeepsItsWrites() async throws {
        let realm = try realm()
        var runs = 0
        realm.beginWrite()
        realm.writeAsync { runs += 1 }
        realm.invalidate()
        await finish(realm)
        #expect(runs == 1)
        realm.writeAsync { runs += 1 }
        realm.beginWrite()
        await mainQueueIsThrough()
        realm.invalidate()
        await finish(realm)
        #expect(runs == 2)
    }

    /// The main thread waits for writers that wait for the lock which was granted to it.
    @Test func writersThatAreWaitedForGetTheLock() async throws {
        let realm = try realm()
        let name = name
        var runs = 0
        func blockMain() {
            realm.writeAsync { runs += 1 }
            let group = DispatchGroup()
            for _ in 0..<30 {
                DispatchQueue.global().async(group: group) {
                    let other = try! memoryRealm(Self.types, name)
                    try! other.write { other.add(Person()) }
                }
            }
            #expect(group.wait(timeout: .testTimeout) == .success)
        }
        blockMain()
        await finish(realm)
        #expect(runs == 1 && realm.objects(Person.self).count == 30)
    }

    /// An observer that commits asynchronously shows the others nothing that is not durable, and a realm that is ahead
    /// shows them what is.
    @Test func observersAreShownWhatIsDurable() async throws {
        let folder = TemporaryFolder()
        let realm = try memoryRealmOf(folder, Self.types)
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        var (first, second) = ([Int](), [Int]())
        var version: UInt64 = 0
        let tokens = [
            dog.observe { (change: ObjectChange<Dog>) in
                first.append(dog.age)
                guard dog.age == 2 else { return }
                // Nobody waits for it.
                realm.beginWrite()
                dog.age = 50
                version = (try? realm.instance.commitWithoutWaiting())?.version ?? 0
            },
            dog.observe { (change: ObjectChange<Dog>) in second.append(dog.age) },
        ]
        await waitForDeliveries(of: realm)
        try realm.write { dog.age = 2 }
        await wait { !first.isEmpty }
        for _ in 0..<3 { await mainQueueIsThrough() }
        #expect(first == [2] && (second == [] || second == [2]) && dog.age == 50 && realm.instance.isAhead)
        try realm.instance.store.waitUntilPublished(version)
        await wait { second.last == 50 }
        #expect(first == [2, 50] && second.last == 50 && !second.dropLast().contains { $0 != 2 })
        // A version becomes durable while the realm shows a later one.
        realm.beginWrite()
        dog.age = 60
        let next = try realm.instance.commitWithoutWaiting().version
        realm.beginWrite()
        try realm.instance.store.waitUntilPublished(next)
        dog.age = 70
        let last = try realm.instance.commitWithoutWaiting().version
        await wait { second.last == 60 }
        #expect(first.last == 60 && second.last == 60 && dog.age == 70)
        try realm.instance.store.waitUntilPublished(last)
        await wait { second.last == 70 }
        #expect(first.last == 70 && second.last == 70)
        for token in tokens { token.invalidate() }
    }

    @Test func anObserverMayCancelTheFirstWrite() async throws {
        let realm = try realm()
        let other = try memoryRealm([Person.self, Dog.self, Box.self], name)
        realm.autorefresh = false
        var runs: [String] = []
        var write: AsyncTransactionId = 0
        let token = realm.objects(Dog.self).observe { (change: RealmCollectionChange<Results<Dog>>) in
            guard case .update = change else { return }
            #expect(throws: Never.self) { try realm.cancelAsyncWrite(write) }
        }
        await waitForDeliveries(of: realm)
        try other.write { other.add(Dog(1, "Rex")) }
        write = realm.writeAsync {
            runs.append("first")
        } onComplete: { _ in
            runs.append("first's end")
        }
        realm.writeAsync { runs.append("second") }
        await finish(realm)
        #expect(runs == ["second"])
        token.invalidate()
    }

    /// The version that the realm itself shows counts against no limit, as in a synchronous write.
    @Test func theRealmsOwnVersionDoesNotCount() async throws {
        var configuration = Realm.Configuration(inMemoryIdentifier: name, objectTypes: Self.types)
        configuration.maximumNumberOfActiveVersions = 1
        let realm = try Realm(configuration: configuration, queue: nil)
        realm.autorefresh = false
        #expect(realm.objects(Dog.self).isEmpty)
        try onAnotherThread(name, types: Self.types) { other in try other.write { other.add(Dog(1, "Rex")) } }
        var errors: [(any Error)?] = []
        realm.writeAsync {
            realm.objects(Dog.self)[0].age = 7
        } onComplete: {
            errors.append($0)
        }
        await finish(realm)
        #expect(errors.count == 1 && errors[0] == nil && realm.objects(Dog.self).first?.age == 7)
    }

    private actor Leaving {
        func write(_ url: URL) async throws {
            let realm = try await Realm(
                configuration: .init(fileURL: url, objectTypes: AsyncWriteTests.types), actor: self)
            realm.writeAsync { Realm(realm.instance).add(Dog(Int.random(in: 1...1_000_000), "Rex")) }
        }
    }

    /// An actor that is released while its commit is on its way to the disk closes the store, on no thread of its own.
    @Test func aStoreOfReleasedActorsIsClosed() async throws {
        let folder = TemporaryFolder()
        let url = URL(filePath: folder.path + "/a.firn")
        for _ in 0..<10 {
            for _ in 0..<3 { try await Leaving().write(url) }
            await wait { !SharedStore.isOpen(url) }
            #expect(!SharedStore.isOpen(url))
        }
        let realm = try Realm(configuration: .init(fileURL: url, objectTypes: Self.types), queue: nil)
        try realm.write { realm.add(Dog(-1, "last")) }
    }

    // MARK: Stops

    @MainActor private static func writeWrongly(_ variant: Int) async throws {
        nonisolated(unsafe) let realm = try memoryRealm(types, "stop")
        switch variant {
        case 0: realm.freeze().writeAsync {}
        case 1: Thread { try! memoryRealm(types, "stop").beginAsyncWrite {} }.start()
        case 2: realm.commitAsyncWrite()
        case 3: Thread { realm.writeAsync {} }.start()
        default:
            var configuration = Realm.Configuration(inMemoryIdentifier: "limited", objectTypes: types)
            configuration.maximumNumberOfActiveVersions = 1
            let limited = try Realm(configuration: configuration, queue: nil)
            let dog = try limited.write { limited.create(Dog.self, value: [1]) }
            let held = dog.freeze()
            try limited.write { dog.age = 5 }
            limited.beginAsyncWrite { _ = held }
        }
        try await Task.sleep(for: .seconds(20))
    }

    @Test(arguments: 0..<5) func whatCannotBeWrittenStops(variant: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [variant] in
            try await AsyncWriteTests.writeWrongly(variant)
        }
        let messages = [
            "on a frozen realm", "has no running run loop", "without a write transaction", "another thread",
            "maximumNumberOfActiveVersions",
        ]
        expectMessage(result, messages[variant])
    }
}

extension DispatchSemaphore {
    fileprivate func waitForTest() { _ = wait(timeout: .testTimeout) }
}
