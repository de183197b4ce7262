import FirnLog

/// What a large transaction has encoded before its end: rows that it added, so that they are compressed and written while it goes on adding.
///
/// Whenever the transaction's nodes have grown by `StoreOptions.streamedByteCount`, it hands out the new leaves that are full. It then goes on under a new stamp: whatever changes a row
/// handed out, or removes it, copies its leaf. So at the end one look at the stamps tells whether the log has what the transaction has; if not
/// (or if the schema changed), all that was written is cut off, and the changeset is encoded as if nothing had been handed out.
///
/// It belongs to the transaction's thread.
final class StreamedInserts {
    /// Rows of a table from the end of the hand-out before to `end`, in leaves that bear at most `stamp`.
    private struct Flush {
        let table: TableID
        let end: Int64
        let stamp: UInt64
        let rowCount: Int
    }

    private var flushes: [Flush] = []
    let sink: PartSink
    private var encoder: ChangesetEncoder?

    init(_ log: Log, version: UInt64) {
        sink = PartSink(log, version, mayUseReserve: false)
        encoder = sink.makeEncoder()
    }

    /// The first key of a table that was not handed out; nil where none was.
    func end(of table: TableID) -> Int64? { flushes.last { $0.table == table }?.end }

    /// Hands out the leaves from `start` on, all but the last, which is being filled. They bear at most `stamp`.
    func handOut(_ table: TableID, _ layout: TableLayout, rows root: UInt64, from start: Int64, stamp: UInt64) {
        var leaves: [Leaf] = []
        RowTree.forEachLeaf(in: root, from: RowTree.rank(of: start, in: root)) { leaf, _ in
            leaves.append(leaf)
            return true
        }
        guard let last = leaves.popLast(), !leaves.isEmpty else { return }
        encoder?.beginTable(table, columns: layout.encoderColumns)
        var rowCount = 0
        for leaf in leaves {
            let rows = leaf.lowerBound(start)..<leaf.count
            encoder?.inserted(leaf, rows)
            rowCount += rows.count
        }
        flushes.append(Flush(table: table, end: last.key(0), stamp: stamp, rowCount: rowCount))
    }

    /// Whether every row handed out is as it was, among a table's rows that are new since the transaction began.
    func holds(_ table: TableID, _ inserted: [(leaf: Leaf, rows: Range<Int>)]) -> Bool {
        var runs = inserted[...]
        for handOut in flushes where handOut.table == table {
            var rowCount = 0
            while let (leaf, rows) = runs.first, leaf.key(rows.lowerBound) < handOut.end {
                guard leaf.node.stamp <= handOut.stamp else { return false }
                rowCount += rows.count
                runs.removeFirst()
            }
            guard rowCount == handOut.rowCount else { return false }
        }
        return true
    }

    /// The encoder, to go on with; once.
    func takeEncoder() -> ChangesetEncoder? { encoder.take() }

    /// Cuts off what was written.
    func abandon() {
        encoder = nil
        sink.abandon()
    }
}

extension WriteTransaction {
    /// Hands out the new rows of a table that are done, if enough has come together. Called between two objects.
    @inline(never)
    func flushFilledLeaves(of id: TableID) {
        writer.state.pointee.flushAt = writer.state.pointee.byteDelta + store.streamedByteCount
        guard let log = store.log, !isSchemaChanged else { return }
        let early = early ?? StreamedInserts(log, version: base.version + 1)
        self.early = early
        early.handOut(
            id, reference.tables[id.index], rows: table(id).rows,
            from: max(early.end(of: id) ?? 0, baseTable(id).nextKey), stamp: writer.stamp)
        writer.advance(to: store.nextStamp())
        coreChanged()
    }

    /// What was handed out, where it holds still; otherwise nothing, and nothing of it is in the log.
    func takeStreamed(_ deltas: Deltas) -> StreamedInserts? {
        guard let early else { return nil }
        self.early = nil
        let holds =
            !isSchemaChanged && early.sink.failure == nil
            && deltas.allSatisfy { early.end(of: $0.table) == nil || early.holds($0.table, $0.rows.inserted) }
        if holds { return early }
        early.abandon()
        return nil
    }
}
