import FirnLog

/// New objects of a large transaction that were encoded before it commits, so that they are compressed and written
/// while the transaction continues.
///
/// - Whenever the transaction's nodes have grown by `StoreOptions.streamedByteCount`, the transaction flushes the new
///   leaves that are full.
/// - It then continues under a new stamp. So a change or removal of a flushed row copies the row's leaf.
/// - When the transaction commits, the stamps show whether the flushed rows are unchanged. If not, or if the schema
///   changed, everything written so far is cut off, and the changeset is encoded as if nothing had been flushed.
///
/// It belongs to the transaction's thread.
final class StreamedInserts {
    /// The rows of a table from the end of the flush before to `end`, in leaves whose stamp is at most `stamp`.
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

    /// The first key of a table that is not flushed; nil if no row of the table is.
    func end(of table: TableID) -> Int64? { flushes.last { $0.table == table }?.end }

    /// Flushes the leaves from `start` on except the last one, which is still being filled. Their stamps are at most
    /// `stamp`.
    func flush(_ table: TableID, _ layout: TableLayout, rows root: UInt64, from start: Int64, stamp: UInt64) {
        var leaves: [Leaf] = []
        RowTree.forEachLeaf(in: root, from: RowTree.rank(of: start, in: root)) { leaf, _ in
            leaves.append(leaf)
            return true
        }
        guard let last = leaves.popLast(), !leaves.isEmpty else { return }
        encoder?.beginTable(table, columns: layout.presentColumns)
        var rowCount = 0
        for leaf in leaves {
            let rows = leaf.lowerBound(start)..<leaf.count
            encoder?.inserted(leaf, rows)
            rowCount += rows.count
        }
        flushes.append(Flush(table: table, end: last.key(0), stamp: stamp, rowCount: rowCount))
    }

    /// Whether every flushed row is unchanged, given the table's rows that are new since the transaction began.
    func holds(_ table: TableID, _ inserted: [(leaf: Leaf, rows: Range<Int>)]) -> Bool {
        var runs = inserted[...]
        for flush in flushes where flush.table == table {
            var rowCount = 0
            while let (leaf, rows) = runs.first, leaf.key(rows.lowerBound) < flush.end {
                guard leaf.node.stamp <= flush.stamp else { return false }
                rowCount += rows.count
                runs.removeFirst()
            }
            guard rowCount == flush.rowCount else { return false }
        }
        return true
    }

    /// Returns the encoder, with which the commit continues. It can be taken once.
    func takeEncoder() -> ChangesetEncoder? { encoder.take() }

    /// Cuts off what was written to the log.
    func abandon() {
        encoder = nil
        sink.abandon()
    }
}

extension WriteTransaction {
    /// Flushes the full leaves of new rows of a table. Called between the creation of two objects, once enough has
    /// accumulated.
    @inline(never)
    func flushFilledLeaves(of id: TableID) {
        writer.state.pointee.flushAt = writer.state.pointee.byteDelta + context.streamedByteCount
        guard let log = context.log, !isSchemaChanged else { return }
        let streamed = streamed ?? StreamedInserts(log, version: base.version + 1)
        self.streamed = streamed
        streamed.flush(
            id, resolvedSchema.tables[id.index], rows: table(id).rows,
            from: max(streamed.end(of: id) ?? 0, baseTable(id).nextKey), stamp: writer.stamp)
        writer.advance(to: context.nextStamp())
        coreChanged()
    }

    /// Returns the streamed inserts if their rows are unchanged. Otherwise cuts them off from the log and returns nil.
    func takeStreamed(_ deltas: Deltas) -> StreamedInserts? {
        guard let streamed else { return nil }
        self.streamed = nil
        let holds =
            !isSchemaChanged && streamed.sink.failure == nil
            && deltas.allSatisfy { streamed.end(of: $0.table) == nil || streamed.holds($0.table, $0.rows.inserted) }
        if holds { return streamed }
        streamed.abandon()
        return nil
    }
}
