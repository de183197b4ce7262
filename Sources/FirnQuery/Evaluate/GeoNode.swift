import FirnCore

/// Tests whether an embedded GeoJSON point lies in a region. An object of another type than `Point`, and one without
/// two coordinates in range, lies nowhere.
struct GeoNode: QueryNode {
    let table: TableID
    /// The column with GeoJSON's type of the object.
    let type: Int
    /// The column with the list of longitude, latitude and, if there is one, altitude.
    let coordinates: Int
    let region: GeoRegion
    /// Whether the objects that lie elsewhere match.
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
