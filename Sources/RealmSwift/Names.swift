import Firn
import FirnStorage

// RealmSwift's functions for which Firn has another form, or none.

/// Whether two errors are the same case of the same type, whatever their associated values: the same domain and code.
public func == (lhs: any Error, rhs: any Error) -> Bool { lhs._domain == rhs._domain && lhs._code == rhs._code }

extension PersistableEnum {
    /// The first case. Stops the program if the enum has none.
    public init() {
        guard let first = Self.allCases.first else { stopProgram("the enum \(Self.self) has no case to start with.") }
        self = first
    }
}

extension Object {
    /// `ObjectBase.isSameObject(as:)` for an `Object`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public final func isSameObject(as object: Object?) -> Bool { isSameObject(as: object as ObjectBase?) }
}

extension EmbeddedObject {
    /// `ObjectBase.isSameObject(as:)` for an `EmbeddedObject`, so that it can satisfy a protocol's requirement.
    @_disfavoredOverload
    public final func isSameObject(as object: EmbeddedObject?) -> Bool { isSameObject(as: object as ObjectBase?) }
}
