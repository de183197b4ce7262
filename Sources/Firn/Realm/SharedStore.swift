import FirnCore
import FirnStorage
import Foundation

/// A store that this process has open, and the realm instances on it. All realms of one file, or of one in-memory
/// identifier, share it. It is closed when the last of them is released.
final class SharedStore: @unchecked Sendable {
    /// Identifies an open store: by its folder, whatever paths lead there now or led there once, or by its name in
    /// memory.
    enum Identity: Equatable {
        case folder(FileIdentity)
        case memory(String)
    }

    /// The name of a store in a configuration.
    enum Name: Equatable {
        /// A path without links.
        case path(String)
        case memory(String)
    }

    let identity: Identity
    let store: Store
    /// Whether the first opener opened it read-only; all others must do the same.
    let isReadOnly: Bool
    let instances = Guarded(.storeInstances, Instances())
    let writeRequests = WriteRequests()
    let monitor: StoreMonitor
    /// The registry's reference to this store.
    private let entry = Entry()

    /// The realm instances of the store, and the schemas that they were opened with. Guarded by `instances`.
    struct Instances {
        var live = LinearMap<InstanceKey, WeakReference<_RealmInstance>>()
        var frozen: [FrozenKey: WeakReference<_RealmInstance>] = [:]
        /// If more frozen instances than this are listed, the released ones are removed. It is twice the number that
        /// was left the last time, and at least `leastFrozenLimit`.
        var frozenLimit = Self.leastFrozenLimit
        static var leastFrozenLimit: Int { 64 }
        /// The schemas, each by the sorted identifiers of its classes.
        var schemas = LinearMap<[ObjectIdentifier], SchemaBinding>()
        /// The number of migrations so far that no open realm could survive.
        var era = 0
        /// The migration that is running. No realm is opened until it has ended.
        var migration: Opening?

        /// The live and frozen instances that still exist. The others are removed from the lists.
        mutating func all() -> [_RealmInstance] {
            var met: [_RealmInstance] = []
            live.keepOnly { SharedStore.meet($0, &met) }
            removeReleasedFrozen(&met)
            return met
        }

        /// Removes the frozen instances that are gone; `met` retains the others. O(frozen instances), so the limit
        /// grows with them.
        mutating func removeReleasedFrozen(_ met: inout [_RealmInstance]) {
            frozen = frozen.filter { SharedStore.meet($0.value, &met) }
            frozenLimit = max(Self.leastFrozenLimit, 2 * frozen.count)
        }

        /// Whether a realm may be opened with these tables.
        func mayUse(_ schema: SchemaBinding) -> Bool { migration == nil && schema.era == era }
    }
    struct InstanceKey: Equatable {
        let scheduler: Scheduler.Key
        let schema: ObjectIdentifier
    }
    struct FrozenKey: Hashable {
        let version: UInt64
        let schema: ObjectIdentifier
    }

    /// Whether an instance still exists. If so, `met` retains it.
    private static func meet(_ reference: WeakReference<_RealmInstance>, _ met: inout [_RealmInstance]) -> Bool {
        guard let instance = reference.object else { return false }
        met.append(instance)
        return true
    }

    private init(name: Name, store: Store, isReadOnly: Bool, monitor: StoreMonitor) {
        identity =
            switch name {
            case .memory(let identifier): .memory(identifier)
            // A store with a path has a folder.
            case .path(let path): store.folderIdentity.map(Identity.folder) ?? .memory(path)
            }
        self.monitor = monitor
        self.store = store
        self.isReadOnly = isReadOnly
        entry.store = self
    }

    deinit {
        // Everything acknowledged is durable by now. Closing only writes data that saves work at the next opening, so
        // its error is ignored.
        Self.registry.withLock { registry in
            registry.closing[ObjectIdentifier(store)] = store
            // The store may have been opened again meanwhile.
            if registry.open[identity] === entry { registry.open[identity] = nil }
        }
        ignoringError { () throws(StoreError) in try store.close() }
        Self.registry.withLock { $0.closing[ObjectIdentifier(store)] = nil }
    }

