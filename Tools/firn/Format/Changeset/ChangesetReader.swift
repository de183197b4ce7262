import FirnBytes

/// Reads one commit's changeset, part by part, block by block, and checks each.
///
/// Memory: the blobs before one block, at most 64 MiB.
struct ChangesetReader {
    private let blobs = BlobStore()
    /// The schema in force, which a schema block changes; nil if it is not known.
    private(set) var schema: DecodedSchema?
    /// Whether the part that is being read has old values. A part that was written on a full disk has none.
    private var hasOldValues = true

    init(schema: DecodedSchema?) { self.schema = schema }

    /// A block's kind, flags and body, as they lie in the part.
    private struct Raw {
        let kind: UInt8
        let isOld: Bool
        let maySkip: Bool
        let body: UnsafeRawBufferPointer
        /// The body's offset in the part.
        let offset: Int
    }

    /// Goes on with the schema of a schema frame.
    mutating func adopt(_ schema: DecodedSchema) { self.schema = schema }

    /// Reads a part's blocks. The block passed to `visit` is valid during the call.
    ///
    /// - Parameter skip: called with what is wrong with a block, which is then passed over. If it is nil, the damage is
    ///   thrown.
    mutating func read(
        part: UnsafeRawBufferPointer, skip: ((Damage) -> Void)? = nil, _ visit: (ChangeBlock) throws -> Void
    ) throws {
        guard part.count <= FormatNumbers.partByteCount else {
            throw Damage("the part has \(part.count) bytes", at: 0)
        }
        hasOldValues = true
        var reader = ByteReader(part)
        var context = CellRun.Context(blobs: blobs, isOld: false, cellsLeft: FormatNumbers.partCellCount)
        var next = try raw(&reader)
        while let block = next {
            next = try raw(&reader)
            do {
                let taken = try read(block, followedBy: next, context: &context, visit)
                if taken { next = try raw(&reader) }
            } catch let error as Damage {
                guard let skip else { throw error }
                skip(error)
                blobs.giveUp()
            }
        }
    }

    /// Goes on with a part although the part before it is missing. Forgets the blobs, which may be incomplete.
    func goOn() { blobs.giveUp() }

    /// Ends the commit. Throws if blobs are left over.
    func finish() throws(Damage) {
        if !blobs.isEmpty {
            throw Damage("the changeset ends with blobs that belong to no block", at: 0)
        }
    }

    private func raw(_ reader: inout ByteReader) throws(Damage) -> Raw? {
        if reader.isAtEnd { return nil }
        let start = reader.offset
        let kind = try reader.readUInt8()
        let flags = try reader.readUInt8()
        guard flags & ~3 == 0 else { throw Damage("a block has unknown flags (\(flags))", at: start) }
        let count = try reader.readUInt32()
        return Raw(
            kind: kind, isOld: flags & 1 != 0, maySkip: flags & 2 != 0, body: try reader.readBytes(Int(count)),
            offset: start + 6)
    }

    /// Reads one block. Returns true if it has also read the next block, which has the old values for this one.
    private mutating func read(
        _ raw: Raw, followedBy next: Raw?, context: inout CellRun.Context, _ visit: (ChangeBlock) throws -> Void
    ) throws -> Bool {
        try Self.within(raw) { () throws(Damage) in try checkOld(raw) }
        switch raw.kind {
        case 2:
            try Self.within(raw) { () throws(Damage) in try addBlob(raw) }
            return false
        case 13:
            hasOldValues = false
            return false
        default: break
        }
        var block = try Self.within(raw) { () throws(Damage) in try self.block(raw, &context) }
        var takesNext = false
        if let next, next.kind == 8 || next.kind == 10 {
            takesNext = try Self.within(next) { () throws(Damage) in
                try checkOld(next)
                return try addOld(to: &block, next, &context)
            }
        }
        try Self.within(raw) { () throws(Damage) in
            try checkComplete(block)
            try check(block)
        }
        try visit(block)
        try Self.within(raw) { () throws(Damage) in try blobs.forget() }
        return takesNext
    }

