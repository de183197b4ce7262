import FirnLog

/// Puts a checkpoint in the place of the nodes that it was written from: the newest version becomes an equal one whose older nodes lie in the checkpoint and whose newer ones are copies that refer to it. Then nothing
/// but versions that are held needs the old nodes, and the heap is free again.
///
/// 1. `Forwarding` says where each node of the checkpoint's version P went. A node of a later version was made after P, or is one of P's: history is linear, so nothing else can be there.
/// 2. `catchUp` copies, from a version that is pinned, the nodes made since P (or since the last call), with references forwarded. It runs beside the writer and is repeated until little is left.
/// 3. `finish` does it once more for the tip, under the write lock, and makes the copy the tip: the number, the content and the time stay, the stamp is new. What the lock is held for is what was
///    written during the last `catchUp`.
/// 4. `release` enters what the version before reached on the heap as dead after it, bucketed by birth, which needs no lock: nobody else writes to those nodes any more. And it notes which nodes of the
///    checkpoint are not part of the tip, as they died while it was written.
///
/// All copies bear one stamp that lies above all that the writer draws meanwhile, so that they are born, for the rule of `DeadList`, when they become part of the tip.
///
/// An append may have put rows behind those of P's last leaf into the very chunk that was written: such a chunk is copied, as its rows in the checkpoint are too few.
struct Rebase {
    private let store: Store
    private let mapping: CheckpointMapping
    private let forwarding: Forwarding
    private let cleaning: CleaningPlan?
    /// The version that was written.
    private let written: Pin
    private var nodes: WrittenNodes
    private let writer: NodeWriter
    /// That of the new tip: no version before it reaches into the file that was written.
    let stamp: UInt64
    private var copied = 0

    /// Stamps that the writer may draw while a rebase runs.
    private static let stampRoom: UInt64 = 1 << 32
    /// What may be left for the write lock.
    private static let smallRound = 1000
    private static let maximumRounds = 16

    /// - Parameters:
    ///   - written: the version that the checkpoint is.
    ///   - nodes: those of its file.
    init(
        _ store: Store, from written: Pin, to mapping: CheckpointMapping, _ nodes: WrittenNodes,
        _ forwarding: Forwarding,
        moving cleaning: CleaningPlan?
    ) {
        self.store = store
        self.written = written
        self.mapping = mapping
        self.nodes = nodes
        self.forwarding = forwarding
        self.cleaning = cleaning
        stamp = store.stamps.load(ordering: .relaxed) + Rebase.stampRoom
        writer = NodeWriter(stamp: stamp)
        if let spill = store.heap.spill { writer.spill(to: spill, heapByteCount: store.heap.byteCount) }
    }

    /// Does all of it. Where it throws, the tip is what it was.
    mutating func run() throws(StoreError) {
        let old = written.mapping
        forwarding.forEach { address, target in
            if !(old?.contains(address) ?? false) { nodes.leave(Int(target & ~1)) }
        }
        // Held to the end: nodes are known by their addresses, which none of them may give up to another.
        var rounds: [Pin] = []
        for _ in 0..<Rebase.maximumRounds {
            let pin = store.versions.pinForStore(.published)
            rounds.append(pin)
            copied = 0
            do throws(StoreError) {
                try Faults.throwing { () throws(StoreError) in
                    _ = move(NodeRef(pin.snapshot.root).word, .root(pin.snapshot.reference))
                }
            } catch {
                discard()
                throw error
            }
            if copied < Rebase.smallRound { break }
        }
        guard store.acquireForCheckpoint() else {
            discard()
            throw Store.endsBesideTransaction
        }
        let before: Pin
        do throws(StoreError) {
            before = store.versions.pinForStore(.tip)
            // What is not durable yet may still never have been.
            try store.waitUntilPublished(before.version)
        } catch {
            store.queue.release()
            discard()
            throw error
        }
        precondition(store.stamps.load(ordering: .relaxed) < stamp, "Firn: a rebase ran out of stamps")
        let root: UInt64
        do throws(StoreError) {
            root = try Faults.throwing { () throws(StoreError) in
                move(NodeRef(before.snapshot.root).word, .root(before.snapshot.reference))
            }
        } catch {
            store.queue.release()
            discard()
            throw error
        }
        store.heap.account(nodes: writer.state.pointee.nodeDelta, bytes: writer.state.pointee.byteDelta)
        store.versions.replaceTip(stamp: stamp, root: NodeRef(root).node, mapping: mapping)
        let after = store.versions.pinForStore(.published)
        store.stamps.store(stamp, ordering: .relaxed)
        store.queue.release()
        withExtendedLifetime(rounds) {}
        release(before, after)
        noteDead(before)
    }

