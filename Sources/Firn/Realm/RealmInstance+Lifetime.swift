import CFirn
import FirnCore
import FirnStorage

/// What keeps an instance alive, and what ends it.
///
/// Accessors of a thread's realm hold no reference: they are counted on the core that they were made with, and the instance holds itself while any core counts one. Releases on
/// the realm's own thread change the count; those on another thread are only noted on the core (`released`), and the own thread counts them off at its next turn. When the thread
/// has ended, whoever releases does that, under `endedLock`. Accessors of the realm of a queue or an actor, and frozen ones, hold a reference each.
extension RealmInstance {
    @inline(__always)
    func retainAccessor(_ row: _Row) {
        let core = row.core.unsafelyUnwrapped
        guard core.pointee.mask != 0 else {
            _ = Unmanaged.passUnretained(self).retain()
            return
        }
        core.pointee.accessors &+= 1
        if core.pointee.accessors == 1 { keptAlive = self }
    }

    /// Counts off what was released on other threads, and lets go of what no accessor counts on any more.
    func countReleases() {
        // The last use of `self` is the end of this: it may be the last reference.
        let kept = settle()
        withExtendedLifetime(kept) {}
    }

    /// Returns what held the instance, where no accessor is left.
    private func settle() -> RealmInstance? {
        guard core.pointee.mask != 0 else { return nil }
        deadCores.removeAll { core in
            guard firn_core_settle(core) == 0 else { return false }
            firn_core_free(core)
            return true
        }
        guard firn_core_settle(core) == 0, deadCores.isEmpty else { return nil }
        defer { keptAlive = nil }
        return keptAlive
    }

    /// Notes the release of an accessor on another thread than the realm's.
    fileprivate func releaseElsewhere(_ core: UnsafeMutablePointer<firn_realm_core_t>) {
        // In a forked child everything stays as it was.
        if isForked { return }
        // The main queue's jobs have moved between threads before; asked precisely, this may be one of them.
        if core.pointee.counter == .max, case .main? = scheduler?.kind, scheduler?.isCurrent ?? false {
            return releaseHere(core, Unmanaged.passUnretained(self))
        }
        // Once the release is noted, the realm's thread may let the last reference go.
        let own = Unmanaged.passUnretained(self).retain()
        firn_core_count_released(core)
        if hasEnded.load(ordering: .sequentiallyConsistent) {
            countReleasesOfEnded()
        } else if !isCountingScheduled.exchange(true, ordering: .acquiringAndReleasing) {
            // One turn counts all that gather until then, also where that thread runs no run loop and so never comes to
            // it. It holds nothing: while there is something to count, the instance is there.
            nonisolated(unsafe) weak let instance = self
            scheduler?.schedule {
                guard let instance else { return }
                instance.isCountingScheduled.store(false, ordering: .releasing)
                instance.countReleases()
            }
        }
        own.release()
    }

    // MARK: The end of its thread

    /// Held while the releases of accessors of an ended thread are counted: nobody owns their realms any more.
    private static var endedLock: GlobalLock { .endedRealms }

    private func countReleasesOfEnded() {
        let kept = RealmInstance.endedLock.withLock { settle() }
        withExtendedLifetime(kept) {}
    }
}

extension RealmInstance {
    /// Has the instance end with its thread, if it belongs to one that can end.
    func endWithThread() {
        guard !isToldOfEnd, case .thread? = scheduler?.kind else { return }
        isToldOfEnd = true
        ThreadEnd.tell(self) { $0.threadEnds() }
    }

    /// The thread that the realm belongs to ends: its transaction is undone, its observers end, and it shows nothing any more. What accessors and `Realm` values are left can
    /// only be let go of.
    private func threadEnds() {
        // A forked child has the thread's realms of its parent, who goes on with them.
        if isForked { return }
        _ = abandonTransaction()
        observers.end()
        listener = nil
        waker = nil
        scheduler?.threadEnds()
        show(nil)
        giveCores(to: .max)
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        countReleasesOfEnded()
    }
}

/// Counts an accessor off on a thread that does the realm's work. The realm itself is looked at for the last one only.
@inline(__always)
private func releaseHere(
    _ core: UnsafeMutablePointer<firn_realm_core_t>, _ instance: Unmanaged<RealmInstance>
) {
    core.pointee.accessors &-= 1
    if core.pointee.accessors == 0 { instance.takeUnretainedValue().countReleases() }
}

/// Counts an accessor or collection off its core.
func releaseAccessor(_ core: UnsafeMutablePointer<firn_realm_core_t>) {
    guard let owner = core.pointee.owner else { return }
    let instance = Unmanaged<RealmInstance>.fromOpaque(owner)
    if core.pointee.mask == 0 {
        instance.release()
    } else if core.pointee.counter == firn_thread_id() {
        releaseHere(core, instance)
    } else {
        instance.takeUnretainedValue().releaseElsewhere(core)
    }
}
