import FirnBytes
import FirnLog

extension WriteTransaction {
    /// Writes the changeset to the log as `version`, and returns the commit's time.
    ///
    /// If the disk is full, a transaction that removes more than it adds, and adds at most 256 KiB, is written once
    /// more. This time it leaves out its old values, and may use the space of the reserve. An application must always
    /// be able to make room by deleting, however much it deletes at once.
    func append(_ deltas: Deltas, to log: Log, version: UInt64) throws(LogError) -> Int64 {
        var frees = false
        do {
            if let streamed = takeStreamed(deltas), let encoder = streamed.takeEncoder() {
                return try encode(deltas, encoder: encoder, sink: streamed.sink, behind: streamed, frees: &frees)
            }
            return try append(
                deltas, sink: PartSink(log, version, mayUseReserve: false), hasOldValues: true, frees: &frees)
        } catch {
            guard frees, error.code == .diskFull else { throw error }
            return try appendWithoutOldValues(deltas, to: log, version: version)
        }
    }

    private func appendWithoutOldValues(_ deltas: Deltas, to log: Log, version: UInt64) throws(LogError) -> Int64 {
        var frees = false
        do {
            return try append(
                deltas, sink: PartSink(log, version, mayUseReserve: true), hasOldValues: false, frees: &frees)
        } catch {
            // Only a commit of one part takes the reserve by itself.
            guard error.code == .diskFull, try log.useReserve() else { throw error }
            return try append(
                deltas, sink: PartSink(log, version, mayUseReserve: true), hasOldValues: false, frees: &frees)
        }
    }

    private func append(
        _ deltas: Deltas, sink: PartSink, hasOldValues: Bool, frees: inout Bool
    ) throws(LogError) -> Int64 {
        if isSchemaChanged {
            var bytes = ByteWriter(capacity: 1024)
            SchemaCoding.encode(resolvedSchema.schema, into: &bytes)
            sink.add(.schema, bytes)
        }
        let encoder = sink.makeEncoder(workspace: context.workspace.takeEncoder(), hasOldValues: hasOldValues)
        return try encode(deltas, encoder: encoder, sink: sink, behind: nil, frees: &frees)
    }

    /// Encodes everything that was not streamed before, and ends the commit.
    ///
    /// - Parameter frees: set to whether the transaction may use the reserve, also if this throws. The sink takes parts
    ///   after a failure, too, so everything is encoded.
    private func encode(
        _ deltas: Deltas, encoder: consuming ChangesetEncoder, sink: PartSink, behind streamed: StreamedInserts?,
        frees: inout Bool
    ) throws(LogError) -> Int64 {
        var encoder = encoder
        let lists = scripts.isEmpty ? [:] : listsByTable()
        for (id, delta) in deltas where !resolvedSchema.tables[id.index].schema.isRemoved {
            encode(id, delta: delta, lists: lists[id] ?? [], encoder: &encoder, from: streamed?.end(of: id) ?? .min)
        }
        encoder.flush()
        frees = Self.mayUseReserve(encoder.amounts)
        // A workspace that was used for a large commit would keep memory that nobody needs.
        if encoder.partCount == 1 { context.workspace.keep(encoder.workspace) }
        return try sink.seal()
    }

    /// The lists that have edit scripts, by table, and in each table in the order of column and key. Made once, because
    /// searching all scripts for each table and column would cost the product of their numbers.
    private func listsByTable() -> [TableID: [CellID]] {
        Dictionary(grouping: scripts.keys, by: \.table)
            .mapValues { cells in cells.sorted { ($0.column, $0.key) < ($1.column, $1.key) } }
    }

    /// The most bytes that a commit may add to be written into the reserve.
    private static let reserveAdded = 256 << 10

    /// Whether a transaction may use the reserve. The bytes that it removes are compared with the bytes that it adds.
    /// So a list that is emptied counts, and so does a long text that becomes a short one. Each such commit makes the
    /// store's values shorter, so there can't be many that free nothing.
    private static func mayUseReserve(_ amounts: (added: Int, removed: Int)) -> Bool {
        amounts.added < amounts.removed && amounts.added <= reserveAdded
    }

    /// Encodes the changes of a table. Of the inserted rows, it encodes those from key `start` on.
    ///
    /// - Parameter lists: the table's lists that have edit scripts, by column and key.
    private func encode(
        _ id: TableID, delta: RowTree.Delta, lists: [CellID], encoder: inout ChangesetEncoder, from start: Int64
    ) {
        let layout = resolvedSchema.tables[id.index]
        encoder.beginTable(id, columns: layout.presentColumns)
        for (leaf, rows) in delta.inserted where leaf.key(rows.lowerBound) >= start { encoder.inserted(leaf, rows) }
        var rest = lists[...]
        for column in layout.presentColumns.lazy.map(\.number) where !delta.kept.isEmpty {
            rest = rest.drop { $0.column < column }
            let scripted = rest.isEmpty ? [] : Set(rest.lazy.prefix { $0.column == column }.map(\.key))
            forEachUpdate(column, delta: delta) { kept, row in
                // A list that was edited is encoded by its script.
                let key = kept.new.key(row)
                guard !scripted.contains(key) else { return }
                let chunk = kept.new.chunk(column)
                // If this transaction added the column or changed its layout, there is no old value to encode. Then
                // the old value is the new one, and the cell is encoded as assigned without a change.
                let cell =
                    isLaidOutAsBefore(id, column)
                    ? UpdatedCell(
                        key: key, chunk: chunk, row: row, oldRef: NodeRef(kept.old.chunkSlot(column).pointee),
                        oldRow: row - kept.newStart + kept.oldStart)
                    : UpdatedCell(key: key, chunk: chunk, row: row, oldRef: NodeRef(chunk.node), oldRow: row)
                encoder.updated(column: column, cell)
            }
        }
        for cell in lists {
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
}
