public import FirnCore
public import Foundation

extension Timestamp {
    /// Seconds between 1970 and the reference date, 2001.
    private static var reference: Int64 { 978_307_200 }

    /// Keeps nanoseconds; goes through no Double that counts from 1970, which would lose bits. NaN becomes 1970, what is too far away clamps.
    init(_ date: Date) {
        let interval = date.timeIntervalSinceReferenceDate
        guard !interval.isNaN else {
            self.init(seconds: 0, nanoseconds: 0)
            return
        }
        let limit = 9.0e18
        guard abs(interval) < limit else {
            self.init(seconds: interval < 0 ? .min : .max, nanoseconds: 0)
            return
        }
        let whole = interval.rounded(.down)
        var seconds = Int64(whole) + Timestamp.reference
        var nanoseconds = Int32(((interval - whole) * 1e9).rounded())
        if nanoseconds == 1_000_000_000 {
            seconds += 1
            nanoseconds = 0
        }
        // Both have one sign.
        if seconds < 0 && nanoseconds > 0 {
            seconds += 1
            nanoseconds -= 1_000_000_000
        }
        self.init(seconds: seconds, nanoseconds: nanoseconds)
    }

    var date: Date {
        if seconds == .min { return .distantPast }
        if seconds == .max { return .distantFuture }
        return Date(
            timeIntervalSinceReferenceDate: Double(seconds - Timestamp.reference) + Double(nanoseconds) / 1_000_000_000)
    }
}

extension Date: _FixedScalar, _Indexable {
    public static var _type: ColumnType { .date }
    public static var _memory: _Memory { .date }
    public static var _initial: Date { Date(timeIntervalSince1970: 0) }
    public var _raw: Timestamp { Timestamp(self) }
    public init(_raw: Timestamp) { self = _raw.date }
    public var _value: Value { .date(Timestamp(self)) }
    public init?(_value: Value) {
        guard case .date(let value) = _value else { return nil }
        self = value.date
    }
    public static func _convert(_ any: Any) -> Date? { (any as? NSDate).map { $0 as Date } }
}

extension UUID: _FixedScalar, _PrimaryKey, _Indexable {
    public static var _type: ColumnType { .uuid }
    public static var _initial: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
    public var _raw: UUIDBytes {
        withUnsafeBytes(of: uuid) { bytes in
            UUIDBytes(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
    public init(_raw: UUIDBytes) {
        self = withUnsafeBytes(of: (_raw.high.bigEndian, _raw.low.bigEndian)) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }
    public var _value: Value { .uuid(_raw) }
    public init?(_value: Value) {
        guard case .uuid(let value) = _value else { return nil }
        self.init(_raw: value)
    }
    public static func _convert(_ any: Any) -> UUID? {
        if let text = any as? String { return UUID(uuidString: text) }
        return (any as? NSUUID).flatMap { UUID(uuidString: $0.uuidString) }
    }
}
