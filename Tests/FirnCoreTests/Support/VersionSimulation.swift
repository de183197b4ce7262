@testable import FirnCore

/// A small form of the version table: one root, transactions, rollbacks, pins, and dead lists by the rule of
/// `DeadList`. With it, a tree's sharing between versions and its heap accounting can be tested without a store.
final class VersionSimulation {
    private struct Active {
        var version: UInt64
        var root: UInt64
        var holders: Int
        var dead: NodeList
    }

    private let heap = NodeHeap()
    /// Ascending; the last is the tip.
    private var active: [Active]
    /// The root of the running transaction, or of the tip.
    let slot: UnsafeMutablePointer<UInt64>
    private var stamp: UInt64 = 1
    private(set) var writer: NodeWriter?

    init() {
        slot = .allocate(capacity: 1)
        slot.initialize(to: 0)
        active = [Active(version: 1, root: 0, holders: 0, dead: NodeList())]
    }

    deinit { slot.deallocate() }

    var root: NodeRef { NodeRef(slot.pointee) }
    var tip: UInt64 { active[active.count - 1].version }
    var pinned: [UInt64] { active.filter { $0.holders > 0 }.map(\.version) }
    var nodeCount: Int { heap.nodeCount }
    var byteCount: Int { heap.byteCount }

    func root(of version: UInt64) -> NodeRef {
        NodeRef(active.first { $0.version == version }!.root)
    }

    func begin() -> NodeWriter {
        precondition(writer == nil)
        stamp += 1
        let writer = NodeWriter(stamp: stamp)
        self.writer = writer
        return writer
    }

    /// Takes a new stamp within the transaction, as an iterator does.
    func subversion() {
        stamp += 1
        writer!.beginSnapshot(stamp: stamp, base: stamp - 1)
    }

    func commit() {
        let writer = writer!
        var dead = writer.state.pointee.dead
        for earlier in writer.state.pointee.deadBySnapshot { dead.join(earlier.dead) }
        heap.account(nodes: writer.state.pointee.nodeDelta, bytes: writer.state.pointee.byteDelta)
        // No sub-version is pinned here, so no version reaches nodes that were made and freed within the transaction.
        var unseen = NodeList()
        dead.forEach { node in
            if writer.isNew(node) { unseen.push(node) } else { active[active.count - 1].dead.push(node) }
        }
        heap.free(unseen)
        active.append(Active(version: stamp, root: slot.pointee, holders: 0, dead: NodeList()))
        writer.dispose().deallocate()
        self.writer = nil
        if active[active.count - 2].holders == 0 { drop(active.count - 2) }
    }

    func rollback() {
        let writer = writer!
        for index in 0..<writer.state.pointee.madeCount { NodeHeap.free(writer.state.pointee.made[index]) }
        var lists = writer.state.pointee.deadBySnapshot.map(\.dead)
        lists.append(writer.state.pointee.dead)
        for list in lists {
            list.forEach { if writer.isNew($0) { NodeHeap.free($0) } }
        }
        writer.dispose().deallocate()
        self.writer = nil
        slot.pointee = active[active.count - 1].root
    }

    func pin() -> UInt64 {
        active[active.count - 1].holders += 1
        return tip
    }

    func unpin(_ version: UInt64) {
        let index = active.firstIndex { $0.version == version }!
        active[index].holders -= 1
        if active[index].holders == 0, index < active.count - 1 { drop(index) }
    }

    private func drop(_ index: Int) {
        let previous = index > 0 ? active[index - 1].version : 0
        var freed = NodeList()
        active[index].dead.forEach { node in
            if node.stamp > previous { freed.push(node) } else { active[index - 1].dead.push(node) }
        }
        heap.free(freed)
        active.remove(at: index)
    }

    /// The numbers of nodes and of bytes that all active versions reach.
    func reachable(_ forEachNode: (NodeRef, (Node) -> Void) -> Void) -> (nodes: Int, bytes: Int) {
        var seen: Set<UnsafeMutableRawPointer> = []
        var bytes = 0
        for version in active {
            forEachNode(NodeRef(version.root)) { node in
                if seen.insert(node.address).inserted { bytes += node.byteCount }
            }
        }
        return (seen.count, bytes)
    }
}
