import CFirn
import FirnCore
import FirnStorage
import Foundation
import Synchronization

/// The state that all `Realm` values of one store on one thread, queue or actor share. It has four parts: the cores of
/// its accessors, the version shown, the open transaction and the observers. Each part knows one thing, and no part
/// knows another one: the instance does what concerns several of them.
///
/// Everything here belongs to that thread, queue or actor, except where a comment says otherwise. A frozen instance
/// never changes and may be read by any thread. The instance lives as long as a `Realm` value, an accessor, a
/// collection or a notification token of it does.
///
/// It is public only because the requirements of public protocols name it; it has no public members.
public final class _RealmInstance {
    let shared: SharedStore
    let configuration: Realm.Configuration
    /// The thread, queue or actor that it belongs to; nil if it is frozen.
    let scheduler: Scheduler?
    let schema: SchemaBinding
    /// The call that made the instance. It is the call site of the instance's pins, if no other call asked for them.
    let openedAt: CallSite
    /// The weak reference by which the caches, the waker and the scheduler's turns refer to the instance.
    let reference = WeakReference<_RealmInstance>()
    private let forkMark = ForkMark()

    /// What accessors read, and what counts them. See `RealmInstance+Lifetime`.
    @exclusivity(unchecked) var cores: AccessorCores
    /// The version shown. See `RealmInstance+Showing`.
    @exclusivity(unchecked) var shown: ShownVersion
    /// The running transaction. See `RealmInstance+Writing`.
    @exclusivity(unchecked) var running: OpenTransaction?
    /// The observers. See `RealmInstance+Notifying`.
    let observers = RealmObservers()
    /// The asynchronous writes; nil before the first one.
    var asyncWrites: AsyncWrites?

    var autorefresh: Bool
    /// The migration that shows its old or its new objects through this instance; nil for the realms of an application.
    /// Set before the instance is shared.
    var migration: MigrationRun?
    /// The class that was looked up last, because the same class is looked up again and again.
    private var lastClass: (type: ObjectIdentifier, binding: Unmanaged<TableBinding>)?
    /// The leaf in which the last object was found, because the next object is often in the same leaf.
    var lastLeaf = LastLeaf()
    /// Set when the thread that it belongs to has ended. Atomic: threads that release accessors elsewhere read it.
    let hasEnded = Atomic<Bool>(false)
    /// Whether a turn is scheduled that subtracts what was released on other threads. Atomic: those threads read it.
    let isCountingScheduled = Atomic<Bool>(false)
    /// Whether a turn is scheduled after which an open transaction no longer keeps the realm alive.
    var isTurnEndScheduled = false
    /// Whether it is registered to end with its thread.
    var isRegisteredForThreadEnd = false

    var store: Store { shared.store }
    var isFrozen: Bool { scheduler == nil }
    var isInTransaction: Bool { running != nil }

    /// The core that accessors are made with.
    var core: AccessorCores.Core { cores.current }
    /// The pin of the version shown; nil until the first read.
    var pin: Pin? { shown.pin }
    /// The running transaction.
    var transaction: WriteTransaction? { running?.transaction }

    /// A live instance for `scheduler`, or a frozen one that shows `pin`.
    init(
        shared: SharedStore, configuration: Realm.Configuration, schema: SchemaBinding, scheduler: Scheduler?,
        pin: Pin?, at callSite: CallSite
    ) {
        self.shared = shared
        self.configuration = configuration
        self.schema = schema
        self.scheduler = scheduler
        openedAt = callSite
        shown = ShownVersion(pin)
        autorefresh = scheduler != nil
        cores = AccessorCores(scheduler)
        core.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        if let pin { core.pointee.root = NodeRef(pin.snapshot.root).word }
        reference.begin(self)
    }

    deinit {
        reference.end()
        scheduler?.forget(reference)
        loseTransaction()
        // A program may open a realm in memory again in its next line, as `try! Realm()` does if nothing is kept.
        if case .memory = shared.identity, !isForked { scheduler?.keep(shared) }
        cores.free()
    }

    /// The instance of a managed row.
    @inline(__always)
    static func of(_ row: _Row) -> _RealmInstance {
        Unmanaged<_RealmInstance>.fromOpaque(row.core.unsafelyUnwrapped.pointee.owner.unsafelyUnwrapped)
            .takeUnretainedValue()
    }

    // MARK: Confinement

    /// Stops the program on the wrong thread, queue or actor.
    @inline(__always)
    func check() {
        if core.pointee.mask != 0 {
            if core.pointee.thread != firn_thread_id() { changeThread() }
        } else if let scheduler {
            scheduler.check()
        }
    }

    /// Moves the realm to the calling thread, if the main queue's jobs have moved there. Stops the program on any
    /// other wrong thread.
    @inline(never)
    private func changeThread() {
        if isForked { stopInForkedChild() }
        // A migration's realm stays on the thread of its block.
        guard migration == nil, case .main? = scheduler?.kind, scheduler?.isCurrent ?? false else {
            stopOnWrongThread()
        }
        // The thread may go on to other work while the main queue's next job runs on another one. Its releases are then
        // not the realm's own work. So from now on a release checks which queue it runs on.
        cores.move(to: firn_thread_number())
    }

    /// Whether this process was forked off the one that made the instance.
    var isForked: Bool { forkMark.isForked }

    // MARK: Classes

    /// The table binding of a class. Stops the program if the realm does not have the class.
    @inline(__always)
    func binding(of type: ObjectBase.Type) -> TableBinding {
        uncountedBinding(of: type).takeUnretainedValue()
    }

    /// Does what `binding(of:)` does, but retains nothing: the binding lives as long as the realm. The realms of
    /// several threads share their bindings, so threads that retained one at each lookup would wait for each other.
    @inline(__always)
    func uncountedBinding(of type: ObjectBase.Type) -> Unmanaged<TableBinding> {
        if let lastClass, lastClass.type == ObjectIdentifier(type) { return lastClass.binding }
        return .passUnretained(findBinding(type))
    }

    @inline(never)
    private func findBinding(_ type: ObjectBase.Type) -> TableBinding {
        guard let binding = schema.table(of: type) else {
            if type == DynamicObject.self { stopProgram("\(unmanagedDynamicText).") }
            stopProgram(
                "the realm has no class \(type.className()). Add it to Configuration.objectTypes, or register it with Realm.register before opening."
            )
        }
        // Many threads read frozen instances, so these remember nothing.
        if !isFrozen { lastClass = (ObjectIdentifier(type), .passUnretained(binding)) }
        return binding
    }

    /// The binding of a class that another realm of the store has bound. Stops the program if this realm does not have
    /// the class.
    func binding(like other: TableBinding) -> TableBinding {
        schema.table(other.table) === other ? other : binding(of: other.info.type)
    }
}
