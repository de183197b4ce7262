import FirnBytes
import FirnLog

extension WriteTransaction {
    /// Writes the changeset to the log as `version`, and returns the commit's time.
    ///
    /// If the disk is full, a transaction that deletes more objects than it adds is written a second time, into the
    /// space of the reserve.
    func append(_ deltas: Deltas, to log: Log, version: UInt64) throws(LogError) -> Int64 {
        let mayUseReserve = isSmaller(deltas)
        do {
            if let streamed = takeStreamed(deltas), let encoder = streamed.takeEncoder() {
                return try encode(deltas, encoder, streamed.sink, behind: streamed)
            }
            return try append(deltas, to: log, version: version, mayUseReserve: mayUseReserve)
        } catch {
            guard mayUseReserve, error.code == .diskFull, try log.useReserve() else { throw error }
            return try append(deltas, to: log, version: version, mayUseReserve: true)
        }
    }

    private func append(
        _ deltas: Deltas, to log: Log, version: UInt64, mayUseReserve: Bool
    ) throws(LogError) -> Int64 {
        let sink = PartSink(log, version, mayUseReserve: mayUseReserve)
        if isSchemaChanged {
            var bytes = ByteWriter(capacity: 1024)
            SchemaCoding.encode(resolvedSchema.schema, into: &bytes)
            sink.add(.schema, bytes)
        }
        let encoder = sink.makeEncoder(workspace: context.workspace.takeEncoder())
        return try encode(deltas, encoder, sink, behind: nil)
    }

    /// Encodes everything that was not streamed before, and ends the commit.
    private func encode(
        _ deltas: Deltas, _ encoder: consuming ChangesetEncoder, _ sink: PartSink, behind streamed: StreamedInserts?
    ) throws(LogError) -> Int64 {
        var encoder = encoder
        for (id, delta) in deltas where !resolvedSchema.tables[id.index].schema.isRemoved {
            encode(id, delta, &encoder, from: streamed?.end(of: id) ?? .min)
        }
        encoder.flush()
        // A workspace that served a large commit would keep memory that nobody needs.
        if encoder.partCount == 1 { context.workspace.keep(encoder.workspace) }
        return try sink.seal()
    }

    /// Encodes the changes of a table. Of the inserted rows, it encodes those from key `start` on.
    private func encode(
        _ id: TableID, _ delta: RowTree.Delta, _ encoder: inout ChangesetEncoder, from start: Int64
    ) {
        let layout = resolvedSchema.tables[id.index]
        encoder.beginTable(id, columns: layout.presentColumns)
        for (leaf, rows) in delta.inserted where leaf.key(rows.lowerBound) >= start { encoder.inserted(leaf, rows) }
        let cells = scripts.isEmpty ? [] : scripts.keys.filter { $0.table == id }
        for column in layout.presentColumns.lazy.map(\.number) where !delta.kept.isEmpty {
            let scripted = cells.isEmpty ? [] : Set(cells.lazy.filter { $0.column == column }.map(\.key))
            forEachUpdate(column, delta) { kept, row in
                // A list that was edited is encoded by its script.
                let key = kept.new.key(row)
                guard !scripted.contains(key) else { return }
                let chunk = kept.new.chunk(column)
                // If this transaction added the column or changed its layout, there is no old value to encode. Then
                // the old value is the new one, and the cell is encoded as assigned without a change.
                let cell =
                    isLaidOutAsBefore(id, column)
                    ? UpdatedCell(
                        key: key, chunk: chunk, row: row, oldNode: kept.old.chunkNode(column),
                        oldRow: row - kept.newStart + kept.oldStart)
                    : UpdatedCell(key: key, chunk: chunk, row: row, oldNode: chunk.node, oldRow: row)
                encoder.updated(column: column, cell)
            }
        }
        for cell in cells.sorted(by: { ($0.column, $0.key) < ($1.column, $1.key) }) {
            encoder.script(column: cell.column, key: cell.key, scripts[cell]!)
        }
        // Deleted rows are encoded as they were stored: by the old schema, if this transaction changed it.
        if !delta.deleted.isEmpty {
            let before = baseTable(id).schema
            if before != layout.schema { encoder.beginTable(id, before) }
            for (leaf, rows) in delta.deleted { encoder.deleted(leaf, rows) }
        }
        let next = root.table(id)?.nextKey ?? 0
        if next != baseRoot.table(id)?.nextKey ?? 0 { encoder.nextKey(next) }
    }

    /// Whether a column's cells have the same layout as when the transaction began.
    private func isLaidOutAsBefore(_ id: TableID, _ column: Int) -> Bool {
        guard isSchemaChanged else { return true }
        let before = baseTable(id).schema.columns
        return column < before.count
            && before[column].isNullable == resolvedSchema.tables[id.index].columns[column].isNullable
    }

    /// Whether all tables together have fewer objects than when the transaction began. Such a commit may use the
    /// reserve if the disk is full. That one table has fewer is not enough: a transaction that adds more to another
    /// table would use up the space that is kept for those that delete.
    private func isSmaller(_ deltas: Deltas) -> Bool {
        deltas.reduce(0) {
            $0 + (root.table($1.table)?.rowCount ?? 0) - (baseRoot.table($1.table)?.rowCount ?? 0)
        } < 0
    }
}