    /// The reference, for the new tip, of what `word` leads to.
    private mutating func move(_ word: UInt64, _ shape: NodeShape) -> UInt64 {
        if word == 0 { return 0 }
        let ref = NodeRef(word)
        if mapping.contains(ref.address), !(cleaning?.moves(ref.address) ?? false) { return word }
        if let (target, rows) = forwarding.find(ref.address) {
            let isWritten = target & 1 != 0
            let target = isWritten ? mapping.ref(to: Int(target & ~1)).word : target
            switch shape {
            case .chunk(_, let wanted) where wanted > rows, .keys(let wanted) where wanted > rows:
                // Nobody has seen a copy yet.
                if !isWritten { writer.retire(NodeRef(target).node) }
            default:
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
        // Its places first: moving what they lead to must not disturb the walk.
        var places: [(UnsafeMutableRawPointer, NodeShape)] = []
        shape.forEachRef(of: copy) { places.append(($0, $1)) }
        for (place, shape) in places {
            let moved = move(place.loadUnaligned(as: UInt64.self), shape)
            place.storeBytes(of: moved, as: UInt64.self)
        }
        return NodeRef(copy).word
    }

    // What the tip's nodes on the heap refer to in the file is claimed by them. (What lies in the space already was claimed when the nodes were touched that have led there.)

    /// A copy of a node; of a chunk to which the writer may be appending, of no more than its rows.
    private func copy(_ node: Node, _ shape: NodeShape) -> Node {
        switch shape {
        case .chunk(_, let rows), .keys(let rows):
            let chunk = Chunk(node)
            return chunk.resized(rows: rows, capacity: node.capacity, heap: 0, writer).node
        default: return writer.copy(node)
        }
    }

    /// Lets the versions before go: what they had on the heap dies after the version that the new tip equals.
    private mutating func release(_ before: Pin, _ after: Pin) {
        // Copies of nodes that died before the end.
        var kept = Set<UInt>()
        after.snapshot.forEachHeapNode { kept.insert(UInt(bitPattern: $0.address)) }
        var unused = NodeList()
        for place in 0..<writer.state.pointee.madeCount {
            let node = writer.state.pointee.made[place]
            if !kept.contains(UInt(bitPattern: node.address)) { unused.push(node) }
        }
        writer.dispose().deallocate()
        store.heap.free(unused)
        var dead = NodeList()
        before.snapshot.forEachHeapNode { node in
            if let place = placeInFile(of: UInt(bitPattern: node.address)) { nodes.reach(place) }
            dead.push(node)
        }
        store.versions.addDead(dead, after: before.stamp)
    }

    /// Where in the space a node was written to that the tip has from there; nil where it has a copy, or the node was not written.
    private func placeInFile(of address: UInt) -> Int? {
        guard let target = forwarding.find(address)?.ref, target & 1 == 1 else { return nil }
        return Int(target & ~1)
    }

    /// Takes note of what is dead in files: copies that came too late, and what has moved, which the versions up to the one before reach where it was.
    private mutating func noteDead(_ before: Pin) {
        // What was written from a file and died meanwhile was counted as garbage there. Its copy is that now.
        var counted = 0
        var late = Set<Int>()
        if let old = written.mapping {
            old.withDead { dead in
                for node in dead.waiting where node.after >= written.stamp && node.after < before.stamp {
                    let address = UInt(bitPattern: old.base) + UInt(node.range.lowerBound)
                    guard let place = placeInFile(of: address) else { continue }
                    nodes.leave(place)
                    counted += node.range.count
                    late.insert(node.range.lowerBound)
                }
            }
            suspectCopies(old)
        }
        let unreached = nodes.unreachedPlaces
        mapping.withDead { dead in
            for range in cleaning?.moved ?? [] where !late.contains(range.lowerBound) {
                dead.add(range, after: before.stamp)
            }
            for range in unreached { dead.add(range, after: 0) }
        }
        let byteCount = unreached.reduce(0) { $0 + $1.count }
        store.checkpointGarbage.wrappingAdd(byteCount - counted, ordering: .relaxed)
    }

    /// Of dictionaries that a chunk named which died meanwhile the copies may be dead.
    private func suspectCopies(_ old: CheckpointMapping) {
        for (place, suspect) in old.withDead({ $0.suspects }) where suspect.after >= written.stamp {
            guard let copy = placeInFile(of: UInt(bitPattern: old.base) + UInt(place)) else { continue }
            mapping.withDead { $0.suspect(copy..<copy + suspect.range.count, after: suspect.after) }
        }
    }

    /// Nothing came of it: the copies go.
    private func discard() {
        var unused = NodeList()
        for place in 0..<writer.state.pointee.madeCount { unused.push(writer.state.pointee.made[place]) }
        store.heap.account(nodes: writer.state.pointee.nodeDelta, bytes: writer.state.pointee.byteDelta)
        writer.dispose().deallocate()
        store.heap.free(unused)
    }
}
