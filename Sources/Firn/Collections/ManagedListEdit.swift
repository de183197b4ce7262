import FirnCore
import FirnStorage

/// Changes to a managed list, set or map. Each change is a separate `transaction.edit` call.
///
/// One `edit` call can't stay open for several changes, because inserting an unmanaged object writes rows of its own.
struct ManagedListEdit {
    let realm: _RealmInstance
    let transaction: WriteTransaction
    private let table: TableID
    private let column: Int
    private let key: Int64
    /// The number of elements, for lists.
    private(set) var count: Int

    /// Nil if the transaction has met damage. Then nothing is changed.
    init?(_ location: inout CollectionLocation) {
        realm = location.realm
        transaction = realm.writing(location.change)
        guard let row = realm.locateForChange(location.row, in: transaction) else { return nil }
        location.row = row
        let cellLocation = location
        count = transaction.recordingDamage { cellLocation.cell.count }
        if transaction.hasMetDamage { return nil }
        table = location.binding.table
        column = location.column
        key = location.row.key
    }

    mutating func insert(_ value: Value, at index: Int) {
        transaction.edit(table, column: column, key: key) { list in list.insert(value, at: index) }
        count += 1
    }

    mutating func remove(at index: Int) {
        _ = transaction.edit(table, column: column, key: key) { list in list.remove(at: index) }
        count -= 1
    }

    mutating func set(_ value: Value, at index: Int) {
        transaction.edit(table, column: column, key: key) { list in list.set(value, at: index) }
    }

    mutating func move(from: Int, to: Int) {
        transaction.edit(table, column: column, key: key) { list in list.move(from: from, to: to) }
    }

    /// Inserts an element into a set, unless the set has it.
    mutating func insertMember(_ value: Value) {
        switch value {
        case .list, .map: stopProgram("\(ValueFault.collectionInSet)")
        default: break
        }
        transaction.edit(table, column: column, key: key) { set in set.insertMember(value) }
    }

    /// Removes an element from a set, if the set has it.
    mutating func removeMember(_ value: Value) {
        _ = transaction.edit(table, column: column, key: key) { set in set.removeMember(value) }
    }

    /// Sets the value of a map's key.
    mutating func setValue(_ value: Value, forKey name: String) {
        transaction.edit(table, column: column, key: key) { map in map.setValue(value, forKey: name) }
    }

    /// Removes a map's key, if the map has it.
    mutating func removeValue(forKey name: String) {
        transaction.edit(table, column: column, key: key) { map in map.removeValue(forKey: name) }
    }

    /// Marks the collection as assigned, without changing it.
    mutating func markAssigned() { _ = transaction.ownCell(table, column: column, key: key) }

    mutating func removeAll() {
        transaction.edit(table, column: column, key: key) { list in list.removeAll() }
        count = 0
    }
}
