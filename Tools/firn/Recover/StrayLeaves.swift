import FirnBytes
import FirnStorage

/// The whole leaves of a checkpoint that no reference leads to any more, because the node above them is damaged.
///
/// Files may also have leaves of older versions, which must not be taken for the newest. So leaves are taken only from
/// the checkpoint's own file, the last one: it was written in one go, and holds only this version. Leaves in the files
/// before it are found through the checkpoints that wrote them. A leaf that might belong to another table, too, is left
/// out.
final class StrayLeaves {
    private struct Spot {
        let position: Int
        let columns: Int
        let first: Int64
    }

    /// Leaves in the order of their keys.
    struct Found {
        var leaves: [OnDiskLeaf] = []
        /// Whether these are all that there were.
        var areAll = false
    }

    private let checkpoint: OpenedCheckpoint
    /// All stray leaves; nil until they were searched for.
    private var spots: [Spot]?
    /// The positions of the damage that the search has met.
    private var damage: [Range<Int>] = []

    init(_ checkpoint: OpenedCheckpoint) { self.checkpoint = checkpoint }

    /// The leaves of a table with keys within bounds.
    ///
    /// - Parameters:
    ///   - rows: how many rows they should have; nil if that is not known.
    ///   - rivals: other tables whose leaves these might be.
    ///   - heads: the positions of the damaged nodes above them.
    func leaves(
        _ table: DecodedSchema.Table, _ bounds: Range<Int64>, rows: Int64?, rivals: [DecodedSchema.Table],
        below heads: [Range<Int>]
    ) throws -> Found {
        try checkpoint.apart {
            let all = try spots ?? scan()
            spots = all
            var found = Found()
            var isUnclear = false
            for spot in all where spot.columns <= table.columns.count && bounds.contains(spot.first) {
                guard let leaf = try leaf(spot.position, table), bounds.contains(leaf.keys[leaf.keys.count - 1]) else {
                    continue
                }
                if try rivals.contains(where: { try self.leaf(spot.position, $0) != nil }) {
                    isUnclear = true
                } else {
                    found.leaves.append(leaf)
                }
            }
            found.leaves.sort { $0.keys[0] < $1.keys[0] }
            for (leaf, next) in zip(found.leaves, found.leaves.dropFirst()) where leaf.keys.last! >= next.keys[0] {
                // Leaves whose keys overlap contradict each other.
                return Found()
            }
            if let rows {
                let count = found.leaves.reduce(0) { $0 + Int64($1.keys.count) }
                guard count <= rows else { return Found() }
                found.areAll = count == rows
            } else {
                found.areAll = !isUnclear && hasAll(below: heads)
            }
            return found
        }
    }

    /// Whether the checkpoint's own file has all leaves, and only the nodes above them are damaged in it.
    private func hasAll(below heads: [Range<Int>]) -> Bool {
        checkpoint.footer.garbage == 0 && checkpoint.footer.byteCount > 0
            && checkpoint.files.allSatisfy { $0.file != nil }
            && damage.allSatisfy { range in
                heads.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
            }
    }

    /// The leaf at a position, if its chunks have the forms of the table's columns.
    private func leaf(_ position: Int, _ table: DecodedSchema.Table) throws -> OnDiskLeaf? {
        do {
            let leaf = try OnDiskLeaf(checkpoint, checkpoint.node(at: position))
            for (number, column) in table.columns.enumerated() where number < leaf.columnCount && !column.isRemoved {
                guard try leaf.run(checkpoint, number: number, column: column) != nil else { return nil }
            }
            return leaf
        } catch is NodeDamage {
            return nil
        }
    }

    private func scan() throws -> [Spot] {
        var reached: Set<Int> = []
        let walk = ReferenceWalk(checkpoint) { _, _, position in reached.insert(position) }
        // This damage is reported where the damaged nodes are needed.
        walk.passOver = { _ in }
        _ = try checkpoint.finding { try walk.run() }
        let start = checkpoint.footer.ownFile.start
        var found: [Spot] = []
        var scan = CheckpointScan(checkpoint)
        scan.visit = { node in
            guard node.kind == .leaf, node.position >= start, !reached.contains(node.position),
                let columns = try? node.u32(48), let first = try? node.i64(32)
            else { return }
            found.append(Spot(position: node.position, columns: columns, first: first))
        }
        try scan.run { _ in }
        damage = scan.damage
        return found
    }
}
