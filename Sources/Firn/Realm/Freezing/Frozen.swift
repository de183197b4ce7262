/// A frozen object, collection or realm that can be handed to other threads, tasks and actors: the compiler sees that
/// it is safe.
///
/// ```swift
/// let frozen = Frozen(dog)                    // freezes the object, if it is live
/// Task.detached { print(frozen.value.name) }
/// ```
///
/// What is reached from the value is frozen, too. To write, thaw it where the write takes place:
/// `frozen.value.thaw()`. It holds the version that it shows: see <doc:HoldingVersions>.
public struct Frozen<Value>: @unchecked Sendable {
    // Sound because the value is frozen: it never changes, and may be read by many threads at once.
    /// The frozen object, collection or realm.
    public let value: Value
}

extension Frozen where Value: ThreadConfined {
    /// The frozen form of an object or a collection; a frozen one itself. Costs, and stops the program, as
    /// `freeze(file:line:)` does.
    public init(_ value: Value, file: StaticString = #fileID, line: UInt = #line) {
        self.value = value._freeze(file, line)
    }
}

extension Frozen where Value == Realm {
    /// The frozen form of a realm; a frozen one itself. Costs, and stops the program, as `Realm.freeze(file:line:)`
    /// does.
    public init(_ realm: Realm, file: StaticString = #fileID, line: UInt = #line) {
        value = realm.isFrozen ? realm : realm.freeze(file: file, line: line)
    }
}
