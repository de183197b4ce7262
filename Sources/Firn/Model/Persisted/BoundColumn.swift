/// What a wrapper of a managed object knows about its column, in one word:
///
/// ```
///  31       30       29                0
/// ┌────────┬────────┬──────────────────┐
/// │ writes │ reads  │ column           │
/// └────────┴────────┴──────────────────┘
/// ```
///
/// - **writes**: a write affects more than the cell, so it goes through the transaction.
/// - **reads**: the cell is not read in the common way. The property is optional in Swift and required in the store, or
///   it is ignored.
/// - All bits are set if the property is ignored: its value stays in the wrapper.
///
/// The getter in `Persisted` uses these bits as numbers, and says why.
@frozen
public enum _BoundColumn {
    /// The bit **writes**.
    static var writesThroughStore: Int32 { .min }
    /// The bit **reads**.
    static var readsSpecially: Int32 { 1 << 30 }
    /// The word of a wrapper whose object is unmanaged: a number that no column has.
    @inlinable static var none: Int32 {
        @inline(__always) get { 0x3FFF_FFFF }
    }
    /// The word of an ignored property.
    @inlinable static var ignored: Int32 {
        @inline(__always) get { -1 }
    }

    /// The column's number.
    @inlinable @inline(__always)
    static func number(_ bound: Int32) -> Int { Int(bound & 0x3FFF_FFFF) }
}