    // MARK: Open stores

    /// The stores that this process has open, or that a thread is just opening. Only lookups are done under the guard:
    /// opening waits for other processes, and calls the application, under no lock. Other threads that want the same
    /// store wait until its opening has ended. Threads that want another store do not wait.
    static var registry: GlobalGuarded<Registry> { GlobalGuarded(.openStores) { Registry() } }

    /// A weak reference to a store. `WeakReference` is not used, because it has a lock, and no lock is taken under the
    /// registry's.
    final class Entry: @unchecked Sendable {
        // Set before the store is shared; then only Swift's runtime changes it.
        weak var store: SharedStore?
    }

    struct Registry {
        var open = LinearMap<Identity, Entry>()
        /// The openings by name: when an opening begins, there may be no folder yet.
        var openings = LinearMap<Name, Opening>()
        /// The stores that a thread is closing, which the end of the process must not interrupt.
        var closing = LinearMap<ObjectIdentifier, Store>()
        var isExitWatched = false
        private var mark = ForkMark()

        /// Empties the registry in a forked child, which has a copy of its parent's memory but uses none of the
        /// parent's stores.
        mutating func forgetParents() {
            guard mark.isForked else { return }
            // The child has inherited what its parent has registered for its exit, so nothing is registered again.
            let isExitWatched = isExitWatched
            self = Registry()
            self.isExitWatched = isExitWatched
        }
    }

    /// A store that one thread is opening or migrating, for other threads to wait for.
    final class Opening: Sendable {
        let thread = currentThreadID()
        private let lock = Lock(.innermost)
        private let change = Condition()
        // Guarded by the lock.
        nonisolated(unsafe) private var hasEnded = false

        func wait() {
            lock.lock()
            while !hasEnded { change.wait(lock) }
            lock.unlock()
        }

        func end() {
            lock.lock()
            hasEnded = true
            change.broadcast()
            lock.unlock()
        }
    }

    enum Found {
        case store(SharedStore)
        case opening(Opening)
        /// The caller is to open the store.
        case own(Opening)
    }

    /// The store, or its opening; registers an opening by the caller if there is neither.
    static func find(_ name: Name) -> Found {
        let identity = identity(name)
        return registry.withLock { registry in
            registry.forgetParents()
            if let identity, let store = registry.open[identity]?.store { return .store(store) }
            if let opening = registry.openings[name] { return .opening(opening) }
            let opening = Opening()
            registry.openings[name] = opening
            return .own(opening)
        }
    }

    /// The identity of the store that a name leads to now; nil if there is no folder.
    private static func identity(_ name: Name) -> Identity? {
        switch name {
        case .memory(let identifier): .memory(identifier)
        case .path(let path):
            // An error is thrown again when the store is opened.
            (try? (storage ?? PosixStorage.shared).status(path)?.identity).map { .folder($0) }
        }
    }

    /// The stores that this process has open, or is closing.
    static var storesToEnd: [Store] {
        // They are released outside the guard, because a reference may be the last one.
        let (open, closing) = registry.withLock { registry in
            registry.forgetParents()
            return (registry.open.values.compactMap(\.store), registry.closing.values)
        }
        return open.map(\.store) + closing
    }

    /// Registers `body` to be called when the process ends, at the first call of this function. If the system
    /// refuses, the next opening of a store replays its log.
    static func watchExit(_ body: @convention(c) () -> Void) {
        let isFirst = registry.withLock { registry in
            registry.forgetParents()
            defer { registry.isExitWatched = true }
            return !registry.isExitWatched
        }
        if isFirst { _ = atProcessExit(body) }
    }

    /// Whether this process has the store open, or is opening it.
    static func isOpen(_ url: URL) -> Bool {
        let (store, isOpening) = known(name(url))
        return store != nil || isOpening
    }

