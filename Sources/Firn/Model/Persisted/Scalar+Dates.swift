import CFirn
public import FirnCore
public import Foundation

/// A date is stored as seconds and nanoseconds since 1970, both of one sign. The `Date` that is nearest to these is
/// read back. Its error is at most half a nanosecond; it is exact if a `Date` is coarser than that (more than 100 days
/// from 2001).
///
/// A date that can't be stored is clamped when it is assigned or compared with:
///
/// - NaN becomes the start of 1970;
/// - a date later than the latest timestamp, infinity included, becomes that timestamp (2^63 - 1 seconds after 1970);
/// - a date earlier than 2^63 seconds before 2001 becomes the earliest timestamp.
///
/// A timestamp earlier than that date is read back as that date, any other one as the nearest date. So assigning a date
/// that was read changes nothing, and the order of the store is the order of the dates that are read.
extension Timestamp {
    /// Seconds between 1970 and the reference date, 2001.
    private static var reference: Int64 { 978_307_200 }

    /// The timestamp that is stored for a date.
    init(_ date: Date) {
        // A `Double` that counts from 1970 would lose bits, so none is used.
        let interval = date.timeIntervalSinceReferenceDate
        let whole = interval.rounded(.down)
        guard whole > -0x1p63, whole < Timestamp.latest else {
            self.init(seconds: interval.isNaN ? 0 : interval < 0 ? .min : .max, nanoseconds: 0)
            return
        }
        var seconds = Int64(whole) + Timestamp.reference
        var nanoseconds = Int32(((interval - whole) * 1e9).rounded())
        if nanoseconds == 1_000_000_000 {
            seconds += 1
            nanoseconds = 0
        }
        // Both must have one sign.
        if seconds < 0 && nanoseconds > 0 {
            seconds += 1
            nanoseconds -= 1_000_000_000
        }
        self.init(seconds: seconds, nanoseconds: nanoseconds)
    }

    /// The latest timestamp in seconds after 2001. The `Double` before it is the last that is stored exactly.
    private static let latest = Double(Int64.max - reference)

    /// The date that is read for the timestamp.
    var date: Date {
        let (whole, isTooEarly) = seconds.subtractingReportingOverflow(Timestamp.reference)
        return Date(
            timeIntervalSinceReferenceDate: Double(isTooEarly ? .min : whole) + Double(nanoseconds) / 1_000_000_000)
    }
}

extension Date: _FixedScalar, _Indexable {
    /// The type of the column.
    public static var _type: ColumnType { .date }
    /// A date can be read from an unmanaged object's memory.
    public static var _inlineStorage: _InlineStorage { .date }
    /// A property without an initial value starts with the start of 1970.
    public static var _initial: Date { Date(timeIntervalSince1970: 0) }
    /// The timestamp that is stored.
    public var _raw: Timestamp { Timestamp(self) }
    /// The date of a stored timestamp.
    public init(_raw: Timestamp) { self = _raw.date }
    /// The date as a value of the store.
    public var _value: Value { .date(Timestamp(self)) }
    /// The date of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .date(let value) = _value else { return nil }
        self = value.date
    }
    /// The date of an `NSDate`; nil for anything else.
    public static func _convert(_ any: Any) -> Date? { instance(any, of: NSDate.self).map { $0 as Date } }
}

extension UUID: _FixedScalar, _PrimaryKey, _Indexable {
    /// The type of the column.
    public static var _type: ColumnType { .uuid }
    /// A property without an initial value starts with a new random UUID. An accessor needs none, since it has no value
    /// of its own.
    public static var _initial: UUID {
        firn_is_making_accessor() ? UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) : UUID()
    }
    /// The 16 bytes, as the column stores them.
    public var _raw: UUIDBytes {
        withUnsafeBytes(of: uuid) { bytes in
            UUIDBytes(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
    /// The UUID of 16 stored bytes.
    public init(_raw: UUIDBytes) {
        self = withUnsafeBytes(of: (_raw.high.bigEndian, _raw.low.bigEndian)) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }
    /// The UUID as a value of the store.
    public var _value: Value { .uuid(_raw) }
    /// The UUID of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .uuid(let value) = _value else { return nil }
        self.init(_raw: value)
    }
    /// The UUID of its text or of an `NSUUID`; nil for anything else.
    public static func _convert(_ any: Any) -> UUID? {
        if let text = any as? String { return UUID(uuidString: text) }
        return instance(any, of: NSUUID.self).flatMap { UUID(uuidString: $0.uuidString) }
    }
}
