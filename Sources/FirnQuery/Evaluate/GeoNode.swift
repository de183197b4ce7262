import FirnCore

/// Tests whether an embedded GeoJSON point lies in a region. An object whose type is not `Point`, or without two
/// coordinates in range, lies in no region.
struct GeoNode: QueryNode {
    let table: TableID
    /// The column with the object's GeoJSON type.
    let type: Int
    /// The column with the list of longitude, latitude and possibly altitude.
    let coordinates: Int
    let region: GeoRegion
    /// Whether the objects outside the region match, and not those in it.
    let isNegated: Bool
    let name: String

    var cost: Double { 100 }
    var explanation: String { "test whether \(name) lies \(isNegated ? "outside of" : "in") \(region.text)" }

    func narrow(_ rows: inout RowMask, leaf: Leaf, in context: QueryContext) {
        rows.filter { matches(leaf, row: $0, in: context) }
    }

    func matches(_ leaf: Leaf, row: Int, in context: QueryContext) -> Bool {
        isWithin(leaf, row: row, table: context.table(table)) != isNegated
    }

    private func isWithin(_ leaf: Leaf, row: Int, table: TableView) -> Bool {
        let list = table.list(coordinates, leaf: leaf, row: row)
        guard list.count >= 2, table.value(type, leaf: leaf, row: row) == .string("Point"),
            case .double(let longitude) = list.value(at: 0), case .double(let latitude) = list.value(at: 1)
        else { return false }
        return region.contains(latitude: latitude, longitude: longitude)
    }
}