    /// Whether the caller, who is on `own`, is in a write transaction of a configuration's store.
    static func isWritten(_ configuration: Realm.Configuration, here own: Scheduler) -> Bool {
        guard let name = name(configuration), case let store? = known(name).store else { return false }
        return store.isWritten(here: own)
    }

    /// The store, if this process has it open, and whether a thread is opening it. The reference may be the last one,
    /// so it is returned to be released outside the guard.
    private static func known(_ name: Name) -> (store: SharedStore?, isOpening: Bool) {
        let identity = identity(name)
        return registry.withLock { registry in
            registry.forgetParents()
            return (identity.flatMap { registry.open[$0]?.store }, registry.openings[name] != nil)
        }
    }

    static func name(_ url: URL) -> Name {
        .path(PosixStorage.shared.canonicalPath(url.storePath))
    }

    /// Nil if the configuration names no store.
    private static func name(_ configuration: Realm.Configuration) -> Name? {
        configuration.fileURL.map(name) ?? configuration.inMemoryIdentifier.map(Name.memory)
    }

    /// The store of a configuration, opened if this process does not have it open. Waits if another thread is opening
    /// it.
    static func of(_ configuration: Realm.Configuration) throws -> SharedStore {
        try EncryptionKey.check(configuration.encryptionKey, configuration.fileURL)
        if configuration.encryptionKey != nil, configuration.fileURL == nil {
            throw Realm.Error(
                .unsupportedFeature, "A realm in memory has no files to encrypt. Open it without an encryptionKey.")
        }
        if let url = configuration.fileURL { _ = try url.checkedStorePath(of: "fileURL") }
        try DefaultStore.prepare(for: configuration)
        guard let name = name(configuration) else {
            throw Realm.Error(.invalidInput, "The configuration names neither a fileURL nor an inMemoryIdentifier.")
        }
        try configuration.checkNumbers()
        let retention = try configuration.storeRetention()
        while true {
            switch find(name) {
            case .store(let shared):
                try shared.join(configuration, retention)
                return shared
            // Afterwards the registry shows whether the opening succeeded.
            case .opening(let opening): try wait(for: opening, configuration.fileURL)
            case .own(let opening): return try open(configuration, name: name, retention: retention, opening: opening)
            }
        }
    }

    /// Waits until a thread has opened a store.
    static func wait(for opening: Opening, _ url: URL?) throws {
        guard opening.thread != currentThreadID() else {
            throw Realm.Error(
                .alreadyOpen, "The realm was opened by code that its own opening calls, such as onDamage.", fileURL: url
            )
        }
        opening.wait()
    }

    /// Ends the caller's opening of a store, and wakes the threads that wait for it.
    ///
    /// - Returns: the store to use. It is not `store` if the same folder was opened under another path meanwhile, for
    ///   example through a second mount.
    @discardableResult
    static func endOpening(_ opening: Opening, _ name: Name, with store: SharedStore? = nil) -> SharedStore? {
        let used = registry.withLock { registry -> SharedStore? in
            registry.openings[name] = nil
            guard let store else { return nil }
            if let known = registry.open[store.identity]?.store { return known }
            registry.open[store.identity] = store.entry
            return store
        }
        opening.end()
        return used
    }

    /// Joins a store that is already open in this process.
    private func join(_ configuration: Realm.Configuration, _ retention: FirnCore.HistoryRetention) throws {
        guard isReadOnly == configuration.readOnly else {
            throw Realm.Error(
                .alreadyOpen,
                "The realm is open \(isReadOnly ? "read-only" : "for writing") in this process; open it in the same way.",
                fileURL: configuration.fileURL)
        }
        try checkKey(of: configuration)
        store.retain(retention)
        // The new opener sees what other processes have written, or gets the reason why that can't be shown.
        try storing(configuration.fileURL, store.catchUp())
    }

