@testable import FirnCore

extension ListEditor {
    /// Inserts `value` into a set. Returns its index, or nil if the set already has an element equal to it.
    @discardableResult
    mutating func insertMember(_ value: Value) -> Int? {
        let found = cell.find(value)
        guard !found.isFound else { return nil }
        insert(value, at: found.index)
        return found.index
    }

    /// Removes `value` from a set. Returns the index that it had, or nil if it was not in the set.
    @discardableResult
    mutating func removeMember(_ value: Value) -> Int? {
        let found = cell.find(value)
        guard found.isFound else { return nil }
        remove(at: found.index)
        return found.index
    }
}
