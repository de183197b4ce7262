import FirnLog

/// Which nodes a checkpoint writes anew although they lie in the files that it adds to: those that share blocks with dead nodes, so that the system gets these blocks back.
///
/// The version's nodes in the space are walked once, which tells exactly what of the files is alive. Then the parts of the files of which the least is, are cleared of it: their nodes are written to the new
/// file, and with them the nodes above them, as these refer to them. So what is rewritten at a time is a part of the store, and a version that is held keeps no more than that part beside the newest one's. (The
/// cleaning of segments of a log-structured file system, Rosenblum and Ousterhout 1992, with trees for the segment summaries.)
///
/// It belongs to one thread; the version must be pinned.
final class CleaningPlan {
    /// What is cleared at a time.
    private static let partByteCount = 64 << 10

    private let mapping: CheckpointMapping
    private let base: UInt
    /// The units of all nodes that the version reaches.
    private var live: BitSet
    /// The first units of the nodes that were decided on, and of those that move.
    private var decided: BitSet
    private var moving: BitSet
    private var isCleared: [Bool] = []
    /// Where the nodes that move lie.
    private(set) var moved: [Range<Int>] = []
    /// Bytes of the nodes in the space that the version reaches.
    private(set) var liveByteCount = 0
    /// Bytes of the others, outside of holes.
    private(set) var deadByteCount = 0
    /// Nodes that nothing reaches and nobody knew of: those that were written and never used, and what an earlier process has let go.
    private(set) var unknown: [Range<Int>] = []

    /// Whether the node at an address of the space is written anew.
    @inline(__always)
    func moves(_ address: UInt) -> Bool { moving.contains(Int(address - base) / OnDiskNode.unit) }

    /// - Parameters:
    ///   - holes: what the checkpoint will list.
    ///   - byteCount: given how many bytes of dead nodes there are outside of holes, how many of them are to lie in what is cleared.
    ///   - fileCount: how many files may keep anything; nil for all.
    ///   - compactor: asked now and then whether to go on.
    init(
        _ snapshot: Snapshot, in mapping: CheckpointMapping, besides holes: [Range<Int>],
        clearing byteCount: (Int) -> Int,
        fileCount: Int?, by compactor: Compactor
    ) throws(StoreError) {
        self.mapping = mapping
        base = UInt(bitPattern: mapping.base)
        let files = mapping.files
        let unitCount = (files.last?.range.upperBound ?? 0) / OnDiskNode.unit + 1
        live = BitSet(count: unitCount)
        decided = BitSet(count: unitCount)
        moving = BitSet(count: unitCount)
        var roots: [UInt] = []
        snapshot.forEachStoredNode(below: mapping) { roots.append($0) }
        for root in roots {
            if let damage = mapping.mark(from: root, in: &live) { throw StoreError(.damage, damage.description) }
            try compactor.checkGoingOn()
        }
        liveByteCount = live.count(in: 0..<unitCount) * OnDiskNode.unit
        choose(files, holes.map(FreeSpaceMap.blocks), byteCount)
        if let fileCount { clear(files, keeping: fileCount) }
        for root in roots { _ = decide(root) }
        findUnknown(files)
    }

    private func place(_ address: UInt) -> Int { Int(address - base) }

    // MARK: What moves

    /// Chooses the parts that are cleared, those first of which the least is alive.
    private func choose(_ files: [Checkpoint.File], _ holes: [Range<Int>], _ byteCount: (Int) -> Int) {
        deadByteCount = files.reduce(0) { $0 + $1.nodes.count } - liveByteCount - holes.reduce(0) { $0 + $1.count }
        let partCount = (files.last?.range.upperBound ?? 0) / CleaningPlan.partByteCount + 1
        isCleared = [Bool](repeating: false, count: partCount)
        var left = byteCount(deadByteCount)
        guard left > 0 else { return }
        var parts = (0..<partCount).map { part in
            let units = OnDiskNode.units(part * CleaningPlan.partByteCount..<(part + 1) * CleaningPlan.partByteCount)
            return (number: part, room: 0, alive: live.count(in: units) * OnDiskNode.unit)
        }
        func addRoom(_ range: Range<Int>, _ sign: Int) {
            var start = range.lowerBound
            while start < range.upperBound {
                let part = start / CleaningPlan.partByteCount
                let end = min(range.upperBound, (part + 1) * CleaningPlan.partByteCount)
                parts[part].room += sign * (end - start)
                start = end
            }
        }
        for file in files { addRoom(file.nodes, 1) }
        for hole in holes { addRoom(hole, -1) }
        parts.removeAll { $0.room <= $0.alive }
        parts.sort { $0.alive * $1.room < $1.alive * $0.room }
        for part in parts where left > 0 {
            // Where nothing is alive, nothing is moved.
            isCleared[part.number] = true
            left -= part.room - part.alive
        }
    }

    /// Clears the files of which the least is alive.
    private func clear(_ files: [Checkpoint.File], keeping count: Int) {
        let byLife = files.map { (file: $0, alive: live.count(in: OnDiskNode.units($0.nodes))) }
        for (file, _) in byLife.sorted(by: { $0.alive > $1.alive }).dropFirst(count) {
            // Files begin with a part.
            let last = (file.range.upperBound - 1) / CleaningPlan.partByteCount
            for part in file.start / CleaningPlan.partByteCount...last { isCleared[part] = true }
        }
    }

    /// Whether a node moves: it lies in what is cleared, or leads to a node that does.
    private func decide(_ address: UInt) -> Bool {
        let place = place(address)
        let unit = place / OnDiskNode.unit
        guard !decided.contains(unit) else { return moving.contains(unit) }
        decided.insert(unit)
        let node = Node(mapping.base + place)
        var moves = isCleared[place / CleaningPlan.partByteCount]
        OnDiskNode.forEachRef(node) { slot in
            let word = slot.loadUnaligned(as: UInt64.self)
            if word != 0, decide(NodeRef(word).address) { moves = true }
        }
        if moves {
            moving.insert(unit)
            moved.append(place..<place + node.byteCount)
        }
        return moves
    }

    // MARK: What nobody knew of

    private func findUnknown(_ files: [Checkpoint.File]) {
        var known = live
        mapping.withDead { dead in
            for range in dead.free { known.insert(OnDiskNode.units(range)) }
            for node in dead.waiting { known.insert(OnDiskNode.units(node.range)) }
        }
        for file in files {
            known.forEachGap(in: OnDiskNode.units(file.nodes)) { units in
                unknown.append(units.lowerBound * OnDiskNode.unit..<units.upperBound * OnDiskNode.unit)
            }
        }
    }
}

extension Snapshot {
    /// Calls `body` with the address of each node in a space that the root or a node on the heap refers to, some more than once. O(nodes on the heap).
    func forEachStoredNode(below mapping: CheckpointMapping, _ body: (UInt) -> Void) {
        func walk(_ place: UnsafeMutableRawPointer, _ shape: NodeShape) {
            let ref = NodeRef(place.loadUnaligned(as: UInt64.self))
            if ref.isNone { return }
            if mapping.contains(ref.address) { return body(ref.address) }
            shape.forEachRef(of: ref.node) { walk($0, $1) }
        }
        var word = NodeRef(root).word
        walk(&word, .root(reference))
    }
}
