public import Dispatch
public import Foundation
import FirnCore
import FirnStorage

/// A database, as one thread, queue or actor sees it.
///
/// ```swift
/// let realm = try Realm()
/// try realm.write { realm.add(Dog(value: ["name": "Rex"])) }
/// for dog in realm.objects(Dog.self).where({ $0.age > 3 }) { print(dog.name) }
/// ```
///
/// **Versions.** A realm shows one version of the data. It advances to the newest one by itself at the next turn of its
/// run loop, queue or actor (`autorefresh`). It also does so with `refresh()`, and when a write begins. Opening a store
/// again on the same thread with the same classes is cheap and gives the same realm. The store is closed when the last
/// realm, object, collection and observer of it is released.
///
/// **Where it may be used.** A realm, and everything read from it, belongs to the thread, serial queue or actor that it
/// was opened on. The main thread, the main queue and the main actor are one. Use elsewhere stops the program. A realm
/// of a thread checks that at each access. A realm of a queue or of another actor checks it when it looks something up,
/// and at each write. Frozen realms, and what is read from them, may be used on any thread. `configuration`, `schema`,
/// `isFrozen`, `recovery` and `activeVersions` may be read on any thread, too.
///
/// **Call sites.** Functions with the parameters `file` and `line` record the line of the call for `activeVersions`.
/// Leave these parameters out, or pass on those of your own caller.
public struct Realm {
    let instance: _RealmInstance
    /// Nil if the value was not made by an opening, or on a thread without a run loop.
    private let hold: RealmHold?

    init(_ instance: _RealmInstance) {
        self.instance = instance
        hold = nil
    }

    /// Opens a store, creating it if there is none, and gives the realm of the calling thread, or of a queue.
    ///
    /// ```swift
    /// var configuration = Realm.Configuration(fileURL: folder.appendingPathComponent("dogs.firn"), schemaVersion: 2)
    /// configuration.durability = .relaxed(interval: 0.1)
    /// let realm = try Realm(configuration: configuration)
    /// ```
    ///
    /// Cost: the first opening in a process reads what the log holds since the last checkpoint. If the store was closed
    /// cleanly, that is about 1 MiB at most, however many objects it has. With `Configuration.verifyOnOpen` it can read
    /// more. Opening it again on a thread that has it open reads no file. The calling thread is blocked meanwhile, also
    /// while it waits for another thread or process that is just opening the store. It is also blocked while it adds
    /// new classes to the store, which is a write transaction.
    ///
    /// Stops the program if `queue` is given and the caller does not run on it, and if it is a global queue, which is
    /// concurrent.
    ///
    /// - Parameters:
    ///   - configuration: which store, and how to open it.
    ///   - queue: the serial queue that the realm shall belong to, on which this is called; nil for the calling thread.
    ///   - file: the call site's file, which messages about held versions name.
    ///   - line: the call site's line.
    /// - Throws: `Realm.Error` with one of these codes, and what a commit throws if classes have to be added to the
    ///   store:
    ///   - `.schemaMismatch`: the classes can't be stored, or differ from the store's without a higher `schemaVersion`;
    ///     `schemaVersion` is lower than the store's; or a primary key would not be unique.
    ///   - `.invalidInput`: the configuration names no local folder, or has a setting that makes no sense.
    ///   - `.unsupportedFeature`: the folder is on a network file system, or there is an `encryptionKey` and this build
    ///     has no cryptography.
    ///   - `.alreadyOpen`: another process does not finish opening the store within `lockTimeout`; 60 openers have it
    ///     open; this process has it open with another `encryptionKey` or another value of `readOnly`; or it can't be
    ///     migrated while it is open.
    ///   - `.invalidDatabase`: the files are damaged, or are not a store; or the `encryptionKey` is not the store's, is
    ///     missing, or is given for a store without encryption. Nothing was changed.
    ///   - `.unsupportedFileFormatVersion`: a later release of Firn wrote the files.
    ///   - `.fileNotFound`, `.filePermissionDenied`, `.fileOperationFailed`, `.fileAccess`, `.outOfDiskSpace`,
    ///     `.addressSpaceExhausted`: the file system refuses; with `readOnly`, `.fileNotFound` also says that there
    ///     is no store.
    ///   - `.fail`: the classes have to be added to the store while the caller is in a write transaction of it.
    public init(
        configuration: Configuration = .defaultConfiguration, queue: DispatchQueue? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) throws {
        let scheduler = queue.map(Scheduler.queue) ?? .current
        if queue != nil, !scheduler.isCurrent {
            stopProgram(
                "a realm was opened for a queue outside of it. Open it within queue.async or sync, or without a queue for the calling thread.",
                at: CallSite(file, line))
        }
        try self.init(configuration, scheduler, at: CallSite(file, line))
    }

