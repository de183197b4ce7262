import FirnLog
import FirnStorage

/// How many versions are active, and what they retain.
///
/// **Active** is what a holder holds (other than the store itself, as the compactor), and the tip: what counts is what will be there when all that is written is published, so a version that is only waiting for
/// that is not counted. States inside transactions are no versions, but what they retain is retained. Entries of one version count as one.
///
/// The counts are kept at each change: a version is held from the first holder of the first of its entries to the last of the last.
extension VersionTable {
    /// Whether a version is written out so that it needs no memory: it is not counted then.
    enum Spill {
        case none
        case begun
        /// It could not be: it counts again, and isn't tried again.
        case failed(any Error)

        var isBegun: Bool { if case .begun = self { true } else { false } }
        var isPossible: Bool { if case .none = self { true } else { false } }
        var failure: (any Error)? { if case .failed(let error) = self { error } else { nil } }
    }

    // MARK: Keeping the counts (the lock is held)

    /// An entry gets its first holder.
    @inline(__always)
    func countHeld(_ entry: Entry) {
        if entry.isState { return }
        let lead = entry.lead
        if lead.heldEntryCount == 0, !lead.spill.isBegun { heldVersionCount += 1 }
        lead.heldEntryCount += 1
    }

    /// An entry has lost its last holder.
    @inline(__always)
    func countFree(_ entry: Entry) {
        if entry.isState { return }
        let lead = entry.lead
        lead.heldEntryCount -= 1
        if lead.heldEntryCount == 0, !lead.spill.isBegun { heldVersionCount -= 1 }
    }

    // MARK: Comparing with a limit (the lock is held)

    /// O(1), except while there are more dead bytes than may be retained: then O(buckets of dead nodes). `own` counts only where others hold its version too.
    func isOver(_ limit: VersionLimit, and others: HeldByOthers, without own: Pin?) -> Bool {
        let own = soleEntry(of: own)
        if activeCount(without: own) + others.versionCount > limit.versionCount { return true }
        // Where others alone hold too much, what is dead here is no matter.
        return deadByteCount + others.byteCount > limit.byteCount
            && retainedByteCount(without: own) + others.byteCount > limit.byteCount
    }

    /// The pin's entry, if the pin is all that holds it.
    private func soleEntry(of pin: Pin?) -> Entry? {
        guard let entry = pin?.entry, entry.holders - entry.storePins == 1 else { return nil }
        return entry
    }

    func activeCount(without own: Entry?) -> Int {
        let tip = entries[entries.count - 1].lead
        let others = heldVersionCount + (tip.heldEntryCount == 0 ? 1 : 0)
        guard let lead = own?.lead, lead !== tip, lead.heldEntryCount == 1, !lead.spill.isBegun else { return others }
        return others - 1
    }

    /// Bytes of the dead nodes that a holder still reaches. What nothing but the store's own interest keeps until the tip is published goes by itself.
    func retainedByteCount(without own: Entry?) -> Int {
        if deadByteCount == 0 { return 0 }
        var total = 0
        var held: UInt64 = 0
        for entry in entries {
            if entry.isHeld, entry !== own, !entry.lead.spill.isBegun { held = entry.stamp }
            // Dead after this entry, so no later one reaches them; born after the last held one, no earlier one does.
            total += entry.dead.byteCount(bornThrough: held)
        }
        return total
    }

    // MARK: Waiting

    /// Nanoseconds after which a waiting transaction looks again what others hold: they, and still less their death, wake nobody here.
    private static let patience: Int64 = 10_000_000

