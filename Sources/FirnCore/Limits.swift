/// The limits of nodes, values, schemas and changesets; `LogLimits` has the limits of the log. A node beyond its limit
/// is split, and a long index key is shortened. A value or schema beyond its limit is refused with an error that names
/// it. Each limit is tested at its edge.
package enum Limits {
    /// Rows in a leaf.
    package static var rowsPerLeaf: Int { @inline(__always) get { 256 } }
    /// Children of an inner node of the row tree, or entries of an index node.
    package static var fanout: Int { @inline(__always) get { 64 } }
    /// Bytes of one chunk beyond which its leaf is split.
    package static var chunkByteCount: Int { @inline(__always) get { 64 << 10 } }
    /// Bytes of the longest value that is stored in its chunk. A longer one has a blob of its own.
    package static var inlineByteCount: Int { @inline(__always) get { 1 << 10 } }
    /// Bytes of one string or data value (Realm's limit).
    package static var valueByteCount: Int { @inline(__always) get { 16 << 20 } }
    /// Bytes of a value in a changeset: enough for the longest value and the tag that states its type.
    static var encodedValueByteCount: Int { @inline(__always) get { valueByteCount + 64 } }
    /// Bytes of a key in an index. For a longer value the index holds a key of this length, whose end is a hash of
    /// the whole value.
    package static var indexKeyByteCount: Int { @inline(__always) get { 128 } }
    /// UTF-8 bytes in the name of a class or property.
    package static var nameByteCount: Int { @inline(__always) get { 255 } }
    /// Tables in a store, removed ones included.
    package static var tableCount: Int { @inline(__always) get { 16 << 10 } }
    /// Columns in a table, removed ones included.
    package static var columnCount: Int { @inline(__always) get { 1 << 10 } }
    /// Elements in one list.
    package static var listCount: Int { @inline(__always) get { 1 << 31 } }
    /// Levels of collections within collections in one mixed value (Realm's limit).
    package static var nesting: Int { @inline(__always) get { 100 } }
    /// Bytes of a part of a changeset before compression.
    package static var partByteCount: Int { @inline(__always) get { 1 << 20 } }
    /// Cells of a part of a changeset: keys, values of columns, elements. A run of equal values takes no bytes, so a
    /// limit on bytes alone would not bound the number of cells.
    package static var partCellCount: Int { @inline(__always) get { 1 << 20 } }
    /// Bytes of an encoded schema.
    package static var schemaByteCount: Int { @inline(__always) get { 16 << 20 } }
}
