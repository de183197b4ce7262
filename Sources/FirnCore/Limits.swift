/// All limits of a store. Each is enforced with an error that names the value, and is tested at its edge.
package enum Limits {
    /// Rows in a leaf.
    package static let rowsPerLeaf = 256
    /// Children of an inner node of the row tree, or entries of an index node.
    package static let fanout = 64
    /// Bytes of one chunk beyond which its leaf is split.
    package static let chunkByteCount = 64 << 10
    /// Bytes of the longest value that is stored in its chunk. A longer one has a blob of its own.
    package static let inlineByteCount = 1 << 10
    /// Bytes of one string or data value (Realm's limit).
    package static let valueByteCount = 16 << 20
    /// Bytes of a value in a changeset: enough for the longest value and for what says its type.
    static let encodedValueByteCount = valueByteCount + 64
    /// Bytes of a key in an index. For a longer value the index holds a key of this length, whose end is a hash of
    /// the whole value.
    package static let indexKeyByteCount = 128
    /// UTF-8 bytes in the name of a class or property.
    package static let nameByteCount = 255
    /// Tables in a store, removed ones included.
    package static let tableCount = 16 << 10
    /// Columns in a table, removed ones included.
    package static let columnCount = 1 << 10
    /// Elements in one list.
    package static let listCount = 1 << 31
    /// Collections within collections in one mixed value (Realm's limit).
    package static let nesting = 100
    /// Bytes of a part of a changeset before compression.
    package static let partByteCount = 1 << 20
    /// Cells of a part of a changeset: keys, values of columns, elements. A run of equal values takes no bytes, so a
    /// limit on bytes alone would bound nothing.
    package static let partCellCount = 1 << 20
    /// Bytes of an encoded schema.
    package static let schemaByteCount = 16 << 20
}
