import CFirn
import Dispatch
import Foundation
import Synchronization

/// The thread, queue or actor that a live realm belongs to: how to know that one is there, and how to get there.
///
/// Immutable, so it may be asked from any thread.
final class Scheduler: @unchecked Sendable {
    // Unchecked because of `RunLoop`, which is only given timers, from any thread.
    enum Kind {
        case thread(Thread)
        case queue(DispatchQueue)
        case actor(any Actor)
    }

    struct Thread {
        let id: UInt
        let isMain: Bool
        let runLoop: RunLoop
    }

    /// What tells schedulers apart: a realm is opened once for each.
    enum Key: Hashable {
        case thread(UInt)
        case queue(ObjectIdentifier)
        case actor(ObjectIdentifier)
    }

    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }

    /// The calling thread.
    static var current: Scheduler {
        Scheduler(
            .thread(Thread(id: UInt(firn_thread_id()), isMain: Foundation.Thread.isMainThread, runLoop: RunLoop.current)))
    }

    /// A queue, which must be serial: that can't be asked. The main queue is the main thread.
    static func queue(_ queue: DispatchQueue) -> Scheduler {
        if queue === DispatchQueue.main { return current }
        if isGlobal(queue) {
            fatalError("Firn: a realm or observer was given a global queue, which is concurrent. Make a serial one: DispatchQueue(label:).")
        }
        queue.setSpecific(key: queueMark, value: ObjectIdentifier(queue))
        return Scheduler(.queue(queue))
    }

    static func actor(_ actor: any Actor) -> Scheduler {
        if actor === MainActor.shared { return current }
        return Scheduler(.actor(actor))
    }

    private static func isGlobal(_ queue: DispatchQueue) -> Bool { queue.label.hasPrefix("com.apple.root.") }

    // Written once per queue; the key itself never changes.
    private static let queueMark = DispatchSpecificKey<ObjectIdentifier>()

    var key: Key {
        switch kind {
        case .thread(let thread): .thread(thread.id)
        case .queue(let queue): .queue(ObjectIdentifier(queue))
        case .actor(let actor): .actor(ObjectIdentifier(actor))
        }
    }

    /// Whether the caller runs where the realm belongs. An actor's realm can't be asked; `check` stops the program there.
    var isCurrent: Bool {
        switch kind {
        case .thread(let thread): thread.id == UInt(firn_thread_id())
        case .queue(let queue): DispatchQueue.getSpecific(key: Scheduler.queueMark) == ObjectIdentifier(queue)
        case .actor: true
        }
    }

    /// Stops the program where the caller does not run where the realm belongs.
    func check() {
        switch kind {
        case .actor(let actor):
            actor.preconditionIsolated("Firn: a realm of an actor, or an object or collection of it, was used outside of the actor.")
        case .queue(let queue):
            if !isCurrent {
                fatalError(
                    "Firn: a realm of the queue \"\(queue.label)\", or an object or collection of it, was used outside of the queue. Use it within queue.async or sync.")
            }
        case .thread: break
        }
    }

    /// Whether what is scheduled will run: a thread other than the main one needs a running run loop.
    var canDeliver: Bool {
        guard case .thread(let thread) = kind else { return true }
        return thread.isMain || RunLoop.current.currentMode != nil
    }

    /// Whether what is scheduled may run later, as far as can be known from any thread.
    func schedule(_ body: @escaping @Sendable () -> Void) {
        switch kind {
        case .thread(let thread) where thread.isMain: DispatchQueue.main.async(execute: body)
        case .thread(let thread):
            // `perform` alone does not wake a run loop on Linux; a timer does.
            thread.runLoop.add(Timer(timeInterval: 0, repeats: false) { _ in body() }, forMode: .default)
        case .queue(let queue): queue.async(execute: body)
        case .actor(let actor): Task { await Scheduler.run(body, on: actor) }
        }
    }

    private static func run(_ body: @Sendable () -> Void, on actor: isolated any Actor) async { body() }
}
