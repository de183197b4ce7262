import FirnBytes
import FirnLog

/// Applies changesets, for recovery, for past versions and for following another process.
///
/// No rule is run again, because the changeset contains the effects of cascades. The objects have the keys that the
/// changeset states. Indexes and backlinks are derived.
///
/// The bytes have passed their checksums, yet nothing in them is trusted. Anything that contradicts the store (a row
/// that does not exist, a column of another type) throws, and the transaction is cancelled.
extension WriteTransaction {
    func apply(_ block: inout ChangesetBlock) throws {
        isReplay = true
        switch block {
        case .schema(let schema): try changeSchema(to: schema)
        case .insert(var rows): try insert(&rows)
        case .insertMore(var rows): try setColumns(&rows)
        case .delete(let table, let keys):
            for index in 0..<keys.count { try deleteAlone(table, keys[index]) }
        case .update(var cells): try update(&cells)
        case .script(var script): try apply(&script)
        case .elements(var elements): try append(&elements)
        case .nextKey(let table, let key):
            _ = try layout(table)
            guard key <= ChangesetFormat.keyLimit else { throw Damage("the next key is \(key)") }
            let node = ownTable(table)
            node.nextKey = max(node.nextKey, key)
        case .deleteOld: throw Damage("old values were handed to recovery")
        }
    }

    // MARK: Checks

    private func layout(_ id: TableID) throws -> TableLayout {
        guard id.index < resolvedSchema.tables.count, !resolvedSchema.tables[id.index].schema.isRemoved else {
            throw Damage("there is no table \(id.rawValue)")
        }
        return resolvedSchema.tables[id.index]
    }

    private func column(_ id: TableID, column: Int, values: ColumnDecoder) throws -> ColumnSchema {
        let layout = try layout(id)
        guard column < layout.columns.count, !layout.columns[column].isRemoved, values.matches(layout.columns[column])
        else {
            throw Damage("\(layout.schema.name) has no column \(column) of type \(values.type)")
        }
        return layout.columns[column]
    }

    private func check(_ id: TableID, _ key: Int64) throws {
        guard table(id).find(key) != nil else { throw noObject(id, key) }
    }

    private func noObject(_ id: TableID, _ key: Int64) -> Damage {
        Damage("\(resolvedSchema.tables[id.index].schema.name) has no object \(key)")
    }

    private func noValue(_ schema: ColumnSchema) -> Damage {
        Damage("a value of \(schema.name) is not of type \(schema.type)")
    }

    private static func tooLong(_ byteCount: Int, _ schema: ColumnSchema) -> Damage {
        Damage("\(schema.name) has a value of \(byteCount) bytes, which is too long")
    }

    /// Returns the bytes of the next single value of a variable column; nil for a null, if the column may have nulls.
    private func nextBytes(
        _ values: inout ColumnDecoder, _ schema: ColumnSchema
    ) throws -> UnsafeRawBufferPointer? {
        guard let bytes = values.nextBytes() else {
            guard schema.layout.blank == .null else {
                throw Damage("a null in \(schema.name), which has none")
            }
            return nil
        }
        // A mixed value may be a little longer, because of its tag.
        guard bytes.count <= Limits.valueByteCount || schema.type == .mixed else {
            throw Self.tooLong(bytes.count, schema)
        }
        return bytes
    }

    private func value(_ values: inout ColumnDecoder, _ schema: ColumnSchema) throws -> Value {
        guard let value = values.nextValue() else { throw noValue(schema) }
        if value == .null, schema.type != .link, schema.collection == .none, !schema.isNullable, schema.type != .mixed {
            throw Damage("a null in \(schema.name), which has none")
        }
        try Self.check(value, schema)
        return value
    }

    /// Throws if the property may not have the value or element.
    private static func check(_ value: Value, _ schema: ColumnSchema) throws {
        // A changeset's values may be a little longer than the longest plain value, because of a mixed value's tag.
        // Earlier releases used that space for elements, and for texts in mixed values.
        let isPlain = schema.collection == .none && schema.type != .mixed
        let most = isPlain ? Limits.valueByteCount : ChangesetFormat.blobByteCount
        switch value {
        case .string(let string): if string.utf8.count > most { throw tooLong(string.utf8.count, schema) }
        case .data(let data): if data.count > most { throw tooLong(data.count, schema) }
        case .list(let elements) where schema.collection == .list:
            for element in elements { try checkElement(element, schema) }
        case .set(let elements) where schema.collection == .set:
            for element in elements { try checkElement(element, schema) }
            try checkAscending(elements, schema)
        case .map(let entries) where schema.collection == .map:
            for entry in entries { try checkEntry(entry, schema) }
            try checkAscending(value.elements, schema)
        default: break
        }
    }

    private static func checkAscending(_ elements: [Value], _ schema: ColumnSchema) throws {
        for (element, next) in zip(elements, elements.dropFirst())
        where Value.order(ofElements: element, next) >= 0 {
            throw Damage("the elements of \(schema.name) do not ascend")
        }
    }

