import FirnLog
import FirnStorage

/// Counts how many versions are active, and what they retain.
///
/// A version is **active** if it is the tip, or if a holder other than the store itself (such as the compactor) holds
/// it. The count is of the versions that will be active when all that is written is published. So a version before the
/// tip that only waits to be published is not counted. Transaction snapshots are not versions, but what they retain
/// counts as retained. Entries of one version count as one.
///
/// The counts are updated at each change. A version is held from the first holder of any of its entries to the last one
/// of any of them.
extension VersionTable {
    /// Whether a version is written out, so that it needs no memory and is not counted.
    enum Spill {
        case none
        case begun
        /// Writing it out has failed: the version counts again, and nobody tries again.
        case failed(any Error)

        var isBegun: Bool { if case .begun = self { true } else { false } }
        var isPossible: Bool { if case .none = self { true } else { false } }
        var failure: (any Error)? { if case .failed(let error) = self { error } else { nil } }
    }

    // MARK: Keeping the counts (the lock is held)

    /// Counts an entry that gets its first holder.
    @inline(__always)
    func countHeld(_ entry: Entry) {
        lock.assertHeld()
        if entry.isTransactionSnapshot { return }
        let lead = entry.lead
        if lead.heldEntryCount == 0, !lead.spill.isBegun { heldVersionCount += 1 }
        lead.heldEntryCount += 1
    }

    /// Counts an entry that has lost its last holder.
    @inline(__always)
    func countReleased(_ entry: Entry) {
        lock.assertHeld()
        if entry.isTransactionSnapshot { return }
        let lead = entry.lead
        lead.heldEntryCount -= 1
        if lead.heldEntryCount == 0, !lead.spill.isBegun { heldVersionCount -= 1 }
    }

    // MARK: Comparing with a limit (the lock is held)

    /// Whether more is held than the limit allows, here and by others. O(1), except while there are more dead bytes
    /// than may be retained: then O(buckets of dead nodes). `own` counts only if others hold its version, too.
    func isOver(_ limit: VersionLimit, and others: HeldByOthers, without own: Pin?) -> Bool {
        lock.assertHeld()
        let own = soleEntry(of: own)
        if activeCount(without: own) + others.versionCount > limit.versionCount { return true }
        // If the other processes alone retain too much, it does not matter what is dead here.
        return deadByteCount + others.byteCount > limit.byteCount
            && retainedByteCount(without: own) + others.byteCount > limit.byteCount
    }

    /// The pin's entry, if nothing but this pin holds it.
    private func soleEntry(of pin: Pin?) -> Entry? {
        guard let entry = pin?.entry, entry.holders - entry.storePins == 1 else { return nil }
        return entry
    }

    func activeCount(without own: Entry?) -> Int {
        lock.assertHeld()
        let tip = entries[entries.count - 1].lead
        let others = heldVersionCount + (tip.heldEntryCount == 0 ? 1 : 0)
        guard let lead = own?.lead, lead !== tip, lead.heldEntryCount == 1, !lead.spill.isBegun else { return others }
        return others - 1
    }

    /// The number of bytes of the dead nodes that a holder still reaches. Nodes that only the store keeps until the tip
    /// is published are freed then, and do not count.
    func retainedByteCount(without own: Entry?) -> Int {
        if deadByteCount == 0 { return 0 }
        var total = 0
        var held: UInt64 = 0
        for entry in entries {
            if entry.isHeld, entry !== own, !entry.lead.spill.isBegun { held = entry.stamp }
            // These nodes died after this entry, so no later entry reaches them. No held entry before their birth
            // reaches them either, so those born after the last held entry do not count.
            total += entry.dead.byteCount(bornThrough: held)
        }
        return total
    }

    // MARK: Waiting

    /// Nanoseconds after which a waiting transaction looks again at what other processes hold: neither what they
    /// release nor their death wakes anybody here.
    private static let pollInterval: Int64 = 10_000_000

    /// Waits until what is held is within the limit or the store is closed, and then returns nil. If that has not
    /// happened by `deadline`, returns what exceeds the limit. `deadline` is a time of the system's monotonic clock;
    /// if it is nil, the method looks once and does not wait. `holding` returns the other processes that hold
    /// anything.
    func excess(
        over limit: VersionLimit, without own: Pin?, until deadline: Int64?, _ holding: () -> [OtherProcess]
    ) -> VersionExcess? {
        lock.withLock { waiterCount += 1 }
        defer { lock.withLock { waiterCount -= 1 } }
        var isLate = deadline == nil
        while true {
            let others = holding()
            lock.lock()
            defer { lock.unlock() }
            guard isOver(limit, and: HeldByOthers(others), without: own), !isClosed else { return nil }
            guard !isLate, let deadline else {
                let sole = soleEntry(of: own)
                return VersionExcess(
                    limit: limit, count: activeCount(without: sole),
                    retainedByteCount: retainedByteCount(without: sole),
                    versions: list(newest: entries[entries.count - 1], without: sole), others: others)
            }
            // A holder may release a version just as the time is up, so there is one last look.
            let end = others.isEmpty ? deadline : min(deadline, SystemClock.shared.monotonic() + Self.pollInterval)
            if !released.wait(lock, until: end) { isLate = end == deadline }
        }
    }

