import CFirn

/// The layout of nodes: offsets of fields from a node's beginning, and sizes, all in bytes. They are part of the file
/// format.
///
/// No other file states these numbers, with two exceptions. `firn_layout.h` and `firn_mapping.h` state the numbers
/// that C code uses, and `ChunkLayout` states the bytes of a slot, which a schema must know.
///
/// The comment of the type that reads and writes a kind of node draws its layout:
/// - any node: `Node`, `OnDiskNode`
/// - the row trees: `RootNode`, `TableNode`, `RowNode`, `Leaf`
/// - values: `Chunk`, `Blob`, `ChunkEncoding`
/// - indexes: `IntegerIndexTree`, `IntegerIndexProgression`, `SlottedPage`
/// - collections: `ListTree`, `ElementBlock`
///
/// `Node.forEachRefField` lists the fields that are references.
///
/// All of these numbers are computed properties, so that they are constants wherever they are inlined. Other modules
/// would load a stored property from memory. The public ones are needed by code that is inlined into the application's
/// module.
@frozen
public enum NodeLayout {
    /// The bytes of the header that every node begins with. The payload lies behind it.
    @inlinable public static var headerByteCount: Int { @inline(__always) get { 32 } }
    /// The bytes of a reference.
    @inlinable public static var refByteCount: Int { @inline(__always) get { Int(FIRN_REF_BYTES) } }
    /// The bytes of a key, a value or a count in a node of a tree.
    static var numberByteCount: Int { @inline(__always) get { 8 } }
    /// The bytes of an entry of the reference table of an on-disk node.
    static var tableEntryByteCount: Int { @inline(__always) get { 4 } }

    /// On-disk nodes begin and end at multiples of this number.
    static var diskUnit: Int { @inline(__always) get { Int(FIRN_DISK_UNIT) } }

    /// Nodes on the heap begin and end at multiples of this number, so that the lowest bits of a reference are free.
    static var heapUnit: Int { @inline(__always) get { 16 } }

    /// The length of a node on the heap that needs this many bytes.
    @inline(__always)
    static func heapByteCount(_ byteCount: Int) -> Int { (byteCount + heapUnit - 1) & ~(heapUnit - 1) }

    /// The offset of an entry of a reference table. The index behind the last entry gives the table's end.
    @inline(__always)
    static func tableEntry(_ index: Int, of table: Int) -> Int { table + tableEntryByteCount * index }

    /// The offset of the reference table of an on-disk node. The node's values end at `end`.
    @inline(__always)
    static func refTable(after end: Int) -> Int { (end + tableEntryByteCount - 1) & ~(tableEntryByteCount - 1) }
}

// MARK: All nodes

extension NodeLayout {
    /// See `Node` and `OnDiskNode`.
    @frozen
    public enum Header {
        @inlinable public static var stamp: Int { @inline(__always) get { 0 } }
        static var link: Int { @inline(__always) get { 8 } }
        /// On disk the checksum and the offset replace the link.
        static var checksum: Int { @inline(__always) get { link } }
        static var offset: Int { @inline(__always) get { 12 } }
        static var kind: Int { @inline(__always) get { 16 } }
        @inlinable public static var form: Int { @inline(__always) get { 17 } }
        @inlinable public static var width: Int { @inline(__always) get { 18 } }
        @inlinable public static var count: Int { @inline(__always) get { 20 } }
        @inlinable public static var capacity: Int { @inline(__always) get { 24 } }
        @inlinable public static var bytes: Int { @inline(__always) get { 28 } }
    }
}

// MARK: Tables and rows

extension NodeLayout {
    /// See `RootNode`.
    enum Root {
        @inline(__always)
        static func table(_ table: Int) -> Int { headerByteCount + refByteCount * table }

        static func byteCount(tables: Int) -> Int { table(tables) }
    }

    /// See `TableNode`.
    enum Table {
        static var rows: Int { @inline(__always) get { 32 } }
        static var rowCount: Int { @inline(__always) get { 40 } }
        static var nextKey: Int { @inline(__always) get { 48 } }
        static var columnCount: Int { @inline(__always) get { 56 } }
        /// The offset of the references that the table has for each column.
        static var columns: Int { @inline(__always) get { 64 } }
        /// The bytes of a column's two references.
        static var columnByteCount: Int { @inline(__always) get { 2 * refByteCount } }

        @inline(__always)
        static func index(_ column: Int) -> Int { columns + columnByteCount * column }

