public import Dispatch
public import Foundation
import FirnCore
import FirnLog
import FirnStorage

/// A database, as one thread, queue or actor sees it.
///
/// ```swift
/// let realm = try Realm()
/// try realm.write { realm.add(Dog(value: ["name": "Rex"])) }
/// for dog in realm.objects(Dog.self).where({ $0.age > 3 }) { print(dog.name) }
/// ```
///
/// A realm shows one version of the data and advances at the next turn of its run loop or queue (`autorefresh`), with `refresh()`, and when a write begins.
/// Opening it again on the same thread is cheap and gives the same realm. It may be used where it was opened only; frozen realms and what belongs to
/// them may be used anywhere.
public struct Realm {
    let instance: RealmInstance

    init(_ instance: RealmInstance) { self.instance = instance }

    /// Opens the default realm, or the one that `configuration` names, creating it where there is none.
    ///
    /// - Parameter queue: the serial queue that the realm shall belong to, on which this is called; nil for the calling thread.
    ///   The caller's `file` and `line` are for `activeVersions`, as in all functions that take them: leave them out.
    /// - Throws: `Realm.Error`, saying what is wrong with the files, the classes or the configuration.
    public init(
        configuration: Configuration = .defaultConfiguration, queue: DispatchQueue? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) throws {
        let scheduler = queue.map(Scheduler.queue) ?? .current
        if queue != nil, !scheduler.isCurrent {
            fatalError(
                "Firn: a realm was opened for a queue outside of it. Open it within queue.async or sync, or without a queue for the calling thread."
            )
        }
        try self.init(configuration, scheduler, at: CallSite(file, line))
    }

    /// Opens the default realm for a queue.
    public init(queue: DispatchQueue?, file: StaticString = #fileID, line: UInt = #line) throws {
        try self.init(configuration: .defaultConfiguration, queue: queue, file: file, line: line)
    }

    /// Opens the store at `fileURL` with the default configuration's other settings.
    public init(fileURL: URL, file: StaticString = #fileID, line: UInt = #line) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        try self.init(configuration: configuration, file: file, line: line)
    }

    init(_ configuration: Configuration, _ scheduler: Scheduler, at place: CallSite) throws {
        let shared = try SharedStore.of(configuration)
        instance = try shared.open(configuration, scheduler, at: place)
        instance.startListening()
    }

    /// A realm that belongs to an actor, which it does not keep.
    public init<A: Actor>(
        configuration: Configuration = .defaultConfiguration, actor: isolated A, file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        try self.init(configuration, .actor(actor), at: CallSite(file, line))
    }

    /// A realm that belongs to the actor that this is called on.
    public static func open(
        configuration: Configuration = .defaultConfiguration, _isolation: isolated (any Actor)? = #isolation,
        file: StaticString = #fileID, line: UInt = #line
    ) async throws -> Realm {
        guard let actor = _isolation else {
            fatalError("Firn: Realm.open needs an actor to belong to. Call it from one, or use Realm(configuration:).")
        }
        return try Realm(configuration, .actor(actor), at: CallSite(file, line))
    }

    // MARK: What it is

    /// How the realm was opened.
    public var configuration: Configuration { instance.configuration }

    /// The realm's classes.
    public var schema: Schema { Schema(instance.schema) }

    /// Whether there are no objects of the realm's classes, uncommitted changes included.
    public var isEmpty: Bool {
        instance.check()
        return instance.schema.tables.allSatisfy { (instance.table($0)?.count ?? 0) == 0 }
    }

    public var isInWriteTransaction: Bool { instance.isInTransaction }

    public var isFrozen: Bool { instance.isFrozen }

    /// Whether the realm advances by itself at the next turn of its run loop, queue or actor. True at first. If it is false, realm observers are told
    /// `.refreshRequired` instead, and data stay as they are until `refresh()` or the next write.
    public var autorefresh: Bool {
        get { instance.autorefresh }
        nonmutating set {
            if isFrozen && newValue {
                fatalError("Firn: a frozen realm never refreshes; set autorefresh of a live one.")
            }
            instance.autorefresh = newValue
        }
    }

