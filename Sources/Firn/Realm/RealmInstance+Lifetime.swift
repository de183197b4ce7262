import CFirn
import FirnCore
import FirnStorage

/// What keeps an instance alive, and what ends it.
///
/// Accessors of a thread's realm hold no reference. They are counted on the core that they were made with, and the
/// instance holds itself while any core counts one. Releases on the realm's own thread change the count. Releases on
/// another thread are only noted on the core (`released`), and the realm's thread subtracts them at its next turn. When
/// that thread has ended, the releasing thread does so, under `endedLock`. Accessors of the realm of a queue or an
/// actor, and frozen accessors, hold a reference each.
extension _RealmInstance {
    /// Counts an accessor, or a collection, that has just been made.
    @inline(__always)
    func retainAccessor(_ row: _Row) { countAccessor(row.core.unsafelyUnwrapped) }

    @inline(__always)
    fileprivate func countAccessor(_ core: AccessorCores.Core) {
        if core.pointee.mask != 0 {
            cores.count(on: core, of: self)
        } else {
            _ = Unmanaged.passUnretained(self).retain()
        }
    }

    /// Subtracts what was released on other threads, and releases the instance and the cores that no accessor counts
    /// on any more.
    func subtractReleases() {
        // Nothing may use `self` after this: it may release the last reference.
        let kept = cores.subtractReleases()
        withExtendedLifetime(kept) {}
    }

    /// Notes the release of an accessor on a thread other than the realm's.
    fileprivate func releaseElsewhere(_ core: AccessorCores.Core) {
        // In a forked child nothing is counted: the parent's realms stay as they were.
        if isForked { return }
        // The main queue's jobs have moved between threads before, so this may be such a job. The queue's mark shows
        // whether it is.
        if core.pointee.counter == .max, case .main? = scheduler?.kind, scheduler?.isCurrent ?? false {
            return releaseHere(core, Unmanaged.passUnretained(self))
        }
        // Once the release is noted, the realm's thread may release the last reference.
        let own = Unmanaged.passUnretained(self).retain()
        firn_core_count_released(core)
        if hasEnded.load(ordering: .sequentiallyConsistent) {
            countReleasesOfEnded()
        } else if !isCountingScheduled.exchange(true, ordering: .acquiringAndReleasing) {
            // One turn subtracts everything that gathers until then. If that thread runs no run loop, the turn never
            // comes. It holds no reference: while there is something to subtract, the instance exists.
            scheduler?.schedule(for: reference) { instance in
                instance.isCountingScheduled.store(false, ordering: .releasing)
                instance.subtractReleases()
            }
        }
        own.release()
    }

    // MARK: The end of its thread

    /// Held while the releases of accessors of an ended thread are subtracted, because no thread owns their realms any
    /// more.
    private static var endedLock: GlobalLock { .endedRealms }

    private func countReleasesOfEnded() {
        let kept = _RealmInstance.endedLock.withLock { cores.subtractReleases() }
        withExtendedLifetime(kept) {}
    }
}

extension _RealmInstance {
    /// Registers the instance to end with its thread, if it belongs to a thread that can end.
    func endWithThread() {
        guard !isRegisteredForThreadEnd, case .thread? = scheduler?.kind else { return }
        isRegisteredForThreadEnd = true
        ThreadEnd.register(reference) { $0.object?.threadEnds() }
    }

    /// Called when the realm's thread ends: its transaction is undone, its observers end, and it shows nothing any
    /// more. Accessors and `Realm` values that are left can only be released.
    private func threadEnds() {
        // A forked child has the realms of its parent's thread, and the parent goes on using them.
        if isForked { return }
        asyncWrites?.end()
        shown.ahead = nil
        loseTransaction()
        endForGood()
    }

    /// Ends the realm, which is in no transaction: its observers end, it shows nothing any more, and what belongs to it
    /// can only be released.
    func endForGood() {
        observers.end()
        show(nil)
        cores.move(to: .max)
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        countReleasesOfEnded()
    }
}

/// Counts as an accessor for as long as the `Realm` value of an opening, or a copy of it, is kept.
///
/// Without a hold, the instance would be retained and released again whenever its count of accessors rises from zero
/// and falls back to zero. That happens at each object that the program looks up and drops. After `invalidate()` a hold
/// does not prevent it, because the hold is counted on the earlier core.
final class RealmHold: @unchecked Sendable {
    // Immutable. A hold is counted on the core as an accessor is, and accessors may be released on any thread.
    private let core: AccessorCores.Core

    init(_ instance: _RealmInstance) {
        core = instance.core
        instance.countAccessor(core)
    }

    deinit { releaseAccessor(core) }
}

/// Subtracts an accessor on a thread that does the realm's work. The realm itself is examined only for the last
/// accessor.
@inline(__always)
private func releaseHere(
    _ core: AccessorCores.Core, _ instance: Unmanaged<_RealmInstance>
) {
    core.pointee.accessors &-= 1
    if core.pointee.accessors == 0 { instance.takeUnretainedValue().subtractReleases() }
}

/// Subtracts an accessor or a collection from its core.
func releaseAccessor(_ core: AccessorCores.Core) {
    guard let owner = core.pointee.owner else { return }
    let instance = Unmanaged<_RealmInstance>.fromOpaque(owner)
    if core.pointee.mask == 0 {
        instance.release()
    } else if core.pointee.counter == firn_thread_id() {
        releaseHere(core, instance)
    } else {
        instance.takeUnretainedValue().releaseElsewhere(core)
    }
}
