public import Foundation
import FirnCore

/// A state that an object had in the past, from `Object.history(file:line:)`.
public struct Past<T: ObjectBase> {
    /// The version that brought the object to this state. For the first state it is the oldest retained version, if
    /// the object was there already.
    public let version: UInt64
    /// When that version was committed.
    public let date: Date
    /// The object as it was: frozen, so that it may be read on any thread.
    public let object: T
}

extension ThreadConfined where Self: ObjectBase {
    /// The states that the object had in the retained versions, up to the version that its realm shows, oldest first.
    ///
    /// ```swift
    /// for past in try dog.history() { print(past.version, past.date, past.object.name) }
    /// ```
    ///
    /// A version is listed if one of the object's own properties has another value than in the version before. Linked
    /// objects have histories of their own. An object that was deleted and created again with the same primary key is
    /// another object, whose history begins with its creation. If the object is gone, open a version that has it with
    /// `Realm.asOf(version:)`, and call this function on the object found there.
    ///
    /// Cost: the retained commits are decoded to find the ones that concern the object. Then the retained commits
    /// up to the last state are replayed once. The states share the memory of what they have in common.
    ///
    /// Call it on the thread, queue or actor of the object's realm; on any thread for a frozen object.
    ///
    /// - Throws: `Realm.Error`: `.invalidInput` if the object is unmanaged or gone, and the errors of
    ///   `Realm.asOf(version:)`.
    public func history(file: StaticString = #fileID, line: UInt = #line) throws -> [Past<Self>] {
        guard isManaged else {
            throw Realm.Error(
                .invalidInput,
                "An unmanaged object of \(classInfo.name) has no history. Add it to a realm first, or ask the managed one."
            )
        }
        let realm = _RealmInstance.of(_row)
        realm.check()
        let row = _row
        guard try realm.withStore({ store throws(StoreError) in try store.reading { _RealmInstance.isValid(row) } })
        else {
            throw Realm.Error(
                .invalidInput,
                "The object of \(classInfo.name) no longer exists. Open a version that has it with Realm.asOf(version:), and ask the object found there.",
                fileURL: realm.configuration.fileURL)
        }
        realm.waitForOwnCommit()
        let (binding, key, last) = (TableBinding.of(_row), _row.key, realm.shownPin.version)
        let states = try realm.withStore { store throws(StoreError) in
            try store.states(of: key, in: binding.table, columns: binding.columns, through: last)
        }
        return try states.map { state in
            let past = try realm.past(state, at: CallSite(file, line))
            // A frozen object finds its row when it is made.
            let object = try realm.withStore { store throws(StoreError) in
                try store.reading { past.accessor(binding, key, isDynamic: isDynamic) }
            }
            return Past(
                version: state.pin.version, date: Date(nanoseconds: state.pin.time),
                object: unsafeDowncast(object, to: Self.self))
        }
    }
}
