public import CFirn
public import FirnCore

/// Where a managed object's values lie: what an accessor remembers between two accesses.
///
/// * Unmanaged: `leaf` and `core` are nil. Tracing (an object that only records which properties are asked of it): `leaf` is nil, `core` is not.
/// * Managed: valid while `generation` is the core's. Otherwise the accessor finds itself by `key` once (`_relocate`).
/// * It holds no reference: `core` is alive as long as the accessor is counted on it, `table` as long as the realm.
@frozen
public struct _Row {
    public var leaf: UnsafeMutableRawPointer?
    public var core: UnsafeMutablePointer<firn_realm_core_t>?
    public var generation: UInt64
    public var row: Int
    public var key: Int64
    /// The realm's `TableBinding`, unretained.
    public var table: UnsafeRawPointer?

    @inlinable @inline(__always)
    public init() {
        leaf = nil
        core = nil
        generation = 0
        row = 0
        key = -1
        table = nil
    }

    /// A managed row that has yet to find itself.
    init(core: UnsafeMutablePointer<firn_realm_core_t>, key: Int64, table: UnsafeRawPointer) {
        // Any address but nil: the generation makes the first access look the leaf up.
        leaf = UnsafeMutableRawPointer(core)
        self.core = core
        generation = .max
        row = 0
        self.key = key
        self.table = table
    }

    /// The chunk of a column, of a row that is up to date.
    @inlinable @inline(__always)
    public func chunk(_ column: Int) -> Chunk { place.chunk(column) }

    /// The leaf, of a row that is up to date.
    @inlinable
    public var place: Leaf {
        @inline(__always) get { Leaf(Node(leaf.unsafelyUnwrapped)) }
    }

    /// Whether it is a frozen realm's, whose stamp is 0.
    @inlinable
    public var isFrozen: Bool {
        @inline(__always) get { core.unsafelyUnwrapped.pointee.stamp == 0 }
    }

    /// Whether the row is up to date and its realm may be used on this thread.
    @inlinable
    public var isCurrent: Bool {
        @inline(__always) get {
            let core = core.unsafelyUnwrapped
            return core.pointee.generation == generation
                && (core.pointee.thread ^ firn_thread_id()) & core.pointee.mask == 0
        }
    }
}
