import FirnStorage
import Synchronization

/// Wakes a realm when a version is published, on whatever thread that happens.
final class RealmWaker: @unchecked Sendable {
    // Unchecked because the instance is used only on its own scheduler.
    private let reference: WeakReference<_RealmInstance>
    private let scheduler: Scheduler
    private let turn = Turn()

    /// Whether a turn is scheduled. The scheduled work retains nothing but this, because it may stay listed after the
    /// realm is gone.
    private final class Turn: Sendable {
        // Atomic, because any thread may publish. One turn handles all versions that were published before it.
        let isScheduled = Atomic<Bool>(false)
    }

    init(_ instance: _RealmInstance, _ scheduler: Scheduler) {
        reference = instance.reference
        self.scheduler = scheduler
    }

    func wake() {
        guard !turn.isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        scheduler.schedule(for: reference) { [turn] instance in
            turn.isScheduled.store(false, ordering: .releasing)
            instance.turn()
        }
    }
}
