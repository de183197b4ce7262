import FirnCore

/// The location of a managed collection: a property of a row.
///
/// A location retains nothing. Code that keeps one calls `retain` and `release`, which count it on the realm's core,
/// like an accessor.
struct CollectionLocation {
    var row: _Row
    /// The column of the property. It has no meaning for backlinks, which have no column.
    let column: Int
    let property: PropertyInfo
    let layout: ElementLayout

    var binding: TableBinding { TableBinding.of(row) }
    var realm: _RealmInstance { _RealmInstance.of(row) }

    /// The class and the property, for messages.
    var name: String { "\(binding.info.name).\(property.name)" }

    /// The name of a change of the collection, for messages.
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

    /// The collection's contents in the current state. The row must be up to date.
    var cell: ListCell { ListCell(row.leafView.cell(column, row.row), layout) }

    /// The collection's contents in a version; nil if its row is not in the version.
    func cell(in snapshot: Snapshot) -> ListCell? {
        find(in: snapshot).map { ListCell($0.leaf.cell(column, $0.row), layout) }
    }

    /// The leaf and the index of the collection's row in a version; nil if the row is not in the version.
    func find(in snapshot: Snapshot) -> (leaf: Leaf, row: Int)? {
        guard binding.table.index < snapshot.resolvedSchema.schema.tables.count else { return nil }
        return snapshot.table(binding.table).find(row.key)
    }

    var isInvalidated: Bool { !_RealmInstance.isValid(row) }

    // MARK: In another realm

    // A location retains nothing, and the collection that is made from it is often the only reference to the other
    // realm. So the location is passed to a closure, which must `retain()` it to keep it. Until the closure returns,
    // the realm is kept alive here.

    /// Calls `body` with the location of the same collection in another realm of the store; nil if its row is not
    /// there.
    func moved<Result>(to other: _RealmInstance, _ body: (CollectionLocation) -> Result) -> Result? {
        withExtendedLifetime(other) { other.locate(row(in: other)).map { body(CollectionLocation($0, property)) } }
    }

    /// Calls `body` with the location of the same collection in another realm of the store, without finding its row
    /// yet.
    func unlocated<Result>(in other: _RealmInstance, _ body: (CollectionLocation) -> Result) -> Result {
        withExtendedLifetime(other) { body(CollectionLocation(row(in: other), property)) }
    }

    private func row(in other: _RealmInstance) -> _Row {
        .unlocated(other.core, key: row.key, table: other.binding(like: binding).address)
    }
}
