import CFirn

/// A state inside a transaction that an iterator holds: a version without a number.
///
/// While the transaction runs, the state and what died after it belong to the transaction's thread, and no lock is needed. A commit makes it an entry of the version table; a
/// cancelled transaction leaves all it made to a `DeferredFrees` until the last of its states has gone.
final class TransactionSnapshot {
    enum Owner {
        case running(WriteTransaction)
        case committed(VersionTable, VersionTable.Entry)
        /// The deferredFrees frees when the last of the transaction's states goes.
        case cancelled(DeferredFrees)
        case released
    }

    let stamp: UInt64
    let root: Node
    let reference: ResolvedSchema
    var owner: Owner

    init(stamp: UInt64, root: Node, reference: ResolvedSchema, owner: Owner) {
        self.stamp = stamp
        self.root = root
        self.reference = reference
        self.owner = owner
    }

    func release() {
        switch owner {
        case .running(let transaction):
            transaction.checkThread()
            transaction.drop(self)
        case .committed(let table, let entry): table.dropState(entry)
        case .cancelled, .released: break
        }
        owner = .released
    }
}

/// What a cancelled transaction made, kept until the last iterator over one of its states is gone; and the version that it began from, on which the states lie.
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
        // What the states' readers have read comes before what the next writer writes there.
        heap.deferredFreesCount.wrappingSubtract(1, ordering: .releasing)
    }
}

extension WriteTransaction {
    /// Holds the current state, so that what is changed from here on is not seen by whoever iterates over it. O(1). The pin must be let go on the transaction's
    /// thread.
    public func pinState() -> Pin {
        let state = TransactionSnapshot(
            stamp: writer.stamp, root: snapshot.root, reference: reference, owner: .running(self))
        writer.beginSubversion(stamp: store.nextStamp(), base: lastState)
        states.append(state)
        coreChanged()
        return Pin(transactionState: Snapshot(root: state.root, reference: reference)) { state.release() }
    }

    /// Stops the program where the transaction is another thread's, whose lists a release would change. (Who may use
    /// the realm of a queue or an actor is not known here.)
    fileprivate func checkThread() {
        guard let core, (core.pointee.thread ^ firn_thread_id()) & core.pointee.mask != 0 else { return }
        fatalError(
            "Firn: an iterator over the objects of a running write transaction was released on another thread. Release it where it was made, or after the transaction."
        )
    }

    /// A state is held no more: what died after it and was made after the state before it is garbage, the rest passes to that state.
    fileprivate func drop(_ state: TransactionSnapshot) {
        if store.heap.isForked { return }
        guard let place = states.firstIndex(where: { $0 === state }) else {
            preconditionFailure("Firn: a state of another transaction")
        }
        let before = place == 0 ? store.stamp(of: base) : states[place - 1].stamp
        states.remove(at: place)
        writer.state.pointee.held = lastState
        // `earlier[k]` is what died between its base and the next state; the list after the last is `dead`.
        let lists = writer.state
        let own: NodeList
        if place + 1 < lists.pointee.earlier.count {
            own = lists.pointee.earlier[place + 1].dead
            lists.pointee.earlier.remove(at: place + 1)
        } else {
            own = lists.pointee.dead
            lists.pointee.dead = lists.pointee.earlier[place].dead
            lists.pointee.earlier.remove(at: place)
            distribute(own, bornAfter: before) { lists.pointee.dead.push($0) }
            return
        }
        distribute(own, bornAfter: before) { lists.pointee.earlier[place].dead.push($0) }
    }

    private func distribute(_ list: NodeList, bornAfter stamp: UInt64, _ pass: (Node) -> Void) {
        var garbage = NodeList()
        list.forEach { node in if node.stamp > stamp { garbage.push(node) } else { pass(node) } }
        writer.free(garbage)
    }
}
