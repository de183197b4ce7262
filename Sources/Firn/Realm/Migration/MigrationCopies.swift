import FirnCore

/// The copies that a migration block has made of objects whose classes become embedded.
///
/// Used on the block's thread only.
struct MigrationCopies {
    struct Place: Hashable {
        let table: TableID
        let key: Int64
    }
    private var copies: [Place: [Place]] = [:]
    /// The copies that have no row yet, by instance. Each instance is kept, so that no other one gets its number.
    private var unplaced: [ObjectIdentifier: (copy: ObjectBase, of: Place)] = [:]

    /// Notes a copy. If it is unmanaged, `place` says later where it is.
    mutating func note(_ copy: ObjectBase, of table: TableID, _ key: Int64) {
        let original = Place(table: table, key: key)
        guard copy.isManaged else {
            unplaced[ObjectIdentifier(copy)] = (copy, original)
            return
        }
        let row = copy._row
        copies[original, default: []].append(Place(table: TableBinding.of(row).table, key: row.key))
    }

    /// Notes that an instance has got a row.
    mutating func place(_ object: ObjectBase, in table: TableID, _ key: Int64) {
        guard let noted = unplaced.removeValue(forKey: ObjectIdentifier(object)) else { return }
        copies[noted.of, default: []].append(Place(table: table, key: key))
    }

    /// The copies of an object.
    func ofObject(_ table: TableID, _ key: Int64) -> [Place] { copies[Place(table: table, key: key)] ?? [] }
}
