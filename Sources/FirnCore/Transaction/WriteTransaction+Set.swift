import FirnStorage

extension WriteTransaction {
    // MARK: Plain cells

    /// Makes a cell of a plain column writable in place, and marks it as assigned. Afterwards the chunk has the
    /// current stamp.
    package func ownCell(_ id: TableID, column: Int, key: Int64) -> (leaf: Leaf, row: Int) {
        recordingDamage {
            let rows = rows(id)
            let location = locate(rows, table: id, key: key)
            rows.ownChunk(location.leaf, column).mark(location.row)
            return location
        }
    }

    /// Sets a value of a fixed-width type from its bytes, which must be as many as the column is wide.
    package func set(_ id: TableID, column: Int, key: Int64, fixed bytes: UnsafeRawBufferPointer) {
        recordingDamage {
            change(id, column: column, key: key) { chunk, row in chunk.putFixed(bytes, row) }
        }
    }

    /// Sets a string or data value.
    package func set(_ id: TableID, column: Int, key: Int64, bytes: UnsafeRawBufferPointer) {
        checkLength(bytes, table: id, column: column)
        recordingDamage {
            changeVariable(id, column: column, key: key) { rows, leaf, row in
                rows.putBytes(
                    bytes, column: column, leaf: leaf, row: row,
                    isFresh: isFresh(id, column: column, leaf: leaf, row: row))
            }
        }
    }

    /// Stops the program if a value is longer than `Limits.valueByteCount`, as Realm does. A caller that must not stop
    /// the program checks its values first.
    @inline(__always)
    func checkLength(_ bytes: UnsafeRawBufferPointer, table id: TableID, column: Int) {
        if bytes.count > Limits.valueByteCount { checkLongLength(bytes, table: id, column: column) }
    }

    @inline(never)
    private func checkLongLength(_ bytes: UnsafeRawBufferPointer, table id: TableID, column: Int) {
        guard resolvedSchema.tables[id.index].columns[column].type == .mixed else {
            stopForLength(bytes.count, most: Limits.valueByteCount, table: id, column: column)
        }
        // Besides its text, a mixed value has a tag, and nested collections have the lengths that separate their
        // elements.
        if let count = MixedCoding.textByteCount(bytes), count > mostTextByteCount {
            stopForLength(count, most: mostTextByteCount, table: id, column: column)
        }
        if bytes.count > ChangesetFormat.blobByteCount {
            stopForLength(bytes.count, most: ChangesetFormat.blobByteCount, table: id, column: column)
        }
    }

    /// Stops the program if an element of a collection is longer than a value may be.
    @inline(__always)
    func checkLength(ofElement value: Value, _ id: TableID, _ column: Int) {
        let count: Int
        switch value {
        case .string(let text): count = text.utf8.count
        case .data(let bytes): count = bytes.count
        case .map(let entries): return checkLength(ofEntries: entries, id, column)
        default: return
        }
        if count > mostTextByteCount { stopForLength(count, most: mostTextByteCount, table: id, column: column) }
    }

    @inline(never)
    private func checkLength(ofEntries entries: [Value.MapEntry], _ id: TableID, _ column: Int) {
        for entry in entries {
            checkLength(ofElement: .string(entry.key), id, column)
            checkLength(ofElement: entry.value, id, column)
        }
    }

    /// The most bytes of a text or of data that is an element or in a mixed value. Earlier releases allowed as many
    /// bytes as an encoded value may have, so replay accepts such values.
    private var mostTextByteCount: Int { isReplay ? ChangesetFormat.blobByteCount : Limits.valueByteCount }

    @inline(never)
    private func stopForLength(_ byteCount: Int, most: Int, table id: TableID, column: Int) -> Never {
        let table = resolvedSchema.tables[id.index]
        stopProgram(
            "\(table.schema.name).\(table.columns[column].name) was given a value of \(byteCount) bytes; at most \(most) are possible. Keep it in a file, and store its path."
        )
    }

    package func setNull(_ id: TableID, column: Int, key: Int64) {
        let schema = resolvedSchema.tables[id.index].columns[column]
        if schema.type == .link, schema.collection == .none { return setLink(id, column: column, key: key, to: -1) }
        precondition(schema.isNullable || schema.type == .mixed, "Firn: \(schema.name) may not be null")
        recordingDamage {
            guard schema.layout.form == .variable else {
                return change(id, column: column, key: key) { chunk, row in chunk.putNull(row) }
            }
            changeVariable(id, column: column, key: key) { rows, leaf, row in
                rows.releaseOwnNode(column, leaf: leaf, row: row)
                rows.ownChunk(leaf, column).putNull(row)
                return (leaf, row)
            }
        }
    }

