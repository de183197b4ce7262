import FirnCore
import FirnStorage
import Foundation
import Testing

@testable import Firn

/// A realm belongs to one thread, and ends with it. Consecutive threads of the system have the same address, so a
/// realm that is found by that address would be the dead thread's.
@Suite(.timeLimit(.minutes(20))) struct ThreadEndTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private func open(line: UInt = #line) throws -> Realm { try memoryRealm(types, name, line: line) }

    /// What a thread leaves behind.
    private final class Left: @unchecked Sendable {
        var realm: Realm?
        var dog: Dog?
        var list: List<Dog>?
        var token: NotificationToken?
        var realmToken: NotificationToken?
    }

    /// Runs `body` on a thread, and returns when the system has ended it.
    private func onThread(_ body: @escaping (Left) throws -> Void) throws -> Left {
        let left = Left()
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) var failure: (any Error)?
        try systemThread {
            do { try body(left) } catch { failure = error }
        }
        if let failure { throw failure }
        return left
    }

    @Test func aTransactionIsCancelledWhenItsThreadEnds() throws {
        let left = try onThread { left in
            let realm = try self.open()
            left.realm = realm
            realm.beginWrite()
            realm.add(Dog(1, "uncommitted"))
            left.dog = realm.objects(Dog.self)[0]
        }
        for _ in 0..<20 {
            let next = try onThread { next in
                let realm = try self.open()
                next.realm = realm
                #expect(!realm.isInWriteTransaction && realm.objects(Dog.self).isEmpty)
                // The write lock is free again.
                try realm.write { realm.add(Person()) }
            }
            #expect(next.realm != left.realm)
        }
        #expect(try open().objects(Person.self).count == 20)
    }

    @Test func anObserverIsRemovedWhenItsThreadEndsAndHoldsNoVersion() throws {
        let realm = try open()
        try realm.write { realm.add(Dog(1, "Rex")) }
        let left = try onThread { left in
            left.realm = try self.open()
            // Only within a run loop's turn may observers be added.
            let timer = Timer(timeInterval: 0, repeats: false) { _ in
                left.token = left.realm?.objects(Dog.self).observe { _ in }
                left.realmToken = left.realm?.observe { _, _ in }
            }
            RunLoop.current.add(timer, forMode: .default)
            while left.realmToken == nil {
                _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 5))
            }
        }
        for age in 2..<6 { try realm.write { realm.objects(Dog.self)[0].age = age } }
        #expect(realm.activeVersions.count == 1, "\(realm.activeVersions)")
        #expect(left.token?.invalidate() == false && left.realmToken?.invalidate() == false)
        // Foundation keeps the timer's block on Linux, even if the timer is invalidated.
        (left.realm, left.token, left.realmToken) = (nil, nil, nil)
    }

    @Test func aRealmIsReleasedWithTheLastObjectOfItsEndedThread() throws {
        weak var instance: _RealmInstance?
        do {
            let left = try onThread { left in
                let realm = try self.open()
                try realm.write { realm.add(Person(value: ["dogs": [[1, "Rex"], [2, "Max"]]])) }
                instance = realm.instance
                left.dog = realm.objects(Dog.self)[0]
                realm.invalidate()
                left.list = realm.objects(Person.self)[0].dogs
            }
            left.dog = nil
            #expect(instance != nil)
            left.list = nil
            #expect(instance == nil)
        }
        #expect(try open().isEmpty, "the store is still open")
    }

    @Test func objectsReleasedElsewhereWhileTheThreadEndsAreFreedToo() throws {
        for _ in 0..<50 {
            weak var instance: _RealmInstance?
            let isReleased = DispatchSemaphore(value: 0)
            _ = try onThread { left in
                let realm = try self.open()
                try realm.write { realm.add(Dog(Int.random(in: 0 ... .max), "Rex")) }
                instance = realm.instance
                left.dog = realm.objects(Dog.self)[0]
                Thread {
                    left.dog = nil
                    isReleased.signal()
                }.start()
            }
            #expect(isReleased.wait(timeout: .testTimeout) == .success)
            // The other thread may be between taking the reference and releasing it.
            for _ in 0..<5000 where instance != nil { usleep(1000) }
            #expect(instance == nil)
        }
    }

    @Test func anObjectOfAnEndedThreadStopsAnotherWithTheSameAddress() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            nonisolated(unsafe) var dog: Dog?
            nonisolated(unsafe) var realm: Realm?
            try systemThread {
                realm = try! memoryRealm()
                try! realm!.write { realm!.add(Dog(1, "Rex")) }
                dog = realm!.objects(Dog.self)[0]
                guard dog!.age == 1 else { exit(0) }
            }
            // Whatever the system calls the next thread, it is another one.
            for _ in 0..<20 { try systemThread { if dog!.age != 1 { exit(0) } } }
        }
        expectMessage(result, "was used after the thread that it was opened on had ended")
    }

    @Test func readingAnObjectOnAnotherThreadStops() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            guard dog.age == 1 else { exit(0) }
            nonisolated(unsafe) let handed = dog
            try systemThread { if handed.age != 1 { exit(0) } }
        }
        expectMessage(result, "was used on another thread than the one it was opened on")
    }
}
