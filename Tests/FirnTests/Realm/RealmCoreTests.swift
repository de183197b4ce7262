import CFirn
import FirnCore
import Foundation
import Testing

@testable import Firn

/// The core that accessors read, and the counts in it.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct RealmCoreTests {
    private let name = UUID().uuidString
    private let types: [ObjectBase.Type] = [Dog.self, Person.self]
    private func open() throws -> Realm { try memoryRealm(types, name) }

    /// Drops the last reference to an object on another thread, and returns when it is gone.
    private func dropElsewhere(_ box: Box) {
        nonisolated(unsafe) let box = box
        let gone = DispatchSemaphore(value: 0)
        Thread {
            box.object = nil
            gone.signal()
        }.start()
        gone.wait()
    }

    private final class Box {
        var object: Dog?
        init(_ object: Dog) { self.object = object }
    }

    /// An object from before `invalidate()` is released on another thread. It is subtracted from the count of its own
    /// core, so an object from after it still holds the realm.
    @Test func anObjectHoldsItsRealmAlthoughOneFromBeforeAnInvalidateWasReleasedElsewhere() async throws {
        weak var instance: _RealmInstance?
        func objects() throws -> (Box, () throws -> Dog) {
            let realm = try open()
            try realm.write { realm.add(Dog(1, "Rex")) }
            instance = realm.instance
            let old = Box(realm.objects(Dog.self)[0])
            realm.invalidate()
            return (old, { realm.objects(Dog.self)[0] })
        }
        var dog: Dog?
        do {
            let (old, next) = try objects()
            dropElsewhere(old)
            await mainQueueIsThrough()
            dog = try next()
        }
        #expect(instance != nil && dog?.name == "Rex")
        dog = nil
        #expect(instance == nil)
        // A realm in memory stays until the turn of the main queue ends.
        await mainQueueIsThrough()
        #expect(try open().isEmpty, "the realm is still there")
    }

    /// The other way round: when all objects from after the `invalidate()` are gone, one from before it holds the
    /// realm.
    @Test func anObjectFromBeforeAnInvalidateHoldsItsRealm() async throws {
        weak var instance: _RealmInstance?
        var old: Dog?
        func use() throws {
            let realm = try open()
            try realm.write { realm.add(Dog(1, "Rex")) }
            instance = realm.instance
            old = realm.objects(Dog.self)[0]
            realm.invalidate()
            #expect(realm.objects(Dog.self)[0].name == "Rex")
        }
        try use()
        #expect(instance != nil && old?.isInvalidated == true)
        old = nil
        #expect(instance == nil)
        // A realm in memory stays until the turn of the main queue ends.
        await mainQueueIsThrough()
        #expect(try open().isEmpty, "the realm is still there")
    }

    /// On Linux, the jobs of an asynchronous main move between threads, which do other work in between and release
    /// objects there.
    @Test func aThreadThatOnceRanTheMainQueueCountsReleasesWithAtomics() async throws {
        weak var instance: _RealmInstance?
        do {
            let realm = try open()
            instance = realm.instance
            try realm.write { for id in 0..<20 { realm.add(Dog(id, "Rex")) } }
            let core = realm.instance.core
            // This simulates that the jobs before ran on another thread.
            core.pointee.thread = .max - 1
            var dogs = Array(realm.objects(Dog.self))
            dogs.removeLast()
            // The `Realm` value counts as an accessor, too.
            #expect(core.pointee.released == 0 && core.pointee.accessors == 19 + 1, "this is the main queue")
            // This simulates that this job runs on that thread.
            nonisolated(unsafe) let box = Box(dogs.removeLast())
            nonisolated(unsafe) let shared = core
            let gone = DispatchSemaphore(value: 0)
            Thread {
                shared.pointee.thread = firn_thread_number()
                box.object = nil
                gone.signal()
            }.start()
            gone.wait()
            #expect(core.pointee.released == 1 && core.pointee.accessors == 19 + 1)
            await mainQueueIsThrough()
            #expect(dogs.allSatisfy { $0.name == "Rex" })
            #expect(core.pointee.released == 0 && core.pointee.accessors == 18 + 1)
            withExtendedLifetime(realm) {}
        }
        #expect(instance == nil)
        // A realm in memory stays until the turn of the main queue ends.
        await mainQueueIsThrough()
        #expect(try open().isEmpty, "the realm is still there")
    }

    /// As above, from the beginning: the thread that opened the realm ran the main queue for that job only.
    @Test func aThreadThatOpenedTheMainQueuesRealmCountsLaterReleasesWithAtomics() async throws {
        let (name, types) = (name, types)
        let result: (isThere: Bool, released: Int64, accessors: Int64) = await withCheckedContinuation { done in
            Thread {
                nonisolated(unsafe) var box: Box?
                nonisolated(unsafe) var core: UnsafeMutablePointer<firn_realm_core_t>?
                let own = firn_thread_number()
                var isThere = false
                DispatchQueue.main.sync {
                    isThere = firn_thread_number() == own && !Thread.isMainThread
                    MainActor.assumeIsolated {
                        guard let realm = try? memoryRealm(types, name) else { return }
                        try? realm.write { for id in 0..<2 { realm.add(Dog(id, "Rex")) } }
                        core = realm.instance.core
                        box = Box(realm.objects(Dog.self)[0])
                    }
                }
                // This thread no longer runs the main queue, which is kept from subtracting the release until it has
                // been checked.
                let (isBusy, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                DispatchQueue.main.async {
                    isBusy.signal()
                    mayGoOn.wait()
                }
                isBusy.wait()
                defer { mayGoOn.signal() }
                box?.object = nil
                done.resume(returning: (isThere, core?.pointee.released ?? -1, core?.pointee.accessors ?? -1))
            }.start()
        }
        await mainQueueIsThrough()
        #expect(!result.isThere || result.released == 1 && result.accessors == 1)
    }

    @Test func aRealmIsReleasedWhenItsObjectsFromBeforeAndAfterAnInvalidateAreReleasedOnDifferentThreads() async throws
    {
        weak var instance: _RealmInstance?
        func objects() throws -> (Box, Box) {
            let realm = try open()
            try realm.write { realm.add(Dog(1, "Rex")) }
            instance = realm.instance
            let old = Box(realm.objects(Dog.self)[0])
            realm.invalidate()
            return (old, Box(realm.objects(Dog.self)[0]))
        }
        do {
            let (old, new) = try objects()
            dropElsewhere(old)
            await mainQueueIsThrough()
            #expect(instance != nil && new.object?.name == "Rex")
            new.object = nil
        }
        await wait { instance == nil }
        #expect(instance == nil)
        // A realm in memory stays until the turn of the main queue ends.
        await mainQueueIsThrough()
        #expect(try open().isEmpty, "the realm is still there")
    }

    /// Otherwise a setter would write into the published version, which others read.
    @Test func settingOutsideOfAWriteStopsAlthoughTheLastTransactionMadeTheLeaf() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            try realm.write { realm.add(dog) }
            // The accessor has found its row, in a leaf that the last transaction made.
            guard dog.age == 1 else { exit(0) }
            dog.age = 2
        }
        expectMessage(result, "can't set Dog.age outside of a write transaction")
    }

    @Test(arguments: [true, false])
    func aPublishedVersionDoesNotChangeAfterItsTransaction(_ isCommitted: Bool) async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        realm.beginWrite()
        dog.age = 2
        if isCommitted { try realm.commitWrite() } else { realm.cancelWrite() }
        // The stamp that marks a leaf as the running transaction's own.
        #expect(realm.instance.core.pointee.stamp == .max)
        #expect(dog.age == (isCommitted ? 2 : 1))
    }

    @Test func freezingAfterARefreshShowsWhatTheRealmShows() async throws {
        let realm = try open()
        let dog = Dog(1, "Rex")
        try realm.write { realm.add(dog) }
        let before = dog.freeze()
        try onAnotherThread(name, types: types) { other in
            try other.write { other.objects(Dog.self)[0].age = 5 }
        }
        #expect(dog.freeze().age == 1)
        realm.refresh()
        #expect(dog.age == 5 && dog.freeze().age == 5 && before.age == 1)
        #expect(realm.freeze().objects(Dog.self)[0].age == 5)
    }

    /// A thread whose run loop does not run executes no turn, and keeps those that were scheduled.
    @Test func oneTurnIsScheduledForAllReleasesElsewhere() throws {
        let (name, types) = (name, types)
        nonisolated(unsafe) var result: Result<[Int], any Error>?
        let done = DispatchSemaphore(value: 0)
        Thread {
            result = Result { try turnsForReleasesElsewhere(name, types) }
            done.signal()
        }.start()
        done.wait()
        #expect(try result?.get() == [1, 0, 1])
    }
}

/// How many turns are scheduled on a thread whose objects are released elsewhere: after many releases, after its turn
/// has run, and after one more release.
private func turnsForReleasesElsewhere(_ name: String, _ types: [ObjectBase.Type]) throws -> [Int] {
    let loop = OwnRunLoop.current
    func runLoop() { while RunLoop.current.run(mode: .default, before: .distantFuture) {} }
    let realm = try memoryRealm(types, name)
    try realm.write { realm.add(Dog(1, "Rex")) }
    runLoop()
    let queue = DispatchQueue(label: "elsewhere")
    func drop() {
        nonisolated(unsafe) var objects = [realm.objects(Dog.self)[0]]
        let gone = DispatchSemaphore(value: 0)
        queue.async {
            objects.removeAll()
            gone.signal()
        }
        gone.wait()
    }
    realm.instance.observers.stopListening()
    defer { realm.instance.startListening() }
    for _ in 0..<200 {
        drop()
        // The delivery then subtracts the releases.
        try realm.write {}
    }
    var counts = [loop.count]
    runLoop()
    counts.append(loop.count)
    drop()
    counts.append(loop.count)
    return counts
}
