import FirnBytes
import FirnStorage

/// The whole leaves of a checkpoint that no reference leads to any more, because the node above them is damaged.
///
/// Files may also have leaves of older versions, which must not be taken for the newest. So leaves are taken only from
/// a checkpoint that was written at once, which has nothing else than its version; if no other table could have them;
/// and if they have as many rows as there should be.
final class StrayNodes {
    private struct Spot {
        let position: Int
        let stamp: UInt64
        let columns: Int
        let first: Int64
    }

    private let checkpoint: OpenedCheckpoint
    /// All of them, once they were looked for.
    private var spots: [Spot]?

    init(_ checkpoint: OpenedCheckpoint) { self.checkpoint = checkpoint }

    /// The leaves of a table with keys within bounds, in order; nil if they can't be told for certain.
    ///
    /// - Parameters:
    ///   - rows: how many rows they have; nil if that is not known.
    ///   - rivals: other tables whose leaves these might be.
    func leaves(
        _ table: DecodedSchema.Table, _ bounds: Range<Int64>, rows: Int64?, rivals: [DecodedSchema.Table]
    ) throws -> [OnDiskLeaf]? {
        guard checkpoint.footer.garbage == 0 else { return nil }
        return try checkpoint.apart { try find(table, bounds, rows: rows, rivals: rivals) }
    }

    private func find(
        _ table: DecodedSchema.Table, _ bounds: Range<Int64>, rows: Int64?, rivals: [DecodedSchema.Table]
    ) throws -> [OnDiskLeaf]? {
        let all = try spots ?? scan()
        spots = all
        var taken: [OnDiskLeaf] = []
        for spot in all.sorted(by: { $0.stamp > $1.stamp })
        where spot.columns <= table.columns.count && bounds.contains(spot.first) {
            guard let leaf = try leaf(spot.position, table), bounds.contains(leaf.keys[leaf.keys.count - 1]),
                taken.allSatisfy({ $0.keys.last! < leaf.keys[0] || $0.keys[0] > leaf.keys.last! })
            else { continue }
            if try rivals.contains(where: { try self.leaf(spot.position, $0) != nil }) { return nil }
            taken.append(leaf)
        }
        if let rows, taken.reduce(0, { $0 + Int64($1.keys.count) }) != rows { return nil }
        return taken.sorted { $0.keys[0] < $1.keys[0] }
    }

    /// The leaf at a position, if its chunks have the forms of the table's columns.
    private func leaf(_ position: Int, _ table: DecodedSchema.Table) throws -> OnDiskLeaf? {
        do {
            let leaf = try OnDiskLeaf(checkpoint, checkpoint.node(at: position))
            for (number, column) in table.columns.enumerated() where number < leaf.columnCount && !column.isRemoved {
                guard try leaf.run(checkpoint, number, column) != nil else { return nil }
            }
            return leaf
        } catch is NodeFault {
            return nil
        }
    }

    private func scan() throws -> [Spot] {
        var reached: Set<Int> = []
        let walk = ReferenceWalk(checkpoint) { _, _, position in reached.insert(position) }
        // What is damaged was noted where it was needed.
        walk.passOver = { _ in }
        _ = try checkpoint.finding { try walk.run() }
        var found: [Spot] = []
        var scan = CheckpointScan(checkpoint)
        scan.visit = { node in
            guard node.kind == .leaf, !reached.contains(node.position), let columns = try? node.u32(48),
                let first = try? node.i64(32)
            else { return }
            found.append(
                Spot(position: node.position, stamp: node.header.stamp, columns: columns, first: first))
        }
        try scan.run { _ in }
        return found
    }
}
