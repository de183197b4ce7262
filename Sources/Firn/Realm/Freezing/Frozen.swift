/// A frozen object, collection or realm that can be handed to other threads, tasks and actors: the compiler sees that
/// it is safe.
///
/// ```swift
/// let frozen = Frozen(dog)                    // freezes the object, if it is live
/// Task.detached { print(frozen.value.name) }
/// ```
///
/// Everything that is reached from the value is frozen, too. To write, thaw the value where the write takes place:
/// `frozen.value.thaw()`. A `Frozen` holds the version that its value shows: see <doc:HoldingVersions>.
public struct Frozen<Value>: @unchecked Sendable {
    // Sound because the value is frozen: it never changes, and may be read by many threads at once.
    /// The frozen object, collection or realm.
    public let value: Value
}

extension Frozen where Value: ThreadConfined {
    /// Freezes an object or a collection, unless it is frozen already. Costs what `freeze(file:line:)` costs, and stops
    /// the program for the same reasons.
    public init(_ value: Value, file: StaticString = #fileID, line: UInt = #line) {
        self.value = value._freeze(file, line)
    }
}

extension Frozen where Value == Realm {
    /// Freezes a realm, unless it is frozen already. Costs what `Realm.freeze(file:line:)` costs, and stops the program
    /// for the same reasons.
    public init(_ realm: Realm, file: StaticString = #fileID, line: UInt = #line) {
        value = realm.isFrozen ? realm : realm.freeze(file: file, line: line)
    }
}
