import Firn
import Foundation

/// Runs the main queue's and the main actor's pending work, until `isDone` or a few seconds have passed.
@MainActor
func settle(_ isDone: () -> Bool = { false }, seconds: Double = 0.1) async {
    let end = Date(timeIntervalSinceNow: isDone() ? 0 : max(seconds, 0.02))
    while Date() < end, !isDone() { try? await Task.sleep(for: .milliseconds(2)) }
}

/// Waits until `isDone`, at most ten seconds.
@MainActor
func wait(for isDone: () -> Bool) async { await settle(isDone, seconds: 10) }

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