    private func checkElements(_ elements: [Value], _ schema: ColumnSchema) throws {
        for element in elements {
            if schema.collection == .map {
                try Self.checkEntry(element.onlyEntry, schema)
            } else {
                try Self.checkElement(element, schema)
            }
        }
    }

    private static func checkEntry(_ entry: Value.MapEntry, _ schema: ColumnSchema) throws {
        if entry.key.utf8.count > Limits.valueByteCount { throw tooLong(entry.key.utf8.count, schema) }
        try checkElement(entry.value, schema)
    }

    private static func checkElement(_ value: Value, _ schema: ColumnSchema) throws {
        if value == .null, !schema.isNullable, schema.type != .mixed, schema.type != .link {
            throw Damage("a null among the elements of \(schema.name), which has none")
        }
        switch value {
        case .string, .data: try check(value, schema)
        default: break
        }
    }

    // MARK: Rows

    private func insert(_ rows: inout ChangesetBlock.Rows) throws {
        let layout = try layout(rows.table)
        // Whether the values of a column must be checked one by one: mixed values, and text that is not ASCII.
        var checks: [Bool] = []
        for (number, values) in rows.columns {
            let schema = try column(rows.table, column: number, values: values)
            checks.append(schema.type == .mixed || schema.type == .string && !values.isASCII)
        }
        var start = 0
        while start < rows.keys.count {
            // All rows that fit in one leaf are begun first, and then filled column by column.
            let first = try begin(rows.table, rows.keys[start])
            var count = 1
            while start + count < rows.keys.count, !self.rows(rows.table).isLastLeafFull() {
                _ = try begin(rows.table, rows.keys[start + count])
                count += 1
            }
            try fill(&rows, indexes: start..<start + count, layout: layout, fresh: first, checks: checks)
            start += count
        }
    }

    private func begin(_ id: TableID, _ key: Int64) throws -> FreshRow {
        do throws(StoreError) { return try beginRow(id, key: key) } catch {
            throw Damage(error.description)
        }
    }

