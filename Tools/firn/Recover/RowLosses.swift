/// What a walk over merged rows could not read.
struct RowLosses {
    /// Rows that the checkpoint of their table has lost.
    struct Gap {
        /// How many rows there were; nil if that is not known.
        let rows: Int64?
        /// How many of these rows an older checkpoint has, in an older state.
        fileprivate(set) var outdated = 0
        /// How many of these rows the log has in part, because it has changed them since.
        fileprivate(set) var partial = 0
    }

    /// Parts of the log that could not be read, and their versions.
    var log = DamagedLog.Unreadable()
    /// The gaps by table and group, since several passes over the log meet the same gap.
    private var gapsByGroup: [ChangedObject.Identity: Gap] = [:]
    /// Objects that are lost, apart from those in gaps.
    var objects = Losses()
    /// Values that are lost, of objects that are there. They are as in a new object.
    var values = Losses()
    /// Collections that were edited after a version that is lost, so that they may hold what it removed, or lack what
    /// it added. Edits that do not fit are left out.
    var doubtful = Losses()
    /// Objects and values that are as an older checkpoint has them, since they can't be read in the newest one.
    /// `version` is the oldest of these checkpoints' versions.
    private(set) var outdated: [SchemaPath: (version: UInt64, objects: Loss)] = [:]

    /// The gaps, in the order of tables and keys.
    var gaps: [(table: Int, gap: Gap)] {
        gapsByGroup.sorted { $0.key < $1.key }.map { ($0.key.table, $0.value) }
    }

    mutating func add(_ lost: DamagedCheckpoint.LostRows, of table: Int, outdated: Int, partial: Int) {
        let group = ChangedObject.Identity(table: table, key: lost.group)
        gapsByGroup[group, default: Gap(rows: lost.rows)].outdated += outdated
        gapsByGroup[group]?.partial += partial
    }

    mutating func addOutdated(_ key: Int64, since version: UInt64, at path: SchemaPath) {
        var known = outdated[path] ?? (version, Loss())
        known.objects.add(key)
        known.version = min(known.version, version)
        outdated[path] = known
    }
}
