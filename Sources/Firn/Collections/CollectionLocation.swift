import FirnCore

/// Where a managed collection lies: a property of a row. Whoever keeps one counts it on the realm's core (`retain`, `release`), as accessors are.
struct CollectionLocation {
    var row: _Row
    /// The column; of backlinks, none.
    let column: Int
    let property: PropertyInfo
    let layout: ElementLayout

    var binding: TableBinding { TableBinding.of(row) }
    var realm: RealmInstance { RealmInstance.of(row) }

    /// For messages: the class and the property.
    var name: String { "\(binding.info.name).\(property.name)" }

    init(_ row: _Row, _ property: PropertyInfo) {
        self.row = row
        self.property = property
        let binding = TableBinding.of(row)
        column = binding.column(property)
        layout =
            property.isLinkingObjects ? ElementLayout(type: .link, collection: .list) : binding.layouts[property.number]
    }

    func retain() { realm.retainAccessor(row) }

    func release() {
        if let core = row.core { releaseAccessor(core) }
    }

    /// The collection as it stands, of a row that is up to date.
    var cell: ListCell { ListCell(row.place.cell(column, row.row), layout) }

    /// The collection in a version; nil where its row is not there.
    func cell(in snapshot: Snapshot) -> ListCell? {
        find(in: snapshot).map { ListCell($0.leaf.cell(column, $0.row), layout) }
    }

    /// Where its row lies in a version; nil where it is not there.
    func find(in snapshot: Snapshot) -> (leaf: Leaf, row: Int)? {
        guard binding.table.index < snapshot.reference.schema.tables.count else { return nil }
        return snapshot.table(binding.table).find(row.key)
    }

    var isInvalidated: Bool { !RealmInstance.isValid(row) }

    /// The same collection in another realm of the store; nil where its row is gone there.
    func moved(to other: RealmInstance) -> CollectionLocation? {
        other.locate(placed(in: other).row).map { CollectionLocation($0, property) }
    }

    /// The same collection in another realm of the store, where its row is yet to be found.
    func placed(in other: RealmInstance) -> CollectionLocation {
        CollectionLocation(_Row(core: other.core, key: row.key, table: row.table.unsafelyUnwrapped), property)
    }
}
