import CFirn
import FirnStorage

/// A state inside a transaction that an iterator holds. It is like a version without a number.
///
/// While the transaction runs, the snapshot and the nodes that died after it belong to the transaction's thread, and
/// no lock is needed. A commit makes the snapshot an entry of the version table. A cancelled transaction leaves
/// everything that it made to a `DeferredFrees` until its last snapshot is released.
final class TransactionSnapshot {
    enum Owner {
        case running(WriteTransaction)
        case committed(VersionTable, VersionTable.Entry)
        /// The nodes are freed when the last of the transaction's snapshots is released.
        case cancelled(DeferredFrees)
        case released
    }

    let stamp: UInt64
    let root: Node
    let resolvedSchema: ResolvedSchema
    var owner: Owner

    init(stamp: UInt64, root: Node, resolvedSchema: ResolvedSchema, owner: Owner) {
        self.stamp = stamp
        self.root = root
        self.resolvedSchema = resolvedSchema
        self.owner = owner
    }

    func release() {
        switch owner {
        case .running(let transaction):
            transaction.checkThread()
            transaction.drop(self)
        case .committed(let table, let entry): table.dropTransactionSnapshot(entry)
        case .cancelled, .released: break
        }
        owner = .released
    }
}

/// The nodes that a cancelled transaction made, kept until the last iterator over one of its snapshots is released.
///
/// It also holds the version that the transaction began from, because the snapshots share nodes with it.
final class DeferredFrees {
    private let nodes: NodeList
    private let heap: NodeHeap
    private let base: Pin

    init(_ nodes: NodeList, _ heap: NodeHeap, on base: Pin) {
        self.nodes = nodes
        self.heap = heap
        self.base = base
        heap.deferredFreesCount.wrappingAdd(1, ordering: .relaxed)
    }

    deinit {
        heap.free(nodes)
        // Release ordering, so that all reads of the snapshots happen before the next writer writes to the same chunks.
        heap.deferredFreesCount.wrappingSubtract(1, ordering: .releasing)
    }
}

extension WriteTransaction {
    /// Pins the current state, so that an iterator over it does not see later changes. O(1). The pin must be released
    /// on the transaction's thread.
    package func pinSnapshot() -> Pin {
        let state = TransactionSnapshot(
            stamp: writer.stamp, root: snapshot.root, resolvedSchema: resolvedSchema, owner: .running(self))
        writer.beginSnapshot(stamp: context.nextStamp(), base: lastSnapshotStamp)
        snapshots.append(state)
        coreChanged()
        return Pin(transactionState: Snapshot(root: state.root, resolvedSchema: resolvedSchema)) { state.release() }
    }

    /// Stops the program if the transaction belongs to another thread, because a release changes that thread's lists.
    /// Realms of queues and actors are not checked: their current thread is not known here.
    fileprivate func checkThread() {
        guard let core, (core.pointee.thread ^ firn_thread_id()) & core.pointee.mask != 0 else { return }
        stopProgram(
            "an iterator over the objects of a running write transaction was released on another thread. Release it where it was made, or after the transaction."
        )
    }

    /// Removes a snapshot that nobody holds any more. Nodes that died after it and were made after the snapshot
    /// before it are garbage. The others pass to the snapshot before it.
    fileprivate func drop(_ state: TransactionSnapshot) {
        if context.heap.isForked { return }
        guard let index = snapshots.firstIndex(where: { $0 === state }) else {
            preconditionFailure("Firn: the transaction snapshot belongs to another transaction")
        }
        let before = index == 0 ? base.stamp : snapshots[index - 1].stamp
        snapshots.remove(at: index)
        writer.state.pointee.held = lastSnapshotStamp
        // `deadBySnapshot[k]` holds the nodes that died between the snapshot or base before snapshot k, and snapshot k.
        // Nodes that died after the last snapshot are in `dead`.
        let lists = writer.state
        let own: NodeList
        if index + 1 < lists.pointee.deadBySnapshot.count {
            own = lists.pointee.deadBySnapshot[index + 1].dead
            lists.pointee.deadBySnapshot.remove(at: index + 1)
        } else {
            own = lists.pointee.dead
            lists.pointee.dead = lists.pointee.deadBySnapshot[index].dead
            lists.pointee.deadBySnapshot.remove(at: index)
            distribute(own, bornAfter: before) { lists.pointee.dead.push($0) }
            return
        }
        distribute(own, bornAfter: before) { lists.pointee.deadBySnapshot[index].dead.push($0) }
    }

    private func distribute(_ list: NodeList, bornAfter stamp: UInt64, _ pass: (Node) -> Void) {
        var garbage = NodeList()
        list.forEach { node in if node.stamp > stamp { garbage.push(node) } else { pass(node) } }
        writer.free(garbage)
    }
}