    /// Opens the default realm for a queue, or for the calling thread if `queue` is nil. All else is as for
    /// `init(configuration:queue:file:line:)`, and it throws the same errors.
    public init(queue: DispatchQueue?, file: StaticString = #fileID, line: UInt = #line) throws {
        try self.init(configuration: .defaultConfiguration, queue: queue, file: file, line: line)
    }

    /// Opens the store in a folder, with the other settings of the default configuration. All else is as for
    /// `init(configuration:queue:file:line:)`, and it throws the same errors.
    public init(fileURL: URL, file: StaticString = #fileID, line: UInt = #line) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        try self.init(configuration: configuration, file: file, line: line)
    }

    /// Opens a store for a scheduler that the caller is on.
    init(_ configuration: Configuration, _ scheduler: Scheduler, at callSite: CallSite) throws {
        let shared = try SharedStore.of(configuration)
        var configuration = configuration
        // A program that passed `URL(string: "/path")` may read the URL again to move or remove the file.
        if let url = configuration.fileURL, !url.isFileURL {
            configuration.fileURL = URL(fileURLWithPath: url.storePath, isDirectory: false)
        }
        instance = try shared.open(configuration, scheduler, at: callSite)
        // On a thread without a run loop, a release on another thread may be counted only when this thread ends.
        hold = scheduler.canDeliver ? RealmHold(instance) : nil
        instance.startListening()
    }

    // MARK: What it is

    /// How the realm was opened: the configuration of the call that made the realm of this thread, queue or actor.
    /// O(1). May be read on any thread.
    public var configuration: Configuration { instance.configuration }

    /// The realm's classes and their properties. Made at each call, in O(properties), so keep it in a constant. May be
    /// read on any thread.
    public var schema: Schema { Schema(instance.schema) }

    /// Whether there are no objects of the realm's classes, uncommitted changes included. O(classes). Stops the program
    /// on the wrong thread.
    public var isEmpty: Bool {
        instance.check()
        return instance.schema.tables.allSatisfy { (instance.table($0)?.count ?? 0) == 0 }
    }

    /// Whether this realm is in a write transaction. Transactions of other threads and processes do not count. O(1). To
    /// be read on the realm's thread, queue or actor, which is not checked.
    public var isInWriteTransaction: Bool { instance.isInTransaction }

    /// Whether the realm shows one version for good and may be used on any thread. O(1). May be read on any thread.
    public var isFrozen: Bool { instance.isFrozen }

    /// Whether the realm advances by itself at the next turn of its run loop, queue or actor after something was
    /// committed. True at first, false for a frozen realm.
    ///
    /// ```swift
    /// realm.autorefresh = false      // what is shown stays as it is until refresh()
    /// ```
    ///
    /// If it is false, the data stays as it is until `refresh()` or the next write. Observers of the realm are then
    /// called with `.refreshRequired` instead of `.didChange`. It is one setting for all `Realm` values that the
    /// thread, queue or actor has opened of this store with these classes. To be used there, which is not checked.
    /// Setting it to true on a frozen realm stops the program.
    public var autorefresh: Bool {
        get { instance.autorefresh }
        nonmutating set {
            if isFrozen && newValue {
                stopProgram("a frozen realm never refreshes; set autorefresh of a live one.")
            }
            instance.autorefresh = newValue
        }
    }

    /// Adds classes to the ones that a realm without `objectTypes` has. Needed only for generic classes, which can't be
    /// found.
    ///
    /// ```swift
    /// Realm.register(Box<Dog>.self)
    /// ```
    ///
    /// It affects realms that are opened afterwards. O(number of classes given). May be called on any thread.
    public static func register(_ types: ObjectBase.Type...) { ClassDiscovery.register(types) }

    // MARK: Versions

