import FirnStorage
import FirnTestSupport
import Foundation
import Synchronization
import Testing

/// An object that owns its reference, and may wait in its `deinit`.
private final class Owner: Sendable {
    let reference: WeakReference<Owner>
    private let mayEnd: DispatchSemaphore?
    private let isEnding: DispatchSemaphore?

    init(_ reference: WeakReference<Owner>, isEnding: DispatchSemaphore? = nil, mayEnd: DispatchSemaphore? = nil) {
        self.reference = reference
        self.isEnding = isEnding
        self.mayEnd = mayEnd
        reference.begin(self)
    }

    deinit {
        isEnding?.signal()
        mayEnd?.wait()
        reference.end()
    }
}

@Suite(.timeLimit(.minutes(20))) struct WeakReferenceTests {
    @Test func itKeepsNoObjectAlive() {
        let reference = WeakReference<Owner>()
        #expect(reference.object == nil)
        var owner: Owner? = Owner(reference)
        #expect(reference.object === owner)
        var other = reference.object
        owner = nil
        #expect(reference.object != nil && reference.object === other)
        other = nil
        #expect(owner == nil && other == nil && reference.object == nil)
    }

    /// The last reference is gone, but the object has not said yet that it is going.
    @Test func anObjectThatIsGoingIsNotFound() throws {
        let reference = WeakReference<Owner>()
        let (isEnding, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let owner = Mutex<Owner?>(Owner(reference, isEnding: isEnding, mayEnd: mayEnd))
        let done = DispatchSemaphore(value: 0)
        let drop = { @Sendable in owner.withLock { $0 = nil } }
        Thread.detachNewThread {
            drop()
            done.signal()
        }
        #expect(isEnding.wait(timeout: .testTimeout) == .success)
        for _ in 0..<100 { #expect(reference.object == nil) }
        mayEnd.signal()
        #expect(done.wait(timeout: .testTimeout) == .success)
        #expect(reference.object == nil)
    }

    /// Two threads find the object again and again while the third one drops it.
    @Test func manyThreadsFindAnObjectOrNone() throws {
        for _ in 0..<50 {
            let reference = WeakReference<Owner>()
            let owner = Mutex<Owner?>(Owner(reference))
            let begun = Atomic<Int>(0)
            let search: @Sendable () -> Void = {
                begun.wrappingAdd(1, ordering: .relaxed)
                while let found = reference.object {
                    if found.reference !== reference { Issue.record("another object was found") }
                }
            }
            let threads = try (0..<2).map { _ in try StorageThread.start(name: "search", search) }
            while begun.load(ordering: .relaxed) < 2 { yieldThread() }
            owner.withLock { $0 = nil }
            for thread in threads { thread.join() }
            #expect(reference.object == nil)
        }
    }
}
