import FirnCore

/// Changes to a managed list, each a call of the transaction. Entering an unmanaged object writes rows of its own, so no single edit of the list may be
/// open meanwhile.
struct ManagedListEdit {
    let realm: RealmInstance
    let transaction: WriteTransaction
    private let table: TableID
    private let column: Int
    private let key: Int64
    private(set) var count: Int

    /// Nil where the transaction has met damage, so that nothing is changed.
    init?(_ place: inout CollectionLocation) {
        realm = place.realm
        transaction = realm.writing("change the list \(place.name)")
        guard let row = realm.locateForChange(place.row, in: transaction) else { return nil }
        place.row = row
        let cellPlace = place
        count = transaction.noting { cellPlace.cell.count }
        if transaction.hasFault { return nil }
        table = place.binding.table
        column = place.column
        key = place.row.key
    }

    mutating func insert(_ value: Value, at index: Int) {
        transaction.edit(table, column, key) { list in list.insert(value, at: index) }
        count += 1
    }

    mutating func remove(at index: Int) {
        _ = transaction.edit(table, column, key) { list in list.remove(at: index) }
        count -= 1
    }

    mutating func set(_ value: Value, at index: Int) {
        transaction.edit(table, column, key) { list in list.set(value, at: index) }
    }

    mutating func move(from: Int, to: Int) {
        transaction.edit(table, column, key) { list in list.move(from: from, to: to) }
    }

    mutating func removeAll() {
        transaction.edit(table, column, key) { list in list.removeAll() }
        count = 0
    }
}
