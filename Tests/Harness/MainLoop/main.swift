import Firn
import Foundation

// A block of the main queue that runs the run loop and waits for asynchronous writes and an observer's call there, as a
// test on the main actor does that waits for an expectation. `MainLoopTests` runs this: the test process has another
// main thread. Prints what happened within the block.
class Tick: Object { @Persisted var count = 0 }

@MainActor func wait(_ isDone: () -> Bool) -> Bool {
    let end = Date(timeIntervalSinceNow: 30)
    while !isDone(), Date() < end { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.01)) }
    return isDone()
}

/// Begins a transaction on the main thread, which runs no run loop yet, keeps nothing of it, and lets another thread
/// write. Whether that can.
nonisolated func mayWriteAfterwards() throws -> Bool {
    let configuration = Realm.Configuration(inMemoryIdentifier: "abandoned", objectTypes: [Tick.self])
    let (isOpen, mayWrite, hasWritten) = (
        DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    Thread.detachNewThread {
        do {
            let realm = try Realm(configuration: configuration)
            isOpen.signal()
            mayWrite.wait()
            try realm.write { realm.add(Tick()) }
            hasWritten.signal()
        } catch { print("failed", error) }
    }
    isOpen.wait()
    try Realm(configuration: configuration).beginWrite()
    mayWrite.signal()
    return hasWritten.wait(timeout: .now() + 60) == .success
}
/// Realms in memory that nobody keeps, before the run loop runs: only the newest one is there.
func objectCounts() throws -> [Int] {
    func add(_ name: String) throws -> Int {
        let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: name, objectTypes: [Tick.self]))
        try realm.write { realm.add(Tick()) }
        return realm.objects(Tick.self).count
    }
    return try ["a", "a", "b", "a"].map(add)
}
print("objects", try objectCounts())
print("written after an abandoned transaction", try mayWriteAfterwards())

DispatchQueue.main.async {
    MainActor.assumeIsolated {
        do {
            let realm = try Realm(configuration: .init(inMemoryIdentifier: "ticks", objectTypes: [Tick.self]))
            let ticks = realm.objects(Tick.self)
            var counts: [Int] = []
            let token = ticks.observe { change in
                switch change {
                case .initial(let found), .update(let found, _, _, _): counts.append(found.count)
                case .error: break
                }
            }
            print("initial", wait { counts == [0] })
            var hasEnded = false
            realm.writeAsync {
                realm.add(Tick())
            } onComplete: { error in
                hasEnded = error == nil
            }
            print("written", wait { hasEnded }, "observed", wait { counts.last == 1 })
            token.invalidate()
            exit(0)
        } catch {
            print("failed", error)
            exit(1)
        }
    }
}
RunLoop.main.run(until: Date(timeIntervalSinceNow: 120))
print("the block has not ended")
exit(1)
