import FirnBytes
import FirnLog
import FirnStorage

/// The base of the replay of a past version: a version that is available without the log.
struct HistoryBase: Sendable {
    let version: UInt64
    let time: Int64
    let schema: StoreSchema
    /// Opens a store in memory that has the content of this version, and that takes the commits after it. The store's
    /// version number is one less, except for version 0. So the version itself can be shown in another schema, as the
    /// store's next version.
    let open: @Sendable () throws(StoreError) -> Store

    /// The empty version that every store begins with.
    static func empty(created: Int64) -> HistoryBase {
        HistoryBase(version: 0, time: created, schema: StoreSchema()) { () throws(StoreError) in
            try Store(StoreOptions(log: nil), storage: MemoryStorage(), clock: ManualClock(now: created))
        }
    }

    /// The version that a checkpoint holds. It is read in place.
    static func stored(
        _ checkpoint: Checkpoint, log: Log, reading: CheckpointReading, fileReferences: CheckpointFileReferences
    ) throws(StoreError) -> HistoryBase {
        let schema = try CheckpointState.read(checkpoint, log).schema
        return HistoryBase(version: checkpoint.version, time: checkpoint.time, schema: schema) {
            () throws(StoreError) in
            try Store(past: checkpoint, of: log, reading, fileReferences)
        }
    }
}

/// A past version, held by a pin.
package struct PastVersion {
    package let pin: Pin
    /// Its schema as it was. The schema of the pin's snapshot also has what was added since.
    package let schema: StoreSchema

    init(pin: Pin, schema: StoreSchema) {
        self.pin = pin
        self.schema = schema
    }

    /// Makes a past version from an active one, without a replay; nil if it can't be read in the schema `target`.
    init?(_ active: Pin?, as target: StoreSchema) {
        guard let active, active.snapshot.schema.canBeRead(as: target) else { return nil }
        self.init(pin: active, schema: active.snapshot.schema)
    }
}

/// A store in memory in which past versions of another store are replayed. It applies the commits of the other store's
/// log, in order, up to the requested version. No versions in between are made. Versions that somebody holds, and the
/// versions opened last, share the nodes that they have in common.
///
/// It is used by one thread at a time: the thread that took it out of `History`, or that holds the lock of `History`.
final class PastStore: @unchecked Sendable {
    private let store: Store
    private let log: Log
    private let schema: PastSchema
    private let base: HistoryBase
    /// The position in the log behind the version reached.
    private var position: LogPosition?
    /// The versions opened last, newest last. They are held as long as what they retain takes no more than
    /// `recentByteCount`.
    private var recent: [Pin] = []

    private static let recentCount = 16
    private static let recentByteCount = 64 << 20

    init(_ base: HistoryBase, log: Log, as target: StoreSchema) throws(StoreError) {
        store = try base.open()
        self.log = log
        self.base = base
        schema = PastSchema(from: base.version, base.schema, as: target)
    }

    /// The version reached.
    var tip: UInt64 { max(store.publishedVersion, base.version) }
    /// Whether a version can be shown. Before the first replay the store has only what the base holds, in the base's
    /// schema. Its number is then the one before the base's. But version 0 can be shown at once, because it holds
    /// nothing.
    var isShown: Bool { store.publishedVersion >= base.version }
    var target: StoreSchema { schema.target }
    var canContinue: Bool { schema.canContinue }

    /// Bytes of memory that its versions take, without what lies in a checkpoint.
    var byteCount: Int { store.heap.byteCount }

    /// How many of these bytes only versions before the one reached need.
    var retainedByteCount: Int { store.versions.withLock { $0.deadByteCount } }

    /// Forgets the versions opened before the one reached, and returns their pins. The versions are dropped when the
    /// caller releases the pins.
    func forgetRecent() -> [Pin] {
        defer { recent.removeFirst(max(recent.count - 1, 0)) }
        return recent.dropLast()
    }

    /// Returns a version if it is available: the one reached, one of those opened last, or one that somebody holds.
    func version(_ number: UInt64) -> PastVersion? {
        guard number >= base.version, let pin = store.versions.pin(version: number, at: CallSite(#fileID, #line))
        else { return nil }
        return PastVersion(pin: pin, schema: schema.schema(at: number))
    }

    /// Replays up to a version that is not before the one reached. If this throws, nothing has changed.
    func replay(to number: UInt64) throws(StoreError) -> PastVersion {
        if number > tip || !isShown {
            do throws(StoreError) {
                position = try store.replay(
                    log, after: tip, through: number, from: position, as: schema, time: base.time)
            } catch {
                schema.resume()
                throw error
            }
        }
        guard let version = version(number) else {
            preconditionFailure("Firn: the replay went past the version that was asked for")
        }
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
    /// Returns the versions from which past ones can be replayed, oldest first. The log has all commits after each of
    /// them. They are the empty version, unless the beginning of the log was removed, and the checkpoints that are
    /// listed.
    func historyBases(_ log: Log, _ checkpoints: [Checkpoint]) throws(StoreError) -> [HistoryBase] {
        var bases: [HistoryBase] = []
        let first = try logged(log.firstVersion)
        if first == 1 { bases.append(.empty(created: try logged(log.created))) }
        for checkpoint in checkpoints where checkpoint.version + 1 >= first {
            bases.append(
                try .stored(checkpoint, log: log, reading: checkpointReading, fileReferences: fileReferences))
        }
        return bases
    }
}
