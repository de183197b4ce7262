import FirnBytes
import FirnLog

/// Where the parts of a commit go: the first alone straight to the log on this thread, more of them through the log's workers.
final class PartSink {
    let log: Log
    let version: UInt64
    let mayUseReserve: Bool
    @exclusivity(unchecked) private var appender: CommitAppender?
    @exclusivity(unchecked) private var position: FramePosition?
    @exclusivity(unchecked) private(set) var failure: LogError?

    init(_ log: Log, _ version: UInt64, mayUseReserve: Bool) {
        self.log = log
        self.version = version
        self.mayUseReserve = mayUseReserve
    }

    /// An encoder whose parts go here.
    func makeEncoder(workspace: ChangesetEncoder.Workspace = ChangesetEncoder.Workspace()) -> ChangesetEncoder {
        ChangesetEncoder(part: log.takeBuffer(), workspace: workspace) { part, isLast in
            self.take(part, isLast: isLast)
        }
    }

    func add(_ kind: LogPartKind, _ part: consuming ByteWriter) {
        guard failure == nil else { return }
        do throws(LogError) {
            var begun =
                if let begun = appender.take() { begun } else {
                    try log.beginCommit(version: version, mayUseReserve: mayUseReserve)
                }
            try begun.add(kind, part)
            appender = consume begun
        } catch {
            failure = error
        }
    }

    /// Takes a part and gives memory for the next.
    func take(_ part: consuming ByteWriter, isLast: Bool) -> ByteWriter {
        // Old values are read here for the first time: without the last part there is no commit.
        if let text = Faults.text, failure == nil {
            failure = LogError(.damage, path: log.options.folder, detail: text)
        }
        if isLast, appender == nil, failure == nil {
            do throws(LogError) {
                position = try log.commit(version: version, .changes, part.bytes, mayUseReserve: mayUseReserve)
            } catch {
                failure = error
            }
            part.removeAll()
            return part
        }
        add(.changes, part)
        return isLast ? ByteWriter(capacity: 16) : log.takeBuffer()
    }

    /// Leaves the log as it was.
    func abandon() {
        if let begun = appender.take() { begun.abort() }
    }

    func finish() throws(LogError) -> Int64 {
        if let failure {
            abandon()
            throw failure
        }
        if let begun = appender.take() { position = try begun.finish() }
        guard let position else { preconditionFailure("Firn: a commit without a part") }
        return position.time
    }
}

extension WriteTransaction {
    /// Writes the changeset to the log as `version`; gives its time. A transaction that deletes is written again where the disk is full: into the room that was kept.
    func append(_ deltas: Deltas, to log: Log, version: UInt64) throws(LogError) -> Int64 {
        let mayUseReserve = isSmaller(deltas)
        do {
            if let early = takeStreamed(deltas), let encoder = early.takeEncoder() {
                return try encode(deltas, encoder, early.sink, behind: early)
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
            SchemaCoding.encode(reference.schema, into: &bytes)
            sink.add(.schema, bytes)
        }
        let encoder = sink.makeEncoder(workspace: store.workspace.takeEncoder())
        return try encode(deltas, encoder, sink, behind: nil)
    }

    /// Encodes all but what went ahead, and ends the commit.
    private func encode(
        _ deltas: Deltas, _ encoder: consuming ChangesetEncoder, _ sink: PartSink, behind early: StreamedInserts?
    ) throws(LogError) -> Int64 {
        var encoder = encoder
        for (id, delta) in deltas where !reference.tables[id.index].schema.isRemoved {
            encode(id, delta, &encoder, from: early?.end(of: id) ?? .min)
        }
        encoder.finish()
        // After a large commit it would hold memory for nothing.
        if encoder.partCount == 1 { store.workspace.keep(encoder.workspace) }
        return try sink.finish()
    }

    /// Encodes what became of a table. Rows that were inserted are told from `start` on.
    private func encode(
        _ id: TableID, _ delta: RowTree.Delta, _ encoder: inout ChangesetEncoder, from start: Int64
    ) {
        let layout = reference.tables[id.index]
        encoder.beginTable(id, columns: layout.encoderColumns)
        for (leaf, rows) in delta.inserted where leaf.key(rows.lowerBound) >= start { encoder.inserted(leaf, rows) }
        let cells = scripts.isEmpty ? [] : scripts.keys.filter { $0.table == id }
        for column in layout.encoderColumns.lazy.map(\.number) where !delta.kept.isEmpty {
            let scripted = cells.isEmpty ? [] : Set(cells.lazy.filter { $0.column == column }.map(\.key))
            forEachUpdate(column, delta) { kept, row in
                // A list that was edited is told by its script.
                let key = kept.new.key(row)
                guard !scripted.contains(key) else { return }
                let chunk = kept.new.chunk(column)
                // In a column that this transaction added or laid out anew there is no old value to tell: the cell counts as touched.
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
        // What went is told as it lay: by the schema before, where this transaction changed it.
        let before = baseTable(id).schema
        if !delta.deleted.isEmpty, before != layout.schema { encoder.beginTable(id, before) }
        for (leaf, rows) in delta.deleted { encoder.deleted(leaf, rows) }
        let next = table(id).nextKey
        if next != baseTable(id).nextKey { encoder.nextKey(next) }
    }

    /// Whether a column's cells lie now as they lay when the transaction began.
    private func isLaidOutAsBefore(_ id: TableID, _ column: Int) -> Bool {
        guard isSchemaChanged else { return true }
        let before = baseTable(id).schema.columns
        return column < before.count
            && before[column].isNullable == reference.tables[id.index].columns[column].isNullable
    }

    /// Whether the transaction leaves fewer objects than it found: such a commit may use the room kept for a full disk.
    private func isSmaller(_ deltas: Deltas) -> Bool {
        deltas.contains { table($0.table).count < baseTable($0.table).count }
    }
}
