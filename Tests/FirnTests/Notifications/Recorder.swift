import Firn
import Foundation
import Testing

/// Waits until `isDone`, at most ten seconds.
@MainActor
func wait(for isDone: () -> Bool) async {
    let end = Date(timeIntervalSinceNow: 10)
    while Date() < end, !isDone() { try? await Task.sleep(for: .milliseconds(2)) }
}

/// Waits until the realm has told its observers all that is due, so that who has been told nothing by then is told nothing.
///
/// It adds an observer and waits for its first call: a turn tells the observers in the order in which they were added, so the others have been told before. Twice,
/// as a block may write. The realm must have the class `Dog`.
@MainActor
func settle(_ realm: Realm, at location: SourceLocation = #_sourceLocation) async {
    for _ in 0..<2 {
        var isTold = false
        let token = realm.objects(Dog.self).observe { _ in isTold = true }
        await wait { isTold }
        #expect(isTold, "the realm tells its observers nothing", sourceLocation: location)
        token.invalidate()
    }
}

/// Returns when all has run that the main queue had been given before.
@MainActor
func mainQueueIsThrough() async {
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
}

/// Thrown when a body on another thread does not end.
struct OtherThreadHangs: Error {}

/// Runs `body` with a realm of its own on another thread, and returns when that has ended.
func onAnotherThread(_ name: String, _ types: [ObjectBase.Type], _ body: @escaping @Sendable (Realm) throws -> Void)
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
    guard done.wait(timeout: .patience) == .success else { throw OtherThreadHangs() }
    if let failure { throw failure }
}
