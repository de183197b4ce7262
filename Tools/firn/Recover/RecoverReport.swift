/// What `firn recover` has saved, and what is lost: put together at the end from what its steps have returned.
struct RecoverReport {
    let schema: DecodedSchema
    /// The newest version from which anything was found.
    let version: UInt64
    /// The damage itself: files and offsets.
    private(set) var findings: [Finding] = []
    /// Versions that are missing, or that could not be read completely.
    private(set) var versions: [ClosedRange<UInt64>] = []
    /// Objects that are recovered, by table.
    let recovered: [Int: Int]
    /// Objects that are lost.
    private(set) var lost: Losses
    /// Values that are lost, of objects that are recovered. They have the value of a new object.
    let lostValues: Losses
    /// Collections that may hold what a lost version removed, or lack what it added.
    let doubtful: Losses
    /// Links that led to lost objects.
    let cutLinks: Losses
    /// Objects and values that are as an older checkpoint has them, and the oldest of these checkpoints' versions.
    let outdated: [(path: SchemaPath, version: UInt64, objects: Loss)]
    /// Tables that may have lost objects of the checkpoint: it is not known how many objects the checkpoint had.
    private(set) var unknown: Set<Int> = []
    /// Whether the end of the log is missing, so that later versions may be lost.
    let isEndLost: Bool

    var isComplete: Bool {
        !isEndLost && versions.isEmpty && lost.isEmpty && lostValues.isEmpty && doubtful.isEmpty && cutLinks.isEmpty
            && outdated.isEmpty && unknown.isEmpty
    }

    /// - Parameter sources: the sources, after all rows were read from them.
    init(_ written: RowWriter.Written, from sources: RecoverSources, schema: DecodedSchema) {
        self.schema = schema
        version = sources.newestVersion
        let losses = written.losses
        recovered = written.objects
        lost = losses.objects
        lostValues = losses.values
        doubtful = losses.doubtful
        cutLinks = written.cutLinks
        outdated = losses.outdated.sorted { $0.key < $1.key }.map { ($0.key, $0.value.version, $0.value.objects) }
        isEndLost = sources.log.isEndLost
        for (table, gap) in losses.gaps {
            if let rows = gap.rows {
                let count = Int(clamping: rows) - gap.outdated - gap.partial
                if count > 0 { lost.add(nil, count: count, at: SchemaPath(table: table)) }
            } else {
                unknown.insert(table)
            }
        }
        for (table, count) in written.orphans where count > 0 {
            lost.add(nil, count: count, at: SchemaPath(table: table))
        }
        var found = losses.log.findings
        for finding in sources.findings { found.add(finding) }
        findings = found.all
        var ranges = losses.log.versions
        for range in sources.lostVersions { ranges.add(range) }
        ranges.sort()
        versions = ranges.all
    }
}
