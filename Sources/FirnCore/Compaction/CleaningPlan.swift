import FirnLog
import FirnStorage

/// Decides which nodes a checkpoint writes again although they lie in the files that it adds to. Such nodes share
/// blocks with dead nodes, and writing them again allows holes to be punched there.
///
/// One walk of the version's nodes in the mapping shows exactly what is live in the files. Then the parts of the files
/// with the smallest live share are cleared: their live nodes are written to the new file. The parents of these nodes
/// are written there, too, because they refer to nodes that move. So only a part of the store is rewritten at a time. A
/// held version keeps no more than that part beside the newest version's nodes. Log-structured file systems clean their
/// segments in the same way (Rosenblum and Ousterhout 1992). Here trees take the role of their segment summaries.
///
/// A plan belongs to one thread; the version must be pinned.
final class CleaningPlan {
    /// The unit of clearing.
    private static let partByteCount = 64 << 10

    private let mapping: CheckpointMapping
    private let base: UInt
    /// The first units of the nodes for which a decision was made, and of the nodes that move. Their bits cost memory
    /// only where there are such nodes.
    private let decided: UnitBits
    private let moving: UnitBits
    private let memory: ReservedMemory
    private let unitCount: Int
    private var isCleared: [Bool] = []
    /// Whether some nodes that should move stay, because there is no space for them.
    private(set) var isCut = false
    /// The ranges of the nodes that move.
    private(set) var moved: [Range<Int>] = []
    /// Bytes of the nodes in the mapping that the version reaches.
    private(set) var liveByteCount = 0
    /// Bytes of all other nodes, less what the file system gets back for holes.
    private(set) var deadByteCount = 0
    /// The ranges of nodes that the version does not reach and that were not known to be dead. They were written and
    /// never used, an earlier process released them, or they are dictionaries whose chunks have died.
    private(set) var unknown: [Range<Int>] = []

    /// Whether the node at an address of the mapping is written again.
    @inline(__always)
    func moves(_ address: UInt) -> Bool {
        let unit = offset(address) / OnDiskNode.unit
        precondition(unit < unitCount, "Firn: a compaction met a node that was written after it was planned")
        return moving.contains(unit)
    }

    /// - Parameters:
    ///   - holes: the holes that the checkpoint will list.
    ///   - byteCount: takes `deadByteCount`. Returns how many of these bytes must lie in the parts that are cleared.
    ///   - fileCount: how many files may keep live nodes; nil for all.
    ///   - room: how many bytes may move.
    ///   - thread: the compactor's thread. The initializer throws if the thread is to end.
    init(
        _ snapshot: Snapshot, in mapping: CheckpointMapping, besides holes: [Range<Int>],
        clearing byteCount: (Int) -> Int,
        fileCount: Int?, room: Int = .max, by thread: CompactorThread
    ) throws(StoreError) {
        self.mapping = mapping
        base = UInt(bitPattern: mapping.base)
        let files = mapping.files
        unitCount = (files.last?.range.upperBound ?? 0) / OnDiskNode.unit + 1
        let bitByteCount = ReservedMemory.roundUp(unitCount / 8 + 1)
        do throws(StorageError) {
            memory = try ReservedMemory(byteCount: 2 * bitByteCount, alignment: ReservedMemory.alignment)
            try memory.fill(length: 2 * bitByteCount, at: 0)
        } catch { throw StoreError(error) }
        decided = UnitBits(memory.base)
        moving = UnitBits(memory.base + bitByteCount)
        // The units of all nodes that the version reaches.
        var live = BitSet(count: unitCount)
        var roots: [UInt] = []
        snapshot.forEachOnDiskNode(below: mapping) { roots.append($0) }
        for root in roots {
            if let damage = mapping.mark(from: root, in: &live) { throw StoreError(.damage, damage.description) }
            try thread.checkNotStopped()
        }
        liveByteCount = live.count(in: 0..<unitCount) * OnDiskNode.unit
        choose(
            files, live, holes: holes.map { FreeSpaceMap.returned($0, of: mapping.holeByteCount) },
            byteCount: byteCount, room: room)
        if let fileCount, !isCut { clear(files, live, keeping: fileCount, room: room) }
        for root in roots { _ = decide(root) }
        findUnknown(files, known: &live)
    }

