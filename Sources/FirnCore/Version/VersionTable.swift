import CFirn
import FirnLog
import FirnStorage
import Synchronization

/// The versions that are active: held by a pin, or the newest, or written and not yet published.
///
/// `lock` guards everything here: the entries, their counts, their pins' chain and their dead lists. It is held for a few dozen instructions (longer where versions
/// are listed); nodes are freed and user code is called outside of it. `LockRank` gives the order among locks.
final class VersionTable: @unchecked Sendable {
    /// One version, or a state inside a transaction that outlived it.
    ///
    /// A version may have several entries: equal trees in different memory. They count as one, by their `lead`.
    final class Entry {
        let stamp: UInt64
        /// 0 where it is a state.
        let version: UInt64
        let isState: Bool
        let time: Int64
        let root: Node
        let reference: ResolvedSchema
        /// The checkpoint that the version's older nodes lie in, mapped for as long as the entry is active.
        @exclusivity(unchecked) private(set) var mapping: CheckpointMapping?
        @exclusivity(unchecked) fileprivate(set) var holders = 0
        @exclusivity(unchecked) fileprivate(set) var firstPin: UnsafeMutablePointer<PinLink>?
        /// What died when the next version replaced this one.
        @exclusivity(unchecked) var dead = DeadList()
        /// The store's own interest: the newest published version, and those not yet published.
        @exclusivity(unchecked) var isKept = true
        /// How many of the holders are the store's own work, which is no holder to anybody else.
        @exclusivity(unchecked) fileprivate(set) var storePins = 0
        /// The version's first entry, where this is a later one.
        private let first: Entry?
        /// Of a lead: how many of its version's entries have a holder.
        @exclusivity(unchecked) var heldEntryCount = 0
        /// Of a lead: whether its version is being written out, and so is not counted.
        @exclusivity(unchecked) var spill = Spill.none

        init(
            stamp: UInt64, version: UInt64, time: Int64, root: Node, reference: ResolvedSchema,
            mapping: CheckpointMapping?,
            isState: Bool = false, first: Entry? = nil
        ) {
            self.mapping = mapping
            self.stamp = stamp
            self.version = version
            self.isState = isState
            self.time = time
            self.root = root
            self.reference = reference
            self.first = first
        }

        /// Whether anything but the store's own work holds it.
        var isHeld: Bool { holders > storePins }

        /// Gives the space up, as the entry is active no more: a later entry of the version may keep the object itself. To be let go outside of the lock, as that unmaps files.
        fileprivate func takeSpace() -> CheckpointMapping? {
            defer { mapping = nil }
            return mapping
        }

        /// The entry that counts for the version.
        var lead: Entry { first ?? self }

        var snapshot: Snapshot { Snapshot(root: root, reference: reference) }
    }

    let lock = Lock(.versionTable)
    let heap: NodeHeap
    /// Ascending by stamp. The last is the tip.
    @exclusivity(unchecked) private(set) var entries: [Entry]
    /// The entries' stamps, place by place.
    @exclusivity(unchecked) private(set) var stamps: [UInt64]
    @exclusivity(unchecked) var publishedEntry: Entry
    /// The number of `publishedEntry`, for those who only ask whether theirs is published.
    private let publishedNumber: Atomic<UInt64>

    // What the limits look at, see `VersionTable+Counting`.
    /// Versions that have a holder, but for those that are being written out.
    @exclusivity(unchecked) var heldVersionCount = 0
    /// Bytes of the nodes on all dead lists.
    @exclusivity(unchecked) var deadByteCount = 0
    /// Who waits for a holder to let go.
    @exclusivity(unchecked) var waiterCount = 0
    @exclusivity(unchecked) var isClosed = false
    /// Tells other processes what this one holds; called with the lock held. Set before the table is shared; nil where there is nobody to tell.
    nonisolated(unsafe) var report: (@Sendable (VersionTable) -> Void)?
    let released = Condition()

    init(
        root: Node, stamp: UInt64, version: UInt64, time: Int64, reference: ResolvedSchema, mapping: CheckpointMapping?,
        heap: NodeHeap
    ) {
        self.heap = heap
        publishedEntry = Entry(
            stamp: stamp, version: version, time: time, root: root, reference: reference, mapping: mapping)
        entries = [publishedEntry]
        stamps = [stamp]
        publishedNumber = Atomic(version)
    }

