import FirnCore

/// The location of a managed collection: a property of a row.
///
/// Code that keeps a location counts it on the realm's core (`retain`, `release`), as accessors are counted.
struct CollectionLocation {
    var row: _Row
    /// The column of the property. It has no meaning for backlinks, which have no column.
    let column: Int
    let property: PropertyInfo
    let layout: ElementLayout

    var binding: TableBinding { TableBinding.of(row) }
    var realm: _RealmInstance { _RealmInstance.of(row) }

    /// For messages: the class and the property.
    var name: String { "\(binding.info.name).\(property.name)" }

    /// What a change of the collection is called in messages.
    var change: String { "change the \(layout.collection) \(name)" }

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

    /// The collection in the current state. The row must be up to date.
    var cell: ListCell { ListCell(row.leafView.cell(column, row.row), layout) }

    /// The collection in a version; nil if its row is not in it.
    func cell(in snapshot: Snapshot) -> ListCell? {
        find(in: snapshot).map { ListCell($0.leaf.cell(column, $0.row), layout) }
    }

    /// The location of its row in a version; nil if the row is not in it.
    func find(in snapshot: Snapshot) -> (leaf: Leaf, row: Int)? {
        guard binding.table.index < snapshot.resolvedSchema.schema.tables.count else { return nil }
        return snapshot.table(binding.table).find(row.key)
    }

    var isInvalidated: Bool { !_RealmInstance.isValid(row) }

    // MARK: In another realm

    // A location holds no reference, and the value that is made of it is often the only one that keeps the other realm.
    // So the location is lent to a block, which counts it, and the realm is held meanwhile.

    /// Calls `body` with the same collection in another realm of the store; nil if its row is not there.
    func moved<Result>(to other: _RealmInstance, _ body: (CollectionLocation) -> Result) -> Result? {
        withExtendedLifetime(other) { other.locate(row(in: other)).map { body(CollectionLocation($0, property)) } }
    }

    /// Calls `body` with the same collection in another realm of the store, without looking its row up yet.
    func unlocated<Result>(in other: _RealmInstance, _ body: (CollectionLocation) -> Result) -> Result {
        withExtendedLifetime(other) { body(CollectionLocation(row(in: other), property)) }
    }

    private func row(in other: _RealmInstance) -> _Row {
        .unlocated(other.core, key: row.key, table: other.binding(like: binding).address)
    }
}