    /// Fills adjacent blank rows of one leaf, which `begin` has made, and enters them into their indexes.
    private func fill(
        _ rows: inout ChangesetBlock.Rows, indexes: Range<Int>, layout: TableLayout, fresh: FreshRow,
        checks: [Bool]
    ) throws {
        // Columns of fixed width come first, because filling them does not move the rows.
        for (number, values) in rows.columns where layout.columns[number].layout.form != .variable {
            let chunk = fresh.leaf.chunk(number)
            values.fill(
                indexes, into: chunk.address(fresh.row),
                nullFlags: chunk.form == .nullable ? chunk.nullFlags + fresh.row : nil)
            guard layout.columns[number].type == .link, values.mayHaveNulls else { continue }
            for index in indexes where values.isNull(index) {
                chunk.store(Int64(-1), fresh.row + index - indexes.lowerBound)
            }
        }
        for position in rows.columns.indices {
            let number = rows.columns[position].number
            let schema = layout.columns[number]
            guard schema.layout.form == .variable else { continue }
            for index in indexes {
                // A long value may split the leaf, so each row is found again.
                var row = try find(rows.table, rows.keys[index])
                if schema.collection != .none {
                    fill(&row, column: number, value: try value(&rows.columns[position].values, schema))
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
        guard layout.hasEntries else { return }
        for index in indexes { enterIndexes(try find(rows.table, rows.keys[index])) }
    }

    /// Finds a row that this transaction began.
    private func find(_ id: TableID, _ key: Int64) throws -> FreshRow {
        guard let location = rows(id).own(key) else { throw Damage("object \(key) was lost") }
        return FreshRow(table: id, key: key, leaf: location.leaf, row: location.row)
    }

    /// Sets columns of rows that exist.
    private func setColumns(_ rows: inout ChangesetBlock.Rows) throws {
        for position in rows.columns.indices {
            let number = rows.columns[position].number
            let schema = try column(rows.table, column: number, values: rows.columns[position].values)
            for index in 0..<rows.keys.count {
                try check(rows.table, rows.keys[index])
                set(
                    rows.table, column: number, key: rows.keys[index],
                    to: try value(&rows.columns[position].values, schema))
            }
        }
    }

    private func deleteAlone(_ id: TableID, _ key: Int64) throws {
        _ = try layout(id)
        try check(id, key)
        removeRow(id, key: key) { _, _ in }
    }

    // MARK: Cells

    private func update(_ cells: inout ChangesetBlock.Cells) throws {
        let schema = try column(cells.table, column: cells.column, values: cells.new)
        let isIndexed = resolvedSchema.tables[cells.table.index].indexed.contains(cells.column)
        if schema.type == .int, schema.collection == .none, !schema.isNullable, !cells.new.mayHaveNulls, !isIndexed {
            return try updateIntegers(&cells)
        }
        let areBytes = schema.collection == .none && (schema.type == .string || schema.type == .data)
        if areBytes, !isIndexed, try updateBytes(&cells, schema) { return }
        for index in 0..<cells.keys.count {
            let key = cells.keys[index]
            try check(cells.table, key)
            if areBytes {
                try setBytes(cells.table, column: cells.column, key: key, values: &cells.new, schema: schema)
            } else {
                set(cells.table, column: cells.column, key: key, to: try value(&cells.new, schema))
            }
        }
    }

    /// Sets integers of a column that has no index. Each costs a search for the row, and a store.
    private func updateIntegers(_ cells: inout ChangesetBlock.Cells) throws {
        let rows = rows(cells.table)
        for index in 0..<cells.keys.count {
            guard let location = rows.own(cells.keys[index]) else { throw noObject(cells.table, cells.keys[index]) }
            let chunk = rows.ownChunk(location.leaf, cells.column)
            chunk.mark(location.row)
            chunk.store(cells.new.nextInt(), location.row)
        }
    }

    /// Sets text or data of a column that has no index: most of the work of a long replay. Returns false, and does
    /// nothing, if there are nulls or blobs among the values.
    ///
    /// The loop changes no reference counts. An atomic operation waits for all earlier stores, and the stores of this
    /// loop miss the cache. That wait took a third of the time.
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
            let isFresh = isFresh(cells.table, column: column, leaf: leaf, row: row)
            (leaf, row) = rows.putBytes(value, column: column, leaf: leaf, row: row, isFresh: isFresh)
            // A fresh row may be written into chunks that older versions share. It needs no mark.
            if writer.owns(leaf.chunkNode(column)) { leaf.chunk(column).mark(row) }
        }
        return true
    }

    /// Sets a cell of text or data from the changeset's bytes, without making a `Value` of them.
    private func setBytes(
        _ id: TableID, column: Int, key: Int64, values: inout ColumnDecoder, schema: ColumnSchema
    ) throws {
        guard let bytes = try nextBytes(&values, schema) else { return setNull(id, column: column, key: key) }
        guard schema.type == .data || bytes.isUTF8 else { throw noValue(schema) }
        set(id, column: column, key: key, bytes: bytes)
    }

    private func apply(_ script: inout ChangesetBlock.Script) throws {
        let schema = try column(script.table, column: script.column, values: script.new)
        try check(script.table, script.key)
        guard let elements = script.new.nextElements(script.new.nextCount()) else {
            throw Damage("an element of a script makes no sense")
        }
        try checkElements(elements, schema)
        var rest = elements[...]
        try edit(script.table, column: script.column, key: script.key) { change in
            for operation in script.operations { try Self.apply(operation, elements: &rest, change: &change) }
        }
    }

    private static func apply(
        _ operation: ChangesetBlock.Operation, elements: inout ArraySlice<Value>, change: inout ListChange
    ) throws {
        func check(_ isRight: Bool) throws {
            guard isRight else {
                throw Damage("an edit of a collection does not fit its \(change.count) elements")
            }
        }
        switch operation {
        case .insert(let index, count: let count):
            try check(index <= change.count && count <= elements.count)
            for offset in 0..<count {
                let element = elements.removeFirst()
                try checkOrder(element, at: index + offset, in: change)
                change.insert(element, at: index + offset)
            }
        case .remove(let index, count: let count):
            try check(index + count <= change.count)
            for _ in 0..<count { change.remove(at: index) }
        case .set(let index, count: let count):
            try check(index + count <= change.count && count <= elements.count)
            for offset in 0..<count {
                let element = elements.removeFirst()
                try checkOrder(element, at: index + offset, replacing: true, in: change)
                change.set(element, at: index + offset)
            }
        case .move(let from, let to):
            try check(from < change.count && to < change.count && change.elements.layout.collection == .list)
            change.move(from: from, to: to)
        }
    }

    /// Throws if an element would break the order of a set or map.
    private static func checkOrder(
        _ element: Value, at index: Int, replacing: Bool = false, in change: ListChange
    ) throws {
        guard change.elements.keepsOrder(element, at: index, replacing: replacing) else {
            throw Damage("an edit of a set or map breaks the order of its elements")
        }
    }

    private func append(_ elements: inout ChangesetBlock.Elements) throws {
        guard elements.owner == .inserted || elements.owner == .updated else {
            throw Damage("old elements were handed to recovery")
        }
        let schema = try column(elements.table, column: elements.column, values: elements.values)
        try check(elements.table, elements.key)
        guard let values = elements.values.nextElements(elements.values.nextCount()) else {
            throw Damage("an element makes no sense")
        }
        try checkElements(values, schema)
        try edit(elements.table, column: elements.column, key: elements.key) { change in
            for value in values {
                try Self.checkOrder(value, at: change.count, in: change)
                change.append(value)
            }
        }
    }
}