    /// Wakes everybody who waits; from now on nobody waits any more.
    func endWaiting() {
        lock.lock()
        isClosed = true
        released.broadcast()
        lock.unlock()
    }

    // MARK: Writing out

    /// Pins the oldest version that counts, unless it is the newest; from then on it does not count. Returns nil if
    /// no version can be written out. `own` is spared, because the caller will release it.
    func beginSpill(sparing own: Pin?) -> Pin? {
        lock.lock()
        defer { lock.unlock() }
        let tip = entries[entries.count - 1].lead
        let own = soleEntry(of: own)
        let oldest = entries.first {
            $0.isHeld && !$0.isTransactionSnapshot && $0.lead !== tip && $0 !== own && $0.lead.spill.isPossible
                && obstacle($0) == nil
        }
        guard let lead = oldest?.lead, let oldest = entries.last(where: { $0.lead === lead && $0.isHeld }) else {
            return nil
        }
        heldVersionCount -= 1
        oldest.lead.spill = .begun
        reportHoldings()
        return makePin(oldest, CallSite(#fileID, #line), isHolder: false)
    }

    /// The stamp of the newest version that was written out and is still held; nil if there is none.
    var newestSpilledStamp: UInt64? {
        lock.withLock { entries.last { $0.isHeld && $0.lead.spill.isBegun }?.stamp }
    }

    /// Notes that a version could not be written out, so that it counts again.
    func failSpill(_ pin: Pin, _ error: any Error) {
        lock.lock()
        defer { lock.unlock() }
        guard let lead = pin.entry?.lead else { return }
        lead.spill = .failed(error)
        if lead.heldEntryCount > 0 { heldVersionCount += 1 }
        reportHoldings()
    }

    // MARK: Showing

    /// Every version that is held, and the published one, oldest first.
    var active: [ActiveVersion] {
        lock.lock()
        defer { lock.unlock() }
        return list(newest: publishedEntry, without: nil)
    }

    /// Lists the held versions and `newest`, with one element for all entries of a version. The lock is held.
    private func list(newest: Entry, without own: Entry?) -> [ActiveVersion] {
        lock.assertHeld()
        var result: [ActiveVersion] = []
        var index = 0
        while index < entries.count {
            let lead = entries[index].lead
            let before = index == 0 ? 0 : entries[index - 1].stamp
            var (holders, retained, callSites) = (0, 0, [String]())
            var isShown = false
            let start = index
            while index < entries.count, entries[index].lead === lead {
                let entry = entries[index]
                index += 1
                retained += entry.dead.byteCount(bornAfter: before)
                if entry === newest { isShown = true }
                if entry.isTransactionSnapshot || entry === own { continue }
                if entry.isHeld { isShown = true }
                holders += entry.holders - entry.storePins
                var pins: [String] = []
                var next = entry.firstPin
                while let pin = next?.pointee {
                    if pin.isHolder { pins.append(pin.callSite.description) }
                    next = pin.next
                }
                callSites += pins.reversed()
            }
            guard isShown else { continue }
            var failure = lead.spill.failure
            if failure == nil, !lead.spill.isBegun, lead !== newest.lead { failure = obstacle(entries[start]) }
            result.append(
                ActiveVersion(
                    number: lead.version, time: entries[start].time, holders: holders, retainedByteCount: retained,
                    pinnedAt: callSites, isSpilled: lead.spill.isBegun, spillFailure: failure))
        }
        return result
    }

    /// Why a version can't be written out now; nil if it can be, or if this store never writes versions out.
    private func obstacle(_ entry: Entry) -> StorageError? {
        guard let spill = heap.spill, spill.holdsAllNodes else { return nil }
        return spill.obstacle(stamp: entry.stamp)
    }

    /// Checks that the counts agree with the entries, and stops the program with a message if they do not.
    /// O(entries).
    func checkCounts() {
        lock.lock()
        defer { lock.unlock() }
        var held: [ObjectIdentifier: Int] = [:]
        for entry in entries where !entry.isTransactionSnapshot && entry.isHeld {
            held[ObjectIdentifier(entry.lead), default: 0] += 1
        }
        var counted: Set<ObjectIdentifier> = []
        for entry in entries where !entry.isTransactionSnapshot {
            let id = ObjectIdentifier(entry.lead)
            precondition(
                entry.lead.heldEntryCount == held[id, default: 0],
                "Firn: \(entry.lead.heldEntryCount) entries of version \(entry.version) count as held")
            if entry.lead.heldEntryCount > 0, !entry.lead.spill.isBegun { counted.insert(id) }
        }
        precondition(
            counted.count == heldVersionCount,
            "Firn: \(heldVersionCount) versions count as held, \(counted.count) are")
        let dead = entries.reduce(0) { $0 + $1.dead.buckets.reduce(0) { $0 + $1.nodes.byteCount } }
        precondition(dead == deadByteCount, "Firn: \(deadByteCount) bytes count as dead, \(dead) are")
    }
}
