import FirnBytes

/// What a recovery has saved, and what is lost.
struct SalvageReport {
    /// A property, or a whole class if there is no column.
    struct Place: Hashable, Comparable {
        var table: Int
        var column: Int?

        static func < (a: Place, b: Place) -> Bool { (a.table, a.column ?? -1) < (b.table, b.column ?? -1) }
    }

    /// What happened to a class or property, how often, and to which objects.
    struct Loss {
        var count = 0
        /// The objects' numbers, as far as they are known: the first ranges.
        private(set) var keys: [ClosedRange<Int64>] = []
        private var areAllListed = true

        private static let rangeMax = 1000

        mutating func add(_ key: Int64?, count: Int = 1) {
            // Forged counts may be anything.
            self.count = Int(min(Int64(self.count) + Int64(min(max(count, 0), 1 << 48)), 1 << 60))
            guard let key else {
                areAllListed = false
                return
            }
            if let last = keys.last, key >= last.lowerBound, key <= last.upperBound + 1 {
                keys[keys.count - 1] = last.lowerBound...max(key, last.upperBound)
            } else if keys.count < Self.rangeMax {
                keys.append(key...key)
            } else {
                areAllListed = false
            }
        }

        var text: String {
            guard !keys.isEmpty else { return "" }
            let shown = keys.prefix(8).map { $0.words("#") }
            return ": " + shown.joined(separator: ", ") + (keys.count > 8 || !areAllListed ? ", …" : "")
        }

        var json: [(String, JSON)] {
            [
                ("count", .int(count)),
                ("keys", .array(keys.map { .array([.int($0.lowerBound), .int($0.upperBound)]) })),
                ("allListed", .bool(areAllListed)),
            ]
        }
    }

    /// The damage itself: files and offsets.
    var findings: [Finding] = []
    /// Versions that are missing, or that could not be read completely.
    var versions: [ClosedRange<UInt64>] = []
    /// Objects that are recovered, by table.
    var recovered: [Int: Int] = [:]
    /// Objects that are lost.
    var lost: [Place: Loss] = [:]
    /// Values that are lost, of objects that are recovered. They have the value of a new object.
    var lostValues: [Place: Loss] = [:]
    /// Collections that were edited after a version that is lost, so that they may hold what it removed, or lack what
    /// it added. Edits that do not fit are left out.
    var doubtful: [Place: Loss] = [:]
    /// Links that led to lost objects.
    var cutLinks: [Place: Loss] = [:]
    /// Objects and values that are as an older checkpoint has them, since they can't be read in the newest one; and the
    /// oldest of these checkpoints' versions.
    var outdated: [Place: (version: UInt64, objects: Loss)] = [:]
    /// Tables that may have lost objects of the checkpoint: it is not known how many objects the checkpoint had.
    var unknown: Set<Int> = []

    /// Whether the end of the log is missing, so that later versions may be lost.
    var isEndLost = false

    var isComplete: Bool {
        !isEndLost && versions.isEmpty && lost.isEmpty && lostValues.isEmpty && doubtful.isEmpty && cutLinks.isEmpty
            && outdated.isEmpty && unknown.isEmpty
    }

    mutating func add(_ finding: Finding) {
        if findings.count < 10_000, !findings.contains(finding) { findings.append(finding) }
    }

    mutating func outdate(_ place: Place, _ key: Int64, since version: UInt64) {
        var old = outdated[place] ?? (version, Loss())
        old.objects.add(key)
        old.version = min(old.version, version)
        outdated[place] = old
    }

    mutating func lose(versions range: ClosedRange<UInt64>) {
        if let last = versions.last, range.lowerBound <= last.upperBound &+ 1, range.lowerBound >= last.lowerBound {
            versions[versions.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
        } else {
            versions.append(range)
        }
    }

    // MARK: Output

    private func name(_ place: Place, _ schema: DecodedSchema) -> String {
        let table = schema.name(place.table)
        return place.column.map { "\(table).\(schema.name(place.table, $0))" } ?? table
    }

    func text(_ schema: DecodedSchema) -> [String] {
        var lines: [String] = []
        func list(_ losses: [Place: Loss], one: String, many: String, what: String) {
            for (place, loss) in losses.sorted(by: { $0.key < $1.key }) {
                let amount = Amount.of(loss.count, one: one, many: many)
                lines.append("  \(DisplayText.line(name(place, schema)))  \(amount) \(what)\(loss.text)")
            }
        }
        for (number, table) in schema.tables.enumerated() where !table.isRemoved {
            lines.append(
                "  \(DisplayText.line(table.name))  \(Amount.of(recovered[number] ?? 0, one: "object")) recovered")
        }
        list(lost, one: "object", many: "objects", what: "lost")
        for table in unknown.sorted() {
            lines.append(
                "  \(schema.shownName(table))  further objects of the checkpoint may be lost, how many is not known"
            )
        }
        for (place, (version, objects)) in outdated.sorted(by: { $0.key < $1.key }) {
            let amount = Amount.of(objects.count, one: place.column == nil ? "object" : "value")
            let what = "as of version \(version), since newer states of them are lost"
            lines.append("  \(DisplayText.line(name(place, schema)))  \(amount) \(what)\(objects.text)")
        }
        list(lostValues, one: "value", many: "values", what: "lost, which are as in a new object")
        list(
            doubtful, one: "collection", many: "collections",
            what: "edited after a lost version, which may lack its edits")
        list(cutLinks, one: "link", many: "links", what: "to lost objects removed")
        if isEndLost { lines.append("  the end of the log is missing, and with it any later versions") }
        if !versions.isEmpty {
            let ranges = versions.map { $0.words() }.joined(separator: ", ")
            lines.append("  changes of these versions are lost, or a part of them: " + ranges)
        }
        return lines
    }

    private func json(_ place: Place, _ schema: DecodedSchema) -> [(String, JSON)] {
        [
            ("class", .string(schema.name(place.table))),
            ("property", place.column.map { .string(schema.name(place.table, $0)) } ?? .null),
        ]
    }

    func json(_ schema: DecodedSchema) -> [(String, JSON)] {
        func list(_ losses: [Place: Loss]) -> JSON {
            .array(
                losses.sorted { $0.key < $1.key }.map { place, loss in
                    .object(self.json(place, schema) + loss.json)
                })
        }
        let classes = schema.tables.enumerated().filter { !$0.element.isRemoved }.map { number, table in
            JSON.object([("class", .string(table.name)), ("recovered", .int(recovered[number] ?? 0))])
        }
        return [
            ("complete", .bool(isComplete)), ("classes", .array(classes)), ("lostObjects", list(lost)),
            (
                "maybeLost", .array(unknown.sorted().map { .string(schema.name($0)) })
            ),
            (
                "outdated",
                .array(
                    outdated.sorted { $0.key < $1.key }.map { place, old in
                        .object(self.json(place, schema) + [("version", .int(old.version))] + old.objects.json)
                    })
            ),
            ("lostValues", list(lostValues)), ("doubtful", list(doubtful)), ("cutLinks", list(cutLinks)),
            ("endLost", .bool(isEndLost)),
            ("lostVersions", .array(versions.map { .array([.int($0.lowerBound), .int($0.upperBound)]) })),
        ]
    }
}

extension ClosedRange where Bound: BinaryInteger {
    /// `7`, or `7 to 9`, with a sign before each number.
    fileprivate func words(_ sign: String = "") -> String {
        lowerBound == upperBound ? "\(sign)\(lowerBound)" : "\(sign)\(lowerBound) to \(sign)\(upperBound)"
    }
}
