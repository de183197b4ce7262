/// The operations on a column's index that take cells. A transaction uses them when it inserts, changes or deletes a
/// row.
extension ColumnIndex {
    static func insert(
        _ schema: ColumnSchema, chunk: Chunk, row: Int, key: Int64, at root: UnsafeMutablePointer<UInt64>,
        writer: NodeWriter
    ) {
        let index = ColumnIndex(schema)
        switch schema.type {
        case .int: index.insert(int: int(chunk, row), key, at: root, writer)
        case .string, .data: index.insert(bytes: chunk.bytes(row), key, at: root, writer)
        default: index.insert(cell(schema, chunk: chunk, row: row), object: key, at: root, writer: writer)
        }
    }

    /// Returns false if the cell was not in the index.
    static func remove(
        _ schema: ColumnSchema, chunk: Chunk, row: Int, key: Int64, at root: UnsafeMutablePointer<UInt64>,
        writer: NodeWriter
    ) -> Bool {
        let index = ColumnIndex(schema)
        switch schema.type {
        case .int: return index.remove(int: int(chunk, row), key, at: root, writer)
        case .string, .data: return index.remove(bytes: chunk.bytes(row), key, at: root, writer)
        default: return index.remove(cell(schema, chunk: chunk, row: row), object: key, at: root, writer: writer)
        }
    }

    /// Calls `body` with the candidates for a value, in ascending order of their keys, until it returns false.
    static func forEachKey(_ schema: ColumnSchema, value: Value, in root: NodeRef, _ body: (Int64) -> Bool) {
        ColumnIndex(schema).forEachObject(of: value, in: root, body)
    }

    static func contains(_ schema: ColumnSchema, chunk: Chunk, row: Int, key: Int64, in root: NodeRef) -> Bool {
        var isThere = false
        ColumnIndex(schema).forEachObject(of: cell(schema, chunk: chunk, row: row), in: root) { found in
            isThere = found == key
            return !isThere
        }
        return isThere
    }

    static func count(_ schema: ColumnSchema, _ root: NodeRef) -> Int { ColumnIndex(schema).count(in: root) }

    static func retireAll(_ schema: ColumnSchema, root: NodeRef, writer: NodeWriter) {
        ColumnIndex(schema).retireAll(root, writer)
    }

    static func forEachNode(_ schema: ColumnSchema, root: NodeRef, _ body: (Node) -> Void) {
        ColumnIndex(schema).forEachNode(root, body)
    }

    static func checkInvariants(_ schema: ColumnSchema, _ root: NodeRef) {
        do { try ColumnIndex(schema).checkInvariants(root) } catch {
            preconditionFailure("Firn: the index of \(schema.name) is broken: \(error.text)")
        }
    }

    private static func int(_ chunk: Chunk, _ row: Int) -> Int64? {
        chunk.form == .nullable && chunk.isNullFlag(row) ? nil : chunk.load(row, as: Int64.self)
    }

    private static func cell(_ schema: ColumnSchema, chunk: Chunk, row: Int) -> Value {
        if chunk.isNull(row) { return .null }
        if schema.type.fixedWidth != nil { return FixedCoding.load(chunk.address(row), as: schema.type) }
        return chunk.bytes(row).map { PlainCoding.load($0, as: schema.type) } ?? .null
    }

    /// Builds the index of a column: gathers all its cells, sorts them, and builds the tree from left to right.
    static func build(
        _ schema: ColumnSchema, column: Int, rows: UInt64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter
    ) {
        var builder = ColumnIndexBuilder(ColumnIndex(schema))
        RowTree.forEachLeaf(in: rows) { leaf, _ in
            let chunk = leaf.chunk(column)
            for row in 0..<leaf.count {
                switch schema.type {
                case .int: builder.append(int: int(chunk, row), leaf.key(row))
                case .string, .data: builder.append(bytes: chunk.bytes(row), leaf.key(row))
                default: builder.append(cell(schema, chunk: chunk, row: row), leaf.key(row))
                }
            }
            return !DamageRecord.isSet
        }
        root.pointee = builder.finish(writer).word
    }
}
