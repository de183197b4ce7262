/// What a wrapper of a managed object knows of its column, in one word:
///
/// ```
///  31       30       29                0
/// ┌────────┬────────┬──────────────────┐
/// │ writes │ reads  │ column           │
/// └────────┴────────┴──────────────────┘
/// ```
///
/// * **writes**: a write concerns more than the cell, so it goes through the transaction.
/// * **reads**: the cell is not read in the common way: the property is optional in Swift and required in the store, or it is ignored.
/// * All bits are set where the property is ignored: its value stays in the wrapper.
///
/// The getter in `Persisted` has these as numbers, and says why.
@frozen
public enum _BoundColumn {
    static var writesThroughStore: Int32 { .min }
    static var readsOddly: Int32 { 1 << 30 }
    @inlinable static var ignored: Int32 {
        @inline(__always) get { -1 }
    }

    /// The column's number.
    @inlinable @inline(__always)
    static func number(_ bound: Int32) -> Int { Int(bound & 0x3FFF_FFFF) }
}
