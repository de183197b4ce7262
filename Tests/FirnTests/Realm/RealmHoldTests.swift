import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// A `Realm` value may be released anywhere: with it goes what it holds, if nothing else does.
@Suite("A realm ends with its last value", .timeLimit(.minutes(20)))
struct RealmHoldTests {
    private func configuration(_ folder: TemporaryFolder) -> Realm.Configuration {
        Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder.path + "/hold.firn"), objectTypes: [Dog.self, Person.self])
    }

    private final class Box: @unchecked Sendable {
        // One thread at a time uses it.
        var realm: Realm?
    }

    @Test("on a thread without a run loop, even if another thread releases it") func elsewhere() throws {
        let folder = TemporaryFolder()
        let configuration = configuration(folder)
        let box = Box()
        let isOpen = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        let own = configuration
        Thread {
            box.realm = try? Realm(configuration: own)
            try? box.realm?.write { box.realm?.add(Dog(1, "Rex")) }
            isOpen.signal()
            mayEnd.wait()
        }.start()
        #expect(isOpen.wait(timeout: .testTimeout) == .success)
        let reference = try #require(box.realm?.instance.reference)
        #expect(reference.object != nil)
        box.realm = nil
        #expect(reference.object == nil)
        // The thread still runs, and the store is closed.
        #expect(waitUntilClosed(try #require(configuration.fileURL)))
        #expect(try Realm.deleteFiles(for: configuration))
        mayEnd.signal()
    }

    @MainActor
    @Test("on the main thread, after the next turn of its queue") func elsewhereFromMain() async throws {
        let box = Box()
        box.realm = try memoryRealm()
        let reference = try #require(box.realm?.instance.reference)
        await Task.detached { box.realm = nil }.value
        await wait { reference.object == nil }
        #expect(reference.object == nil)
    }

    @Test("on a queue") func queue() throws {
        let queue = DispatchQueue(label: "hold")
        let box = Box()
        let reference = try queue.sync {
            box.realm = try Realm(
                configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Person.self]),
                queue: queue)
            return try #require(box.realm?.instance.reference)
        }
        #expect(reference.object != nil)
        box.realm = nil
        #expect(TestTimeout.awaits { reference.object == nil })
    }

    @Test("and not before, whatever is invalidated, copied or dropped") func invalidated() throws {
        var realm: Realm? = try memoryRealm()
        let reference = try #require(realm?.instance.reference)
        try realm?.write { realm?.add(Dog(1, "Rex")) }
        var dog = realm?.objects(Dog.self).first
        realm?.invalidate()
        #expect(dog?.isInvalidated == true)
        dog = realm?.objects(Dog.self).first
        var copy = realm
        realm = nil
        #expect(reference.object != nil && dog?.name == "Rex")
        copy = nil
        #expect(copy == nil && reference.object != nil && dog?.name == "Rex")
        dog = nil
        #expect(dog == nil && reference.object == nil)
    }
}
