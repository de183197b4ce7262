import FirnCore

/// The copies that a migration block has made of objects whose classes become embedded.
///
/// Used on the block's thread only.
struct MigrationCopies {
    struct Location: Hashable {
        let table: TableID
        let key: Int64
    }
    private var copies: [Location: [Location]] = [:]
    /// The copies that have no row yet, by instance. Each instance is kept, so that no other one gets its identifier.
    private var unlocated: [ObjectIdentifier: (copy: ObjectBase, of: Location)] = [:]

    /// Notes a copy. If it is unmanaged, `locate` says later which row it has.
    mutating func note(_ copy: ObjectBase, of table: TableID, _ key: Int64) {
        let original = Location(table: table, key: key)
        guard copy.isManaged else {
            unlocated[ObjectIdentifier(copy)] = (copy, original)
            return
        }
        let row = copy._row
        copies[original, default: []].append(Location(table: TableBinding.of(row).table, key: row.key))
    }

    /// Notes that an instance has got a row.
    mutating func locate(_ object: ObjectBase, in table: TableID, _ key: Int64) {
        guard let noted = unlocated.removeValue(forKey: ObjectIdentifier(object)) else { return }
        copies[noted.of, default: []].append(Location(table: table, key: key))
    }

    /// The copies of an object.
    func ofObject(_ table: TableID, _ key: Int64) -> [Location] { copies[Location(table: table, key: key)] ?? [] }
}