        @inline(__always)
        static func backlinks(_ column: Int) -> Int { columns + refByteCount + columnByteCount * column }

        static func byteCount(columns count: Int) -> Int { index(count) }
    }

    /// See `RowNode`.
    enum RowInner {
        static var keys: Int { @inline(__always) get { 32 } }
        static var refs: Int { @inline(__always) get { keys + numberByteCount * Limits.fanout } }
        static var counts: Int { @inline(__always) get { refs + refByteCount * Limits.fanout } }
        static var byteCount: Int { @inline(__always) get { counts + numberByteCount * Limits.fanout } }

        @inline(__always)
        static func ref(_ child: Int) -> Int { refs &+ refByteCount &* child }
    }

    /// See `FirnCore.Leaf`.
    @frozen
    public enum Leaf {
        static var firstKey: Int { @inline(__always) get { 32 } }
        static var keys: Int { @inline(__always) get { 40 } }
        static var columnCount: Int { @inline(__always) get { 48 } }
        @inlinable public static var chunks: Int { @inline(__always) get { Int(FIRN_LEAF_CHUNKS) } }

        @inlinable @inline(__always)
        public static func chunk(_ column: Int) -> Int { chunks &+ column &* refByteCount }

        static func byteCount(columns: Int) -> Int { chunks + refByteCount * columns }
    }
}

// MARK: Values

extension NodeLayout {
    /// See `FirnCore.Chunk`.
    @frozen
    public enum Chunk {
        @inlinable public static var marks: Int { @inline(__always) get { 32 } }
        /// The number of words that hold a mark for each row of a leaf.
        static var markWordCount: Int { @inline(__always) get { Limits.rowsPerLeaf / 64 } }
        @inlinable public static var data: Int { @inline(__always) get { 64 } }
        /// The bytes of the slot of a variable value.
        @inlinable public static var slotByteCount: Int { @inline(__always) get { ChunkLayout.slotByteCount } }

        // On disk, in place of the marks:
        static var refTable: Int { @inline(__always) get { marks } }
        static var refCount: Int { @inline(__always) get { 36 } }

        /// The offset of a word with the marks of 64 rows.
        @inlinable @inline(__always)
        public static func markWord(_ index: Int) -> Int { marks &+ index &<< 3 }
    }

    /// The fields that an encoded chunk has behind the fields of every chunk on disk. See `ChunkEncoding`.
    enum EncodedChunk {
        static var width: Int { @inline(__always) get { 40 } }
        static var hasNulls: Int { @inline(__always) get { 41 } }
        static var heap: Int { @inline(__always) get { 44 } }
        static var base: Int { @inline(__always) get { 48 } }
        static var step: Int { @inline(__always) get { 56 } }
        static var lz4: Int { @inline(__always) get { base } }
        static var dictionary: Int { @inline(__always) get { base } }
        static var payload: Int { @inline(__always) get { Chunk.data } }
    }

    /// See `FirnCore.Blob`.
    @frozen
    public enum Blob {
        @inlinable public static var bytes: Int { @inline(__always) get { headerByteCount } }
    }
}

// MARK: Indexes

extension NodeLayout {
    /// The sizes of a leaf that is an index's only one. Such a leaf grows from the least size to the full size, by the
    /// factor `growth` at each step. All other leaves have the full size.
    struct RootSizes {
        let least: Int
        let full: Int
        @inline(__always) static var growth: Int { 4 }

        /// Whether a leaf may have this size.
        func contains(_ size: Int) -> Bool {
            var step = least
            while step < full, step != size { step *= Self.growth }
            return step == size
        }

        /// The least size that `needed` fits in. `needed` must not be above the full size.
        func size(for needed: Int) -> Int {
            var step = least
            while step < needed { step *= Self.growth }
            return step
        }
    }

    /// See `FirnCore.IntegerIndexTree`.
    enum IntegerIndexLeaf {
        /// The capacities of a leaf, in entries.
        static var capacities: RootSizes { @inline(__always) get { RootSizes(least: 4, full: Limits.fanout) } }
        static var keys: Int { @inline(__always) get { 32 } }

        @inline(__always)
        static func values(capacity: Int) -> Int { keys &+ numberByteCount &* capacity }

        static func byteCount(capacity: Int) -> Int { keys + 2 * numberByteCount * capacity }
    }

