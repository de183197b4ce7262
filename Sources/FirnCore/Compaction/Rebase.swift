import FirnLog

/// Replaces the newest version's tree by an equal one, which uses the nodes of the new checkpoint. Newer nodes become
/// copies that refer to the checkpoint. Afterwards only held versions need the old nodes, so the heap is free again.
///
/// 1. `Forwarding` says where each node of the checkpoint's version P was written. A node of a later version was made
///    after P, or is one of P's: history is linear, so there is no third possibility.
/// 2. `catchUp` copies, from a pinned version, the nodes that were made since P (or since the last call), with their
///    references forwarded. It runs beside the writer and is repeated until little is left.
/// 3. `finish` copies once more, from the tip, under the write lock, and makes the copy the new tip. Number, content
///    and time stay; the stamp is new. The lock is held only as long as it takes to copy what was written
///    during the last `catchUp`.
/// 4. `release` records the nodes that the old tip reached on the heap as dead after it, bucketed by birth stamp. This
///    needs no lock, because nobody else writes to those nodes any more. `noteDead` records which nodes of the
///    checkpoint are not part of the new tip because they died while it was written.
///
/// All copies have one stamp, which is above all stamps that transactions take meanwhile. So, for the rule of
/// `DeadList`, they are born when they become part of the tip.
///
/// An append after P may have added rows to a chunk of P's last leaf, which was written with P's rows alone. Such a
/// chunk is copied, because the checkpoint has too few of its rows.
struct Rebase {
    private let heap: NodeHeap
    private let versions: VersionTable
    private let mapping: CheckpointMapping
    private let forwarding: Forwarding
    private let cleaning: CleaningPlan?
    /// The version that was written.
    private let written: Pin
    private var nodes: WrittenNodes
    private let writer: NodeWriter
    /// The stamp of the new tip: no version before it reaches into the file that was written.
    let stamp: UInt64
    private var copied = 0

    /// - Parameters:
    ///   - written: the version that the checkpoint holds.
    ///   - nodes: the nodes of its file.
    init(
        versions: VersionTable, stamp: UInt64, from written: Pin, to mapping: CheckpointMapping,
        nodes: WrittenNodes, forwarding: Forwarding, moving cleaning: CleaningPlan?
    ) {
        self.versions = versions
        heap = versions.heap
        self.written = written
        self.mapping = mapping
        self.nodes = nodes
        self.forwarding = forwarding
        self.cleaning = cleaning
        self.stamp = stamp
        writer = NodeWriter(stamp: stamp)
        if let spill = heap.spill { writer.spill(to: spill, heapByteCount: heap.byteCount) }
        let old = written.mapping
        forwarding.forEach { address, target in
            if !(old?.contains(address) ?? false) { self.nodes.leave(Int(target & ~1)) }
        }
    }

    /// Copies the nodes that were made since the last call, up to `pin`'s version, with their references forwarded.
    /// Runs beside the writer.
    ///
    /// - Returns: how many nodes it copied.
    mutating func catchUp(to pin: Pin) throws(StoreError) -> Int {
        copied = 0
        _ = try copyTree(of: pin)
        return copied
    }

    /// Makes the new tip from `tip`, the tip so far. The caller holds the write lock.
    ///
    /// - Returns: a pin on the new tip.
    mutating func finish(_ tip: Pin) throws(StoreError) -> Pin {
        let root = try copyTree(of: tip)
        heap.account(nodes: writer.state.pointee.nodeDelta, bytes: writer.state.pointee.byteDelta)
        versions.replaceTip(stamp: stamp, root: NodeRef(root).node, mapping: mapping)
        return versions.pinForStore(.published)
    }

    private mutating func copyTree(of pin: Pin) throws(StoreError) -> UInt64 {
        try DamageRecord.throwing { () throws(StoreError) in
            move(NodeRef(pin.snapshot.root).word, .root(pin.snapshot.resolvedSchema))
        }
    }