    /// Adds classes to those that a realm without `objectTypes` has. Needed only for generic classes, which can't be found.
    public static func register(_ types: ObjectBase.Type...) { ClassDiscovery.register(types) }

    // MARK: Versions

    /// Advances to the newest version, delivering due notifications. Returns whether there was one. Does nothing in a write transaction, on a frozen
    /// realm, and within a notification other than `.refreshRequired`.
    @discardableResult
    public func refresh(file: StaticString = #fileID, line: UInt = #line) -> Bool {
        checkRefreshable()
        return instance.refresh(at: CallSite(file, line))
    }

    /// As `refresh()`, which gives `false` where another process has written what this one can't show, and leaves the realm as it is.
    ///
    /// - Throws: `Realm.Error`: `.schemaMismatch` where another process has removed or changed classes or properties that were there when this one opened the store.
    @discardableResult
    public func tryRefresh(file: StaticString = #fileID, line: UInt = #line) throws -> Bool {
        checkRefreshable()
        return try instance.tryRefresh(at: CallSite(file, line))
    }

    private func checkRefreshable() {
        instance.check()
        if instance.configuration.readOnly {
            fatalError("Firn: a realm that was opened read-only can't be refreshed; open it again to see newer data.")
        }
    }

    /// Lets the version shown go. Objects, lists, backlinks and results made so far become invalid, and results and
    /// backlinks are empty from then on; a running write is cancelled. The realm can be used on, and observers go on.
    public func invalidate() {
        if isFrozen { fatalError("Firn: a frozen realm can't be invalidated; let go of it instead.") }
        instance.invalidate()
    }

    // MARK: Files

    /// Whether a store lies where the configuration says.
    public static func fileExists(for configuration: Configuration) -> Bool {
        guard let url = configuration.fileURL else { return false }
        return FileManager.default.fileExists(atPath: url.storePath)
    }

    /// Deletes a store. Returns whether there was one.
    ///
    /// Only what Firn has made is deleted, by its names; links are not followed. What else lies in the folder stays, and the error names it.
    ///
    /// - Throws: `.alreadyOpen` where this process or another has it open, or holds a version of it; `.invalidDatabase` where the path does not bear a store, or its manifest is damaged. Nothing was
    ///   deleted then. `.fileOperationFailed` where the store was deleted and its folder was not, as it holds other things.
    public static func deleteFiles(for configuration: Configuration) throws -> Bool {
        guard let url = configuration.fileURL else { return false }
        guard !SharedStore.isOpen(url) else {
            throw Error(
                .alreadyOpen, "The realm is open in this process; let go of all that belongs to it first.", fileURL: url
            )
        }
        let removal: StoreRemoval
        do throws(LogError) {
            removal = try Log.remove(url.storePath, storage: PosixStorage.shared)
        } catch {
            if case .locked = error.code {
                throw Error(
                    .alreadyOpen,
                    "The store was not deleted, as it is open, or a version of it is held: close it in every process.",
                    fileURL: url)
            }
            throw Error(error, url)
        }
        guard removal.left.isEmpty else {
            throw Error(
                .fileOperationFailed,
                "The store was deleted. Its folder stays, as it also holds what Firn did not make: \(removal.left.joined(separator: ", ")).",
                fileURL: url)
        }
        return removal.wasThere
    }
}

extension Realm: Equatable {
    /// Whether both are the same realm of the same thread, queue or actor.
    public static func == (a: Realm, b: Realm) -> Bool { a.instance === b.instance }
}

@available(
    *, unavailable, message: "a realm belongs to the thread, queue or actor that opened it; open it again elsewhere"
)
extension Realm: Sendable {}
