import FirnLog
import FirnStorage

/// What a store keeps for its past: which versions are retained, and the past versions opened last.
///
/// Each of the two is guarded by its own lock, which is held for a few instructions. A `PastStore` is taken out while a
/// thread works with it. So two threads may open versions at the same time; at worst both replay the same commits.
final class History: Sendable {
    /// How many opened past stores are kept; the least recently used one is dropped first.
    ///
    /// They are kept because the usual next step is to continue in one of them, or to open the same version again. Each
    /// holds in memory what has changed between its base and the versions opened. So as many are kept as take 256 MiB
    /// together, but at least 3 and at most 16. If they take more, each first releases the versions before the one that
    /// it has reached. Keeping another store shortens more replays than keeping another version of the same store.
    static let storeCount = (least: 3, most: 16)
    private let byteCount: Int

    private let opened = Guarded<[PastStore]>(.history, [])
    private let retentions = Guarded<[HistoryRetention]>(.innermost, [])

    init(byteCount: Int = 256 << 20) { self.byteCount = byteCount }

    /// The rules that the openers of the store asked for, each once. All of them apply.
    var retained: [HistoryRetention] { retentions.withLock { $0 } }

    func retain(_ retention: HistoryRetention) {
        retentions.withLock { if !$0.contains(retention) { $0.append(retention) } }
    }

    /// Opens a version: from the past store nearest before it, or from the newest base that is not after it,
    /// whichever has less to replay.
    ///
    /// - Parameter bases: oldest first.
    /// - Throws: `.versionNotRetained` if all of them are after the version. Then the version is only held somewhere,
    ///   and not retained.
    func open(
        _ number: UInt64, _ log: Log, bases: [HistoryBase], as target: StoreSchema
    ) throws(StoreError) -> PastVersion {
        let known = find(number, as: target)
        if let known { return known }
        guard let base = bases.last(where: { $0.version <= number }) else {
            throw StoreError(
                .versionNotRetained,
                "version \(number) can't be shown with what was added to the schema since: no checkpoint before it is retained"
            )
        }
        let past: PastStore
        if let taken = take(from: base.version, to: number) {
            past = taken
        } else {
            past = try PastStore(base, log: log, as: target)
        }
        do throws(StoreError) {
            let version = try past.replay(to: number)
            keep(past)
            return version
        } catch {
            if past.isShown { keep(past) }
            throw error
        }
    }

    /// Returns a version if one of the stores has it.
    private func find(_ number: UInt64, as target: StoreSchema) -> PastVersion? {
        // Stores for another schema are released outside the lock, because releasing one frees a whole version.
        var released: [PastStore] = []
        defer { withExtendedLifetime(released) {} }
        return opened.withLock { opened in
            released = opened.filter { $0.target != target }
            if !released.isEmpty { opened.removeAll { $0.target != target } }
            for (index, past) in opened.enumerated() {
                guard let version = past.version(number) else { continue }
                opened.append(opened.remove(at: index))
                return version
            }
            return nil
        }
    }

    /// Takes out the past store with the least to replay up to `number`; nil if none has reached `base`.
    private func take(from base: UInt64, to number: UInt64) -> PastStore? {
        opened.withLock { opened in
            let nearest = opened.indices
                .filter { opened[$0].canContinue && opened[$0].tip >= base && opened[$0].tip <= number }
                .max { opened[$0].tip < opened[$1].tip }
            return nearest.map { opened.remove(at: $0) }
        }
    }

    private func keep(_ past: PastStore) {
        // These are released outside the lock, as in `find`.
        let released = opened.withLock { opened in
            opened.append(past)
            var released: (stores: [PastStore], versions: [Pin]) = ([], [])
            var total = opened.reduce(0) { $0 + $1.byteCount }
            for past in opened where total > byteCount {
                total -= past.retainedByteCount
                released.versions += past.forgetRecent()
            }
            while opened.count > History.storeCount.least,
                opened.count > History.storeCount.most || total > byteCount
            {
                total -= opened[0].byteCount
                released.stores.append(opened.removeFirst())
            }
            return released
        }
        withExtendedLifetime(released) {}
    }

    /// The versions that the kept stores have reached, least recently used first.
    var tips: [UInt64] { opened.withLock { $0.map(\.tip) } }
}
