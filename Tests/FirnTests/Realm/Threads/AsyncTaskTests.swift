import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// `asyncWrite`, `asyncRefresh`, `Realm.open`, `asyncOpen` (R5, R6, R9, R17, R87; SEMANTICS 19).
@Suite(.timeLimit(.minutes(20))) struct AsyncTaskTests {
    private static let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private let name = UUID().uuidString
    private var configuration: Realm.Configuration { .init(inMemoryIdentifier: name, objectTypes: Self.types) }

    private struct Refused: Error {}

    /// An actor with a realm of its own.
    private actor Kennel {
        private(set) var realm: Realm!
        init(_ name: String) async throws {
            realm = try await Realm(
                configuration: .init(inMemoryIdentifier: name, objectTypes: AsyncTaskTests.types), actor: self)
        }
        func add(_ id: Int) async throws { try await realm.asyncWrite { realm.add(Dog(id, "Rex")) } }
        func birthday(_ id: Int) async throws -> Int {
            try await realm.asyncWrite {
                let dog = realm.object(ofType: Dog.self, forPrimaryKey: id)!
                dog.age += 1
                return dog.age
            }
        }
        func synchronously(_ id: Int) throws {
            try realm.write { realm.object(ofType: Dog.self, forPrimaryKey: id)!.age += 1 }
        }
        var count: Int { realm.objects(Dog.self).count }
        func refresh() async -> Bool { await realm.asyncRefresh() }
    }

    @MainActor @Test func aTaskWritesAndReturnsAValue() async throws {
        let realm = try await Realm(configuration: configuration)
        let dog = try await realm.asyncWrite { realm.create(Dog.self, value: [1, "Rex"]) }
        #expect(dog.name == "Rex" && !realm.isInWriteTransaction)
        await #expect(throws: Refused.self) {
            try await realm.asyncWrite {
                dog.age = 99
                throw Refused()
            }
        }
        #expect(dog.age == 1)
        // A block may end the transaction by itself.
        try await realm.asyncWrite {
            dog.age = 3
            try realm.commitWrite()
        }
        try await realm.asyncWrite {
            dog.age = 4
            realm.cancelWrite()
        }
        #expect(dog.age == 3 && !realm.isPerformingAsynchronousWriteOperations)
    }

    /// The first come is the first served, callbacks and tasks alike; a synchronous write goes ahead.
    @MainActor @Test func tasksAndCallbacksTakeTurns() async throws {
        let realm = try await Realm(configuration: configuration)
        var order: [Int] = []
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<30 {
            if number % 3 == 0 {
                realm.writeAsync { order.append(number) }
            } else {
                tasks.append(Task { try await realm.asyncWrite { order.append(number) } })
                // The task lists its write at its first turn.
                await Task.yield()
            }
            if number % 7 == 0 { try realm.write { order.append(-1) } }
        }
        for task in tasks { try await task.value }
        await wait { !realm.isPerformingAsynchronousWriteOperations }
        #expect(order.filter { $0 >= 0 }.sorted() == Array(0..<30) && order.filter { $0 == -1 }.count == 5)
        let callbacks = order.filter { $0 >= 0 && $0 % 3 == 0 }
        #expect(callbacks == callbacks.sorted())
    }

    @Test func manyActorsWriteTogether() async throws {
        let folder = TemporaryFolder()
        for isInFile in [false, true] {
            var configuration = configuration
            if isInFile { configuration.fileURL = URL(filePath: folder.path + "/a.firn") }
            let shared = configuration
            let first = try await Keeper(shared)
            try await first.add(1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let own = try await Keeper(shared)
                        for round in 0..<25 {
                            if (number + round) % 5 == 0 {
                                try await own.synchronously()
                            } else {
                                try await own.birthday()
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(await first.age() == 1 + 8 * 25)
        }
    }

    private actor Keeper {
        private(set) var realm: Realm!
        init(_ configuration: Realm.Configuration) async throws {
            let configuration = configuration
            realm = try await Realm(configuration: configuration, actor: self)
        }
        func add(_ id: Int) async throws { try await realm.asyncWrite { realm.add(Dog(id, "Rex")) } }
        func birthday() async throws { try await realm.asyncWrite { realm.objects(Dog.self)[0].age += 1 } }
        func synchronously() throws { try realm.write { realm.objects(Dog.self)[0].age += 1 } }
        func age() -> Int {
            realm.refresh()
            return realm.objects(Dog.self)[0].age
        }
    }

    /// The cancelled task writes nothing, leaves the list, and does not wait for the lock.
    @MainActor @Test func aCancelledTaskWritesNothing() async throws {
        let realm = try await Realm(configuration: configuration)
        let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let name = name
        DispatchQueue.global().async {
            try? onAnotherThread(name, types: Self.types) { other in
                try other.write {
                    isHeld.signal()
                    // As long as it takes: the other tests may keep the main actor busy for minutes.
                    mayEnd.wait()
                }
            }
        }
        await Task.detached {
            await withCheckedContinuation { done in
                DispatchQueue.global().async {
                    _ = isHeld.wait(timeout: .testTimeout); done.resume()
                }
            }
        }.value
        var written: [Int] = []
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<3 {
            tasks.append(Task { try await realm.asyncWrite { written.append(number) } })
            await Task.yield()
        }
        await mainQueueIsThrough()
        tasks[0].cancel()
        tasks[1].cancel()
        for task in tasks[...1] { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(written.isEmpty)
        mayEnd.signal()
        try await tasks[2].value
        #expect(written == [2])
        // One that is cancelled before it begins.
        let late = Task { try await realm.asyncWrite { written.append(9) } }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        try realm.write {}
        #expect(written == [2] && !realm.isPerformingAsynchronousWriteOperations)
    }

    @MainActor @Test func aRefreshIsAwaited() async throws {
        let realm = try await Realm(configuration: configuration)
        realm.autorefresh = false
        let kennel = try await Kennel(name)
        #expect(realm.objects(Dog.self).isEmpty)
        try await kennel.add(1)
        #expect(realm.objects(Dog.self).isEmpty)
        #expect(await realm.asyncRefresh())
        #expect(realm.objects(Dog.self).count == 1)
        let again = await [realm.asyncRefresh(), kennel.refresh(), realm.freeze().asyncRefresh()]
        #expect(again == [false, false, false])
        #expect(await kennel.count == 1)
    }

    // MARK: Opening

    @MainActor @Test func aStoreIsOpenedInTheBackground() async throws {
        let folder = TemporaryFolder()
        let url = URL(filePath: folder.path + "/a.firn")
        let configuration = Realm.Configuration(fileURL: url, objectTypes: Self.types)
        do {
            let realm = try await Realm(configuration: configuration, downloadBeforeOpen: .once)
            try await realm.asyncWrite { realm.add(Dog(1, "Rex")) }
            #expect(realm.configuration.fileURL == url)
        }
        let realm = try await Realm.open(configuration: configuration)
        #expect(realm.objects(Dog.self).count == 1)
        let wrong = Realm.Configuration(fileURL: url, readOnly: true, objectTypes: Self.types)
        var error: (any Error)?
        do { _ = try await Realm.open(configuration: wrong) } catch let thrown { error = thrown }
        #expect((error as? Realm.Error)?.code == .alreadyOpen)
    }

    /// It would wait for the caller's own transaction.
    @MainActor @Test func newClassesCannotBeAddedFromWithinATransaction() async throws {
        let realm = try await Realm(configuration: configuration)
        let more = Realm.Configuration(inMemoryIdentifier: name, objectTypes: Self.types + [Label.self])
        realm.beginWrite()
        var error: (any Error)?
        do { _ = try await Realm.open(configuration: more) } catch let thrown { error = thrown }
        #expect((error as? Realm.Error)?.code == .fail)
        // Classes that are there need no lock.
        _ = try await Realm.open(configuration: configuration)
        realm.cancelWrite()
        #expect(try await Realm.open(configuration: more).objects(Label.self).isEmpty)
    }

    @Test func aCallbackGetsTheRealmOfItsQueue() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let name = name
        let count = await withCheckedContinuation { (done: CheckedContinuation<Int, Never>) in
            Realm.asyncOpen(
                configuration: .init(inMemoryIdentifier: name, objectTypes: Self.types), callbackQueue: queue
            ) { result in
                dispatchPrecondition(condition: .onQueue(queue))
                guard let realm = try? result.get() else { return done.resume(returning: -1) }
                try? realm.write { realm.add(Dog(1, "Rex")) }
                done.resume(returning: realm.objects(Dog.self).count)
            }
        }
        #expect(count == 1)
        let failed = await withCheckedContinuation { (done: CheckedContinuation<Bool, Never>) in
            Realm.asyncOpen(
                configuration: .init(fileURL: URL(filePath: "/proc/nothing"), objectTypes: Self.types),
                callbackQueue: queue
            ) { result in
                if case .failure(let error) = result {
                    done.resume(returning: error is Realm.Error)
                } else {
                    done.resume(returning: false)
                }
            }
        }
        #expect(failed)
        nonisolated(unsafe) var isCalled = false
        queue.suspend()
        let task = Realm.asyncOpen(
            configuration: .init(inMemoryIdentifier: name, objectTypes: Self.types), callbackQueue: queue
        ) { _ in isCalled = true }
        task.cancel()
        queue.resume()
        try await Task.sleep(for: .milliseconds(100))
        let wasCalled = queue.sync { isCalled }
        #expect(!wasCalled)
    }

    /// The store is closed when nobody keeps the callback's realm, and not some time later.
    @Test func theStoreCanBeDeletedAfterTheCallback() async throws {
        let folder = TemporaryFolder()
        let queue = DispatchQueue(label: "callbacks")
        for round in 0..<20 {
            let url = URL(filePath: folder.path + "/\(round).firn")
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                Realm.asyncOpen(configuration: .init(fileURL: url, objectTypes: Self.types), callbackQueue: queue) {
                    _ in done.resume()
                }
            }
            // Runs when the callback has returned.
            let deleted = queue.sync {
                Result { try Realm.deleteFiles(for: .init(fileURL: url, objectTypes: Self.types)) }
            }
            #expect(try deleted.get())
        }
    }

    // MARK: Stops

    @Test(arguments: 0..<4) func whatHasNoActorStops(variant: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [variant] in
            switch variant {
            case 0:
                try await Task.detached {
                    let realm = try memoryRealm(AsyncTaskTests.types)
                    try await realm.asyncWrite {}
                }.value
            case 1:
                try await Task { @MainActor in
                    let realm = try memoryRealm(AsyncTaskTests.types)
                    realm.beginWrite()
                    try await realm.asyncWrite {}
                }.value
            case 3:
                try await Task.detached {
                    let realm = try memoryRealm(AsyncTaskTests.types)
                    _ = await realm.asyncFreeze()
                }.value
            default:
                try await Task { @MainActor in
                    let realm = try memoryRealm(AsyncTaskTests.types)
                    try await realm.freeze().asyncWrite {}
                }.value
            }
        }
        let messages = [
            "has no running run loop", "would wait for the realm's own write transaction", "on a frozen realm",
            "asyncFreeze() needs a realm of the main actor",
        ]
        expectMessage(result, messages[variant])
    }
}
