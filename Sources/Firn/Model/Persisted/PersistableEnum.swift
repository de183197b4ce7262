import FirnStorage

/// An enum whose raw value is stored.
///
/// ```swift
/// enum Kind: Int, PersistableEnum { case a, b }
///
/// class Item: Object {
///     @Persisted(indexed: true) var kind: Kind     // starts with .a
/// }
/// ```
///
/// The store holds the raw values, so do not change them once there is data. A property without an initial value
/// starts with the first case. Reading a raw value that no case has stops the program with a message that names the
/// value and the enum.
///
/// An enum can be indexed, or be a primary key, if its raw value's type can; opening throws `.schemaMismatch`
/// otherwise.
public protocol PersistableEnum: _MappedValue, RealmOptionalType, RawRepresentable, CaseIterable
where RawValue: _Scalar, _Mapped == RawValue {}

extension PersistableEnum {
    /// The first case. Stops the program if the enum has none.
    public static var _initial: RawValue._Stored {
        guard let first = allCases.first else { stopProgram("the enum \(Self.self) has no case to start with.") }
        return RawValue._wrap(first.rawValue)
    }
    /// The raw value.
    @inlinable public var _mapped: RawValue { rawValue }
    /// The case with a raw value; nil if there is none.
    @inlinable public init?(_mapped: RawValue) { self.init(rawValue: _mapped) }
}

/// The earlier name of `PersistableEnum`.
@available(*, deprecated, renamed: "PersistableEnum")
public typealias RealmEnum = PersistableEnum
