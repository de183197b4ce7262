import FirnLog
import FirnStorage

/// What a store keeps for its past: which versions are retained, and the past versions opened last.
///
/// Both are guarded by locks of their own, held for a few instructions: a `PastStore` is taken out while it is worked with. So two threads may open versions at the same time;
/// at worst both replay the same commits.
final class History: Sendable {
    /// How many opened past stores are kept, the least recently used going first: going on in one, or asking for the same version again, is what people do. Each holds in memory what has
    /// changed between its base and the versions opened, so as many as take 256 MiB together, but at least 3 and at most 16. Where that is not enough they first forget the versions
    /// that they have passed: a store that stands elsewhere shortens more ways.
    static let storeCount = (least: 3, most: 16)
    private let byteCount: Int

    private let opened = Guarded<[PastStore]>(.history, [])
    private let retentions = Guarded<[HistoryRetention]>(.innermost, [])

    init(byteCount: Int = 256 << 20) { self.byteCount = byteCount }

    /// What whoever opened the store asked for, each once. All of them hold.
    var retained: [HistoryRetention] { retentions.withLock { $0 } }

    func retain(_ retention: HistoryRetention) {
        retentions.withLock { if !$0.contains(retention) { $0.append(retention) } }
    }

    /// Opens a version: from the store nearest before it, or from the newest base that is not after it, whichever has less to replay.
    ///
    /// - Parameter bases: oldest first; the first is not after the version.
    func open(
        _ number: UInt64, of store: Store, _ log: Log, bases: [HistoryBase], as target: StoreSchema
    ) throws(StoreError) -> PastVersion {
        let known = find(number, as: target)
        if let known { return known }
        let base = bases.last { $0.version < number || $0.version == number && $0.serves(target) }
        guard let base else {
            // Held here, perhaps, but older than what today's schema can be put on.
            throw StoreError(
                .versionNotRetained,
                "version \(number) can't be shown with what the schema has got since: no checkpoint before it is retained"
            )
        }
        let past: PastStore
        if let taken = take(from: base.version, to: number) {
            past = taken
        } else {
            past = try store.history(base: base, log, as: target)
        }
        do throws(StoreError) {
            let version = try past.go(to: number)
            keep(past)
            return version
        } catch {
            // One that has got nowhere holds its base as the checkpoint has it, which nobody may be shown.
            if past.version(past.tip) != nil { keep(past) }
            throw error
        }
    }

    /// A version that one of the stores has at hand.
    private func find(_ number: UInt64, as target: StoreSchema) -> PastVersion? {
        // What no longer serves is let go outside of the lock: it frees a whole version.
        var gone: [PastStore] = []
        defer { withExtendedLifetime(gone) {} }
        return opened.withLock { opened in
            gone = opened.filter { $0.target != target }
            if !gone.isEmpty { opened.removeAll { $0.target != target } }
            for (place, past) in opened.enumerated() {
                guard let version = past.version(number) else { continue }
                opened.append(opened.remove(at: place))
                return version
            }
            return nil
        }
    }

    /// The store that has the least way to a version, if it begins no earlier than a base.
    private func take(from base: UInt64, to number: UInt64) -> PastStore? {
        opened.withLock { opened in
            let nearest = opened.indices
                .filter { opened[$0].canGoOn && opened[$0].tip >= base && opened[$0].tip <= number }
                .max { opened[$0].tip < opened[$1].tip }
            return nearest.map { opened.remove(at: $0) }
        }
    }

    private func keep(_ past: PastStore) {
        // As in `find`.
        let gone = opened.withLock { opened in
            opened.append(past)
            var gone: (stores: [PastStore], versions: [Pin]) = ([], [])
            var total = opened.reduce(0) { $0 + $1.byteCount }
            for past in opened where total > byteCount {
                total -= past.retainedByteCount
                gone.versions += past.forgetRecent()
            }
            while opened.count > History.storeCount.least,
                opened.count > History.storeCount.most || total > byteCount
            {
                total -= opened[0].byteCount
                gone.stores.append(opened.removeFirst())
            }
            return gone
        }
        withExtendedLifetime(gone) {}
    }

    /// The versions that the stores kept have reached, the least recently used first.
    var tips: [UInt64] { opened.withLock { $0.map(\.tip) } }
}
