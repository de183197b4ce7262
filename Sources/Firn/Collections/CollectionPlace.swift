import CFirn
import FirnCore

/// Where a managed collection lies: a property of a row. It is counted on the realm's core as an accessor is, and finds its row again in the same way.
struct CollectionPlace {
    var row: _Row
    let column: Int
    let property: PropertyInfo
    let layout: ElementLayout

    var binding: TableBinding { TableBinding.of(row) }
    var realm: RealmInstance { RealmInstance.of(row) }

    init(_ row: _Row, _ property: PropertyInfo) {
        self.row = row
        self.property = property
        column = TableBinding.of(row).column(property)
        layout = TableBinding.of(row).layouts[property.number]
        RealmInstance.of(row).retainAccessor(row)
    }

    func release() {
        if let core = row.core { releaseAccessor(core) }
    }

    /// The collection as it stands, of a row that is up to date.
    var cell: ListCell { ListCell(row.chunk(column), row.row, layout) }

    var isInvalidated: Bool { !RealmInstance.isValid(row) }
}
