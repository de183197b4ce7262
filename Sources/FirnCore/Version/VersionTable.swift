import CFirn
import FirnLog
import FirnStorage
import Synchronization

/// The active versions: the pinned ones, the newest one, and written ones that are not yet published.
///
/// `lock` guards everything here: the entries, their counts, the chains of their pins and their dead lists. It is
/// held for a few dozen instructions (longer while versions are listed); nodes are freed and user code is called
/// outside it. `LockRank` gives the order among locks.
final class VersionTable: @unchecked Sendable {
    /// One version, or a transaction snapshot that outlived its transaction.
    ///
    /// A version may have several entries: equal trees in different memory. They count as one, through their `lead`.
    final class Entry {
        let stamp: UInt64
        /// 0 for a transaction snapshot.
        let version: UInt64
        let isTransactionSnapshot: Bool
        let time: Int64
        let root: Node
        let resolvedSchema: ResolvedSchema
        /// The checkpoint's files that hold the version's older nodes, mapped as long as the entry is active.
        @exclusivity(unchecked) private(set) var mapping: CheckpointMapping?
        @exclusivity(unchecked) fileprivate(set) var holders = 0
        @exclusivity(unchecked) fileprivate(set) var firstPin: UnsafeMutablePointer<PinLink>?
        /// The nodes that died when the next version replaced this one.
        @exclusivity(unchecked) var dead = DeadList()
        /// Whether the store itself keeps the entry. It keeps the newest published version and all later ones.
        @exclusivity(unchecked) var isKept = true
        /// How many of the `holders` are pins for the store's own work, which do not make the entry held (`isHeld`).
        @exclusivity(unchecked) fileprivate(set) var storePins = 0
        /// The version's first entry, if this is a later one.
        private let first: Entry?
        /// In a lead: how many of its version's entries have a holder.
        @exclusivity(unchecked) var heldEntryCount = 0
        /// In a lead: whether its version is or is being written out, so that it is not counted.
        @exclusivity(unchecked) var spill = Spill.none

        init(
            stamp: UInt64, version: UInt64, time: Int64, root: Node, resolvedSchema: ResolvedSchema,
            mapping: CheckpointMapping?,
            isTransactionSnapshot: Bool = false, first: Entry? = nil
        ) {
            self.mapping = mapping
            self.stamp = stamp
            self.version = version
            self.isTransactionSnapshot = isTransactionSnapshot
            self.time = time
            self.root = root
            self.resolvedSchema = resolvedSchema
            self.first = first
        }

        /// Whether anything but the store's own work holds the entry.
        var isHeld: Bool { holders > storePins }

        /// Gives up the mapping, because the entry is no longer active; a later entry of the version may keep the
        /// object itself alive. The caller must release the mapping outside the lock, because that unmaps the files.
        fileprivate func takeMapping() -> CheckpointMapping? {
            defer { mapping = nil }
            return mapping
        }

        /// The entry that counts for the version.
        var lead: Entry { first ?? self }

        var snapshot: Snapshot { Snapshot(root: root, resolvedSchema: resolvedSchema) }
    }

    let lock = Lock(.versionTable)
    let heap: NodeHeap
    /// In ascending order of stamps. The last one is the tip.
    @exclusivity(unchecked) private(set) var entries: [Entry]
    /// The entries' stamps, in the same order.
    @exclusivity(unchecked) private(set) var stamps: [UInt64]
    /// The stamp of the entry that the store began with.
    private let firstStamp: UInt64
    @exclusivity(unchecked) var publishedEntry: Entry {
        didSet {
            publishedNumber.store(publishedEntry.version, ordering: .releasing)
            publishedStamp.store(publishedEntry.stamp, ordering: .releasing)
        }
    }
    // The number and stamp of `publishedEntry`, for callers that check, without the lock, whether something newer is
    // published.
    private let publishedNumber: Atomic<UInt64>
    private let publishedStamp: Atomic<UInt64>

    // The counts that are compared with the limits: see `VersionTable+Counting`.
    /// How many versions have a holder, without the versions that are being, or have been, written out.
    @exclusivity(unchecked) var heldVersionCount = 0
    /// Bytes of the nodes on all dead lists.
    @exclusivity(unchecked) var deadByteCount = 0
    /// How many transactions wait for a holder to release a version.
    @exclusivity(unchecked) var waiterCount = 0
    @exclusivity(unchecked) var isClosed = false
    /// Reports to other processes what this one holds. It is called with the lock held, set before the table is
    /// shared, and nil if there is nobody to report to.
    nonisolated(unsafe) var report: (@Sendable (VersionTable) -> Void)?
    /// Whether a pin is being moved.
    @exclusivity(unchecked) private var isMoving = false
    let released = Condition()