    /// Turns the offset of an error in a block's body into an offset in the part.
    private static func within<T>(_ raw: Raw, _ body: () throws(Damage) -> T) throws(Damage) -> T {
        do {
            return try body()
        } catch {
            throw error.moved(by: raw.offset)
        }
    }

    /// Reads a block without the old values that may follow it.
    private mutating func block(_ raw: Raw, _ context: inout CellRun.Context) throws(Damage) -> ChangeBlock {
        var reader = ByteReader(raw.body)
        context.isOld = raw.isOld
        let block = try content(raw, reader: &reader, context: &context)
        if case .unknown = block { return block }
        try reader.expectEnd()
        guard raw.isOld == Self.mustBeOld(block) else {
            throw Damage("a block of kind \(raw.kind) is wrongly flagged as old, or not as old", at: 0)
        }
        return block
    }

    /// Checks that a part with old values does not say that it has none, and that the block that says so comes first.
    private func checkOld(_ raw: Raw) throws(Damage) {
        if raw.kind == 13 {
            // A part's first block has its body at offset 6, since a block's header has six bytes.
            guard raw.offset == 6, raw.body.isEmpty, !raw.isOld else {
                throw Damage("a block that says that a part has no old values is not alone before all others", at: 0)
            }
        } else if raw.isOld, !hasOldValues {
            throw Damage("a part has old values, and says that it has none", at: 0)
        }
    }

    private static func mustBeOld(_ block: ChangeBlock) -> Bool {
        switch block {
        case .deleteOld: true
        case .elements(let more): more.owner.isOld
        default: false
        }
    }

    private func addBlob(_ raw: Raw) throws(Damage) {
        var reader = ByteReader(raw.body)
        let id = try reader.readVarint()
        let offset = try reader.readVarint()
        try blobs.add(id, offset: offset, isOld: raw.isOld, try reader.readBytes(reader.remaining))
    }

    private mutating func content(
        _ raw: Raw, reader: inout ByteReader, context: inout CellRun.Context
    ) throws(Damage) -> ChangeBlock {
        switch raw.kind {
        case 1: return .schema(try readSchema(&reader))
        case 3: return .insert(try RowRun(&reader, &context))
        case 4: return .insertMore(try RowRun(&reader, &context))
        case 5:
            let table = try reader.readCount(limit: FormatNumbers.tableCount - 1)
            return .delete(
                DeleteRun(table: table, keys: try KeyRun(&reader, &context), hasOldValues: hasOldValues))
        case 6: return .deleteOld(try RowRun(&reader, &context))
        case 7: return .update(try UpdateRun(&reader, &context))
        case 9: return .script(try EditScript(&reader, &context))
        case 8, 10: throw Damage("old values do not follow a block that they belong to", at: 0)
        case 11:
            let (table, column, key) = try EditScript.location(&reader)
            guard let owner = MoreElements.Owner(rawValue: try reader.readUInt8()) else {
                throw Damage("elements continue an unknown kind of collection", at: reader.offset - 1)
            }
            let values = try CellRun(&reader, count: 1, &context)
            guard values.collection != .none else {
                throw Damage("elements do not belong to a collection", at: reader.offset)
            }
            return .elements(MoreElements(table: table, column: column, key: key, owner: owner, values: values))
        case 12:
            let table = try reader.readCount(limit: FormatNumbers.tableCount - 1)
            return .nextKey(table: table, Int64(try reader.readCount(limit: Int(FormatNumbers.keyLimit))))
        default:
            guard raw.maySkip else {
                throw Damage("a block is of kind \(raw.kind), which only a later release knows", at: 0)
            }
            return .unknown(kind: raw.kind, byteCount: raw.body.count)
        }
    }

