import FirnBytes
import FirnLog

/// Applies changesets: recovery, and following another process. No rule is run again (cascades are in the changeset), object keys are kept; indexes and backlinks are derived.
///
/// The bytes have passed their checksums, yet nothing in them is trusted: what contradicts the store (a row that is not there, a column of another type) throws,
/// and the transaction is cancelled.
extension WriteTransaction {
    func apply(_ block: inout ChangesetBlock) throws {
        isReplay = true
        switch block {
        case .schema(let schema): try changeSchema(to: schema)
        case .insert(var rows): try insert(&rows)
        case .insertMore(var rows): try setColumns(&rows)
        case .delete(let table, let keys):
            for place in 0..<keys.count { try deleteAlone(table, keys[place]) }
        case .update(var cells): try update(&cells)
        case .script(var script): try apply(&script)
        case .elements(var elements): try append(&elements)
        case .nextKey(let table, let key):
            _ = try layout(table)
            guard key <= ChangesetFormat.keyLimit else { throw ChangesetBlock.Refusal("the next key is \(key)") }
            let node = ownTable(table)
            node.nextKey = max(node.nextKey, key)
        case .deleteOld: throw ChangesetBlock.Refusal("old values were handed to recovery")
        }
    }

    // MARK: Checks

    private func layout(_ id: TableID) throws -> TableLayout {
        guard id.index < reference.tables.count, !reference.tables[id.index].schema.isRemoved else {
            throw ChangesetBlock.Refusal("there is no table \(id.rawValue)")
        }
        return reference.tables[id.index]
    }

    private func column(_ id: TableID, _ column: Int, _ values: ColumnDecoder) throws -> ColumnSchema {
        let layout = try layout(id)
        guard column < layout.columns.count, !layout.columns[column].isRemoved, values.matches(layout.columns[column])
        else {
            throw ChangesetBlock.Refusal("\(layout.schema.name) has no column \(column) of type \(values.type)")
        }
        return layout.columns[column]
    }

    private func check(_ id: TableID, _ key: Int64) throws {
        guard table(id).find(key) != nil else { throw noObject(id, key) }
    }

    private func noObject(_ id: TableID, _ key: Int64) -> ChangesetBlock.Refusal {
        ChangesetBlock.Refusal("\(reference.tables[id.index].schema.name) has no object \(key)")
    }

    private func noValue(_ schema: ColumnSchema) -> ChangesetBlock.Refusal {
        ChangesetBlock.Refusal("a value of \(schema.name) is no \(schema.type)")
    }

    private static func tooLong(_ byteCount: Int, _ schema: ColumnSchema) -> ChangesetBlock.Refusal {
        ChangesetBlock.Refusal("a value of \(byteCount) bytes in \(schema.name)")
    }

    /// The bytes of the next single value of a variable column; nil for a null that it may have.
    private func nextBytes(
        _ values: inout ColumnDecoder, _ schema: ColumnSchema
    ) throws -> UnsafeRawBufferPointer? {
        guard let bytes = values.nextBytes() else {
            guard schema.layout.blank == .null else {
                throw ChangesetBlock.Refusal("a null in \(schema.name), which has none")
            }
            return nil
        }
        // A mixed value may be a little longer, for its tag.
        guard bytes.count <= Limits.valueByteCount || schema.type == .mixed else {
            throw Self.tooLong(bytes.count, schema)
        }
        return bytes
    }

    private func value(_ values: inout ColumnDecoder, _ schema: ColumnSchema) throws -> Value {
        guard let value = values.nextValue() else { throw noValue(schema) }
        if value == .null, schema.type != .link, schema.collection == .none, !schema.isNullable, schema.type != .mixed {
            throw ChangesetBlock.Refusal("a null in \(schema.name), which has none")
        }
        try Self.check(value, schema)
        return value
    }

    /// Whether a value, or an element, is one that the property may have.
    private static func check(_ value: Value, _ schema: ColumnSchema) throws {
        // A changeset may hold a little more than the longest value, for a mixed one's tag. Earlier releases have used
        // that for elements, and for texts in mixed values.
        let isPlain = schema.collection == .none && schema.type != .mixed
        let most = isPlain ? Limits.valueByteCount : ChangesetFormat.blobByteCount
        switch value {
        case .string(let string): if string.utf8.count > most { throw tooLong(string.utf8.count, schema) }
        case .data(let data): if data.count > most { throw tooLong(data.count, schema) }
        case .list(let elements) where schema.collection == .list, .set(let elements) where schema.collection == .set:
            for element in elements { try checkElement(element, schema) }
        case .map(let entries) where schema.collection == .map:
            if !entries.isEmpty {
                throw ChangesetBlock.Refusal("\(schema.name) is a map with entries, which this release can't have")
            }
        default: break
        }
    }