    /// Sets a cell of any type. In a collection's cell, all elements are replaced.
    package func set(_ id: TableID, column: Int, key: Int64, to value: Value) {
        let schema = resolvedSchema.tables[id.index].columns[column]
        if schema.collection != .none { return replaceCollection(id, column: column, key: key, with: value) }
        if value == .null { return setNull(id, column: column, key: key) }
        // The column decides, not the value alone: a mixed value may be a link, which only a link column should have.
        if schema.type == .link, case .link(let target) = value {
            return setLink(id, column: column, key: key, to: target)
        }
        if schema.type.fixedWidth == nil {
            return PlainCoding.withBytes(value, as: schema.type) { bytes in
                if let bytes {
                    set(id, column: column, key: key, bytes: bytes)
                } else {
                    setNull(id, column: column, key: key)
                }
            }
        }
        recordingDamage {
            change(id, column: column, key: key) { chunk, row in putFixed(value, schema: schema, chunk: chunk, row: row)
            }
        }
    }

    /// Changes a fixed-width cell and updates its index.
    private func change(_ id: TableID, column: Int, key: Int64, _ write: (Chunk, _ row: Int) -> Void) {
        let layout = resolvedSchema.tables[id.index]
        let rows = rows(id)
        let location = locate(rows, table: id, key: key)
        if hasMetDamage { return }
        let chunk = rows.ownChunk(location.leaf, column)
        chunk.mark(location.row)
        let isIndexed = layout.columns[column].isIndexed || layout.primaryKey == column
        if isIndexed {
            removeFromIndex(rows, layout: layout, column: column, chunk: chunk, row: location.row, key: key)
        }
        write(chunk, location.row)
        if isIndexed {
            ColumnIndex.insert(
                layout.columns[column], chunk: chunk, row: location.row, key: key, at: rows.table.index(column),
                writer: writer)
        }
    }

    /// Changes a variable-width cell and updates its index. `write` may split the leaf, and returns where the row is
    /// afterwards.
    private func changeVariable(
        _ id: TableID, column: Int, key: Int64, _ write: (RowWriter, Leaf, Int) -> (leaf: Leaf, row: Int)
    ) {
        let layout = resolvedSchema.tables[id.index]
        let rows = rows(id)
        let location = locate(rows, table: id, key: key)
        if hasMetDamage { return }
        let isIndexed = layout.columns[column].isIndexed || layout.primaryKey == column
        if isIndexed {
            removeFromIndex(
                rows, layout: layout, column: column, chunk: location.leaf.chunk(column), row: location.row, key: key)
        }
        let isMixed = layout.columns[column].type == .mixed
        if isMixed {
            unlinkMixed(
                rows, schema: layout.columns[column], leaf: location.leaf, row: location.row, column: column, key: key)
        }
        let (leaf, row) = write(rows, location.leaf, location.row)
        // A fresh row may lie in a chunk that older versions share. Such a row needs no mark.
        if writer.owns(leaf.chunkNode(column)) { leaf.chunk(column).mark(row) }
        if isMixed { linkMixed(rows, schema: layout.columns[column], leaf: leaf, row: row, column: column, key: key) }
        if isIndexed {
            ColumnIndex.insert(
                layout.columns[column], chunk: leaf.chunk(column), row: row, key: key, at: rows.table.index(column),
                writer: writer)
        }
    }

    func removeFromIndex(
        _ rows: RowWriter, layout: TableLayout, column: Int, chunk: Chunk, row: Int, key: Int64
    ) {
        let isThere = ColumnIndex.remove(
            layout.columns[column], chunk: chunk, row: row, key: key, at: rows.table.index(column), writer: writer)
        if !isThere {
            DamageRecord.contradiction(
                "the index of \(layout.schema.name).\(layout.columns[column].name) lacks object \(key)")
        }
    }

    // MARK: Links

    /// Sets a to-one link; -1 is nil. The target must exist. An embedded object that the link led to before is deleted,
    /// except in replay, where the changeset lists this deletion, and if `deletesReplaced` is false.
    package func setLink(
        _ id: TableID, column: Int, key: Int64, to target: Int64, deletesReplaced: Bool = true
    ) {
        assert(
            resolvedSchema.tables[id.index].columns[column].layout.blank == .noLink,
            "Firn: column \(column) of table \(id.rawValue) is not a to-one link")
        recordingDamage {
            let rows = rows(id)
            let location = locate(rows, table: id, key: key)
            if hasMetDamage { return }
            let chunk = rows.ownChunk(location.leaf, column)
            chunk.mark(location.row)
            let old: Int64 = chunk.load(location.row)
            if old >= 0 { removeBacklink(rows, column: column, target: old, key: key) }
            chunk.store(target, location.row)
            if target >= 0 {
                IntegerIndexTree.insert(UInt64(target), value: key, at: rows.table.backlinks(column), writer: writer)
            }
            if deletesReplaced, old >= 0, old != target, let owned = ownedTable(id, column) {
                deleteOwned(owned, old)
            }
        }
    }

    func removeBacklink(_ rows: RowWriter, column: Int, target: Int64, key: Int64) {
        let isThere = IntegerIndexTree.remove(
            UInt64(target), value: key, at: rows.table.backlinks(column), writer: writer)
        if !isThere { DamageRecord.contradiction("a backlink from object \(key) to \(target) is missing") }
    }
}
