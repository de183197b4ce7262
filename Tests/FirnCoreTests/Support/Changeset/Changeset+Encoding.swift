import FirnBytes

@testable import FirnCore

extension Changeset {
    /// The encoded form, in parts. `schema` is the one that holds from this version on; it defines the columns.
    func encoded(schema: StoreSchema) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        withoutActuallyEscaping({ (part: consuming ByteWriter, _: Bool) -> ByteWriter in
            parts.append(part.array())
            return part
        }) { sink in
            var encoder = ChangesetEncoder(sink: sink)
            encode(into: &encoder, schema: schema)
            encoder.flush()
        }
        return parts
    }

    /// Writes the changeset as blocks.
    func encode(into encoder: inout ChangesetEncoder, schema: StoreSchema) {
        if let changed = self.schema { encoder.schema(changed) }
        for (id, changes) in tables.sorted(by: { $0.key < $1.key }) {
            let table = schema[id]
            encoder.beginTable(id, table)
            encoder.rows(.insert, changes.inserted)
            encoder.rows(.deleteOld, changes.deleted)
            for column in encoder.columns {
                if let cells = changes.updated[column.number] { encoder.updates(column, cells) }
                for (key, script) in (changes.scripts[column.number] ?? [:]).sorted(by: { $0.key < $1.key }) {
                    encoder.script(column: column.number, key: key, script)
                }
            }
            if let key = changes.nextKey { encoder.nextKey(key) }
        }
    }
}

extension ChangesetEncoder {
    /// The most elements of a collection that are stored in its row's block. A longer collection is stored there as
    /// empty, and its elements follow in blocks of their own.
    private static let elementCount = 1024

    /// Whether a value's encoding is too long for its row's block.
    private static func isDeferred(_ value: Value) -> Bool {
        guard let elements = value.scriptElements else { return false }
        return elements.count > elementCount
            || elements.reduce(0) { $0 + $1.roughByteCount } > ChangesetFormat.cellByteCount
    }

    private static func emptied(_ value: Value) -> Value {
        switch value {
        case .list: .list([])
        case .set: .set([])
        case .map: .map([])
        default: value
        }
    }

    fileprivate mutating func rows(_ kind: BlockKind, _ rows: [Int64: [Int: Value]]) {
        let keys = rows.keys.sorted()
        var start = 0
        while start < keys.count {
            // A run of rows that have the same columns, as many as fit.
            let present = columns.filter { rows[keys[start]]?[$0.number] != nil }
            var end = start + 1
            while end < keys.count, end - start < 1024,
                columns.allSatisfy({ column in
                    (rows[keys[end]]?[column.number] != nil) == present.contains { $0.number == column.number }
                })
            { end += 1 }
            rowBlocks(kind, keys: keys[start..<end], present: present, rows: rows)
            start = end
        }
    }

    private mutating func rowBlocks(
        _ kind: BlockKind, keys: ArraySlice<Int64>, present: [NumberedColumn], rows: [Int64: [Int: Value]]
    ) {
        let isOld = kind == .deleteOld
        var size = RowsSize(bytes: 256 + 2 * IntRun.bound(keys.count), cells: 2 * keys.count, blobs: 0)
        var staged: [StagedColumn] = []
        var later: [(NumberedColumn, Int64, Value)] = []
        for (index, column) in present.enumerated() {
            // Slot 0 is for elements.
            let stage = stage(
                index + 1, type: column.type, collection: column.collection, isNullable: column.isNullable)
            for key in keys {
                guard let value = rows[key]?[column.number] else {
                    preconditionFailure("Firn: row \(key) lacks a value")
                }
                let isLong = column.collection != .none && ChangesetEncoder.isDeferred(value)
                stage.add(isLong ? ChangesetEncoder.emptied(value) : value)
                if isLong { later.append((column, key, value)) }
            }
            size.bytes += 8 + stage.byteBound
            size.cells += stage.cellCount
            size.blobs += stage.longByteCount
            staged.append(stage)
        }
        guard size.fits || keys.count == 1 && present.count <= 1 else {
            if keys.count > 1 {
                let middle = keys.startIndex + keys.count / 2
                rowBlocks(kind, keys: keys[..<middle], present: present, rows: rows)
                rowBlocks(kind, keys: keys[middle...], present: present, rows: rows)
            } else {
                let half = present.count / 2
                rowBlocks(kind, keys: keys, present: Array(present[..<half]), rows: rows)
                rowBlocks(
                    kind == .insert ? .insertMore : kind, keys: keys, present: Array(present[half...]), rows: rows)
            }
            return
        }
        for stage in staged { sendBlobs(of: stage, old: isOld) }
        reserve(size.bytes, cells: size.cells)
        let count = keys.count
        let scratch = integers(count + 2 * staged.reduce(count) { max($0, $1.valueCount) })
        for (index, key) in keys.enumerated() { scratch[index] = key }
        let table = table
        block(kind, old: isOld, bound: size.bytes) { cursor in
            cursor.varint(table.index)
            cursor.varint(count)
            IntRun.encode(scratch, count: count, into: &cursor)
            cursor.varint(present.count)
            for (column, stage) in zip(present, staged) {
                cursor.varint(column.number)
                ColumnCoding.encode(stage, scratch: scratch + count, into: &cursor)
            }
        }
        for (column, key, value) in later {
            elements(column, key: key, owner: isOld ? .deleted : .inserted, value: value)
        }
        guard isOld else { return }
        reserve(128 + IntRun.bound(count), cells: count)
        let keyIntegers = integers(count)
        for (index, key) in keys.enumerated() { keyIntegers[index] = key }
        block(.delete, bound: 64 + IntRun.bound(count)) { cursor in
            cursor.varint(table.index)
            cursor.varint(count)
            IntRun.encode(keyIntegers, count: count, into: &cursor)
        }
    }

