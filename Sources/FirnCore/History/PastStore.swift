import FirnBytes
import FirnLog
import FirnStorage

/// What the replay of a past version begins from: a version that can be had without the log.
struct HistoryBase: Sendable {
    let version: UInt64
    let schema: StoreSchema
    /// A store in memory that holds this version and nothing else, and takes the commits after it.
    let open: @Sendable () throws(StoreError) -> Store

    /// The empty version that every store begins with.
    static func empty(created: Int64) -> HistoryBase {
        HistoryBase(version: 0, schema: StoreSchema()) { () throws(StoreError) in
            try Store(StoreOptions(log: nil), storage: MemoryStorage(), clock: ManualClock(now: created))
        }
    }

    /// The version that a checkpoint is. It is read where it lies.
    static func stored(
        _ checkpoint: Checkpoint, _ log: Log, _ options: StoreOptions, _ fileReferences: CheckpointFileReferences
    ) throws(StoreError) -> HistoryBase {
        let schema = try CheckpointState.read(checkpoint, log).schema
        return HistoryBase(version: checkpoint.version, schema: schema) { () throws(StoreError) in
            try Store(past: checkpoint, of: log, options, fileReferences)
        }
    }

    /// Whether the version itself can be shown in a schema as it is. An empty store has nothing to show.
    func serves(_ target: StoreSchema) -> Bool { Self.serves(schema, target) }

    static func serves(_ schema: StoreSchema, _ target: StoreSchema) -> Bool {
        schema.tables.isEmpty || schema.serves(target)
    }
}

/// A past version that is held.
public struct PastVersion {
    public let pin: Pin
    /// Its schema as it was. That of the pin's snapshot has also what came since.
    public let schema: StoreSchema

    init(pin: Pin, schema: StoreSchema) {
        self.pin = pin
        self.schema = schema
    }

    /// An active version as it is, if it can be read in a schema.
    init?(_ active: Pin?, as target: StoreSchema) {
        guard let active, active.snapshot.schema.serves(target) else { return nil }
        self.init(pin: active, schema: active.snapshot.schema)
    }
}

/// A store in memory that past versions of another are replayed in: the commits of its log, forwards, up to the version wanted. Versions between are never made; versions that somebody holds, and
/// those opened last, share what they have in common.
///
/// It is used by one thread at a time: whoever took it out of `History`, or holds its lock.
final class PastStore: @unchecked Sendable {
    private let store: Store
    private let log: Log
    private let schema: PastSchema
    /// Behind the version reached, in the log.
    private var position: LogPosition?
    /// The versions opened last, the newest last: held while what they retain takes no more than `recentByteCount`.
    private var recent: [Pin] = []

    private static let recentCount = 16
    private static let recentByteCount = 64 << 20

    init(_ store: Store, log: Log, schema: PastSchema) {
        self.store = store
        self.log = log
        self.schema = schema
    }

    /// The version reached.
    var tip: UInt64 { store.publishedVersion }
    var target: StoreSchema { schema.target }
    var canGoOn: Bool { schema.canGoOn }

    /// Bytes of memory that its versions take, but for what lies in a checkpoint.
    var byteCount: Int { store.heap.byteCount }

    /// What of that only versions before the one reached need.
    var retainedByteCount: Int { store.versions.withLock { $0.deadByteCount } }

    /// Forgets the versions opened before the one reached. They go with the pins given back.
    func forgetRecent() -> [Pin] {
        defer { recent.removeFirst(max(recent.count - 1, 0)) }
        return recent.dropLast()
    }

    /// A version that it has at hand: the one reached, one of those opened last, or one that somebody holds. Nil also
    /// for its base, if that is not in the schema of today: no replay has come to its end then.
    func version(_ number: UInt64) -> PastVersion? {
        guard number <= tip, let pin = store.versions.pin(version: number, at: CallSite(#fileID, #line)),
            HistoryBase.serves(pin.snapshot.schema, target)
        else { return nil }
        return PastVersion(pin: pin, schema: schema.schema(at: number))
    }

    /// Goes on to a version that is not before the one reached. Where this throws, nothing has changed.
    func go(to number: UInt64) throws(StoreError) -> PastVersion {
        if number > tip {
            do throws(StoreError) {
                position = try store.replay(log, after: tip, through: number, from: position, as: schema)
            } catch {
                schema.resume()
                throw error
            }
        }
        guard let version = version(number) else { preconditionFailure("Firn: a past version was passed") }
        recent.append(version.pin)
        while recent.count > 1,
            recent.count > Self.recentCount || retainedByteCount > Self.recentByteCount
        {
            recent.removeFirst()
        }
        return version
    }
}

extension Store {
    /// The versions from which past ones can be replayed, oldest first, each with all later commits in the log: the empty one, unless the log's beginning has been let go, and the checkpoints
    /// that are listed.
    func historyBases(_ log: Log, _ checkpoints: [Checkpoint]) throws(StoreError) -> [HistoryBase] {
        var bases: [HistoryBase] = []
        let first: UInt64
        do throws(LogError) {
            first = try log.firstVersion
            if first == 1 { bases.append(.empty(created: try log.created)) }
        } catch {
            throw StoreError(error)
        }
        for checkpoint in checkpoints where checkpoint.version + 1 >= first {
            bases.append(try .stored(checkpoint, log, options, fileReferences))
        }
        return bases
    }

    /// A store for the past from `base` on, shown in a schema.
    func history(base: HistoryBase, _ log: Log, as target: StoreSchema) throws(StoreError) -> PastStore {
        PastStore(try base.open(), log: log, schema: PastSchema(base, as: target))
    }
}