    deinit {
        // The store is closed and no pin is left: all that is alive is what died before the tip, and what the tip reaches.
        if heap.isForked { return }
        var nodes: [Node] = []
        entries[entries.count - 1].snapshot.forEachHeapNode { nodes.append($0) }
        for entry in entries { for bucket in entry.dead.buckets { heap.free(bucket.nodes) } }
        var garbage = NodeList()
        for node in nodes { garbage.push(node) }
        heap.free(garbage)
    }

    /// The last version written.
    var tip: Entry { lock.withLock { entries[entries.count - 1] } }

    /// The last version that is durable.
    var published: Entry { lock.withLock { publishedEntry } }

    // MARK: Pins

    /// Pins the newest published version.
    func pinPublished(at place: CallSite) -> Pin {
        lock.lock()
        defer { lock.unlock() }
        return makePin(publishedEntry, place)
    }

    func pin(_ entry: Entry, at place: CallSite) -> Pin {
        lock.lock()
        defer { lock.unlock() }
        return makePin(entry, place)
    }

    /// Pins the newest version for the store's own work: that is listed nowhere and counts against no limit.
    func pinForStore(_ version: StoreVersion) -> Pin {
        lock.lock()
        defer { lock.unlock() }
        switch version {
        case .published: return makePin(publishedEntry, CallSite(#fileID, #line), isHolder: false)
        case .tip: return makePin(entries[entries.count - 1], CallSite(#fileID, #line), isHolder: false)
        }
    }

    enum StoreVersion { case published, tip }

    /// Pins the tip, for a transaction's base; nil where more is held, here and by others, than `limit` allows. `own` is the caller's pin of an older version, which it will let go.
    func pinTip(within limit: VersionLimit, and others: HeldByOthers, replacing own: Pin?, at place: CallSite) -> Pin? {
        lock.lock()
        defer { lock.unlock() }
        if limit.isSet, isOver(limit, and: others, without: own) { return nil }
        return makePin(entries[entries.count - 1], place)
    }

    /// Pins a published version by its number; nil where it is not active. O(active versions).
    func pin(version: UInt64, at place: CallSite) -> Pin? {
        lock.lock()
        defer { lock.unlock() }
        // States inside transactions bear the number 0 too; the version that a new store begins with is the first entry of all.
        let entry =
            version == 0
            ? entries.first.flatMap { $0.version == 0 && $0.stamp == 1 ? $0 : nil }
            : entries.last { $0.version == version }
        guard let entry, version <= publishedEntry.version else { return nil }
        return makePin(entry, place)
    }

    /// The lock is held.
    func makePin(_ entry: Entry, _ place: CallSite, isHolder: Bool = true) -> Pin {
        guard let memory = firn_allocate(MemoryLayout<PinLink>.size) else {
            fatalError("Firn: there is no memory left")
        }
        let link = memory.assumingMemoryBound(to: PinLink.self)
        link.initialize(to: PinLink(previous: nil, next: entry.firstPin, place: place, isHolder: isHolder))
        entry.firstPin?.pointee.previous = link
        entry.firstPin = link
        if !isHolder {
            entry.storePins += 1
        } else if !entry.isHeld {
            countHeld(entry)
            // The newest is active, held or not.
            if !isNewest(entry) { report?(self) }
        }
        entry.holders += 1
        return Pin(entry: entry, table: self, snapshot: entry.snapshot, link: link)
    }

    /// Whether it is a tree of the newest version. The lock is held.
    @inline(__always)
    private func isNewest(_ entry: Entry) -> Bool {
        let tip = entries[entries.count - 1]
        return entry === tip || entry.lead === tip.lead
    }

    func unpin(_ link: UnsafeMutablePointer<PinLink>, _ entry: Entry) {
        lock.lock()
        if let previous = link.pointee.previous {
            previous.pointee.next = link.pointee.next
        } else {
            entry.firstPin = link.pointee.next
        }
        link.pointee.next?.pointee.previous = link.pointee.previous
        entry.holders -= 1
        let isHolder = link.pointee.isHolder
        if !isHolder { entry.storePins -= 1 }
        let garbage = entry.isHeld ? NodeList() : letGo(entry, isCounted: isHolder)
        let mapping = entry.isKept || entry.holders > 0 ? nil : entry.takeSpace()
        lock.unlock()
        withExtendedLifetime(mapping) {}
        firn_deallocate(link)
        heap.free(garbage)
    }

    // MARK: Versions come and go

    /// Adds the version that a transaction made, and before it the states inside the transaction that are still held.
    func add(
        stamp: UInt64, version: UInt64, time: Int64, root: Node, reference: ResolvedSchema,
        _ outcome: WriteTransaction.Outcome
    ) {
        lock.lock()
        defer { lock.unlock() }
        let mapping = entries[entries.count - 1].mapping
        for state in outcome.states {
            let entry = Entry(
                stamp: state.stamp, version: 0, time: time, root: state.root, reference: state.reference,
                mapping: mapping,
                isState: true)
            entry.isKept = false
            entry.holders = 1
            append(entry)
            state.owner = .committed(self, entry)
        }
        for list in outcome.diedEarlier { setDead(list.nodes, after: list.stamp) }
        setDead(outcome.died.nodes, after: outcome.died.stamp)
        append(Entry(stamp: stamp, version: version, time: time, root: root, reference: reference, mapping: mapping))
    }

    /// A new tip. The lock is held.
    func append(_ entry: Entry) {
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
        guard let place = place(of: stamp) else {
            preconditionFailure("Firn: nodes died after a version that is not active")
        }
        entries[place].dead = DeadList(nodes, active: stamps[...place])
        deadByteCount += nodes.byteCount
    }

    /// A state inside a finished transaction is held no more.
    func dropState(_ entry: Entry) {
        lock.lock()
        entry.holders -= 1
        let garbage = entry.holders == 0 ? letGo(entry, isCounted: true) : NodeList()
        lock.unlock()
        heap.free(garbage)
    }

    /// Publishes every version up to `version`, and lets go of those that nobody holds. Gives the newly published version, nil where nothing is new.
    func publish(through version: UInt64) -> Entry? {
        if publishedNumber.load(ordering: .acquiring) >= version { return nil }
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
        publishedNumber.store(publishedEntry.version, ordering: .releasing)
        if newest != nil { report?(self) }
        lock.unlock()
        heap.free(garbage)
        return newest
    }

    private func nextVersion(after entry: Entry) -> Entry? {
        guard var place = place(of: entry.stamp) else {
            preconditionFailure("Firn: the published version is not active")
        }
        place += 1
        while place < entries.count, entries[place].isState { place += 1 }
        return place < entries.count ? entries[place] : nil
    }

    /// An entry has lost its last holder, which was counted, or a pin of the store's when nobody else held it; gives the nodes that only it reached. The lock is held.
    private func letGo(_ entry: Entry, isCounted: Bool) -> NodeList {
        if isCounted { countFree(entry) }
        let isNewest = isNewest(entry)
        let garbage = entry.isKept || entry.holders > 0 || heap.isForked ? NodeList() : drop(entry)
        if !isNewest { report?(self) }
        if waiterCount > 0 { released.broadcast() }
        return garbage
    }

    /// Removes an entry; gives the nodes that only it reached. The lock is held.
    private func drop(_ entry: Entry) -> NodeList {
        guard let place = place(of: entry.stamp) else {
            preconditionFailure("Firn: version \(entry.version) is not active")
        }
        let before = place == 0 ? 0 : entries[place - 1].stamp
        let garbage = entry.dead.takeNodes(bornAfter: before)
        deadByteCount -= garbage.byteCount
        entries.remove(at: place)
        stamps.remove(at: place)
        if place > 0 {
            entries[place - 1].dead.join(entry.dead) { stamp in
                let next = stamps.firstIndex(notBelow: stamp + 1)
                return next < stamps.count ? stamps[next] : .max
            }
        }
        entry.dead = DeadList()
        return garbage
    }

    func place(of stamp: UInt64) -> Int? {
        let place = stamps.firstIndex(notBelow: stamp)
        return place < stamps.count && stamps[place] == stamp ? place : nil
    }

    // MARK: Showing

    /// The oldest active version. O(1) but for states inside of transactions that are still held. The lock is held.
    var oldestVersion: UInt64 { entries.first { $0.version != 0 }?.version ?? 0 }

    /// Every entry's state and the dead nodes that the lists account for: for `_checkInvariants`.
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
