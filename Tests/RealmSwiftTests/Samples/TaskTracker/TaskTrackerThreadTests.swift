import FirnTestSupport
import Foundation
import RealmSwift
import Testing

/// The task tracker's data go to other threads, queues and actors.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct TaskTrackerThreadTests {
    private let name = UUID().uuidString
    private let tracker: TaskTracker
    private var realm: Realm { tracker.realm }

    init() throws {
        tracker = TaskTracker(realm: try Realm(configuration: TaskTracker.configuration(name), queue: nil))
    }

    /// Runs work on a queue of its own, as an application does.
    private func inBackground(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { done in
            DispatchQueue(label: "background").async { done.resume(with: Result(catching: work)) }
        }
    }

    @Test func aReferenceTakesATaskToAnotherThread() async throws {
        let task = tracker.addTask("Paint")
        let reference = ThreadSafeReference(to: task)
        let all = ThreadSafeReference(to: tracker.tasks)
        try await inBackground { [name] in
            let realm = try Realm(configuration: TaskTracker.configuration(name))
            guard let task = realm.resolve(reference) else { return }  // It was deleted.
            #expect(realm.resolve(all)?.count == 1)
            try realm.write { task.name = "Paint the door" }
        }
        realm.refresh()
        #expect(task.name == "Paint the door")
        let gone = ThreadSafeReference(to: task)
        try tracker.delete(task)
        try await inBackground { [name] in
            let realm = try Realm(configuration: TaskTracker.configuration(name))
            // A realm that has not read anything begins at the reference's version, where the task may still be.
            #expect(realm.objects(TrackerTask.self).isEmpty)
            #expect(realm.resolve(gone) == nil)
        }
    }

    @Test func aWrapperTakesATaskToAnotherThread() async throws {
        let task = tracker.addTask("Paint")
        @ThreadSafe var reference = task
        try await inBackground { [_reference] in
            guard let task = _reference.wrappedValue else { return }
            try task.realm?.write { task.minutes = 30 }
        }
        realm.refresh()
        #expect(task.minutes == 30)
    }

    @Test func frozenTasksAreReadAnywhere() async throws {
        let task = tracker.addTask("Paint") { $0.subtasks.append(TrackerTask("Sand")) }
        let (frozen, frozenTasks) = (task.freeze(), tracker.tasks.freeze())
        try tracker.complete(task)
        nonisolated(unsafe) let (shared, sharedTasks) = (frozen, frozenTasks)
        try await inBackground {
            #expect(shared.isFrozen && shared.status == .open && shared.subtasks.first?.status == .open)
            #expect(sharedTasks.where { $0.status == .open }.count == 2 && shared.realm?.isFrozen == true)
            guard let live = shared.thaw() else { return }
            #expect(live.status == .complete)
            try live.realm?.write { live.minutes = 5 }
        }
        realm.refresh()
        #expect(task.minutes == 5 && frozen.minutes == 0 && frozen.thaw() == task && task.thaw() === task)
        #expect(frozen != task && task.freeze() == realm.freeze(task))
    }

    @Test func aQueueHasItsOwnRealm() async throws {
        let queue = DispatchQueue(label: "tasks")
        let count = try await withCheckedThrowingContinuation { done in
            queue.async { [name] in
                done.resume(
                    with: Result {
                        let realm = try Realm(configuration: TaskTracker.configuration(name), queue: queue)
                        try realm.write { realm.add(TrackerTask("Sand")) }
                        return realm.objects(TrackerTask.self).count
                    })
            }
        }
        #expect(count == 1)
        await wait { tracker.tasks.count == 1 }
        #expect(tracker.tasks.first?.name == "Sand")
    }

    // MARK: Asynchronous writes

    @Test func writesAreMadeInTheBackground() async throws {
        let task = tracker.addTask("Paint")
        var errors: [(any Error)?] = []
        realm.writeAsync {
            task.minutes = 10
        } onComplete: { error in
            errors.append(error)
        }
        realm.writeAsync({ task.minutes += 1 })
        let cancelled = realm.beginAsyncWrite { task.minutes = 100 }
        try realm.cancelAsyncWrite(cancelled)
        await wait { errors.count == 1 && !realm.isPerformingAsynchronousWriteOperations }
        #expect(errors[0] == nil && task.minutes == 11)
        realm.beginAsyncWrite {
            task.minutes = 20
            realm.commitAsyncWrite { errors.append($0) }
        }
        await wait { errors.count == 2 }
        #expect(task.minutes == 20 && errors[1] == nil)
    }

    @Test func writesAreAwaited() async throws {
        let realm = try await Realm(configuration: TaskTracker.configuration(name))
        let task = try await realm.asyncWrite { realm.create(TrackerTask.self, value: ["name": "Paint"]) }
        #expect(task.name == "Paint" && task.realm == realm)
        try await realm.asyncWrite { task.minutes = 3 }
        try await inBackground { [name] in
            let other = try Realm(configuration: TaskTracker.configuration(name))
            try other.write { other.objects(TrackerTask.self)[0].minutes = 4 }
        }
        await realm.asyncRefresh()
        #expect(task.minutes == 4)
    }

    // MARK: Actors

    actor Counter {
        private(set) var lines: [String] = []
        private var token: NotificationToken?

        func follow(_ reference: ThreadSafeReference<TrackerTask>, in name: String) async throws {
            let realm = try await Realm(configuration: TaskTracker.configuration(name), actor: self)
            let task = try #require(realm.resolve(reference))
            token = await task.observe(keyPaths: ["minutes"], on: self) {
                (actor: isolated Counter, change: ObjectChange<TrackerTask>) in
                if case .change(let task, let properties) = change {
                    actor.lines.append("\(properties.map(\.name)) \(task.minutes)")
                }
            }
        }

        func end() { token?.invalidate() }
    }

    @Test func anActorFollowsATask() async throws {
        let task = tracker.addTask("Paint")
        let counter = Counter()
        try await counter.follow(ThreadSafeReference(to: task), in: name)
        try realm.write { task.name = "Paint the door" }
        try realm.write { task.minutes = 4 }
        while await counter.lines.isEmpty { await Task.yield() }
        #expect(await counter.lines == ["[\"minutes\"] 4"])
        await counter.end()
    }

    @MainActor private final class Counts {
        var values: [Int] = []
    }

    @Test func theMainActorFollowsResults() async throws {
        let counts = Counts()
        let token = await tracker.tasks.observe(keyPaths: [\.name], on: MainActor.shared) { _, change in
            switch change {
            case .initial(let tasks), .update(let tasks, _, _, _):
                let count = tasks.count
                MainActor.assumeIsolated { counts.values.append(count) }
            case .error: break
            }
        }
        await wait { counts.values == [0] }
        tracker.addTask("Paint")
        await wait { counts.values == [0, 1] }
        #expect(counts.values == [0, 1])
        token.invalidate()
    }
}