    /// See `FirnCore.IntegerIndexProgression`.
    enum IntegerIndexProgression {
        static var key: Int { @inline(__always) get { 32 } }
        static var keyStep: Int { @inline(__always) get { 40 } }
        static var value: Int { @inline(__always) get { 48 } }
        static var valueStep: Int { @inline(__always) get { 56 } }
        static var byteCount: Int { @inline(__always) get { 64 } }
    }

    /// See `FirnCore.IntegerIndexTree`.
    enum IntegerIndexInner {
        static var keys: Int { @inline(__always) get { 32 } }
        static var values: Int { @inline(__always) get { keys + numberByteCount * Limits.fanout } }
        static var refs: Int { @inline(__always) get { values + numberByteCount * Limits.fanout } }
        static var counts: Int { @inline(__always) get { refs + refByteCount * Limits.fanout } }
        static var byteCount: Int { @inline(__always) get { counts + numberByteCount * Limits.fanout } }

        @inline(__always)
        static func ref(_ child: Int) -> Int { refs &+ refByteCount &* child }
    }

    /// See `SlottedPage`. Slots and entries consist of words of 8 bytes.
    enum BytesIndex {
        /// The lengths of a page. Inner pages, and all leaves of a tree that has several, have the full length.
        static var pageByteCounts: RootSizes { @inline(__always) get { RootSizes(least: 256, full: 4096) } }
        static var garbage: Int { @inline(__always) get { 32 } }
        static var slots: Int { @inline(__always) get { 40 } }
        static var wordByteCount: Int { @inline(__always) get { 8 } }

        // The words of an entry, before those of its key:
        static var valueWord: Int { @inline(__always) get { 0 } }
        static var refWord: Int { @inline(__always) get { 1 } }
        static var countWord: Int { @inline(__always) get { 2 } }

        /// The number of words of an entry before those of its key.
        @inline(__always)
        static func keyWord(isLeaf: Bool) -> Int { isLeaf ? 1 : 3 }

        @inline(__always)
        static func entryByteCount(keyWordCount: Int, isLeaf: Bool) -> Int {
            (keyWord(isLeaf: isLeaf) &+ keyWordCount) &* wordByteCount
        }

        /// The offset of the slot at an index. The index behind the last slot gives the slots' end.
        @inline(__always)
        static func slot(_ index: Int) -> Int { slots &+ index &* wordByteCount }

        /// A slot: the head of a key, the offset of its entry, and the key's byte count.
        @inline(__always)
        static func slot(head: UInt32, offset: Int, keyByteCount: Int) -> UInt64 {
            UInt64(head) &<< 32 | UInt64(offset) &<< 16 | UInt64(keyByteCount)
        }

        /// The least slot that has this head, for a search.
        @inline(__always)
        static func leastSlot(head: UInt64) -> UInt64 { head &<< 32 }

        /// The head in a slot.
        @inline(__always)
        static func head(_ slot: UInt64) -> UInt64 { slot &>> 32 }

        /// The entry's offset in a slot.
        @inline(__always)
        static func entry(_ slot: UInt64) -> Int { Int(truncatingIfNeeded: slot &>> 16 & 0xFFFF) }

        /// The offset of the reference in the entry of a slot of an inner page.
        @inline(__always)
        static func ref(_ slot: UInt64) -> Int { entry(slot) &+ refWord &* wordByteCount }

        /// The key's byte count in a slot.
        @inline(__always)
        static func keyByteCount(_ slot: UInt64) -> Int { Int(truncatingIfNeeded: slot & 0xFFFF) }
    }
}

// MARK: Collections

extension NodeLayout {
    /// See `ListTree`.
    enum ListLeaf {
        /// Used on disk only. On the heap this field and the two bytes behind it are zero.
        static var refCount: Int { @inline(__always) get { 32 } }
        static var padding: Int { @inline(__always) get { 36 } }
        static var block: Int { @inline(__always) get { 38 } }
    }

    /// See `ListTree`.
    enum ListInner {
        static var refs: Int { @inline(__always) get { 32 } }
        static var ends: Int { @inline(__always) get { refs + refByteCount * Limits.fanout } }
        static var endByteCount: Int { @inline(__always) get { 4 } }
        static var byteCount: Int { @inline(__always) get { ends + endByteCount * Limits.fanout } }

        @inline(__always)
        static func ref(_ child: Int) -> Int { refs &+ refByteCount &* child }
    }

    /// See `FirnCore.ElementBlock`.
    @frozen
    public enum ElementBlock {
        /// The bytes of the count, which precedes the elements.
        @inlinable public static var headerByteCount: Int { @inline(__always) get { 2 } }
    }
}
