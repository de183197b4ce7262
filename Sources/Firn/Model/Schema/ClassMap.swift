import FirnCore

/// A dictionary whose keys are classes, sorted by address: finding takes O(log classes), adding O(classes).
///
/// `LinearMap` says why this is not a `Dictionary`.
struct ClassMap<Value> {
    private var addresses: [UInt64] = []
    private var values: [Value] = []

    /// The value of a class; nil if there is none.
    subscript(type: ObjectBase.Type) -> Value? {
        let address = Self.address(type)
        let index = addresses.firstIndex(notBelow: address)
        return index < addresses.count && addresses[index] == address ? values[index] : nil
    }

    /// Adds a class that is not there yet.
    mutating func insert(_ type: ObjectBase.Type, _ value: Value) {
        let address = Self.address(type)
        let index = addresses.firstIndex(notBelow: address)
        addresses.insert(address, at: index)
        values.insert(value, at: index)
    }

    private static func address(_ type: ObjectBase.Type) -> UInt64 {
        UInt64(UInt(bitPattern: ObjectIdentifier(type)))
    }
}

extension ClassMap: Sendable where Value: Sendable {}
