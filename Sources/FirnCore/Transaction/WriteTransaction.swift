import CFirn
import FirnStorage

/// The one writer's work on the next version: its view of the store, and its tools.
///
/// Only one thread at a time uses it. Nothing that it does is visible elsewhere before `commit`.
///
/// - The current state is a tree like any version's tree, under the transaction's stamp: to read inside a transaction
///   is to read a `Snapshot`. Nodes that the transaction replaces stay for the versions that need them.
/// - Objects are made by `beginRow`, filled, and entered into indexes by `endRow`.
/// - Objects are changed by `set...`, which marks the cell whatever the value, and updates indexes and backlinks.
/// - Keys passed to a transaction must exist. A caller that is not sure calls `table(_:).find` first.
package final class WriteTransaction {
    let context: TransactionContext
    let owner: any TransactionOwner
    /// The version that the transaction began from, held until it ends.
    package var base: Pin {
        guard let heldBase else { preconditionFailure("Firn: the transaction has ended; begin another") }
        return heldBase
    }
    @exclusivity(unchecked) private var heldBase: Pin?
    /// The root of the base. Valid while the transaction is open.
    let baseRoot: RootNode
    let writer: NodeWriter
    /// The slot that holds the reference to the current root.
    let rootSlot: UnsafeMutablePointer<UInt64>
    /// The damage that the transaction has met. A transaction with damage can't be committed. The record is in one
    /// allocation with `rootSlot`.
    let damageRecord: DamageRecord.Pointer
    // One thread at a time runs a transaction, and code that reads these properties calls nothing that could change
    // them. So no access needs an exclusivity check.
    @exclusivity(unchecked) package private(set) var resolvedSchema: ResolvedSchema
    /// The append plans of `resolvedSchema`. Empty once the transaction has ended, so that a later change stops the
    /// program.
    @exclusivity(unchecked) private var plans: UnsafeBufferPointer<AppendPlan>
    /// How each table ends in the last held state, as far as `isFresh` has needed it.
    @exclusivity(unchecked) private var tails: [Tail] = []
    /// Whether cancelled transactions have used keys that are in no version: see `TransactionWorkspace.keyMarks`.
    @exclusivity(unchecked) private(set) var hasKeyMarks: Bool
    /// The edit scripts of lists, by cell.
    @exclusivity(unchecked) var scripts: [CellID: ListScript] = [:]
    /// Lists that are logged completely, because they were edited before the layout of their column changed.
    @exclusivity(unchecked) var fullyLoggedLists: Set<CellID> = []
    /// The transaction snapshots that iterators hold, oldest first.
    @exclusivity(unchecked) var snapshots: [TransactionSnapshot] = [] {
        didSet { tails.removeAll(keepingCapacity: true) }
    }
    @exclusivity(unchecked) var isSchemaChanged = false
    /// The inserts that were written to the log before the commit.
    @exclusivity(unchecked) var streamed: StreamedInserts?
    @exclusivity(unchecked) private(set) var isOpen = true
    /// Whether the transaction applies changesets. An earlier release may have written some of them.
    @exclusivity(unchecked) var isReplay = false
    /// Whether the end of the transaction releases the write lock. False if the caller keeps the lock after it.
    @exclusivity(unchecked) var releasesWriteLock = true
    /// The memory in which one list at a time is edited.
    var scratch: UnsafeMutableRawPointer {
        if let madeScratch { return madeScratch }
        let made = UnsafeMutableRawPointer.allocate(byteCount: ListEditor.scratchByteCount, alignment: 16)
        madeScratch = made
        return made
    }
    private var madeScratch: UnsafeMutableRawPointer?
    /// The core of the realm that runs the transaction (`attach`), so that the realm's accessors see moved rows and
    /// the current root.
    private(set) var core: UnsafeMutablePointer<firn_realm_core_t>? {
        didSet {
            damageRecord.pointee.core = core
            writer.state.pointee.generation = core.map {
                UnsafeMutableRawPointer($0).assumingMemoryBound(to: UInt64.self)
            }
            coreChanged()
        }
    }
    /// Whether the realm's accessors may write plain cells by themselves.
    private var writesInPlace = false

    /// Connects a realm's accessors with the transaction.
    ///
    /// - Parameter writesInPlace: whether the accessors may write plain cells by themselves. False if the indexes that
    ///   they know are not the schema's, because they would not update the missing ones.
    package func attach(_ core: UnsafeMutablePointer<firn_realm_core_t>, writesInPlace: Bool) {
        self.writesInPlace = writesInPlace
        self.core = core
    }

    /// Disconnects the accessors, while the transaction goes on: they write nothing any more.
    package func detachAccessors() {
        core?.pointee.stamp = FIRN_STAMP_READ_ONLY
        core = nil
    }

    init(_ context: TransactionContext, owner: any TransactionOwner, base: Pin) {
        self.context = context
        self.owner = owner
        heldBase = base
        baseRoot = RootNode(base.snapshot.root)
        writer = NodeWriter(stamp: context.nextStamp(), held: base.stamp, memory: context.workspace.takeWriter())
        if let spill = context.heap.spill { writer.spill(to: spill, heapByteCount: context.heap.byteCount) }
        writer.state.pointee.flushAt = context.streamedByteCount
        hasKeyMarks = !context.workspace.keyMarks.isEmpty
        writer.state.pointee.copiesChunks = context.heap.deferredFreesCount.load(ordering: .acquiring) > 0
        resolvedSchema = base.snapshot.resolvedSchema
        plans = base.snapshot.resolvedSchema.plans
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: 8 + MemoryLayout<DamageRecord>.size, alignment: 16)
        rootSlot = memory.initializeMemory(as: UInt64.self, to: NodeRef(base.snapshot.root).word)
        damageRecord = (memory + 8).initializeMemory(as: DamageRecord.self, to: DamageRecord())
    }

    deinit {
        if isOpen { cancel() }
        damageRecord.deinitialize(count: 1)
        UnsafeMutableRawPointer(rootSlot).deallocate()
        madeScratch?.deallocate()
    }

    /// The stamp that new nodes get now.
    package var stamp: UInt64 { writer.stamp }

    /// The current state, including changes. Valid until the next change.
    ///
    /// Once the transaction has met damage, its nodes may come from stand-ins (`StandIns`), so only code that records
    /// damage itself (`recordingDamage`) may read them. There is no right answer for any other caller, so the program
    /// stops, after `StoreOptions.onDamage`.
    package var snapshot: Snapshot {
        if hasMetDamage, DamageRecord.current != damageRecord { stopForDamage() }
        return Snapshot(root: NodeRef(rootSlot.pointee).node, resolvedSchema: resolvedSchema)
    }

    package func table(_ id: TableID) -> TableView { snapshot.table(id) }

    /// Whether anything was changed.
    package var hasChanges: Bool { rootSlot.pointee != NodeRef(baseRoot.node).word || isSchemaChanged }

    // MARK: Damage

    /// Runs code that reads and changes trees. Damage that it meets is noted, and the commit throws it. The result is
    /// then meaningless (`hasMetDamage`). Costs about 2 ns.
    @inline(__always)
    package func recordingDamage<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result
    {
        try DamageRecord.with(damageRecord, body)
    }

    /// Whether damage was met. From then on, changes are meaningless, and the state can't be read.
    @inline(__always)
    package var hasMetDamage: Bool { damageRecord.pointee.isSet }

    @inline(never)
    private func stopForDamage() -> Never {
        let met = damageRecord.pointee.met
        let text = met?.text ?? ""
        LockRank.expectNone("damage is reported to the application")
        context.onDamage?(
            met?.damage ?? StoreDamage(path: context.log?.options.folder ?? "", offset: 0, detail: text))
        stopProgram(
            "something was read in a write transaction that had met damage. Its commit would throw this error: \(text)"
        )
    }

    /// The damage that was met, if any. It is the cause of any other error after it.
    package var metDamage: StoreError? { damageRecord.pointee.met?.error }

    func checkDamage() throws(StoreError) { try damageRecord.pointee.check() }

    // MARK: Owned nodes

    /// The current root.
    var root: RootNode { RootNode(NodeRef(rootSlot.pointee).node) }

    func ownRoot() -> RootNode {
        let before = rootSlot.pointee
        let node = writer.own(rootSlot)
        if rootSlot.pointee != before { coreChanged() }
        return RootNode(node)
    }

    func coreChanged() {
        guard let core else { return }
        if hasMetDamage { return DamageRecord.hide(core) }
        core.pointee.root = rootSlot.pointee
        // With this stamp, accessors write by themselves to chunks that are the transaction's own. They do not know
        // who may use the realm of a queue or an actor, so in such a realm each write calls the realm.
        if core.pointee.mask != 0, writesInPlace { core.pointee.stamp = writer.stamp }
    }

    func ownTable(_ id: TableID) -> TableNode {
        let slot = ownRoot().slot(id.index)
        if slot.pointee == 0 {
            let node = TableNode.make(columns: resolvedSchema.tables[id.index].columns.count, writer)
            slot.pointee = NodeRef(node.node).word
            return node
        }
        return TableNode(writer.own(slot))
    }

    func rows(_ id: TableID) -> RowWriter {
        // This comes first, because it stops the program if the transaction has ended.
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
        guard isOpen else { stopProgram("a transaction was changed that has ended. Begin another.") }
        stopProgram("there is no table \(id.rawValue)")
    }

    func locate(_ rows: RowWriter, table id: TableID, key: Int64) -> (leaf: Leaf, row: Int) {
        if let location = rows.own(key), !hasMetDamage { return location }
        // The caller has looked the object up, or got its key from a link, an index or a list, which must agree with
        // the rows.
        if !hasMetDamage {
            DamageRecord.contradiction("\(resolvedSchema.tables[id.index].schema.name) has no object with key \(key)")
        }
        return blankRow(rows)
    }

    /// Makes a row that is in no table, for a caller that continues after damage.
    func blankRow(_ rows: RowWriter) -> (leaf: Leaf, row: Int) {
        let leaf = rows.makeLeaf(firstKey: 0, capacity: 1)
        leaf.count = 1
        for column in 0..<rows.layouts.count {
            if let layout = rows.layouts[column] { leaf.chunk(column).putBlank(layout, 0) }
        }
        return (leaf, 0)
    }

    /// How a table ends in the last held state.
    private struct Tail {
        /// The table's next key; `.max` if it has no rows, -1 if it was not needed yet.
        var nextKey: Int64 = -1
        /// The last leaf; nil if it was not needed yet.
        var last: Leaf?
    }

    /// Whether no version and no transaction snapshot sees a row's cell. Then the cell may be written in place, in a
    /// chunk that they share.
    ///
    /// This is so if the row lies in the column's last chunk of the last held state, behind that state's last row.
    ///
    /// The row's position decides, not its key: a checkpoint may contain any keys, even keys that its table has yet to
    /// assign. But a row is never fresh if its key is below the held state's next key. So changing such a row does not
    /// read the last leaf, which may be damaged.
    func isFresh(_ id: TableID, column: Int, leaf: Leaf, row: Int) -> Bool {
        if id.index >= tails.count || tails[id.index].nextKey < 0 {
            while tails.count <= id.index { tails.append(Tail()) }
            tails[id.index].nextKey = heldTable(id).map { $0.rows == 0 ? .max : $0.nextKey } ?? .max
        }
        guard leaf.key(row) >= tails[id.index].nextKey, let last = tails[id.index].last ?? findLast(of: id),
            row >= last.count, last.hasChunk(column)
        else { return false }
        return leaf.chunkSlot(column).pointee == last.chunkSlot(column).pointee
    }

    /// A table in the last held state; nil if it does not exist there.
    private func heldTable(_ id: TableID) -> TableView? {
        let held = snapshots.last.map { Snapshot(root: $0.root, resolvedSchema: $0.resolvedSchema) } ?? base.snapshot
        return id.index < held.resolvedSchema.tables.count ? held.table(id) : nil
    }

    @inline(never)
    private func findLast(of id: TableID) -> Leaf? {
        let last = heldTable(id).flatMap { RowTree.lastLeaf(in: $0.rows) }
        // A stand-in for a damaged leaf is not kept.
        guard !hasMetDamage else { return nil }
        tails[id.index].last = last
        return last
    }

    // MARK: Ending

    func setSchema(_ schema: ResolvedSchema) {
        resolvedSchema = schema
        plans = schema.plans
        isSchemaChanged = true
        // The accessors know the indexes of the old schema.
        writesInPlace = false
        core?.pointee.stamp = FIRN_STAMP_READ_ONLY
    }

    /// Undoes everything and releases the write lock. Snapshots that iterators still hold stay readable until they
    /// are released.
    package func cancel() {
        precondition(isOpen, "Firn: the transaction has ended already")
        isOpen = false
        plans = UnsafeBufferPointer(start: nil, count: 0)
        // In a forked child the transaction is the parent's, which continues it.
        if context.heap.isForked { return }
        streamed?.abandon()
        streamed = nil
        let heap = context.heap
        if hasChanges { keepKeys() }
        freeMade(heap)
        snapshots = []
        core = nil
        heldBase = nil
        context.workspace.keep(writer.dispose())
        if releasesWriteLock { owner.endTransaction(wakesFollower: true) }
    }

    /// Makes sure that no key of a new object is used again: the object may still have accessors, which must never
    /// find another object.
    private func keepKeys() {
        recordingDamage {
            forEachOwnTable { id, next in
                if next > baseTable(id).nextKey { context.workspace.keepKeys(below: next, of: id.index) }
            }
        }
    }

    /// Calls `body` with the next key of each table that the transaction has changed. The others are not read: one of
    /// them may be damaged, which must not matter to a transaction that does not use it.
    private func forEachOwnTable(_ body: (TableID, _ nextKey: Int64) -> Void) {
        let new = root
        guard baseRoot.node != new.node else { return }
        for index in 0..<new.tableCount where new.word(index) != baseRoot.word(index) {
            let id = TableID(index)
            if let table = new.table(id) { body(id, table.nextKey) }
        }
    }

    private func freeMade(_ heap: NodeHeap) {
        heap.account(nodes: writer.state.pointee.nodeDelta, bytes: writer.state.pointee.byteDelta)
        var garbage = NodeList()
        for index in 0..<writer.state.pointee.madeCount { garbage.push(writer.state.pointee.made[index]) }
        // Dead nodes that the transaction itself made are garbage, too. The other dead nodes are alive again.
        let deadLists = writer.state.pointee.deadBySnapshot.map(\.dead) + [writer.state.pointee.dead]
        for list in deadLists {
            list.forEach { node in if writer.isNew(node) { garbage.push(node) } }
        }
        if snapshots.isEmpty {
            heap.free(garbage)
        } else {
            let deferredFrees = DeferredFrees(garbage, heap, on: base)
            for state in snapshots { state.owner = .cancelled(deferredFrees) }
        }
    }

    /// What an ended transaction passes to the version table.
    struct Outcome {
        /// The nodes that died after the last held state, and the stamp of that state.
        let died: (stamp: UInt64, nodes: NodeList)
        /// The nodes that died after each earlier held state, and the stamp of that state, oldest first.
        let diedEarlier: [(stamp: UInt64, nodes: NodeList)]
        let snapshots: [TransactionSnapshot]
    }

    /// Ends a transaction whose changes are in the log. The caller takes over its nodes, new and dead, and adds them
    /// to the version table.
    func detach() -> Outcome {
        precondition(isOpen, "Firn: the transaction has ended already")
        isOpen = false
        if hasKeyMarks {
            // The commit is in the log, so nothing that could be damaged may be read here.
            forEachOwnTable { id, next in context.workspace.dropKeyMark(of: id.index, upTo: next) }
        }
        plans = UnsafeBufferPointer(start: nil, count: 0)
        let state = writer.state
        context.heap.account(nodes: state.pointee.nodeDelta, bytes: state.pointee.byteDelta)
        if !state.pointee.deadOnDisk.isEmpty, let mapping = base.mapping {
            context.checkpointGarbage.wrappingAdd(
                mapping.addDead(state.pointee.deadOnDisk, after: lastSnapshotStamp), ordering: .relaxed)
        }
        let outcome = Outcome(
            died: (lastSnapshotStamp, state.pointee.dead),
            diedEarlier: state.pointee.deadBySnapshot.map { (stamp: $0.base, nodes: $0.dead) }, snapshots: snapshots)
        snapshots = []
        core = nil
        heldBase = nil
        context.workspace.keep(writer.dispose())
        return outcome
    }

    /// The stamp of the last held state: of the last transaction snapshot, or of the base if there is none.
    var lastSnapshotStamp: UInt64 { snapshots.last?.stamp ?? base.stamp }
}

/// A cell of a table.
struct CellID: Hashable {
    let table: TableID
    let column: Int
    let key: Int64
}