    private func checkElements(_ elements: [Value], _ schema: ColumnSchema) throws {
        guard schema.collection != .map || elements.isEmpty else {
            throw ChangesetBlock.Refusal("\(schema.name) is a map with entries, which this release can't have")
        }
        for element in elements { try Self.checkElement(element, schema) }
    }

    private static func checkElement(_ value: Value, _ schema: ColumnSchema) throws {
        if value == .null, !schema.isNullable, schema.type != .mixed, schema.type != .link {
            throw ChangesetBlock.Refusal("a null among the elements of \(schema.name), which has none")
        }
        switch value {
        case .string, .data: try check(value, schema)
        default: break
        }
    }

    // MARK: Rows

    private func insert(_ rows: inout ChangesetBlock.Rows) throws {
        let layout = try layout(rows.table)
        // Whether the values of a column must be looked at one by one: they are, but for data and for text that is ASCII.
        var checks: [Bool] = []
        for (number, values) in rows.columns {
            let schema = try column(rows.table, number, values)
            checks.append(schema.type == .mixed || schema.type == .string && !values.isASCII)
        }
        var place = 0
        while place < rows.keys.count {
            // As many rows as come to lie in one leaf are begun first, and then filled column by column.
            let first = try begin(rows.table, rows.keys[place])
            var count = 1
            while place + count < rows.keys.count, !self.rows(rows.table).isLastLeafFull() {
                _ = try begin(rows.table, rows.keys[place + count])
                count += 1
            }
            try fill(&rows, place..<place + count, layout, first, checks)
            place += count
        }
    }

    private func begin(_ id: TableID, _ key: Int64) throws -> FreshRow {
        do throws(StoreError) { return try beginRow(id, key: key) } catch {
            throw ChangesetBlock.Refusal(error.description)
        }
    }

    /// Fills rows side by side in one leaf, which were begun and are blank, and enters them into their indexes.
    private func fill(
        _ rows: inout ChangesetBlock.Rows, _ places: Range<Int>, _ layout: TableLayout, _ fresh: FreshRow,
        _ checks: [Bool]
    ) throws {
        // Columns of fixed width first: they leave the rows where they are.
        for (number, values) in rows.columns where layout.columns[number].layout.form != .variable {
            let chunk = fresh.leaf.chunk(number)
            values.fill(
                places, into: chunk.address(fresh.row),
                nullFlags: chunk.form == .nullable ? chunk.nullFlags + fresh.row : nil)
            guard layout.columns[number].type == .link, values.mayHaveNulls else { continue }
            for place in places where values.isNull(place) {
                chunk.store(Int64(-1), fresh.row + place - places.lowerBound)
            }
        }
        for position in rows.columns.indices {
            let number = rows.columns[position].number
            let schema = layout.columns[number]
            guard schema.layout.form == .variable else { continue }
            for place in places {
                // A long value may split the leaf, so each row is found again.
                var row = try find(rows.table, rows.keys[place])
                if schema.collection != .none {
                    fill(&row, number, try value(&rows.columns[position].values, schema))
                } else if let bytes = try nextBytes(&rows.columns[position].values, schema) {
                    if checks[position] {
                        guard schema.type == .mixed ? MixedCoding.decode(bytes) != nil : bytes.isUTF8 else {
                            throw noValue(schema)
                        }
                    }
                    fill(&row, number, bytes: bytes)
                } else {
                    fillNull(row, number)
                }
            }
        }
        guard !layout.indexed.isEmpty || !layout.links.isEmpty else { return }
        for place in places { enterIndexes(try find(rows.table, rows.keys[place])) }
    }

    /// A row that this transaction began.
    private func find(_ id: TableID, _ key: Int64) throws -> FreshRow {
        guard let place = rows(id).own(key) else { throw ChangesetBlock.Refusal("object \(key) was lost") }
        return FreshRow(table: id, key: key, leaf: place.leaf, row: place.row)
    }

    /// Sets columns of rows that exist.
    private func setColumns(_ rows: inout ChangesetBlock.Rows) throws {
        for position in rows.columns.indices {
            let number = rows.columns[position].number
            let schema = try column(rows.table, number, rows.columns[position].values)
            for place in 0..<rows.keys.count {
                try check(rows.table, rows.keys[place])
                set(rows.table, number, rows.keys[place], try value(&rows.columns[position].values, schema))
            }
        }
    }

    private func deleteAlone(_ id: TableID, _ key: Int64) throws {
        _ = try layout(id)
        try check(id, key)
        removeRow(id, key) { _, _ in }
    }

    // MARK: Cells

    private func update(_ cells: inout ChangesetBlock.Cells) throws {
        let schema = try column(cells.table, cells.column, cells.new)
        let isIndexed = reference.tables[cells.table.index].indexed.contains(cells.column)
        if schema.type == .int, schema.collection == .none, !schema.isNullable, !cells.new.mayHaveNulls, !isIndexed {
            return try updateIntegers(&cells)
        }
        let areBytes = schema.collection == .none && (schema.type == .string || schema.type == .data)
        if areBytes, !isIndexed, try updateBytes(&cells, schema) { return }
        for place in 0..<cells.keys.count {
            let key = cells.keys[place]
            try check(cells.table, key)
            if areBytes {
                try setBytes(cells.table, cells.column, key, &cells.new, schema)
            } else {
                set(cells.table, cells.column, key, try value(&cells.new, schema))
            }
        }
    }

