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

extension ListEditor {
    /// Sets the value of `key`. Returns the entry's index and whether the key was there.
    @discardableResult
    mutating func setValue(_ value: Value, forKey key: String) -> (index: Int, replaced: Bool) {
        let found = cell.find(key: key)
        let element = Value.map([Value.MapEntry(key: key, value: value)])
        if found.isFound { set(element, at: found.index) } else { insert(element, at: found.index) }
        return (found.index, found.isFound)
    }

    /// Removes the entry of `key`. Returns its index, or nil if there was none.
    @discardableResult
    mutating func removeValue(forKey key: String) -> Int? {
        let found = cell.find(key: key)
        guard found.isFound else { return nil }
        remove(at: found.index)
        return found.index
    }
}