    private func offset(_ address: UInt) -> Int { Int(address - base) }

    // MARK: What moves

    /// Chooses the parts that are cleared, those with the smallest live share first.
    private func choose(
        _ files: [Checkpoint.File], _ live: BitSet, holes: [Range<Int>], byteCount: (Int) -> Int, room: Int
    ) {
        deadByteCount = files.reduce(0) { $0 + $1.nodes.count } - liveByteCount - holes.reduce(0) { $0 + $1.count }
        let partCount = (files.last?.range.upperBound ?? 0) / CleaningPlan.partByteCount + 1
        isCleared = [Bool](repeating: false, count: partCount)
        var left = byteCount(deadByteCount)
        guard left > 0 else { return }
        var parts = (0..<partCount).map { part in
            let units = OnDiskNode.units(part * CleaningPlan.partByteCount..<(part + 1) * CleaningPlan.partByteCount)
            return (number: part, size: 0, alive: live.count(in: units) * OnDiskNode.unit)
        }
        func addSize(_ range: Range<Int>, _ sign: Int) {
            var start = range.lowerBound
            while start < range.upperBound {
                let part = start / CleaningPlan.partByteCount
                let end = min(range.upperBound, (part + 1) * CleaningPlan.partByteCount)
                parts[part].size += sign * (end - start)
                start = end
            }
        }
        for file in files { addSize(file.nodes, 1) }
        for hole in holes { addSize(hole, -1) }
        parts.removeAll { $0.size <= $0.alive }
        parts.sort { $0.alive * $1.size < $1.alive * $0.size }
        var room = room
        for part in parts where left > 0 {
            room -= part.alive
            guard room >= 0 else {
                isCut = true
                break
            }
            // A part in which nothing is live is cleared without moving anything.
            isCleared[part.number] = true
            left -= part.size - part.alive
        }
    }

    /// Clears the files with the fewest live bytes, so that `count` files are left, if there is space for that.
    private func clear(_ files: [Checkpoint.File], _ live: BitSet, keeping count: Int, room: Int) {
        let byLife = files.map { (file: $0, alive: live.count(in: OnDiskNode.units($0.nodes))) }
        let cleared = byLife.sorted(by: { $0.alive > $1.alive }).dropFirst(count)
        guard cleared.reduce(0, { $0 + $1.alive }) * OnDiskNode.unit <= room else { return }
        for (file, _) in cleared {
            // A file begins where a part begins.
            let last = (file.range.upperBound - 1) / CleaningPlan.partByteCount
            for part in file.start / CleaningPlan.partByteCount...last { isCleared[part] = true }
        }
    }

    /// Decides whether a node moves: it does if it lies in a part that is cleared, or refers to a node that moves.
    private func decide(_ address: UInt) -> Bool {
        let offset = offset(address)
        let unit = offset / OnDiskNode.unit
        guard !decided.contains(unit) else { return moving.contains(unit) }
        decided.insert(unit)
        // The walk that marked the node has met no damage, but what is not kept in memory is read again.
        let node = mapping.ref(to: offset).node
        let byteCount = node.diskLocation.byteCount
        var moves = isCleared[offset / CleaningPlan.partByteCount]
        for address in OnDiskNode.refs(node) where decide(address) { moves = true }
        if moves {
            moving.insert(unit)
            moved.append(offset..<offset + byteCount)
        }
        return moves
    }

    // MARK: Dead nodes that were not known

    /// - Parameter known: the live units; the units of nodes that are known to be dead are added.
    private func findUnknown(_ files: [Checkpoint.File], known: inout BitSet) {
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
    /// Calls `body` with the address of each node in a mapping that the root or a node on the heap refers to. Some
    /// addresses come more than once. O(nodes on the heap).
    func forEachOnDiskNode(below mapping: CheckpointMapping, _ body: (UInt) -> Void) {
        func walk(_ address: UnsafeMutableRawPointer, _ shape: NodeShape) {
            let ref = NodeRef(address.loadUnaligned(as: UInt64.self))
            if ref.isNone { return }
            if mapping.contains(ref.address) { return body(ref.address) }
            shape.forEachRef(of: ref.node) { walk($0, $1) }
        }
        var word = NodeRef(root).word
        walk(&word, .root(resolvedSchema))
    }
}
