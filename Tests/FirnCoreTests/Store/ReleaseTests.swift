import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

/// Objects that the application's closures hold may use Firn when they are released, because no lock is held then. In
/// debug builds, taking a lock under another one of its rank stops the process. Each test runs in a process of its
/// own.
@Suite(.timeLimit(.minutes(20))) struct ReleaseTests {
    /// Takes a lock when it is deallocated.
    final class Held: Sendable {
        private let gone: Guarded<Int>
        init(_ gone: Guarded<Int>) { self.gone = gone }
        deinit {
            Lock(.innermost).withLock {}
            gone.withLock { $0 += 1 }
        }
    }

    @Test func aListenerIsReleasedOutsideTheLock() async {
        await #expect(processExitsWith: .success) {
            let store = try CountedThings.open(versions: 5)
            let gone = Guarded(.unranked, 0)
            func listen() -> Store.Listener {
                let held = Held(gone)
                return store.onPublish { _ in withExtendedLifetime(held) {} }
            }
            var listener: Store.Listener? = listen()
            try store.change()
            withExtendedLifetime(listener) {}
            listener = nil
            #expect(gone.withLock { $0 } == 1)
        }
    }

    @Test func aWriteThatHadToWaitIsReleasedOutsideTheLock() async {
        await #expect(processExitsWith: .success) {
            let store = try CountedThings.open(versions: 1, policy: .wait(seconds: 3600))
            var pin: Pin? = store.pin()
            try store.change()
            let gone = Guarded(.unranked, 0)
            func request() {
                let held = Held(gone)
                store.requestWrite { result in
                    withExtendedLifetime(held) {}
                    do { try result.get().cancel() } catch { Issue.record(error) }
                }
            }
            for _ in 0..<5 { request() }
            store.awaitWaiters(1)
            withExtendedLifetime(pin) {}
            pin = nil
            store.watch { gone.withLock { $0 } == 5 }
        }
    }
}