    /// Sets integers that no index knows of: a step to the row, and a store.
    private func updateIntegers(_ cells: inout ChangesetBlock.Cells) throws {
        let rows = rows(cells.table)
        for index in 0..<cells.keys.count {
            guard let place = rows.own(cells.keys[index]) else { throw noObject(cells.table, cells.keys[index]) }
            let chunk = rows.ownChunk(place.leaf, cells.column)
            chunk.mark(place.row)
            chunk.store(cells.new.nextInt(), place.row)
        }
    }

    /// Sets text or data that no index knows of: most of what a long replay does. False, and nothing is done, where there are nulls or blobs among it.
    ///
    /// No reference is counted on the way: an atomic operation waits for all stores before it, and these go to memory that no cache holds (a third of the time it took).
    private func updateBytes(_ cells: inout ChangesetBlock.Cells, _ schema: ColumnSchema) throws -> Bool {
        let first = cells.new.position
        guard let bytes = cells.new.nextBytes(ofRows: cells.keys.count) else { return false }
        let isPlain = schema.type == .data || bytes.isASCII
        let rows = rows(cells.table)
        let (keys, lengths, column) = (cells.keys, cells.new.integers, cells.column)
        var offset = 0
        for index in 0..<keys.count {
            let value = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(lengths[first + index])])
            offset += value.count
            guard value.count <= Limits.valueByteCount else { throw Self.tooLong(value.count, schema) }
            guard isPlain || value.isUTF8 else { throw noValue(schema) }
            guard var (leaf, row) = rows.own(keys[index]) else { throw noObject(cells.table, keys[index]) }
            let isFresh = isFresh(cells.table, column, leaf, row)
            (leaf, row) = rows.putBytes(value, column, leaf, row, isFresh: isFresh)
            // As in `changeVariable`.
            if writer.owns(leaf.chunkNode(column)) { leaf.chunk(column).mark(row) }
        }
        return true
    }

    /// Sets a cell of text or data from the changeset's bytes, without making a value of them.
    private func setBytes(
        _ id: TableID, _ column: Int, _ key: Int64, _ values: inout ColumnDecoder, _ schema: ColumnSchema
    ) throws {
        guard let bytes = try nextBytes(&values, schema) else { return setNull(id, column, key) }
        guard schema.type == .data || bytes.isUTF8 else { throw noValue(schema) }
        set(id, column, key, bytes: bytes)
    }

    private func apply(_ script: inout ChangesetBlock.Script) throws {
        let schema = try column(script.table, script.column, script.new)
        try check(script.table, script.key)
        guard let elements = script.new.nextElements(script.new.nextCount()) else {
            throw ChangesetBlock.Refusal("an element of a script makes no sense")
        }
        try checkElements(elements, schema)
        var rest = elements[...]
        try edit(script.table, script.column, script.key) { change in
            for operation in script.operations { try Self.apply(operation, &rest, &change) }
        }
    }

    private static func apply(
        _ operation: ChangesetBlock.Operation, _ elements: inout ArraySlice<Value>, _ change: inout ListChange
    ) throws {
        func check(_ isRight: Bool) throws {
            guard isRight else {
                throw ChangesetBlock.Refusal("an edit of a list does not fit its \(change.count) elements")
            }
        }
        switch operation {
        case .insert(let index, count: let count):
            try check(index <= change.count && count <= elements.count)
            for offset in 0..<count { change.insert(elements.removeFirst(), at: index + offset) }
        case .remove(let index, count: let count):
            try check(index + count <= change.count)
            for _ in 0..<count { change.remove(at: index) }
        case .set(let index, count: let count):
            try check(index + count <= change.count && count <= elements.count)
            for offset in 0..<count { change.set(elements.removeFirst(), at: index + offset) }
        case .move(let from, let to):
            try check(from < change.count && to < change.count)
            change.move(from: from, to: to)
        }
    }

    private func append(_ elements: inout ChangesetBlock.Elements) throws {
        guard elements.place == .inserted || elements.place == .updated else {
            throw ChangesetBlock.Refusal("old elements were handed to recovery")
        }
        let schema = try column(elements.table, elements.column, elements.values)
        try check(elements.table, elements.key)
        guard let values = elements.values.nextElements(elements.values.nextCount()) else {
            throw ChangesetBlock.Refusal("an element makes no sense")
        }
        try checkElements(values, schema)
        edit(elements.table, elements.column, elements.key) { change in
            for value in values { change.append(value) }
        }
    }
}
