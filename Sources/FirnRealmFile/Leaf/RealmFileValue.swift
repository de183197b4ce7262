/// A value of a Realm file.
///
/// Texts and bytes lie in the file's pages. They are valid until the body returns that gets the value.
public enum RealmFileValue {
    case null
    case int(Int64)
    case bool(Bool)
    /// The bits of an IEEE number.
    case float(UInt32)
    /// The bits of an IEEE number.
    case double(UInt64)
    /// Text, which should be UTF-8 and may not be.
    case string(UnsafeRawBufferPointer)
    case binary(UnsafeRawBufferPointer)
    /// Seconds since 1970, and nanoseconds with the same sign.
    case timestamp(seconds: Int64, nanoseconds: Int64)
    /// An IEEE 754 decimal128 in BID encoding.
    case decimal(low: UInt64, high: UInt64)
    /// 12 bytes.
    case objectID(UnsafeRawBufferPointer)
    /// 16 bytes.
    case uuid(UnsafeRawBufferPointer)
    /// An object, which the file may not have.
    case link(table: UInt32, key: Int64)
    /// A collection, to be read with `RealmFile.forEachElement` or `forEachEntry`.
    case collection(RealmFileCollection)
}

/// A list, a set or a dictionary in a Realm file, before its elements are read.
public struct RealmFileCollection: Sendable {
    public enum Kind: Sendable, Equatable {
        case list
        case set
        /// Its keys are strings.
        case dictionary
    }

    public let kind: Kind
    public let element: ElementType
    /// 0 if the collection is empty.
    let reference: Int
    /// Whether it is a table of its own, as lists of values are in the formats up to 9.
    var isSubtable = false
    /// How many collections it lies in.
    var depth = 0

    public var isEmpty: Bool { reference == 0 }

    /// Whether it lies in a mixed value.
    public var isNested: Bool { depth > 0 }
}
