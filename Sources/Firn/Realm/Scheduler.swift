import CFirn
import Dispatch
import FirnStorage
import Foundation
import Synchronization

/// The thread, queue or actor that a live realm belongs to. It says whether the caller runs there, and runs work there.
///
/// Immutable, so it may be used from any thread.
final class Scheduler: @unchecked Sendable {
    // Unchecked because of `DispatchQueue`, to which any thread may submit work.
    enum Kind {
        /// The main thread, queue and actor, which are one. In a program with an asynchronous `main` on Linux their
        /// jobs run on changing threads, one after the other. The realm's thread then follows (see
        /// `_RealmInstance.check`).
        case main
        /// Another thread, by its number, with its run loop.
        case thread(UInt64, OwnRunLoop)
        case queue(DispatchQueue, QueueMark)
        case actor(OwnActor)
    }

    /// An actor. It is not retained, because it may itself keep its realm: when it is gone, nobody uses that realm
    /// any more.
    final class OwnActor: Sendable {
        let id: ObjectIdentifier
        weak let actor: (any Actor)?
        init(_ actor: any Actor) {
            id = ObjectIdentifier(actor)
            self.actor = actor
        }
    }

    /// Identifies a queue: on Linux several `DispatchQueue` objects may represent one queue.
    final class QueueMark: Sendable {}

