import FirnStorage
import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// What realms have to do on a thread's run loop.
@Suite(.timeLimit(.minutes(20))) struct OwnRunLoopTests {
    private let name = UUID().uuidString

    private func open(line: UInt = #line) throws -> Realm {
        try memoryRealm([Dog.self, Person.self], name, line: line)
    }

    /// Runs `body` on a thread with a realm, which has read something.
    private func onThread(_ body: @escaping (Realm) throws -> Void) throws {
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) var failure: (any Error)?
        try systemThread {
            do {
                let realm = try self.open()
                _ = realm.isEmpty
                try body(realm)
            } catch { failure = error }
        }
        if let failure { throw failure }
    }

    private func commitElsewhere(_ id: Int) throws {
        try onThread { realm in try realm.write { realm.add(Dog(id, "")) } }
    }

    /// Runs the run loop until it has done something, or has nothing left to do.
    private static func run(before limit: Date? = nil) throws -> Bool {
        let deadline = TestTimeout.deadline()
        let last = Date(timeIntervalSinceNow: Double(TestTimeout.seconds))
        let hasRun = RunLoop.current.run(mode: .default, before: limit ?? last)
        try #require(SystemClock.shared.monotonic() < deadline, "the run loop waits for nothing")
        return hasRun
    }

    @Test func whatWasDueBeforeARunLoopEverRanIsDoneWhenItRuns() throws {
        let keeper = try open()
        try onThread { realm in
            for id in 1...3 { try commitElsewhere(id) }
            #expect(realm.objects(Dog.self).isEmpty)
            while realm.objects(Dog.self).count < 3 { try #require(try Self.run()) }
            // Once it has run, it is woken.
            for id in 4...6 {
                try commitElsewhere(id)
                while realm.objects(Dog.self).count < id { try #require(try Self.run()) }
            }
        }
        withExtendedLifetime(keeper) {}
    }

    /// It would wait for ever if it waited at all.
    @Test func aRunLoopReturnsThatHasARealmAndNothingToDo() throws {
        try onThread { _ in while try Self.run() {} }
        try onThread { realm in
            let scheduler = try #require(realm.instance.scheduler)
            nonisolated(unsafe) var count = 0
            for _ in 0..<3 { scheduler.schedule(for: realm.instance.reference) { _ in count += 1 } }
            while try Self.run() {}
            #expect(count == 3)
        }
    }

    @Test func aWorkThatRunsTheRunLoopLetsTheOthersGoOnThere() throws {
        try onThread { realm in
            let (scheduler, reference) = (try #require(realm.instance.scheduler), realm.instance.reference)
            nonisolated(unsafe) var order: [Int] = []
            scheduler.schedule(for: reference) { _ in
                order.append(1)
                // Within its own timer's block the run loop always has something left.
                let deadline = TestTimeout.deadline()
                while order.count < 3, SystemClock.shared.monotonic() < deadline {
                    _ = try? Self.run(before: Date(timeIntervalSinceNow: 0.01))
                }
                order.append(4)
            }
            for number in 2...3 { scheduler.schedule(for: reference) { _ in order.append(number) } }
            while order.count < 4, try Self.run() {}
            #expect(order == [1, 2, 3, 4])
        }
    }

    @Test func whatARealmHasListedGoesWithIt() throws {
        let keeper = try open()
        try onThread { _ in
            let runLoop = OwnRunLoop.current
            for round in 0..<20 {
                let other = try memoryRealm([Dog.self, Person.self], "\(name) \(round)")
                _ = other.isEmpty
                let otherName = "\(name) \(round)"
                try systemThread {
                    let own = try? memoryRealm([Dog.self, Person.self], otherName)
                    try? own?.write { own?.add(Dog(1, "")) }
                }
                #expect(runLoop.count == 1)
                withExtendedLifetime(other) {}
            }
            #expect(runLoop.count == 0 && OwnRunLoop.current === runLoop)
        }
        withExtendedLifetime(keeper) {}
    }

    @Test func nothingIsListedOnceTheThreadHasEnded() throws {
        nonisolated(unsafe) var left: (OwnRunLoop, Realm, Scheduler)?
        try onThread { realm in left = (.current, realm, try #require(realm.instance.scheduler)) }
        let (runLoop, realm, scheduler) = try #require(left)
        left = nil
        #expect(!scheduler.schedule(for: realm.instance.reference) { _ in } && runLoop.count == 0)
    }
}
