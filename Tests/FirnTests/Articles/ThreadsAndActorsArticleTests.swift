import Firn
import FirnTestSupport
import Foundation
import Testing

/// The code of the article "Threads and actors" (`Tools/check articles`): it compiles, and it does what the article
/// says.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ThreadsAndActorsArticleTests {
    private class Gauge: Object {
        @Persisted(primaryKey: true) var name: String
        @Persisted var value = 0.0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private let temporary = TemporaryFolder()

    @Test func theCodeOfTheArticle() async throws {
        let url = URL(filePath: temporary.path + "/gauges.firn")
        let configuration = Realm.Configuration(fileURL: url, objectTypes: [Gauge.self])
        // article: ThreadsAndActors
        let queue = DispatchQueue(label: "gauges")
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { realm.create(Gauge.self, value: ["name": "water", "value": 1] as [String: Any]) }
        }
        // end

        // article: ThreadsAndActors
        actor Meters {
            private var realm: Realm!

            init(_ url: URL) async throws {
                let configuration = Realm.Configuration(fileURL: url, objectTypes: [Gauge.self])
                realm = try await Realm(configuration: configuration, actor: self)
            }

            func set(_ name: String, to value: Double) async throws {
                try await realm.asyncWrite {
                    realm.create(Gauge.self, value: ["name": name, "value": value] as [String: Any], update: .modified)
                }
            }

            func value(of name: String) -> Double? { realm.object(ofType: Gauge.self, forPrimaryKey: name)?.value }
        }

        let meters = try await Meters(url)
        // end
        #expect(await meters.value(of: "water") == 1)
        try await meters.set("oil", to: 2)
        #expect(await meters.value(of: "oil") == 2)

        let realm = try await Realm(configuration: configuration)
        #expect(try await Realm.open(configuration: configuration) == realm)
        #expect(try Realm(configuration: configuration, queue: nil) == realm)
        let gauge = try #require(realm.object(ofType: Gauge.self, forPrimaryKey: "oil"))
        // article: ThreadsAndActors
        realm.writeAsync {
            gauge.value += 1
        } onComplete: { error in
            print(error.map { "not saved: \($0)" } ?? "saved")
        }
        realm.beginAsyncWrite {
            gauge.value *= 2
            realm.commitAsyncWrite()  // without it, the change is undone
        }
        let unwanted = realm.writeAsync { gauge.value = 0 }
        try realm.cancelAsyncWrite(unwanted)
        try await realm.asyncWrite { print(gauge.value) }  // after the two others
        // end
        await wait { !realm.isPerformingAsynchronousWriteOperations }
        #expect(gauge.value == 6)
        // A transaction that was begun synchronously, and one that is not committed.
        realm.beginWrite()
        gauge.value = 3
        realm.commitAsyncWrite()
        #expect(gauge.value == 3)
        realm.beginAsyncWrite { gauge.value = 99 }
        await wait { !realm.isPerformingAsynchronousWriteOperations }
        #expect(gauge.value == 3)

        // article: ThreadsAndActors
        realm.autorefresh = false
        try await meters.set("oil", to: 7)
        print(gauge.value)  // as it was
        await realm.asyncRefresh()
        print(gauge.value)  // 7.0
        realm.autorefresh = true
        // end
        #expect(gauge.value == 7)
        realm.autorefresh = false
        try await meters.set("oil", to: 8)
        await mainQueueIsThrough()
        #expect(gauge.value == 7)
        realm.refresh()
        #expect(gauge.value == 8)
        realm.autorefresh = true

        // article: ThreadsAndActors
        let reference = ThreadSafeReference(to: gauge)
        queue.async {
            let configuration = Realm.Configuration(fileURL: url, objectTypes: [Gauge.self])
            guard let realm = try? Realm(configuration: configuration, queue: queue) else { return }
            guard let gauge = realm.resolve(reference) else { return }  // it was deleted
            try? realm.write { gauge.value += 1 }
        }
        let shared = ThreadSafe(wrappedValue: gauge)
        DispatchQueue.global().async {
            guard let gauge = shared.wrappedValue, let realm = gauge.realm else { return }
            try? realm.write { gauge.value += 1 }
        }
        // end
        // The realm advances by itself.
        await wait { gauge.value == 10 }
        #expect(gauge.value == 10 && reference.isInvalidated)
        let readsAgain = shared.wrappedValue?.value
        #expect(readsAgain == 10)

        // article: ThreadsAndActors
        for await change in realm.objects(Gauge.self).where({ $0.value > 100 }).changes {
            guard case .update(let gauges, _, _, _) = change else {
                try await meters.set("steam", to: 200)  // the first one has the objects of before
                continue
            }
            print(gauges.map(\.name))
            break
        }
        // end
        #expect(realm.objects(Gauge.self).where { $0.value > 100 }.map(\.name) == ["steam"])
    }

    /// A cancelled task writes nothing, and a store is opened for a queue.
    @Test func tasksAndCallbacks() async throws {
        let url = URL(filePath: temporary.path + "/gauges.firn")
        let configuration = Realm.Configuration(fileURL: url, objectTypes: [Gauge.self])
        let realm = try await Realm(configuration: configuration)
        let late = Task { @MainActor in
            try await realm.asyncWrite { realm.create(Gauge.self, value: ["name": "late"]) }.name
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { _ = try await late.value }
        #expect(realm.isEmpty)
        try realm.write { realm.create(Gauge.self, value: ["name": "oil"]) }
        let queue = DispatchQueue(label: "opened")
        let count = await withCheckedContinuation { (done: CheckedContinuation<Int, Never>) in
            open(url, on: queue) { done.resume(returning: $0) }
        }
        #expect(count == 1)
    }

    nonisolated private func open(_ url: URL, on queue: DispatchQueue, _ done: @escaping @Sendable (Int) -> Void) {
        let configuration = Realm.Configuration(fileURL: url, objectTypes: [Gauge.self])
        Realm.asyncOpen(configuration: configuration, callbackQueue: queue) { result in
            dispatchPrecondition(condition: .onQueue(queue))
            done((try? result.get())?.objects(Gauge.self).count ?? -1)
        }
    }

    @Test func useOnAnotherThreadStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { @MainActor in
            let realm = try memoryRealm()
            nonisolated(unsafe) let dog = try realm.write { realm.create(Dog.self, value: [1, "Rex"]) }
            await Task.detached { print(dog.name) }.value
        }
        expectMessage(result, "was used on another thread than the one it was opened on")
    }
}
