import FirnBytes
import FirnStorage

/// The primary keys of the chosen objects that a follower of the log may meet. The log has the keys of objects inserted
/// since the checkpoint. All others are looked up in the checkpoint.
///
/// Memory: at most `byteMax` for the keys from both. If there are more, all are forgotten. Keys from the log are then
/// unknown until the next checkpoint.
final class FollowedKeys: ObjectNames {
    private static let byteMax = 64 << 20

    private let isJSON: Bool
    private let filter: ObjectFilter
    private var texts: [ChangedObject.Identity: JSON] = [:]
    private var byteCount = 0
    private var checkpoint: OpenedCheckpoint?
    private var tables: [Int: OnDiskTable] = [:]

    /// Reads the part of the log before version `from` whose objects the checkpoint does not have.
    init(_ store: OpenedStore, before from: UInt64, _ filter: ObjectFilter, isJSON: Bool) throws {
        self.isJSON = isJSON
        self.filter = filter
        try update(store)
        let known = store.manifest.checkpoint?.version ?? 0
        // The primary key of an object deleted before the checkpoint is only in the version that inserted the object.
        let first = from <= known ? store.manifest.firstVersion : known + 1
        guard first < from else { return }
        var commits = CommitReader()
        _ = try LogWalk(store: store, from: first).run { event in
            guard case .frame(let frame, let payload, let path) = event else { return true }
            guard !frame.kind.isPart || frame.version < from else { return false }
            var schema = commits.schema
            // Damage here only leaves primary keys unknown. The caller's walk reports the damage that it meets.
            _ = try commits.take(frame, payload: payload, path: path) { block in
                if case .schema(let new) = block { schema = new }
                self.note(block, schema)
            }
            return true
        }
    }

    /// Keeps the primary keys of the objects that a block inserts.
    func note(_ block: ChangeBlock, _ schema: DecodedSchema?) {
        let rows: RowRun
        switch block {
        case .insert(let run), .insertMore(let run): rows = run
        default: return
        }
        guard filter.includes(table: rows.table), let values = rows.primaryKeys(in: schema) else { return }
        for index in 0..<rows.keys.count {
            keep(
                ChangedObject.Identity(table: rows.table, key: rows.keys[index]), cell: values.cell(index),
                schema: schema)
        }
    }

    private func keep(_ identity: ChangedObject.Identity, cell: Cell, schema: DecodedSchema?) {
        let text = CellText.shown(cell, schema, isJSON: isJSON)
        byteCount += 64 + text.byteCount
        if byteCount > Self.byteMax { forget() }
        texts[identity] = text
    }

    private func forget() {
        texts.removeAll()
        byteCount = 0
    }

    /// Switches to the store's newest checkpoint, which has the objects inserted before it.
    func update(_ store: OpenedStore) throws {
        guard store.manifest.checkpoint?.id != checkpoint?.entry.id else { return }
        checkpoint = try store.openCheckpoint().checkpoint
        tables = [:]
        guard let checkpoint else { return }
        // Without the tables, primary keys are not known; `firn verify` says why.
        _ = try checkpoint.finding {
            for table in try checkpoint.walk({ try checkpoint.tables() }) { self.tables[table.number] = table }
        }
        // Keys are forgotten only if there are many: later versions may change objects inserted after the checkpoint.
        if byteCount > Self.byteMax / 2 { forget() }
    }

    subscript(table: Int, key: Int64) -> JSON? {
        let identity = ChangedObject.Identity(table: table, key: key)
        if let text = texts[identity] { return text }
        guard let checkpoint, let found = tables[table] else { return nil }
        _ = try? checkpoint.finding {
            try checkpoint.withPrimaryKey(of: key, in: found) { keep(identity, cell: $0, schema: checkpoint.schema) }
        }
        return texts[identity]
    }
}