    /// Identifies a scheduler: a realm is opened once for each.
    enum Key: Hashable {
        case main
        case thread(UInt64)
        case queue(ObjectIdentifier)
        case actor(ObjectIdentifier)
    }

    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }

    /// The calling thread, or the main one if the caller runs on the main queue.
    static var current: Scheduler {
        isOnMain ? Scheduler(.main) : Scheduler(.thread(firn_thread_number(), .current))
    }

    /// The scheduler of a queue, which must be serial. That can't be checked, but a global queue stops the program.
    static func queue(_ queue: DispatchQueue) -> Scheduler {
        // The main queue is recognised by its mark. Any queue may have its label, and its address is not unique
        // (`QueueMark`).
        let main = mainMark
        if queue.getSpecific(key: queueMark) === main { return Scheduler(.main) }
        if isGlobal(queue) {
            stopProgram(
                "a realm or observer was given a global queue, which is concurrent. Make a serial one: DispatchQueue(label:)."
            )
        }
        return marking.withLock {
            if let mark = queue.getSpecific(key: queueMark) { return Scheduler(.queue(queue, mark)) }
            // A mark is never replaced: that would free the mark that the queue may be reading at this moment in
            // `isCurrent`.
            let mark = QueueMark()
            queue.setSpecific(key: queueMark, value: mark)
            return Scheduler(.queue(queue, mark))
        }
    }

    /// The scheduler of an actor. For the main actor it is the main thread's.
    static func actor(_ actor: any Actor) -> Scheduler {
        actor === MainActor.shared ? Scheduler(.main) : Scheduler(.actor(OwnActor(actor)))
    }

    /// Whether this is the main thread, or a thread that runs the main queue.
    static var isOnMain: Bool {
        if Thread.isMainThread { return true }
        // The mark is read first, because the first read sets it on the queue.
        let mark = mainMark
        return DispatchQueue.getSpecific(key: queueMark) === mark
    }
    private static let mainMark = {
        let mark = QueueMark()
        DispatchQueue.main.setSpecific(key: queueMark, value: mark)
        return mark
    }()
    /// Held while a queue gets its mark, so that it gets only one.
    private static var marking: GlobalLock { .queueMarks }

    private static func isGlobal(_ queue: DispatchQueue) -> Bool { queue.label.hasPrefix("com.apple.root.") }

    // A queue's mark is written once; the key itself never changes.
    private static let queueMark = DispatchSpecificKey<QueueMark>()

    var key: Key {
        switch kind {
        case .main: .main
        case .thread(let id, _): .thread(id)
        case .queue(_, let mark): .queue(ObjectIdentifier(mark))
        case .actor(let own): .actor(own.id)
        }
    }

    /// Whether this is an actor that is gone. Another actor may then have its address, and so its key.
    var isGone: Bool { if case .actor(let own) = kind { own.actor == nil } else { false } }

    /// Whether the realm's accessors compare the thread at each access.
    var isThread: Bool {
        switch kind {
        case .main, .thread: true
        case .queue, .actor: false
        }
    }

    /// Whether this is the main queue, and the caller runs a job of it on another thread than the main one.
    var isOnChangingThread: Bool { if case .main = kind { !Thread.isMainThread } else { false } }

    /// Whether it is an actor, such as the main one.
    var isActor: Bool {
        switch kind {
        case .main, .actor: true
        case .thread, .queue: false
        }
    }

    var isQueue: Bool { if case .queue = kind { true } else { false } }

    /// The name of the scheduler in messages. A thread gets its number when it first uses Firn.
    var text: String {
        switch kind {
        case .main: "the main thread"
        case .thread(let number, _): "thread \(number)"
        case .queue(let queue, _): "the queue \"\(queue.label)\""
        case .actor(let own): own.actor.map { "the actor \(type(of: $0))" } ?? "an actor that is gone"
        }
    }

    /// Whether the caller runs where the realm belongs. For an actor that can't be found out, so this is true; `check`
    /// stops the program there.
    var isCurrent: Bool {
        switch kind {
        case .main: Scheduler.isOnMain
        case .thread(let id, _): id == firn_thread_id()
        case .queue(_, let mark): DispatchQueue.getSpecific(key: Scheduler.queueMark) === mark
        case .actor: true
        }
    }

    /// Stops the program if the caller does not run where the realm of a queue or an actor belongs.
    func check() {
        switch kind {
        case .actor(let own):
            // If the actor is gone, the caller is something that it kept and that is being released.
            guard let actor = own.actor, !actor.isRunningCaller else { return }
            stopProgram(
                "a realm of \(text), or an object or collection of it, was used outside of the actor. Use it in a method of the actor, or hand over a frozen object (freeze())."
            )
        case .queue:
            if !isCurrent {
                stopProgram(
                    "a realm of \(text), or an object or collection of it, was used outside of the queue. Use it within queue.async or sync."
                )
            }
        case .main, .thread: break
        }
    }

    /// Whether scheduled work will run: a thread other than the main one needs a running run loop.
    var canDeliver: Bool {
        guard case .thread = kind else { return true }
        return OwnRunLoop.isRunning
    }

    /// Whether the caller is in a turn of a run loop, a block of a queue (the main one included) or an actor's job. The
    /// caller runs where the realm belongs. If the result is false, something that is kept until a turn ends may be
    /// kept for ever. An example is the main thread of a program that never runs its run loop.
    var isInTurn: Bool {
        switch kind {
        // The main thread has the mark of the main queue also outside of that queue's blocks. Any other thread has it
        // only in such a block.
        case .main: OwnRunLoop.isRunning || !Thread.isMainThread && Scheduler.isOnMain
        case .thread: OwnRunLoop.isRunning
        case .queue, .actor: true
        }
    }

    /// Runs `work` later, where the realm belongs, unless the realm is gone by then. May be called on any thread.
    ///
    /// The work gets the realm as its argument. It must not hold the realm, because it may stay listed for longer.
    ///
    /// - Returns: false if nothing can run there any more: the thread has ended, or the actor is gone.
    @discardableResult
    func schedule(for realm: WeakReference<_RealmInstance>, _ work: @escaping OwnRunLoop.Work) -> Bool {
        let run: @Sendable () -> Void = { if let realm = realm.object { work(realm) } }
        switch kind {
        case .main: MainTurns.add(run)
        case .thread(_, let runLoop): return runLoop.schedule(for: realm, work)
        case .queue(let queue, _): queue.async(execute: run)
        case .actor(let own):
            guard let actor = own.actor else { return false }
            Task { await Scheduler.run(run, on: actor) }
        }
        return true
    }

    /// Keeps an object until the current turn of the run loop, block of the queue or job of the actor ends. Outside of
    /// these, the object is kept until the end of the next one. A thread whose run loop does not run has no turns, so
    /// nothing is kept there. The main thread outside of turns keeps only the newest object.
    func keep(_ object: some AnyObject & Sendable) {
        let release: @Sendable () -> Void = { withExtendedLifetime(object) {} }
        switch kind {
        case .main:
            guard isCurrent else { return }
            if isInTurn { DispatchQueue.main.async(execute: release) } else { MainTurns.keep(object) }
        case .queue(let queue, _): queue.async(execute: release)
        case .actor(let own):
            if let actor = own.actor { Task { await Scheduler.run(release, on: actor) } }
        case .thread: if isCurrent, isInTurn { RunLoop.current.perform(release) }
        }
    }

    /// Drops the work that was scheduled for a realm that is being freed, if the realm's thread might never do it.
    func forget(_ realm: WeakReference<_RealmInstance>) {
        if case .thread(_, let runLoop) = kind { runLoop.forget(realm) }
    }

    /// Runs `body` on the queue that this was made of, later.
    func async(_ body: @escaping @Sendable () -> Void) {
        switch kind {
        case .main: DispatchQueue.main.async(execute: body)
        case .queue(let queue, _): queue.async(execute: body)
        case .thread, .actor: preconditionFailure("Firn: the scheduler is not that of a queue")
        }
    }

    /// Runs `body` on an actor.
    private static func run(_ body: @Sendable () -> Void, on actor: isolated any Actor) async { body() }
}