    /// Advances to the newest version, and calls observers with what is due before it returns.
    ///
    /// ```swift
    /// while !isDone { work(); realm.refresh() }      // on a thread without a run loop
    /// ```
    ///
    /// First applies what other processes have committed, as far as this process has not read it yet. Changes that
    /// can't be shown here are ignored; `tryRefresh()` throws an error for them. Does nothing and returns false in a
    /// write transaction, on a frozen realm, and while observers are called, except for `.refreshRequired`. Stops the
    /// program on the wrong thread, and for a realm that was opened read-only.
    ///
    /// Cost: O(1), the observers' work, and O(changes) for what other processes have committed.
    ///
    /// - Returns: whether the realm shows a newer version now, or has shown none before.
    @discardableResult
    public func refresh(file: StaticString = #fileID, line: UInt = #line) -> Bool {
        checkRefreshable(at: CallSite(file, line))
        return instance.refresh(at: CallSite(file, line))
    }

    /// Advances to the newest version: `refresh()`, for a store that other processes write to.
    ///
    /// If another process has made a change that this one can't show, this throws, and the realm stays as it is.
    /// `refresh()` ignores such a change. Costs what `refresh()` costs, and stops the program for the same reasons.
    ///
    /// - Returns: whether the realm shows a newer version now, or has shown none before.
    /// - Throws: `Realm.Error` with one of these codes:
    ///   - `.schemaMismatch`: another process has removed or changed classes or properties that were there when this
    ///     one opened the store.
    ///   - `.invalidDatabase`, or the code of the file system's error: the log can't be read.
    @discardableResult
    public func tryRefresh(file: StaticString = #fileID, line: UInt = #line) throws -> Bool {
        checkRefreshable(at: CallSite(file, line))
        return try instance.tryRefresh(at: CallSite(file, line))
    }

    func checkRefreshable(at callSite: CallSite) {
        instance.check()
        if instance.configuration.readOnly {
            stopProgram(
                """
                a realm that was opened read-only can't be refreshed. To see newer data, release everything of \
                the store first (realms, objects, collections and observers, frozen ones too), then open it again.
                """, at: callSite)
        }
    }

    /// Releases the version shown, so that it need not be kept for this realm.
    ///
    /// Objects, lists, backlinks and results made so far become invalid, and results and backlinks are empty from then
    /// on; a running write transaction is cancelled. The realm can still be used, and shows the newest version when it
    /// is read next. Its observers go on, and an observer of an object or a collection keeps the version that it was
    /// shown last.
    ///
    /// Cost: O(1), and undoing a running transaction. That waits, as `cancelWrite()` does, if the transaction began
    /// from a commit that is still on its way to the disk. Stops the program on the wrong thread, and for a frozen
    /// realm: release that instead.
    public func invalidate() {
        if isFrozen { stopProgram("a frozen realm can't be invalidated; release it instead.") }
        instance.invalidate()
    }

    // MARK: Files

    /// Whether a file or folder has the name that the configuration gives. False for a realm in memory. May be called
    /// on any thread.
    public static func fileExists(for configuration: Configuration) -> Bool {
        guard let url = configuration.fileURL else { return false }
        return FileManager.default.fileExists(atPath: url.storePath)
    }

    /// Deletes a store. May be called on any thread, which is blocked meanwhile: for up to two seconds if the store
    /// is just being closed.
    ///
    /// Only files that Firn has made are deleted, recognised by their names; links are not followed. Other files in
    /// the folder stay, and the error names them.
    ///
    /// - Returns: whether there was a store; false for a realm in memory.
    /// - Throws: `Realm.Error` with one of these codes:
    ///   - `.alreadyOpen`: this process or another has the store open, or holds a version of it. Nothing was deleted.
    ///   - `.invalidDatabase`: the path does not lead to a store, or its manifest is damaged. Nothing was deleted.
    ///   - `.fileOperationFailed`: the store was deleted and its folder was not, because it holds other files.
    ///   - `.filePermissionDenied` and other codes: the file system refuses.
    public static func deleteFiles(for configuration: Configuration) throws -> Bool {
        guard let url = configuration.fileURL else { return false }
        guard !SharedStore.isOpen(url) else {
            throw Error(
                .alreadyOpen, "The realm is open in this process; release everything that belongs to it first.",
                fileURL: url
            )
        }
        return try SharedStore.remove(url)
    }
}

extension Realm: Equatable {
    /// Whether both are the same realm of the same thread, queue or actor. O(1).
    public static func == (a: Realm, b: Realm) -> Bool { a.instance === b.instance }
}

@available(
    *, unavailable, message: "a realm belongs to the thread, queue or actor that opened it; open it again elsewhere"
)
extension Realm: Sendable {}