    private mutating func readSchema(_ reader: inout ByteReader) throws(Damage) -> DecodedSchema {
        let start = reader.offset
        let form = try reader.readUInt8()
        let bytes: UnsafeRawBufferPointer
        switch form {
        case 0: bytes = try reader.readBytes(reader.remaining)
        case 1:
            let id = try reader.readVarint()
            bytes = try blobs.use(id, count: try reader.readVarint(), isOld: false, at: start)
        default: throw Damage("a schema has the form \(form)", at: start)
        }
        let read = try DecodedSchema.read(bytes)
        schema = read
        return read
    }

    /// Adds the old values in `raw`, the block behind `block`, to `block`. Returns false if they do not belong there.
    private func addOld(
        to block: inout ChangeBlock, _ raw: Raw, _ context: inout CellRun.Context
    ) throws(Damage) -> Bool {
        guard raw.isOld else { throw Damage("a block of old values is not flagged so", at: 0) }
        context.isOld = true
        var reader = ByteReader(raw.body)
        switch block {
        case .update(var update) where raw.kind == 8:
            let table = try reader.readCount(limit: FormatNumbers.tableCount - 1)
            let column = try reader.readCount(limit: FormatNumbers.columnCount - 1)
            let values = try CellRun(&reader, count: update.oldCount, &context)
            guard table == update.table, column == update.column, values.type == update.values.type,
                values.collection == update.values.collection
            else { throw Damage("old values are not those of the update before them", at: 0) }
            update.old = values
            block = .update(update)
        case .script(var script) where raw.kind == 10:
            let (table, column, key) = try EditScript.location(&reader)
            let values = try CellRun(&reader, count: 1, &context)
            guard table == script.table, column == script.column, key == script.key, values.type == script.new.type,
                values.collection == script.new.collection, values.elementCount == script.oldCount
            else { throw Damage("old elements are not those of the script before them", at: 0) }
            script.old = values
            block = .script(script)
        default: return false
        }
        try reader.expectEnd()
        return true
    }

    private func checkComplete(_ block: ChangeBlock) throws(Damage) {
        switch block {
        case .update(let update) where hasOldValues && update.old == nil && update.oldCount > 0:
            throw Damage("the old values of \(update.oldCount) cells are missing", at: 0)
        case .script(let script) where hasOldValues && script.old == nil && script.oldCount > 0:
            throw Damage("\(script.oldCount) old elements are missing", at: 0)
        case .insert(let rows), .insertMore(let rows):
            var index = 1
            while index < rows.keys.count {
                if rows.keys[index] <= rows.keys[index - 1] {
                    throw Damage("the keys of inserted objects do not ascend", at: 0)
                }
                index += 1
            }
        default: break
        }
    }

    // MARK: Checks against the schema

    /// Checks that tables, columns and types are those of the schema.
    private func check(_ block: ChangeBlock) throws(Damage) {
        guard let schema else { return }
        func check(_ table: Int, _ columns: [(column: Int, values: CellRun)]) throws(Damage) {
            guard schema.tables.indices.contains(table) else {
                throw Damage("there is no table \(table)", at: 0)
            }
            for (column, values) in columns {
                guard let known = schema.column(table, column) else {
                    throw Damage("\(schema.name(table)) has no column \(column)", at: 0)
                }
                guard known.type == values.type, known.collection == values.collection else {
                    throw Damage(
                        "\(schema.name(table)).\(known.name) is of type \(known.typeName(in: schema)), but its values are of \(values.type)",
                        at: 0)
                }
            }
        }
        switch block {
        case .schema, .unknown: return
        case .insert(let rows), .insertMore(let rows), .deleteOld(let rows): try check(rows.table, rows.columns)
        case .delete(let rows): try check(rows.table, [])
        case .nextKey(let table, _): try check(table, [])
        case .update(let update): try check(update.table, [(update.column, update.values)])
        case .script(let script): try check(script.table, [(script.column, script.new)])
        case .elements(let more): try check(more.table, [(more.column, more.values)])
        }
    }
}
