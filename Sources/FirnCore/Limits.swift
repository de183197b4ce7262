/// Every limit of a store, in one place. Each is enforced with an error that names the value, and tested at its edge.
public enum Limits {
    /// Rows in a leaf.
    public static let rowsPerLeaf = 256
    /// Children of an inner node of the row tree, entries of an index node.
    public static let fanout = 64
    /// Bytes of one chunk beyond which its leaf is split.
    public static let chunkByteCount = 64 << 10
    /// Bytes of a value that still lie in its chunk; longer ones have a blob of their own.
    public static let inlineByteCount = 1 << 10
    /// Bytes of one string or data value (Realm's limit).
    public static let valueByteCount = 16 << 20
    /// Bytes of a key in an index; of a longer value the index holds this much, its end replaced by a hash of the whole.
    public static let indexKeyByteCount = 128
    /// UTF-8 bytes in the name of a class or property.
    public static let nameByteCount = 255
    /// Tables in a store, removed ones included.
    public static let tableCount = 16 << 10
    /// Columns in a table, removed ones included.
    public static let columnCount = 1 << 10
    /// Elements in one list.
    public static let listCount = 1 << 31
    /// Collections within collections in one mixed value (Realm's limit).
    public static let nesting = 100
    /// Bytes of a part of a changeset before compression.
    public static let partByteCount = 1 << 20
    /// Cells of a part of a changeset: keys, values of columns, elements. A run of equal values takes no bytes, so bytes alone bound nothing.
    public static let partCellCount = 1 << 20
    /// Bytes of an encoded schema.
    public static let schemaByteCount = 16 << 20
}