    /// Returns the reference with which the new tip replaces `word`.
    private mutating func move(_ word: UInt64, _ shape: NodeShape) -> UInt64 {
        if word == 0 { return 0 }
        let ref = NodeRef(word)
        if mapping.contains(ref.address), !(cleaning?.moves(ref.address) ?? false) { return word }
        if let (target, rows) = forwarding.find(ref.address) {
            let isWritten = target & 1 != 0
            let target = isWritten ? mapping.ref(to: Int(target & ~1)).word : target
            switch shape {
            case .chunk(_, let wanted) where wanted > rows, .keys(let wanted) where wanted > rows:
                // Nobody has seen the copy yet.
                if !isWritten { writer.retire(NodeRef(target).node) }
            default:
                // A node of the tip on the heap enters claims for the nodes in the file to which it refers. Nodes that
                // were in the mapping before were claimed when the nodes that lead to them were validated.
                if isWritten, let claim = shape.claim(ref.node) { mapping.claim(target, claim) }
                return target
            }
        }
        let copy = copy(ref.node, shape)
        var rows = 0
        switch shape {
        case .chunk(_, let count), .keys(let count): rows = count
        default: break
        }
        forwarding.set(ref.address, NodeRef(copy).word, rows: rows)
        copied += 1
        // The references are collected first: moving what they lead to must not disturb the walk.
        var refs: [(UnsafeMutableRawPointer, NodeShape)] = []
        shape.forEachRef(of: copy) { refs.append(($0, $1)) }
        for (address, shape) in refs {
            let moved = move(address.loadUnaligned(as: UInt64.self), shape)
            address.storeBytes(of: moved, as: UInt64.self)
        }
        return NodeRef(copy).word
    }

    /// Copies a node. A transaction may be appending to a chunk, so of a chunk only the rows that the leaf counts are
    /// copied.
    private func copy(_ node: Node, _ shape: NodeShape) -> Node {
        switch shape {
        case .chunk(_, let rows), .keys(let rows):
            let chunk = Chunk(node)
            return chunk.resized(rows: rows, capacity: node.capacity, heap: 0, writer).node
        default: return writer.copy(node)
        }
    }

    /// Frees the copies that are not part of the new tip, and records the old tip's nodes on the heap as dead after it.
    mutating func release(_ before: Pin, _ after: Pin) {
        // Copies of nodes that died before the rebase ended are freed.
        var kept = Set<UInt>()
        after.snapshot.forEachHeapNode { kept.insert(UInt(bitPattern: $0.address)) }
        var unused = NodeList()
        for index in 0..<writer.state.pointee.madeCount {
            let node = writer.state.pointee.made[index]
            if !kept.contains(UInt(bitPattern: node.address)) { unused.push(node) }
        }
        writer.dispose().deallocate()
        heap.free(unused)
        var dead = NodeList()
        before.snapshot.forEachHeapNode { node in
            if let offset = offsetInMapping(of: UInt(bitPattern: node.address)) { nodes.reach(offset) }
            dead.push(node)
        }
        versions.addDead(dead, after: before.stamp)
    }

    /// Returns the offset in the mapping that a node was written to, if the tip uses it from there. Returns nil if the
    /// tip has a copy, or if the node was not written.
    private func offsetInMapping(of address: UInt) -> Int? {
        guard let target = forwarding.find(address)?.ref, target & 1 == 1 else { return nil }
        return Int(target & ~1)
    }

    /// Records the dead nodes in files: nodes that died before they could become part of the tip, and nodes that have
    /// moved. Versions up to the old tip reach the moved nodes at their old offsets.
    ///
    /// - Returns: by how many bytes the garbage in the files has grown.
    mutating func noteDead(_ before: Pin) -> Int {
        // A node that was written from a file and died meanwhile was counted as garbage there. Now its copy is that
        // garbage.
        var counted = 0
        var late = Set<Int>()
        if let old = written.mapping {
            old.withDead { dead in
                for node in dead.waiting where node.after >= written.stamp && node.after < before.stamp {
                    let address = UInt(bitPattern: old.base) + UInt(node.range.lowerBound)
                    guard let offset = offsetInMapping(of: address) else { continue }
                    nodes.leave(offset)
                    counted += node.range.count
                    late.insert(node.range.lowerBound)
                }
            }
            suspectCopies(old)
        }
        let unreached = nodes.unreachedRanges
        mapping.withDead { dead in
            for range in cleaning?.moved ?? [] where !late.contains(range.lowerBound) {
                dead.add(range, after: before.stamp)
            }
            for range in unreached { dead.add(range, after: 0) }
        }
        let byteCount = unreached.reduce(0) { $0 + $1.count }
        return byteCount - counted
    }

    /// Suspects the copy of a dictionary if a chunk that refers to the original died meanwhile: the copy may be dead.
    private func suspectCopies(_ old: CheckpointMapping) {
        for (offset, suspect) in old.withDead({ $0.suspects }) where suspect.after >= written.stamp {
            guard let copy = offsetInMapping(of: UInt(bitPattern: old.base) + UInt(offset)) else { continue }
            mapping.withDead { $0.suspect(copy..<copy + suspect.range.count, after: suspect.after) }
        }
    }

    /// Frees the copies, because the rebase failed.
    func discard() {
        var unused = NodeList()
        for index in 0..<writer.state.pointee.madeCount { unused.push(writer.state.pointee.made[index]) }
        heap.account(nodes: writer.state.pointee.nodeDelta, bytes: writer.state.pointee.byteDelta)
        writer.dispose().deallocate()
        heap.free(unused)
    }
}
