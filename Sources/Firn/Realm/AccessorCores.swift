import CFirn

/// The cores of a realm: what its accessors read at each access, and what counts the accessors.
///
/// Accessors are made with the current core. `replace()` makes another one, and existing accessors keep the old core,
/// which shows no version any more. An old core lives until its last accessor is released.
///
/// Belongs to the realm's thread, queue or actor. Other threads only note on a core that they have released an
/// accessor of it.
struct AccessorCores {
    typealias Core = UnsafeMutablePointer<firn_realm_core_t>

    /// The core that accessors are made with.
    private(set) var current: Core
    /// How often the current core was replaced. Collections compare it to learn whether they are from before.
    private(set) var replacementCount = 0
    /// Earlier cores that still count an accessor.
    private var replaced: [Core] = []
    /// The realm, while any core counts an accessor: accessors hold no reference of their own.
    private var keptRealm: _RealmInstance?

    /// - Parameter scheduler: where the realm belongs; nil if it is frozen.
    init(_ scheduler: Scheduler?) {
        current = AccessorCores.make()
        current.pointee.generation = 1
        current.pointee.stamp = scheduler == nil ? FIRN_STAMP_FROZEN : FIRN_STAMP_READ_ONLY
        guard let scheduler, scheduler.isThread else { return }
        current.pointee.thread = scheduler.isCurrent ? firn_thread_number() : .max
        // The main queue's jobs may run on a thread that does other work after them. From the beginning a release
        // there checks which queue it runs on (see `_RealmInstance.changeThread`).
        current.pointee.counter = scheduler.isOnChangingThread ? .max : current.pointee.thread
        current.pointee.mask = .max
    }

    private static func make() -> Core {
        // Makes a forked child keep its parent's realms, which it neither uses nor cleans up. Set each time, and not by
        // a lazy global: a child that is forked during the global's first use would wait for ever.
        firn_core_set_retain_at_fork { owner in _ = Unmanaged<_RealmInstance>.fromOpaque(owner).retain() }
        guard let core = firn_core_make() else { fatalError("Firn: no memory is left for a realm") }
        return core
    }

    /// Frees all cores, when the realm is freed.
    func free() {
        for core in replaced + [current] { firn_core_free(core) }
    }

    /// Moves the cores to a thread, or with `.max` to none. From then on a thread's number does not suffice to show
    /// that a release is the realm's own work.
    func move(to thread: UInt64) {
        for core in replaced + [current] {
            core.pointee.thread = thread
            core.pointee.counter = .max
        }
    }

    /// Makes accessors find their rows again, in another version or state. Root 0 means that no version is shown.
    func show(root: UInt64) {
        current.pointee.root = root
        current.pointee.generation &+= 1
    }

    /// Replaces the current core by one that shows no version yet.
    mutating func replace() {
        let old = current
        current = AccessorCores.make()
        current.pointee.owner = old.pointee.owner
        current.pointee.generation = old.pointee.generation &+ 1
        current.pointee.thread = old.pointee.thread
        current.pointee.counter = old.pointee.counter
        current.pointee.mask = old.pointee.mask
        current.pointee.stamp = FIRN_STAMP_READ_ONLY
        replaced.append(old)
        replacementCount += 1
        old.pointee.root = 0
        old.pointee.stamp = FIRN_STAMP_READ_ONLY
        old.pointee.generation &+= 1
    }

    // MARK: Counting

    /// Counts an accessor, or a collection, on the core that it was made with. Used if the realm belongs to a thread.
    @inline(__always)
    mutating func count(on core: Core, of realm: _RealmInstance) {
        core.pointee.accessors &+= 1
        if core.pointee.accessors == 1 { keptRealm = realm }
    }

    /// Subtracts the releases that other threads have noted, and frees the earlier cores that count nothing any more.
    /// If no accessor is left, returns the reference that kept the realm.
    mutating func subtractReleases() -> _RealmInstance? {
        guard current.pointee.mask != 0 else { return nil }
        replaced.removeAll { core in
            guard firn_core_subtract_released(core) == 0 else { return false }
            firn_core_free(core)
            return true
        }
        guard firn_core_subtract_released(current) == 0, replaced.isEmpty else { return nil }
        return keptRealm.take()
    }
}
