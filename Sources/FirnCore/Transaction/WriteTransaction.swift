import CFirn
import FirnStorage

/// Makes the next version: the one writer's view and tools. It is confined to whoever runs it (one thread at a time); nothing it does is seen elsewhere before
/// `commit`.
///
/// The current state is a tree like any version's, under the transaction's stamp: reading inside a transaction is reading a `Snapshot`. What the
/// transaction replaces stays for the versions that need it.
///
/// Objects are made by `beginRow`, filled, and entered into indexes by `endRow`; they are changed by `set...`, which marks the cell whatever the value and keeps
/// indexes and backlinks. Keys passed to it must exist: a caller that is not sure asks `table(_:).find` first.
public final class WriteTransaction {
    let store: Store
    /// The version that the transaction began from, held until it ends.
    public var base: Pin {
        guard let heldBase else { preconditionFailure("Firn: the transaction has ended; begin another") }
        return heldBase
    }
    @exclusivity(unchecked) private var heldBase: Pin?
    let writer: NodeWriter
    /// Where the reference of the current root lies.
    let rootSlot: UnsafeMutablePointer<UInt64>
    /// Damage that the transaction has met: it can't be committed then. Lies in one piece of memory with `rootSlot`.
    let faults: Faults.Record
    // One thread at a time runs a transaction, and nothing that reads these calls out: no access needs a check.
    @exclusivity(unchecked) public private(set) var reference: ResolvedSchema
    /// Of `reference`; empty once the transaction has ended, so that whatever changes it then stops.
    @exclusivity(unchecked) private var plans: UnsafeBufferPointer<AppendPlan>
    /// By table, as far as asked for: how it ends in the last state that is held (`isFresh`).
    @exclusivity(unchecked) private var tails: [Tail] = []
    /// Whether cancelled transactions have handed out keys that no version knows of: see
    /// `TransactionWorkspace.keyMarks`.
    @exclusivity(unchecked) private(set) var hasKeyMarks: Bool
    /// The edit scripts of lists, by cell.
    @exclusivity(unchecked) var scripts: [CellID: ListScript] = [:]
    /// Lists that are logged whole, as they were edited before their column was laid out anew.
    @exclusivity(unchecked) var wholeLists: Set<CellID> = []
    /// States that iterators hold, oldest first.
    @exclusivity(unchecked) var states: [TransactionSnapshot] = [] { didSet { tails.removeAll(keepingCapacity: true) } }
    @exclusivity(unchecked) var isSchemaChanged = false
    /// What has gone to the log ahead of the commit.
    @exclusivity(unchecked) var early: StreamedInserts?
    @exclusivity(unchecked) private(set) var isOpen = true
    /// Whether changesets are applied, of which some are an earlier release's.
    @exclusivity(unchecked) var isReplay = false
    /// False for a transaction within somebody's turn that goes on after it.
    @exclusivity(unchecked) var endsTurn = true
    /// Where one list at a time is edited.
    var scratch: UnsafeMutableRawPointer {
        if let madeScratch { return madeScratch }
        let made = UnsafeMutableRawPointer.allocate(byteCount: ListEditor.scratchByteCount, alignment: 16)
        madeScratch = made
        return made
    }
    private var madeScratch: UnsafeMutableRawPointer?
    /// Told by the realm (`attach`), so that its accessors learn of moved rows and of the current root.
    private(set) var core: UnsafeMutablePointer<firn_realm_core_t>? {
        didSet {
            faults.pointee.core = core
            writer.state.pointee.generation = core.map {
                UnsafeMutableRawPointer($0).assumingMemoryBound(to: UInt64.self)
            }
            coreChanged()
        }
    }
    /// Whether the realm's accessors may write plain cells by themselves.
    private var writesInPlace = false

    /// Ties a realm's accessors to the transaction.
    ///
    /// - Parameter writesInPlace: whether they may write plain cells by themselves. False where they were told of other
    ///   indexes than the schema has, which they would leave as they are.
    public func attach(_ core: UnsafeMutablePointer<firn_realm_core_t>, writesInPlace: Bool) {
        self.writesInPlace = writesInPlace
        self.core = core
    }

