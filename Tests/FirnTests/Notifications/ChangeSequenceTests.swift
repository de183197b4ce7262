import Firn
import FirnTestSupport
import Foundation
import Synchronization
import Testing

/// Changes that are awaited: `for await change in dogs.changes` (R88).
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ChangeSequenceTests {
    private let realm: Realm
    private let pupils: Results<Pupil>

    init() throws {
        realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Pupil.self, Teacher.self]),
            queue: nil)
        pupils = realm.objects(Pupil.self)
        try add([0, 1, 2])
    }

    private func add(_ ids: [Int]) throws {
        try realm.write { for id in ids { realm.create(Pupil.self, value: ["id": id, "age": id] as [String: Any]) } }
    }

    private func text<C: RealmCollection>(_ change: RealmCollectionChange<C>?) -> String {
        switch change {
        case .initial(let now)?: "initial \(now.count)"
        case .update(let now, let deletions, let insertions, let modifications)?:
            "\(deletions)\(insertions)\(modifications) \(now.count)"
        case .error?: "error"
        case nil: "end"
        }
    }

    @Test func aLoopIsGivenEachChange() async throws {
        var lines: [String] = []
        for await change in pupils.where({ $0.age > 0 }).changes {
            lines.append(text(change))
            switch lines.count {
            case 1: try add([5])
            case 2: try realm.write { pupils[1].age = 7 }
            case 3: try realm.write { realm.delete(pupils[1]) }
            default: break
            }
            if lines.count == 4 { break }
        }
        #expect(lines == ["initial 2", "[][2][] 3", "[][][0] 3", "[0][][] 2"])
    }

    @Test func anIteratorMissesNothing() async throws {
        var changes = pupils[0].changes().makeAsyncIterator()
        var notifications = realm.notifications.makeAsyncIterator()
        try realm.write { pupils[0].name = "y" }
        await mainQueueIsThrough()
        #expect(await notifications.next() == .didChange)
        guard case .change(let pupil, let properties)? = await changes.next() else {
            Issue.record("the change before the first next() is missed")
            return
        }
        #expect(pupil.name == "y" && properties.map(\.name) == ["name"])
    }

    @Test func whatHappensWhileNobodyWaitsIsOneChange() async throws {
        var changes = pupils.changes.makeAsyncIterator()
        #expect(text(await changes.next()) == "initial 3")
        try add([5])
        await mainQueueIsThrough()
        try realm.write { realm.delete(pupils[0]) }
        try add([6])
        await mainQueueIsThrough()
        // It fits what the realm shows at that moment.
        let change = await changes.next()
        #expect(text(change) == "[0][2, 3][] 4")
        if case .update(let now, _, let insertions, _)? = change { #expect(insertions.map { now[$0].id } == [5, 6]) }
        // A change that cancels out is none.
        let marker = Task { @MainActor in
            try? await Task.sleep(for: .milliseconds(50))
            try add([9])
        }
        try add([7])
        try realm.write { realm.delete(pupils[4]) }
        #expect(text(await changes.next()) == "[][4][] 5")
        try await marker.value
    }

    @Test func cancellingTheTaskEndsTheLoop() async throws {
        let begun = Mutex(false)
        let ended = Mutex(false)
        let task = Task { @MainActor in
            var count = 0
            for await _ in pupils.changes {
                count += 1
                begun.withLock { $0 = true }
            }
            ended.withLock { $0 = true }
            return count
        }
        await wait { begun.withLock { $0 } }
        await mainQueueIsThrough()
        #expect(!ended.withLock { $0 })
        task.cancel()
        #expect(await task.value == 1)
        // A task that is cancelled before is given nothing.
        let other = Task { @MainActor in
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = pupils.changes.makeAsyncIterator()
            return text(await iterator.next())
        }
        #expect(await other.value == "end")
    }

    /// What is due while a transaction is open is given after it, whether it is committed or not.
    @Test(arguments: [true, false]) func aTransactionThatIsOpen(_ commits: Bool) async throws {
        var changes = pupils.changes.makeAsyncIterator()
        _ = await changes.next()
        try add([5])
        realm.beginWrite()
        realm.create(Pupil.self, value: ["id": 6])
        let ending = Task { @MainActor in
            try await Task.sleep(for: .milliseconds(30))
            if commits { try realm.commitWrite() } else { realm.cancelWrite() }
        }
        #expect(text(await changes.next()) == (commits ? "[][3, 4][] 5" : "[][3][] 4"))
        try await ending.value
    }

    @Test func aRealmThatDoesNotRefreshOrIsInvalidated() async throws {
        var changes = pupils.changes.makeAsyncIterator()
        _ = await changes.next()
        realm.autorefresh = false
        let name = try #require(realm.configuration.inMemoryIdentifier)
        try onAnotherThread(name, types: [Pupil.self, Teacher.self]) { realm in
            _ = try realm.write { realm.create(Pupil.self, value: ["id": 7]) }
        }
        let refreshing = Task { @MainActor in
            try await Task.sleep(for: .milliseconds(30))
            realm.refresh()
        }
        #expect(text(await changes.next()) == "[][3][] 4")
        try await refreshing.value
        realm.invalidate()
        let pupils = realm.objects(Pupil.self)
        try realm.write { realm.delete(pupils[0]) }
        #expect(text(await changes.next()) == "[0][][] 3")
    }

    @Test func twoTasksCanNotAwaitOneIterator() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            await awaitTwice(Realm.Configuration(inMemoryIdentifier: "twice", objectTypes: [Pupil.self, Teacher.self]))
        }
        expectMessage(result, "two tasks await changes of one iterator")
    }

    /// A task that is cancelled while a change is looked for does not wait.
    @Test func cancellingWhileAChangeIsLookedFor() async throws {
        let cancels = Mutex(false)
        let task = Task { @MainActor in
            let sections = pupils.sectioned(sortDescriptors: []) { pupil in
                if cancels.withLock({ $0 }) { withUnsafeCurrentTask { $0?.cancel() } }
                return pupil.age
            }
            var changes = sections.changes.makeAsyncIterator()
            _ = await changes.next()
            cancels.withLock { $0 = true }
            _ = try realm.write { realm.create(Teacher.self, value: ["id": 1]) }
            if case nil = await changes.next() { return true }
            return false
        }
        #expect(try await task.value)
    }

    @Test func nothingIsHeldOnceTheLoopHasEnded() async throws {
        do {
            var changes = pupils.changes.makeAsyncIterator()
            _ = await changes.next()
            try add([5])
            realm.refresh()
            #expect(realm.activeVersions.count == 2)
        }
        #expect(realm.activeVersions.count == 1)
    }

    @Test func objectsMapsSectionsAndRealmsHaveChanges() async throws {
        let pupil = pupils[0]
        var (object, map) = (pupil.changes().makeAsyncIterator(), pupil.marks.changes.makeAsyncIterator())
        var sections = pupils.sectioned(by: \.age).changes.makeAsyncIterator()
        var section = pupils.sectioned(by: \.age)[1].changes.makeAsyncIterator()
        var notifications = realm.notifications.makeAsyncIterator()
        if case .initial? = await map.next() {} else { Issue.record("no first change of the map") }
        if case .initial? = await sections.next() {} else { Issue.record("no first change of the sections") }
        if case .initial? = await section.next() {} else { Issue.record("no first change of the section") }
        let writer = Task { @MainActor in
            try await Task.sleep(for: .milliseconds(20))
            try realm.write {
                pupil.name = "x"
                pupil.marks["a"] = 1
                pupils[1].age = 9
            }
        }
        guard case .change(let changed, let properties)? = await object.next() else {
            Issue.record("no change")
            return
        }
        #expect(changed == pupil && properties.map(\.name).sorted() == ["marks", "name"])
        guard case .update(_, _, let keys, _)? = await map.next() else {
            Issue.record("no change of the map")
            return
        }
        #expect(keys == ["a"])
        guard case .update(_, let deletions, let insertions, _, _, _)? = await sections.next() else {
            Issue.record("no change of the sections")
            return
        }
        #expect(deletions.count == 1 && insertions.count == 1)
        guard case .update(_, _, _, _, _, let gone)? = await section.next() else {
            Issue.record("no change of the section")
            return
        }
        #expect(gone == [1])
        try await writer.value
        let deleter = Task { @MainActor in
            try await Task.sleep(for: .milliseconds(20))
            try realm.write { realm.delete(pupil) }
        }
        #expect(await notifications.next() == .didChange)
        guard case .deleted? = await object.next() else {
            Issue.record("the deletion is not shown")
            return
        }
        #expect(await object.next() == nil)
        try await deleter.value
    }

    private actor Reader {
        private let name: String
        private(set) var lines: [String] = []
        init(_ name: String) { self.name = name }

        func read(_ count: Int) async throws {
            let realm = try await Realm(
                configuration: .init(inMemoryIdentifier: name, objectTypes: [Pupil.self, Teacher.self]), actor: self)
            for await change in realm.objects(Pupil.self).sorted(by: \.age, ascending: false).changes {
                switch change {
                case .initial(let now): lines.append("initial \(now.map(\.id))")
                case .update(let now, let deletions, let insertions, let modifications):
                    lines.append("\(now.map(\.id)) \(deletions) \(insertions) \(modifications)")
                case .error: break
                }
                if lines.count == count { return }
            }
        }

        func wait(for count: Int) async { await FirnTests.wait { lines.count >= count } }
    }

    @Test func anActorAwaitsWhatOthersWrite() async throws {
        let name = try #require(realm.configuration.inMemoryIdentifier)
        let reader = Reader(name)
        let reading = Task { try await reader.read(2) }
        await reader.wait(for: 1)
        try add([7])
        try await reading.value
        #expect(await reader.lines == ["initial [2, 1, 0]", "[7, 2, 1, 0] [] [0] []"])
    }

    private enum Mistake: String, CaseIterable, Codable {
        case queue, frozen, keyPath, elsewhere

        var message: String {
            switch self {
            case .queue: "was used outside of the queue"
            case .frozen: "frozen"
            case .keyPath: "the key path \"nothing\" can't be observed"
            case .elsewhere: "was used on another thread"
            }
        }
    }

    /// Such as awaiting changes of something frozen (SEMANTICS 59).
    @Test(arguments: Mistake.allCases) private func whatStopsTheProgram(_ mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            let configuration = Realm.Configuration(
                inMemoryIdentifier: "stops", objectTypes: [Pupil.self, Teacher.self])
            if mistake == .queue {
                let queue = DispatchQueue(label: "own")
                nonisolated(unsafe) var results: Results<Pupil>?
                try queue.sync { results = try Realm(configuration: configuration, queue: queue).objects(Pupil.self) }
                queue.sync {
                    nonisolated(unsafe) let results = results!
                    queue.async { Task { for await _ in results.changes {} } }
                }
                try await Task.sleep(for: .seconds(5))
                return
            }
            await awaitWrongly(mistake.rawValue, configuration)
        }
        expectMessage(result, mistake.message)
    }
}

@MainActor
private func awaitWrongly(_ mistake: String, _ configuration: Realm.Configuration) async {
    let realm = try! Realm(configuration: configuration, queue: nil)
    let pupils = realm.objects(Pupil.self)
    switch mistake {
    case "frozen": for await _ in pupils.freeze().changes {}
    case "keyPath": for await _ in pupils.changes(keyPaths: ["nothing"]) {}
    default:
        nonisolated(unsafe) let pupils = pupils
        await Task.detached { for await _ in pupils.changes {} }.value
    }
}

@MainActor
private func awaitTwice(_ configuration: Realm.Configuration) async {
    let realm = try! Realm(configuration: configuration, queue: nil)
    let changes = realm.objects(Pupil.self).changes.makeAsyncIterator()
    var (first, second) = (changes, changes)
    _ = await first.next()
    let task = Task { @MainActor in
        var other = second
        _ = await other.next()
        second = other
    }
    await Task.yield()
    _ = await first.next()
    await task.value
}