    init(
        root: Node, stamp: UInt64, version: UInt64, time: Int64, resolvedSchema: ResolvedSchema,
        mapping: CheckpointMapping?,
        heap: NodeHeap
    ) {
        self.heap = heap
        firstStamp = stamp
        publishedEntry = Entry(
            stamp: stamp, version: version, time: time, root: root, resolvedSchema: resolvedSchema, mapping: mapping)
        entries = [publishedEntry]
        stamps = [stamp]
        publishedNumber = Atomic(version)
        publishedStamp = Atomic(stamp)
    }

    deinit {
        // The store is closed and no pin is left. The only nodes still alive are nodes that died before the tip, and
        // nodes that the tip reaches.
        if heap.isForked { return }
        var nodes: [Node] = []
        entries[entries.count - 1].snapshot.forEachHeapNode { nodes.append($0) }
        for entry in entries { for bucket in entry.dead.buckets { heap.free(bucket.nodes) } }
        var garbage = NodeList()
        for node in nodes { garbage.push(node) }
        heap.free(garbage)
        assert(
            heap.nodeCount == 0 && heap.byteCount == 0,
            "Firn: \(heap.nodeCount) nodes, of \(heap.byteCount) bytes, have leaked")
    }

    /// The last version written.
    var tip: Entry { lock.withLock { entries[entries.count - 1] } }

    /// The published version: the newest one that readers may see.
    var published: Entry { lock.withLock { publishedEntry } }

    /// The number of the published version, read without the lock.
    var publishedVersion: UInt64 { publishedNumber.load(ordering: .acquiring) }

    /// Whether a pin is on the published version's tree. Takes no lock, so the answer may be a moment old.
    func isPublishedTree(_ pin: Pin) -> Bool { publishedStamp.load(ordering: .acquiring) == pin.stamp }

    // MARK: Pins

    /// Pins the newest published version.
    func pinPublished(at callSite: CallSite) -> Pin {
        lock.lock()
        defer { lock.unlock() }
        return makePin(publishedEntry, callSite)
    }

    func pin(_ entry: Entry, at callSite: CallSite) -> Pin {
        lock.lock()
        defer { lock.unlock() }
        return makePin(entry, callSite)
    }

