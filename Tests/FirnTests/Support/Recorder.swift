import Firn
import FirnStorage
import FirnTestSupport
import Foundation
import Testing

/// Waits until `isDone`: at most ten seconds, and at least 1,000 turns of the caller's actor, which the other tests may
/// keep busy for minutes.
func wait(isolation: isolated (any Actor)? = #isolation, for isDone: () -> Bool) async {
    _ = await TestTimeout.suspends(within: 10, until: isDone)
}

/// Waits until the realm has delivered everything that is due, so that an observer which was not called by then is
/// not called at all.
///
/// It adds an observer and waits for its first call: a delivery calls the observers in the order in which they were
/// added, so the others have been called before. It does so twice, because a block may write. The realm must have the
/// class `Dog`.
@MainActor
func waitForDeliveries(of realm: Realm, at location: SourceLocation = #_sourceLocation) async {
    for _ in 0..<2 {
        var isCalled = false
        let token = realm.objects(Dog.self).observe { _ in isCalled = true }
        await wait { isCalled }
        #expect(isCalled, "the realm does not call its observers", sourceLocation: location)
        token.invalidate()
    }
}

/// Returns when everything has run that was scheduled on the main queue before.
@MainActor
func mainQueueIsThrough() async {
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
}

/// Runs `body` on a thread of the system, and returns when it has ended, including the system's part.
func systemThread(_ body: @escaping @Sendable () -> Void) throws {
    try StorageThread.start(name: "test", body).join()
}

/// Thrown when a body on another thread does not end.
struct OtherThreadHangs: Error {}

/// Runs `body` with its own realm on another thread, and returns when it has ended.
func onAnotherThread(_ name: String, types: [ObjectBase.Type], _ body: @escaping @Sendable (Realm) throws -> Void)
    throws
{
    nonisolated(unsafe) var failure: (any Error)?
    let done = DispatchSemaphore(value: 0)
    Thread {
        do { try body(try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: types))) } catch {
            failure = error
        }
        done.signal()
    }.start()
    guard done.wait(timeout: .testTimeout) == .success else { throw OtherThreadHangs() }
    if let failure { throw failure }
}