    init(store: Store, base: Pin, stamp: UInt64) {
        self.store = store
        heldBase = base
        writer = NodeWriter(stamp: stamp, held: base.stamp, memory: store.workspace.takeWriter())
        if let spill = store.heap.spill { writer.spill(to: spill, heapByteCount: store.heap.byteCount) }
        writer.state.pointee.flushAt = store.streamedByteCount
        hasKeyMarks = !store.workspace.keyMarks.isEmpty
        writer.state.pointee.copiesChunks = store.heap.deferredFreesCount.load(ordering: .acquiring) > 0
        reference = base.snapshot.reference
        plans = base.snapshot.reference.plans
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: 8 + MemoryLayout<FaultRecord>.size, alignment: 16)
        rootSlot = memory.initializeMemory(as: UInt64.self, to: NodeRef(base.snapshot.root).word)
        faults = (memory + 8).initializeMemory(as: FaultRecord.self, to: FaultRecord())
    }

    deinit {
        if isOpen { cancel() }
        faults.deinitialize(count: 1)
        UnsafeMutableRawPointer(rootSlot).deallocate()
        madeScratch?.deallocate()
    }

    /// The stamp under which nodes are made now.
    public var stamp: UInt64 { writer.stamp }

    /// The current state, changes included. Valid until the next change.
    ///
    /// Once the transaction has met damage, its nodes may come from stand-ins (`StandIns`), so only what notes damage itself may read them (`noting`). Whoever else asks can't be told the truth: the program stops,
    /// after `StoreOptions.onDamage`.
    public var snapshot: Snapshot {
        if hasFault, Faults.current != faults { stopForFault() }
        return Snapshot(root: NodeRef(rootSlot.pointee).node, reference: reference)
    }

    public func table(_ id: TableID) -> TableView { snapshot.table(id) }

    /// Whether anything was changed.
    public var hasChanges: Bool { rootSlot.pointee != NodeRef(base.snapshot.root).word || isSchemaChanged }

    // MARK: Damage

    /// Runs what reads and changes trees: damage that it meets is noted, and thrown by the commit. What it gives is of no matter then (`hasFault`). About 2 ns.
    @inline(__always)
    public func noting<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try Faults.with(faults, body)
    }

    /// Whether damage was met: what is changed from then on is of no matter, and what is there can't be read.
    @inline(__always)
    public var hasFault: Bool { faults.pointee.isSet }

    @inline(never)
    private func stopForFault() -> Never {
        let text = faults.pointee.text ?? ""
        LockRank.expectNone("the application is told of damage")
        store.options.onDamage?(
            faults.pointee.damage ?? StoreDamage(path: store.log?.options.folder ?? "", offset: 0, detail: text))
        fatalError(
            "Firn: something was read in a write transaction that had met damage, which its commit would throw: \(text)"
        )
    }

    /// What was met, which is why anything else went wrong too.
    public var fault: StoreError? { faults.pointee.text.map { StoreError(.damage, $0) } }

    func checkFaults() throws(StoreError) {
        if let text = faults.pointee.text { throw StoreError(.damage, text) }
    }

    // MARK: Owned places

    func ownRoot() -> RootNode {
        let before = rootSlot.pointee
        let node = writer.own(rootSlot)
        if rootSlot.pointee != before { coreChanged() }
        return RootNode(node)
    }

    func coreChanged() {
        guard let core else { return }
        if hasFault { return FaultRecord.hide(core) }
        core.pointee.root = rootSlot.pointee
        // With the stamp accessors write by themselves where they find a chunk of the transaction's own. They do not
        // know who may use the realm of a queue or an actor, so there each write asks the realm.
        if core.pointee.mask != 0, writesInPlace { core.pointee.stamp = writer.stamp }
    }

    func ownTable(_ id: TableID) -> TableNode {
        let slot = ownRoot().slot(id.index)
        if slot.pointee == 0 {
            let node = TableNode.make(columns: reference.tables[id.index].columns.count, writer)
            slot.pointee = NodeRef(node.node).word
            return node
        }
        return TableNode(writer.own(slot))
    }

    func rows(_ id: TableID) -> RowWriter {
        // First, as this stops where the transaction has ended.
        let plan = plan(id)
        return RowWriter(writer: writer, table: ownTable(id), layouts: plan.layouts)
    }

    @inline(__always)
    func plan(_ id: TableID) -> AppendPlan {
        guard id.index < plans.count else { stopForNoTable(id) }
        return plans[id.index]
    }

    @inline(never)
    private func stopForNoTable(_ id: TableID) -> Never {
        guard isOpen else { fatalError("Firn: a transaction was changed that has ended. Begin another.") }
        fatalError("Firn: there is no table \(id.rawValue)")
    }

    func place(_ rows: RowWriter, _ id: TableID, _ key: Int64) -> (leaf: Leaf, row: Int) {
        if let place = rows.own(key), !hasFault { return place }
        // Who asks has looked the object up, or has it from a link, an index or a list, which must agree with the rows.
        if !hasFault { Faults.contradiction("\(reference.tables[id.index].schema.name) has no object with key \(key)") }
        return blankRow(rows)
    }

    /// A row that is in no table, for a caller that goes on after damage.
    func blankRow(_ rows: RowWriter) -> (leaf: Leaf, row: Int) {
        let leaf = rows.makeLeaf(firstKey: 0, capacity: 1)
        leaf.count = 1
        for column in 0..<rows.layouts.count {
            if let layout = rows.layouts[column] { leaf.chunk(column).putBlank(layout, 0) }
        }
        return (leaf, 0)
    }

    /// How a table ends in a state.
    private struct Tail {
        /// -1 where nobody has asked yet; more than any key where it has no rows.
        var nextKey: Int64 = -1
        /// Nil where nobody has asked yet.
        var last: Leaf?
    }

    /// Whether neither a version nor a held state sees a row's cell, so that it is written in place in a chunk that
    /// they share: the row lies in the last one's last chunk of the column, behind the last row that it has there.
    ///
    /// Told by where the row lies. Its key alone says nothing: in a checkpoint keys may be anything, and then an object
    /// that versions see is found by a key that its table has yet to hand out. But a lower key is no fresh row's, and
    /// who changes such objects does not look at the last leaf, which may be damaged.
    func isFresh(_ id: TableID, _ column: Int, _ leaf: Leaf, _ row: Int) -> Bool {
        if id.index >= tails.count || tails[id.index].nextKey < 0 {
            while tails.count <= id.index { tails.append(Tail()) }
            tails[id.index].nextKey = heldTable(id).map { $0.rows == 0 ? .max : $0.nextKey } ?? .max
        }
        guard leaf.key(row) >= tails[id.index].nextKey, let last = tails[id.index].last ?? findLast(of: id),
            row >= last.count, last.hasChunk(column)
        else { return false }
        return leaf.chunkSlot(column).pointee == last.chunkSlot(column).pointee
    }

    /// A table in the last state that is held; nil where it is not there.
    private func heldTable(_ id: TableID) -> TableView? {
        let held = states.last.map { Snapshot(root: $0.root, reference: $0.reference) } ?? base.snapshot
        return id.index < held.reference.tables.count ? held.table(id) : nil
    }

    @inline(never)
    private func findLast(of id: TableID) -> Leaf? {
        let last = heldTable(id).flatMap { RowTree.lastLeaf(in: $0.rows) }
        // What stands in for damage is not kept.
        guard !hasFault else { return nil }
        tails[id.index].last = last
        return last
    }

    // MARK: Ending

    func setSchema(_ schema: ResolvedSchema) {
        reference = schema
        plans = schema.plans
        isSchemaChanged = true
        // The accessors were told of the indexes of before.
        writesInPlace = false
        core?.pointee.stamp = .max
    }

    /// Undoes everything and gives the write lock up. States that iterators still hold stay readable until they go.
    public func cancel() {
        precondition(isOpen, "Firn: the transaction has ended already")
        isOpen = false
        plans = UnsafeBufferPointer(start: nil, count: 0)
        // In a forked child it is the parent's, who goes on with it.
        if store.isForked { return }
        early?.abandon()
        early = nil
        let heap = store.heap
        if hasChanges { keepKeys() }
        freeMade(heap)
        states = []
        core = nil
        heldBase = nil
        store.workspace.keep(writer.dispose())
        if endsTurn { store.endTransaction() }
    }

    /// What was made here may still have accessors, which must never find another object: no key is handed out again.
    private func keepKeys() {
        noting {
            forEachOwnTable { id, next in
                if next > baseTable(id).nextKey { store.workspace.keepKeys(below: next, of: id.index) }
            }
        }
    }

    /// Calls `body` with the next key of each table that the transaction has changed. The others are not looked at: one
    /// of them may be damaged, which is nothing to a transaction that does not use it.
    private func forEachOwnTable(_ body: (TableID, _ nextKey: Int64) -> Void) {
        let old = RootNode(base.snapshot.root)
        let new = RootNode(NodeRef(rootSlot.pointee).node)
        guard old.node != new.node else { return }
        for place in 0..<new.tableCount {
            let before = place < old.tableCount ? old.slot(place).pointee : 0
            let word = new.slot(place).pointee
            if word != 0, word != before { body(TableID(place), TableNode(NodeRef(word).node).nextKey) }
        }
    }

    private func freeMade(_ heap: NodeHeap) {
        heap.account(nodes: writer.state.pointee.nodeDelta, bytes: writer.state.pointee.byteDelta)
        var garbage = NodeList()
        for place in 0..<writer.state.pointee.madeCount { garbage.push(writer.state.pointee.made[place]) }
        // Of what died, the transaction's own is garbage too; the rest is alive again.
        let deadLists = writer.state.pointee.earlier.map(\.dead) + [writer.state.pointee.dead]
        for list in deadLists {
            list.forEach { node in if writer.isNew(node) { garbage.push(node) } }
        }
        if states.isEmpty {
            heap.free(garbage)
        } else {
            let deferredFrees = DeferredFrees(garbage, heap, on: base)
            for state in states { state.owner = .cancelled(deferredFrees) }
        }
    }

    /// What a finished transaction hands over to the version table.
    struct Outcome {
        /// The stamp of the state after which these nodes died, and the nodes.
        let died: (stamp: UInt64, nodes: NodeList)
        /// The same for earlier states of the transaction that are held, oldest first.
        let diedEarlier: [(stamp: UInt64, nodes: NodeList)]
        let states: [TransactionSnapshot]
    }

    /// Hands the new nodes and the dead over to the version table. The caller goes on to log and publish.
    func finish() -> Outcome {
        precondition(isOpen, "Firn: the transaction has ended already")
        isOpen = false
        if hasKeyMarks {
            // The log has the commit: nothing may be read here that could be damaged.
            forEachOwnTable { id, next in store.workspace.dropKeyMark(of: id.index, upTo: next) }
        }
        plans = UnsafeBufferPointer(start: nil, count: 0)
        let state = writer.state
        store.heap.account(nodes: state.pointee.nodeDelta, bytes: state.pointee.byteDelta)
        if !state.pointee.deadOnDisk.isEmpty, let mapping = base.mapping {
            store.checkpointGarbage.wrappingAdd(
                mapping.addDead(state.pointee.deadOnDisk, after: lastState), ordering: .relaxed)
        }
        let outcome = Outcome(
            died: (lastState, state.pointee.dead),
            diedEarlier: state.pointee.earlier.map { (stamp: $0.base, nodes: $0.dead) }, states: states)
        states = []
        core = nil
        heldBase = nil
        store.workspace.keep(writer.dispose())
        return outcome
    }

    /// The stamp of the last state that is held: the version begun from, or an iterator's.
    var lastState: UInt64 { states.last?.stamp ?? store.stamp(of: base) }
}

/// A cell of a table.
struct CellID: Hashable {
    let table: TableID
    let column: Int
    let key: Int64
}