    /// Pins the newest version for the store's own work. Such a pin is listed nowhere and counts against no limit.
    func pinForStore(_ version: StoreVersion) -> Pin {
        lock.lock()
        defer { lock.unlock() }
        switch version {
        case .published: return makePin(publishedEntry, CallSite(#fileID, #line), isHolder: false)
        case .tip: return makePin(entries[entries.count - 1], CallSite(#fileID, #line), isHolder: false)
        }
    }

    enum StoreVersion { case published, tip }

    /// Pins the tip as a transaction's base; returns nil if more is held, here and by others, than `limit` allows.
    /// `own` is the caller's pin, which the caller will release. If that pin is on the tip, and the caller has the only
    /// reference to it, it is returned itself.
    func pinTip(
        within limit: VersionLimit, and others: HeldByOthers, replacing own: OwnPin, at callSite: CallSite
    ) -> Pin? {
        lock.lock()
        defer { lock.unlock() }
        if limit.isSet, isOver(limit, and: others, without: own.pin) { return nil }
        let tip = entries[entries.count - 1]
        if own.isOnlyReference, let pin = own.pin, let link = pin.link, pin.entry === tip {
            link.pointee.callSite = callSite
            return pin
        }
        return makePin(tip, callSite)
    }

    /// Pins a published version by its number; returns nil if it is not active. O(active versions).
    func pin(version: UInt64, at callSite: CallSite) -> Pin? {
        lock.lock()
        defer { lock.unlock() }
        // Transaction snapshots have the number 0, too. The version 0 that a store begins with is the first entry of
        // all.
        let entry =
            version == 0
            ? entries.first.flatMap { $0.version == 0 && $0.stamp == firstStamp ? $0 : nil }
            : entries.last { $0.version == version }
        guard let entry, version <= publishedEntry.version else { return nil }
        return makePin(entry, callSite)
    }

    /// Makes a pin of an entry. The lock is held.
    func makePin(_ entry: Entry, _ callSite: CallSite, isHolder: Bool = true) -> Pin {
        lock.assertHeld()
        guard let memory = firn_allocate(MemoryLayout<PinLink>.size) else {
            fatalError("Firn: there is no memory left")
        }
        let link = memory.assumingMemoryBound(to: PinLink.self)
        link.initialize(to: PinLink(previous: nil, next: nil, callSite: callSite, isHolder: isHolder))
        attach(link, to: entry)
        return Pin(entry, table: self, link: link)
    }

    /// Moves a pin to the newest published version. The effect is as if a new pin were made and this one released, but
    /// nothing is allocated. The caller has the only reference to the pin.
    func moveToPublished(_ pin: Pin, at callSite: CallSite) {
        guard pin.table === self, let link = pin.link, let old = pin.entry else {
            preconditionFailure("Firn: a pin was moved that is not the version table's")
        }
        lock.lock()
        let new = publishedEntry
        link.pointee.callSite = callSite
        if new === old { return lock.unlock() }
        // The state between these two steps is not reported to other processes.
        isMoving = true
        let (garbage, mapping) = detach(link, from: old)
        attach(link, to: new)
        isMoving = false
        reportHoldings()
        lock.unlock()
        pin.move(to: new)
        withExtendedLifetime(mapping) {}
        heap.free(garbage)
    }

    /// Reports to other processes what this one holds. The lock is held.
    @inline(__always)
    func reportHoldings() { if !isMoving { report?(self) } }

    /// Adds a pin to an entry's chain. The lock is held.
    private func attach(_ link: UnsafeMutablePointer<PinLink>, to entry: Entry) {
        lock.assertHeld()
        link.pointee.previous = nil
        link.pointee.next = entry.firstPin
        entry.firstPin?.pointee.previous = link
        entry.firstPin = link
        if !link.pointee.isHolder {
            entry.storePins += 1
        } else if !entry.isHeld {
            countHeld(entry)
            // The newest version is active whether it is held or not.
            if !isNewest(entry) { reportHoldings() }
        }
        entry.holders += 1
    }

    /// Whether the entry is a tree of the newest version. The lock is held.
    @inline(__always)
    private func isNewest(_ entry: Entry) -> Bool {
        let tip = entries[entries.count - 1]
        return entry === tip || entry.lead === tip.lead
    }

    func unpin(_ link: UnsafeMutablePointer<PinLink>, _ entry: Entry) {
        lock.lock()
        let (garbage, mapping) = detach(link, from: entry)
        lock.unlock()
        withExtendedLifetime(mapping) {}
        firn_deallocate(link)
        heap.free(garbage)
    }

    /// Removes a pin from an entry's chain. Returns what the caller must release outside the lock: the nodes that only
    /// the entry reached, and its files. The lock is held.
    private func detach(
        _ link: UnsafeMutablePointer<PinLink>, from entry: Entry
    ) -> (garbage: NodeList, mapping: CheckpointMapping?) {
        lock.assertHeld()
        if let previous = link.pointee.previous {
            previous.pointee.next = link.pointee.next
        } else {
            entry.firstPin = link.pointee.next
        }
        link.pointee.next?.pointee.previous = link.pointee.previous
        entry.holders -= 1
        let isHolder = link.pointee.isHolder
        if !isHolder { entry.storePins -= 1 }
        let garbage = entry.isHeld ? NodeList() : releaseHolder(entry, isCounted: isHolder)
        // Also if it is still held: the last holder may be the one that waits, whose own pin does not count.
        if waiterCount > 0 { released.broadcast() }
        return (garbage, entry.isKept || entry.holders > 0 ? nil : entry.takeMapping())
    }

    // MARK: Versions come and go

    /// Adds the version that a transaction made, and before it the transaction's snapshots that are still held.
    func add(
        stamp: UInt64, version: UInt64, time: Int64, root: Node, resolvedSchema: ResolvedSchema,
        _ outcome: WriteTransaction.Outcome
    ) {
        lock.lock()
        defer { lock.unlock() }
        let mapping = entries[entries.count - 1].mapping
        for state in outcome.snapshots {
            let entry = Entry(
                stamp: state.stamp, version: 0, time: time, root: state.root, resolvedSchema: state.resolvedSchema,
                mapping: mapping,
                isTransactionSnapshot: true)
            entry.isKept = false
            entry.holders = 1
            append(entry)
            state.owner = .committed(self, entry)
        }
        for list in outcome.diedEarlier { setDead(list.nodes, after: list.stamp) }
        setDead(outcome.died.nodes, after: outcome.died.stamp)
        append(
            Entry(
                stamp: stamp, version: version, time: time, root: root, resolvedSchema: resolvedSchema, mapping: mapping
            ))
    }

    /// Appends the new tip. The lock is held.
    func append(_ entry: Entry) {
        lock.assertHeld()
        entries.append(entry)
        stamps.append(entry.stamp)
    }

    /// Runs `body` with the lock held.
    func withLock<R>(_ body: (VersionTable) -> R) -> R {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    private func setDead(_ nodes: NodeList, after stamp: UInt64) {
        guard let index = index(of: stamp) else {
            preconditionFailure("Firn: nodes died after a version that is not active")
        }
        entries[index].dead = DeadList(nodes, active: stamps[...index])
        deadByteCount += nodes.byteCount
    }

    /// Releases a snapshot of a finished transaction.
    func dropTransactionSnapshot(_ entry: Entry) {
        lock.lock()
        entry.holders -= 1
        let garbage = entry.holders == 0 ? releaseHolder(entry, isCounted: true) : NodeList()
        if waiterCount > 0 { released.broadcast() }
        lock.unlock()
        heap.free(garbage)
    }

    /// Publishes every version up to `version`, and drops each replaced version that nobody holds. Returns the newly
    /// published version, or nil if nothing is new.
    func publish(through version: UInt64) -> Entry? {
        if publishedVersion >= version { return nil }
        lock.lock()
        var garbage = NodeList()
        var newest: Entry?
        while let next = nextVersion(after: publishedEntry), next.version <= version {
            let old = publishedEntry
            publishedEntry = next
            newest = next
            old.isKept = false
            if old.holders == 0 { garbage.join(drop(old)) }
        }
        if newest != nil { reportHoldings() }
        lock.unlock()
        heap.free(garbage)
        return newest
    }

    private func nextVersion(after entry: Entry) -> Entry? {
        guard var index = index(of: entry.stamp) else {
            preconditionFailure("Firn: the published version is not active")
        }
        index += 1
        while index < entries.count, entries[index].isTransactionSnapshot { index += 1 }
        return index < entries.count ? entries[index] : nil
    }

    /// Handles an entry that has lost its last counted holder, or that has lost a pin of the store and has no other
    /// holder. Returns the nodes that only this entry reached. The lock is held.
    private func releaseHolder(_ entry: Entry, isCounted: Bool) -> NodeList {
        lock.assertHeld()
        if isCounted { countReleased(entry) }
        let isNewest = isNewest(entry)
        let garbage = entry.isKept || entry.holders > 0 || heap.isForked ? NodeList() : drop(entry)
        if !isNewest { reportHoldings() }
        return garbage
    }

    /// Removes an entry, and returns the nodes that only it reached. The lock is held.
    private func drop(_ entry: Entry) -> NodeList {
        lock.assertHeld()
        guard let index = index(of: entry.stamp) else {
            preconditionFailure("Firn: version \(entry.version) is not active")
        }
        let before = index == 0 ? 0 : entries[index - 1].stamp
        let garbage = entry.dead.takeNodes(bornAfter: before)
        deadByteCount -= garbage.byteCount
        entries.remove(at: index)
        stamps.remove(at: index)
        if index > 0 {
            entries[index - 1].dead.join(entry.dead) { stamp in
                let next = stamps.firstIndex(notBelow: stamp + 1)
                return next < stamps.count ? stamps[next] : .max
            }
        }
        entry.dead = DeadList()
        return garbage
    }

    func index(of stamp: UInt64) -> Int? {
        let index = stamps.firstIndex(notBelow: stamp)
        return index < stamps.count && stamps[index] == stamp ? index : nil
    }

    // MARK: Showing

    /// The oldest active version. O(1), apart from transaction snapshots that are still held. The lock is held.
    var oldestVersion: UInt64 { entries.first { $0.version != 0 }?.version ?? 0 }

    /// The active versions, in ascending order. O(active versions).
    var activeVersions: [UInt64] {
        lock.withLock { entries.filter { !$0.isTransactionSnapshot }.map(\.version) }
    }

    /// Calls `body` with the entries and, for each, the dead nodes on its list: for `_checkInvariants`.
    func withEntries<R>(_ body: ([Entry], [[Node]]) -> R) -> R {
        lock.lock()
        defer { lock.unlock() }
        let lists = entries.map { entry in
            var nodes: [Node] = []
            for bucket in entry.dead.buckets {
                bucket.nodes.forEach { node in
                    precondition(
                        node.stamp > bucket.low && node.stamp <= bucket.high,
                        "Firn: a node born at \(node.stamp) in the bucket of (\(bucket.low), \(bucket.high)]")
                    nodes.append(node)
                }
            }
            return nodes
        }
        return body(entries, lists)
    }
}