    private mutating func elements(_ column: NumberedColumn, key: Int64, owner: ElementsOwner, value: Value) {
        var rest = (value.scriptElements ?? [])[...]
        while !rest.isEmpty {
            let stage = stage(0, type: column.type, collection: column.collection, isNullable: column.isNullable)
            var taken = 0
            while let element = rest.first,
                stage.valueCount == 0 || taken + element.roughByteCount < ChangesetFormat.cellByteCount
            {
                stage.addElement(element)
                taken += element.roughByteCount
                rest = rest.dropFirst()
            }
            stage.endCollection(since: 0)
            elementsBlock(column.number, key: key, owner: owner, stage: stage)
        }
    }

    fileprivate mutating func updates(_ column: NumberedColumn, _ cells: [Int64: CellChange]) {
        updates(column, cells.sorted { $0.key < $1.key }[...])
    }

    private mutating func updates(_ column: NumberedColumn, _ cells: ArraySlice<(key: Int64, value: CellChange)>) {
        guard !cells.isEmpty else { return }
        let count = cells.count
        let (new, old) = (
            stage(1, type: column.type, collection: column.collection, isNullable: column.isNullable),
            stage(2, type: column.type, collection: column.collection, isNullable: column.isNullable)
        )
        var unchanged = [UInt8](repeating: 0, count: count)
        var unchangedCount = 0
        var later: [(Int64, ElementsOwner, Value)] = []
        func add(_ value: Value, _ key: Int64, _ owner: ElementsOwner, _ stage: StagedColumn) {
            let isLong = column.collection != .none && ChangesetEncoder.isDeferred(value)
            stage.add(isLong ? ChangesetEncoder.emptied(value) : value)
            if isLong { later.append((key, owner, value)) }
        }
        for (index, cell) in cells.enumerated() {
            add(cell.value.new, cell.key, .updated, new)
            if cell.value.isUnchanged {
                unchanged[index] = 1
                unchangedCount += 1
            } else {
                add(cell.value.old, cell.key, .updatedOld, old)
            }
        }
        let newBound = 128 + IntRun.bound(count) + count + new.byteBound
        let oldBound = 128 + old.byteBound
        let size = RowsSize(
            bytes: newBound + oldBound, cells: count + new.cellCount + old.cellCount,
            blobs: max(new.longByteCount, old.longByteCount))
        guard count == 1 || size.fits && count <= ChangesetFormat.updateCellCount else {
            let middle = cells.startIndex + count / 2
            updates(column, cells[..<middle])
            updates(column, cells[middle...])
            return
        }
        sendBlobs(of: new, old: false)
        sendBlobs(of: old, old: true)
        reserve(size.bytes, cells: size.cells)
        let scratch = integers(2 * count + 2 * max(new.valueCount, old.valueCount, new.rowCount))
        for (index, cell) in cells.enumerated() { scratch[index] = cell.key }
        unchanged.withUnsafeBufferPointer { unchanged in
            updateBlock(
                column, keys: scratch, count: count, unchanged: unchanged.baseAddress.unsafelyUnwrapped,
                unchangedCount: unchangedCount, new: new, newBound: newBound, old: old,
                oldBound: oldBound)
        }
        for (key, owner, value) in later { elements(column, key: key, owner: owner, value: value) }
    }
}

extension Value {
    /// An upper estimate of the number of bytes that the value takes when encoded.
    fileprivate var roughByteCount: Int {
        switch self {
        case .string(let string): string.utf8.count + 16
        case .data(let data): data.count + 16
        case .list(let elements), .set(let elements): elements.reduce(16) { $0 + $1.roughByteCount }
        case .map(let entries): entries.reduce(16) { $0 + $1.key.utf8.count + 16 + $1.value.roughByteCount }
        default: 24
        }
    }
}
