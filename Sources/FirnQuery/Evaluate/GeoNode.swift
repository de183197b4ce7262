import FirnCore

/// Tests whether an embedded GeoJSON point lies in a region. An object of another type than `Point`, and one without
/// two coordinates in range, lies nowhere.
struct GeoNode: QueryNode {
    let table: TableID
    /// The column with GeoJSON's type of the object.
    let type: Int
    /// The list of the longitude, the latitude and, if there is one, the altitude.
    let coordinates: Int
    let region: GeoRegion
    /// Whether the objects that lie elsewhere match.
    let isNegated: Bool
    let name: String

    var cost: Double { 100 }
    var explanation: String { "test whether \(name) lies \(isNegated ? "outside of" : "in") \(region.text)" }

    func narrow(_ rows: inout RowMask, _ leaf: Leaf, _ context: QueryContext) {
        rows.filter { matches(leaf, $0, context) }
    }

    func matches(_ leaf: Leaf, _ row: Int, _ context: QueryContext) -> Bool {
        isWithin(leaf, row, context.table(table)) != isNegated
    }

    private func isWithin(_ leaf: Leaf, _ row: Int, _ table: TableView) -> Bool {
        let list = table.list(coordinates, leaf, row)
        guard list.count >= 2, table.value(type, leaf, row) == .string("Point"),
            case .double(let longitude) = list.value(at: 0), case .double(let latitude) = list.value(at: 1)
        else { return false }
        return region.contains(latitude: latitude, longitude: longitude)
    }
}