    /// Throws if the store was opened with another key, or one of both has no key.
    func checkKey(of configuration: Realm.Configuration) throws {
        guard !configuration.hasKey(store.encryptionKey) else { return }
        let text =
            store.encryptionKey == nil
            ? "without an encryptionKey"
            : configuration.encryptionKey == nil ? "with an encryptionKey" : "with another encryptionKey"
        throw Realm.Error(
            .alreadyOpen, "The realm is open \(text) in this process; open it in the same way.",
            fileURL: configuration.fileURL)
    }

    /// Opens a store, and wakes the threads that wait for it.
    private static func open(
        _ configuration: Realm.Configuration, name: Name, retention: FirnCore.HistoryRetention, opening: Opening
    ) throws -> SharedStore {
        let start = SystemClock.shared.monotonic()
        let result = Result { try makeStore(configuration, name: name, retention: retention) }
        let used = endOpening(opening, name, with: try? result.get())
        let shared = try result.get()
        if let used, used !== shared {
            try used.join(configuration, retention)
            return used
        }
        watchExit()
        // From here on other threads may use the store, and no lock is held. So the application's code, which is called
        // here, may use realms of this store too.
        shared.monitor.opened(shared.store.recovery, nanoseconds: SystemClock.shared.monotonic() - start)
        if configuration.fileURL != nil, !configuration.readOnly, let asks = configuration.shouldCompactOnLaunch {
            let total = shared.store.fileByteCount
            LockRank.expectNone("shouldCompactOnLaunch is called")
            if asks(total, min(total, shared.store.usedByteCount)) {
                _ = try storing(configuration.fileURL, shared.store.compact())
            }
        }
        return shared
    }

    /// The storage that the current task opens its stores on, in place of the file system or memory: for tests with
    /// disks that fail.
    @TaskLocal static var storage: (any Storage)?

    private static func makeStore(
        _ configuration: Realm.Configuration, name: Name, retention: FirnCore.HistoryRetention
    ) throws -> SharedStore {
        if let url = configuration.fileURL, let seed = configuration.seedFilePath {
            try copySeed(seed, to: url, configuration)
        }
        if configuration.readOnly, let url = configuration.fileURL { try checkExists(url) }
        let storage = storage ?? (configuration.fileURL == nil ? MemoryStorage() : PosixStorage.shared)
        var options = configuration.storeOptions
        options.historyRetention = retention
        let monitor = StoreMonitor(name)
        options.onEvent = { monitor.happened($0) }
        do {
            var store = try Store(options, storage: storage)
            while let url = configuration.fileURL, hasToBeDeleted(store, configuration) {
                // As soon as the store is closed, another process may migrate it, or put another store at its path. So
                // only the store that was seen is removed.
                let seen = store.seenStore
                try store.close(endsReading: true)
                _ = try remove(url, keepsOthers: false, ifStill: seen, storage: storage)
                // As long as `store` has the folder open, no other folder gets its inode number, by which `remove`
                // compares.
                withExtendedLifetime(store) {}
                store = try Store(options, storage: storage)
            }
            return SharedStore(name: name, store: store, isReadOnly: configuration.readOnly, monitor: monitor)
        } catch let error as StoreError {
            if let url = configuration.fileURL { try checkFolder(above: url) }
            throw Realm.Error(error, configuration.fileURL)
        }
    }

    /// Throws an error that names the folder in which a store is to lie, if that does not exist or is no folder.
    static func checkFolder(above url: URL) throws {
        let folder = URL(fileURLWithPath: url.storePath).deletingLastPathComponent().path
        var status: FileStatus??
        // The call that needs the folder reports what the system refuses to look up.
        ignoringError { () throws(StorageError) in status = try PosixStorage.shared.status(folder) }
        guard let status else { return }
        guard let status else {
            throw Realm.Error(
                .fileNotFound,
                "The folder \(folder), in which the store is to lie, does not exist. Create it, or choose another path.",
                fileURL: url)
        }
        guard status.kind == .folder else {
            throw Realm.Error(
                .fileOperationFailed, "\(folder), in which the store is to lie, is no folder. Choose another path.",
                fileURL: url)
        }
    }

