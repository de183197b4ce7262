import CFirn
public import FirnCore
public import Foundation
import FirnStorage

/// A twelve-byte identity. It has 4 bytes of seconds since 1970, 5 random bytes of this process, and 3 bytes of a
/// counter. The counter begins at a random number.
///
/// An id of a later second compares greater than one of an earlier second. Two processes whose random bytes differ
/// never make the same id; a forked child has random bytes of its own. An id can be used on any thread, and as a
/// primary key; its coded form is the text of its 24 hexadecimal digits.
///
/// ```swift
/// @Persisted(primaryKey: true) var id = ObjectId.generate()
/// ```
public struct ObjectId: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    @usableFromInline let bytes: ObjectIDBytes

    @inlinable init(_ bytes: ObjectIDBytes) { self.bytes = bytes }

    /// A new id of this moment: the same as `generate()`.
    public init() { self = ObjectId.generate() }

    /// The id that 24 hexadecimal digits denote.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput` if the text is anything else.
    public init(string: String) throws {
        guard let id = ObjectId(hexadecimal: string) else {
            throw Realm.Error(
                .invalidInput, "\"\(string.prefix(64))\" is not an ObjectId; give 24 hexadecimal digits.")
        }
        self = id
    }

    /// The id of a literal. Stops the program if the literal is not 24 hexadecimal digits.
    public init(_ string: StaticString) {
        guard let id = ObjectId(hexadecimal: string.description) else {
            stopProgram("\"\(string)\" is not an ObjectId; give 24 hexadecimal digits.")
        }
        self = id
    }

    /// An id of a given second, with given numbers instead of the process's random bytes.
    ///
    /// A date before 1970, and NaN, become the first second of 1970. A date after February 2106 becomes the last second
    /// that an id can hold.
    ///
    /// - Parameters:
    ///   - timestamp: the second; fractions are dropped.
    ///   - machineId: the lowest 24 bits are used.
    ///   - processId: the lowest 16 bits are used.
    public init(timestamp: Date, machineId: Int = 0, processId: Int = 0) {
        self.init(
            ObjectIDBytes(
                a: UInt32(clamping: Timestamp(timestamp).seconds),
                b: UInt32(truncatingIfNeeded: machineId & 0xFF_FFFF) << 8
                    | UInt32(truncatingIfNeeded: processId >> 8 & 0xFF),
                c: UInt32(truncatingIfNeeded: processId & 0xFF) << 24 | ObjectId.nextCount()))
    }

    /// A new id of this moment, by the system's clock. May be called on any thread.
    public static func generate() -> ObjectId {
        let random = seed
        return ObjectId(
            ObjectIDBytes(
                a: UInt32(truncatingIfNeeded: SystemClock.shared.now() / 1_000_000_000),
                b: UInt32(truncatingIfNeeded: random >> 8),
                c: UInt32(truncatingIfNeeded: random & 0xFF) << 24 | nextCount()))
    }

    /// When the id was made, to the second.
    public var timestamp: Date { Date(timeIntervalSince1970: TimeInterval(bytes.words.0)) }

    /// The id as 24 lower-case hexadecimal digits.
    public var stringValue: String {
        let words = [bytes.words.0, bytes.words.1, bytes.words.2]
        return words.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    /// The id as 24 lower-case hexadecimal digits: the same as `stringValue`.
    public var description: String { stringValue }

    /// Whether an id comes first: by time, then by the random bytes, then by the counter.
    public static func < (a: ObjectId, b: ObjectId) -> Bool { a.bytes < b.bytes }

    /// Decodes an id from the text of its 24 hexadecimal digits.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text is anything else, and what the decoder throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ObjectId(hexadecimal: text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\"\(text.prefix(64))\" is not an ObjectId: 24 hexadecimal digits are needed")
        }
        self = id
    }

    /// Encodes the id as the text of its 24 hexadecimal digits. Throws what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stringValue)
    }

    private init?(hexadecimal text: String) {
        guard text.utf8.count == 24 else { return nil }
        var words: [UInt32] = []
        var rest = text.utf8[...]
        while !rest.isEmpty {
            var word: UInt32 = 0
            for digit in rest.prefix(8) {
                guard let value = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
                word = word << 4 | UInt32(value)
            }
            words.append(word)
            rest = rest.dropFirst(8)
        }
        self.init(ObjectIDBytes(a: words[0], b: words[1], c: words[2]))
    }

    /// A random number of this process. Its lowest five bytes are in each id, and the counter begins at the others.
    ///
    /// Neither it nor the counter is a global of Swift's. A forked child would inherit the value of a global, or wait
    /// forever if another thread was initialising it at the fork.
    private static var seed: UInt64 {
        var seed = firn_process_seed()
        // 0 means that there is no seed yet.
        while seed == 0 { seed = firn_set_process_seed(SystemRandomness.shared.next()) }
        return seed
    }

    private static func nextCount() -> UInt32 {
        (UInt32(truncatingIfNeeded: seed >> 40) &+ firn_next_object_id_count()) & 0xFF_FFFF
    }
}

extension ObjectId: _FixedScalar, _PrimaryKey, _Indexable {
    /// The type of the column.
    public static var _type: ColumnType { .objectID }
    /// A property without an initial value starts with a new id. An accessor needs none, since it has no value of its
    /// own.
    public static var _initial: ObjectId {
        firn_is_making_accessor() ? ObjectId(ObjectIDBytes(a: 0, b: 0, c: 0)) : .generate()
    }
    /// The twelve bytes, as the column stores them.
    @inlinable public var _raw: ObjectIDBytes { bytes }
    /// The id that twelve stored bytes encode.
    @inlinable public init(_raw: ObjectIDBytes) { bytes = _raw }
    /// The id as a value of the store.
    public var _value: Value { .objectID(bytes) }
    /// The id of a value of the store; nil if the value is of another type.
    public init?(_value: Value) {
        guard case .objectID(let value) = _value else { return nil }
        self.init(value)
    }
    /// The id that a text of 24 hexadecimal digits denotes; nil for anything else.
    public static func _convert(_ any: Any) -> ObjectId? { (any as? String).flatMap { ObjectId(hexadecimal: $0) } }
}
