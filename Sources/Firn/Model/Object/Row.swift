public import CFirn
public import FirnCore

/// Where a managed object's values lie: what an accessor remembers from one access to the next.
///
/// - Unmanaged: `leaf` and `core` are nil. For an object that only records which properties are read
///   (`_KeyPathTracer`), `leaf` is nil and `core` is not.
/// - Managed: valid while `generation` equals the core's. Otherwise the accessor finds its row again by `key`, once
///   (`_relocate`).
/// - Nothing here is retained: `core` lives at least as long as the accessor is counted in it, and `table` as long as
///   the realm.
@frozen
public struct _Row {
    /// The address of the leaf that holds the row; nil for an unmanaged object.
    public var leaf: UnsafeMutableRawPointer?
    /// What all accessors of the realm share; nil for an unmanaged object.
    public var core: UnsafeMutablePointer<firn_realm_core_t>?
    /// The core's generation when the row was last found.
    public var generation: UInt64
    /// The row's index in the leaf.
    public var row: Int
    /// The object key; -1 for an unmanaged object.
    public var key: Int64
    /// The realm's `TableBinding`, unretained.
    public var table: UnsafeRawPointer?

    /// The row of an unmanaged object.
    @inlinable @inline(__always)
    public init() {
        leaf = nil
        core = nil
        generation = 0
        row = 0
        key = -1
        table = nil
    }

    /// A managed row whose position is known.
    @inline(__always)
    init(
        core: UnsafeMutablePointer<firn_realm_core_t>, table: UnsafeRawPointer, leaf: Leaf, row: Int, key: Int64
    ) {
        self.leaf = leaf.node.address
        self.core = core
        generation = core.pointee.generation
        self.row = row
        self.key = key
        self.table = table
    }

    /// The generation of a row that is yet to be located, and of all rows of classes whose reads are tracked
    /// (`PropertyTracker`). No core's generation rises so far.
    static var unlocated: UInt64 { .max }

    /// A managed row that will be located at its first access.
    static func unlocated(_ core: UnsafeMutablePointer<firn_realm_core_t>, key: Int64, table: UnsafeRawPointer) -> _Row
    {
        var row = _Row()
        // A nil leaf would mean an unmanaged object, so some other address is set. It is never read.
        row.leaf = UnsafeMutableRawPointer(core)
        row.core = core
        row.generation = unlocated
        row.key = key
        row.table = table
        return row
    }

    /// The chunk of a column. The row must be current.
    @inlinable @inline(__always)
    public func chunk(_ column: Int) -> Chunk { leafView.chunk(column) }

    /// The leaf. The row must be current.
    @inlinable
    public var leafView: Leaf {
        @inline(__always) get { Leaf(Node(leaf.unsafelyUnwrapped)) }
    }

    /// The chunk of a column, if a cell of it may be written in place; nil if the write goes through the transaction.
    /// The row must be managed. `column` is a `_BoundColumn`.
    @inlinable @inline(__always)
    public func writableChunk(_ column: Int32) -> Chunk? {
        guard let chunk = firn_writable_chunk(core.unsafelyUnwrapped, leaf.unsafelyUnwrapped, generation, column) else {
            return nil
        }
        return Chunk(Node(chunk))
    }

    /// Whether the row belongs to a frozen realm.
    @inlinable
    public var isFrozen: Bool {
        @inline(__always) get { core.unsafelyUnwrapped.pointee.stamp == FIRN_STAMP_FROZEN }
    }

    /// Whether the row is up to date and its realm may be used on the calling thread.
    @inlinable
    public var isCurrent: Bool {
        @inline(__always) get {
            let core = core.unsafelyUnwrapped
            return core.pointee.generation == generation
                && (core.pointee.thread ^ firn_thread_id()) & core.pointee.mask == 0
        }
    }
}