    static func checkExists(_ url: URL) throws {
        try checkFolder(above: url)
        guard FileManager.default.fileExists(atPath: url.storePath) else {
            throw Realm.Error(.fileNotFound, "There is no store to open read-only.", fileURL: url)
        }
    }

    // MARK: Instances

    /// Whether the caller, who is on `own`, is in a write transaction of the store. For an actor that calls another
    /// one, this can't be known.
    func isWritten(here own: Scheduler) -> Bool {
        live(here: own).contains(where: \.isInTransaction)
    }

    /// The realms that belong to the caller, who is on `own`. A realm that belongs to another thread must not be read.
    func live(here own: Scheduler) -> [_RealmInstance] {
        let live = instances.withLock { $0.live.values.compactMap(\.object) }
        return live.filter { instance in
            guard let scheduler = instance.scheduler else { return false }
            return scheduler.key == own.key || (scheduler.isThread || scheduler.isQueue) && scheduler.isCurrent
        }
    }

    /// The instance of a scheduler for a configuration's classes, made if there is none.
    func open(
        _ configuration: Realm.Configuration, _ scheduler: Scheduler, at callSite: CallSite
    ) throws -> _RealmInstance {
        while true {
            let schema = try schema(for: configuration, scheduler, at: callSite)
            if let instance = instanceIfUsable(configuration, schema: schema, scheduler: scheduler, at: callSite) {
                return instance
            }
        }
    }

    /// The instance of a scheduler, made if there is none. The caller has an instance with the same schema.
    func instance(
        _ configuration: Realm.Configuration, schema: SchemaBinding, scheduler: Scheduler, at callSite: CallSite
    ) -> _RealmInstance {
        guard let instance = instanceIfUsable(configuration, schema: schema, scheduler: scheduler, at: callSite) else {
            preconditionFailure("Firn: a store was migrated that a realm has open")
        }
        return instance
    }

    /// The instance of a scheduler, made if there is none. Nil if the store was migrated after the schema was made,
    /// or is being migrated.
    func instanceIfUsable(
        _ configuration: Realm.Configuration, schema: SchemaBinding, scheduler: Scheduler, at callSite: CallSite
    ) -> _RealmInstance? {
        let key = InstanceKey(scheduler: scheduler.key, schema: ObjectIdentifier(schema))
        // Reading a weak reference retains the instance; by then this may be the last reference, and the instance
        // must not end under a lock.
        var met: [_RealmInstance] = []
        let found: _RealmInstance? = instances.withLock { instances in
            guard instances.mayUse(schema) else { return nil }
            if let known = instances.live[key]?.object {
                guard known.scheduler?.isGone ?? false else { return known }
                met.append(known)
            }
            let instance = _RealmInstance(
                shared: self, configuration: configuration, schema: schema, scheduler: scheduler, pin: nil, at: callSite
            )
            instances.live[key] = instance.reference
            instances.live.keepOnly { Self.meet($0, &met) }
            return instance
        }
        withExtendedLifetime(met) {}
        found?.endWithThread()
        return found
    }

    /// The frozen instance of a version, made if there is none.
    func frozen(
        _ configuration: Realm.Configuration, schema: SchemaBinding, pin: Pin, at callSite: CallSite
    ) -> _RealmInstance {
        let key = FrozenKey(version: pin.version, schema: ObjectIdentifier(schema))
        var met: [_RealmInstance] = []
        defer { withExtendedLifetime(met) {} }
        return instances.withLock { instances in
            if let known = instances.frozen[key]?.object { return known }
            let instance = _RealmInstance(
                shared: self, configuration: configuration, schema: schema, scheduler: nil,
                pin: pin.again(at: callSite), at: callSite)
            instances.frozen[key] = instance.reference
            if instances.frozen.count > instances.frozenLimit { instances.removeReleasedFrozen(&met) }
            return instance
        }
    }
}