    /// Nil once what is held is within the limit, or the store is closed; what is too much where that is not so by `deadline` (of the system's monotonic clock; nil to only look). `holding` gives the
    /// other processes that hold anything.
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
            // Someone may let go just as the time is up, so there is a last look.
            let end = others.isEmpty ? deadline : min(deadline, SystemClock.shared.monotonic() + Self.patience)
            if !released.wait(lock, until: end) { isLate = end == deadline }
        }
    }

    /// Nobody waits any more, now and later.
    func endWaiting() {
        lock.lock()
        isClosed = true
        released.broadcast()
        lock.unlock()
    }

    // MARK: Writing out

    /// Pins the oldest version that counts, if it is not the newest; from here on it doesn't count. Nil where there is none that could be written out. `own` goes by itself.
    func beginSpill(sparing own: Pin?) -> Pin? {
        lock.lock()
        defer { lock.unlock() }
        let tip = entries[entries.count - 1].lead
        let own = soleEntry(of: own)
        let oldest = entries.first {
            $0.isHeld && !$0.isState && $0.lead !== tip && $0 !== own && $0.lead.spill.isPossible
                && obstacle($0) == nil
        }
        guard let lead = oldest?.lead, let oldest = entries.last(where: { $0.lead === lead && $0.isHeld }) else {
            return nil
        }
        heldVersionCount -= 1
        oldest.lead.spill = .begun
        report?(self)
        return makePin(oldest, CallSite(#fileID, #line), isHolder: false)
    }

    /// The stamp of the newest version that was written out and is held; nil where there is none.
    var newestSpilledStamp: UInt64? {
        lock.withLock { entries.last { $0.isHeld && $0.lead.spill.isBegun }?.stamp }
    }

    /// The version could not be written out: it counts again.
    func failSpill(_ pin: Pin, _ error: any Error) {
        lock.lock()
        defer { lock.unlock() }
        guard let lead = pin.entry?.lead else { return }
        lead.spill = .failed(error)
        if lead.heldEntryCount > 0 { heldVersionCount += 1 }
        report?(self)
    }

    // MARK: Showing

    /// Every version that is held, and the published one, oldest first.
    var active: [ActiveVersion] {
        lock.lock()
        defer { lock.unlock() }
        return list(newest: publishedEntry, without: nil)
    }

    /// The held versions and `newest`; one for all entries of a version. The lock is held.
    private func list(newest: Entry, without own: Entry?) -> [ActiveVersion] {
        var result: [ActiveVersion] = []
        var place = 0
        while place < entries.count {
            let lead = entries[place].lead
            let before = place == 0 ? 0 : entries[place - 1].stamp
            var (holders, retained, places) = (0, 0, [String]())
            var isShown = false
            let start = place
            while place < entries.count, entries[place].lead === lead {
                let entry = entries[place]
                place += 1
                retained += entry.dead.byteCount(bornAfter: before)
                if entry === newest { isShown = true }
                if entry.isState || entry === own { continue }
                if entry.isHeld { isShown = true }
                holders += entry.holders - entry.storePins
                var pins: [String] = []
                var next = entry.firstPin
                while let pin = next?.pointee {
                    if pin.isHolder { pins.append(pin.place.description) }
                    next = pin.next
                }
                places += pins.reversed()
            }
            guard isShown else { continue }
            var failure = lead.spill.failure
            if failure == nil, !lead.spill.isBegun, lead !== newest.lead { failure = obstacle(entries[start]) }
            result.append(
                ActiveVersion(
                    number: lead.version, time: entries[start].time, holders: holders, retainedByteCount: retained,
                    pinnedAt: places, isSpilled: lead.spill.isBegun, spillFailure: failure))
        }
        return result
    }

    /// Why a version can't be written out now, where versions can be at all.
    private func obstacle(_ entry: Entry) -> StorageError? {
        guard let spill = heap.spill, spill.takesAll else { return nil }
        return spill.obstacle(stamp: entry.stamp)
    }

    /// That the counts are what the entries say. O(entries). Stops with a message where they aren't.
    func checkCounts() {
        lock.lock()
        defer { lock.unlock() }
        var held: [ObjectIdentifier: Int] = [:]
        for entry in entries where !entry.isState && entry.isHeld {
            held[ObjectIdentifier(entry.lead), default: 0] += 1
        }
        var counted: Set<ObjectIdentifier> = []
        for entry in entries where !entry.isState {
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
