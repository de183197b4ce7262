import FirnCore

/// Finds the objects of a class that a change reaches: by key paths, or through any links up to four deep. Goes from what changed backwards, so it costs what changed
/// and the rows that link to it.
struct AffectedObjects {
    let notes: ChangeSummary
    /// The version that the notes begin from, and the one that they lead to.
    let old: Snapshot
    let snapshot: Snapshot
    let schema: SchemaBinding

    /// How many links a change is followed.
    static let depth = 4

    private func modified(_ table: TableID, _ column: Int) -> Set<Int64> {
        guard let notes = notes.tables[table] else { return [] }
        var keys: Set<Int64> = []
        for (key, columns) in notes.modified where columns.contains(column) { keys.insert(key) }
        for list in notes.scripts.keys where list.column == column { keys.insert(list.key) }
        return keys
    }

    private func modified(_ table: TableID) -> Set<Int64> {
        guard let notes = notes.tables[table] else { return [] }
        return Set(notes.modified.keys).union(notes.scripts.keys.map(\.key))
    }

    /// Objects of `table` of which something changed, themselves or up to four links away.
    func deep(_ table: TableID) -> Set<Int64> {
        var reached: [TableID: Set<Int64>] = [:]
        var frontier: [TableID: Set<Int64>] = [:]
        for id in notes.tables.keys { frontier[id] = modified(id) }
        for level in 0...Self.depth {
            for (id, keys) in frontier { reached[id, default: []].formUnion(keys) }
            if level == Self.depth { break }
            var next: [TableID: Set<Int64>] = [:]
            for origin in snapshot.reference.schema.tables.indices.map(TableID.init) {
                for (column, link) in snapshot.reference.schema[origin].columns.enumerated()
                where link.isLink && !link.isRemoved {
                    guard let target = link.target, let keys = frontier[target], !keys.isEmpty else { continue }
                    let view = snapshot.table(origin)
                    for key in keys {
                        view.forEachSource(of: key, column) { source in
                            if !(reached[origin]?.contains(source) ?? false) {
                                next[origin, default: []].insert(source)
                            }
                            return true
                        }
                    }
                }
            }
            frontier = next
            if frontier.isEmpty { break }
        }
        return reached[table] ?? []
    }

    /// Objects at the beginning of a key path along which something changed.
    func along(_ path: ObservedPath) -> Set<Int64> {
        var reached: Set<Int64> = []
        for step in path.steps.reversed() {
            var here: Set<Int64> = []
            switch step.kind {
            case .column(let column):
                here = modified(step.table, column)
                if !reached.isEmpty {
                    let view = snapshot.table(step.table)
                    for key in reached {
                        view.forEachSource(of: key, column) { source in
                            here.insert(source)
                            return true
                        }
                    }
                }
            case .backlinks(let origin, let column):
                // The linking objects that changed, and those that came or whose link was set: what they link to is reached.
                let assigned = modified(origin, column)
                let changed = assigned.union(reached).union(notes.tables[origin]?.inserted ?? [])
                insertTargets(of: changed, origin, column, in: snapshot, into: &here)
                // And what objects linked to before whose link was set, or that went.
                let before = assigned.union(notes.tables[origin]?.deleted ?? [])
                insertTargets(of: before, origin, column, in: old, into: &here)
            }
            reached = here
        }
        return reached
    }

    /// Adds what objects of a table link to in a version.
    private func insertTargets(
        of keys: Set<Int64>, _ origin: TableID, _ column: Int, in snapshot: Snapshot, into result: inout Set<Int64>
    ) {
        let tables = snapshot.reference.schema.tables
        // The class or the property may be younger than the version.
        guard !keys.isEmpty, origin.index < tables.count, column < tables[origin.index].columns.count else { return }
        let view = snapshot.table(origin)
        for key in keys {
            switch view.value(column, of: key) {
            case .link(let target) where target >= 0: result.insert(target)
            case .list(let targets), .set(let targets):
                for case .link(let target) in targets { result.insert(target) }
            default: break
            }
        }
    }
}

/// A key path that is observed, as tables and columns.
struct ObservedPath {
    enum Kind {
        case column(Int)
        case backlinks(TableID, Int)
    }
    struct Step {
        let table: TableID
        let kind: Kind
    }

    /// The first property.
    let property: PropertyInfo
    let steps: [Step]
    var isNested: Bool { steps.count > 1 }

    /// Finds the properties of a text like `dogs.name`. Stops the program where there is no such property.
    init(_ text: String, _ binding: TableBinding, _ schema: SchemaBinding) {
        var steps: [Step] = []
        var first: PropertyInfo?
        var table: TableBinding? = binding
        for name in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard let current = table, let property = current.info.property(named: String(name)) else {
                let place =
                    table.map { $0.info.lacks(String(name)) }
                    ?? "what comes before \"\(name)\" is no object"
                fatalError(
                    "Firn: the key path \"\(text)\" can't be observed: \(place). Name properties of \(binding.info.name), joined by dots."
                )
            }
            if first == nil { first = property }
            let target = property.shape.target.flatMap { schema.table(of: $0) }
            if property.isLinkingObjects {
                guard let target, let linking = property.origin.flatMap({ target.info.property(named: $0) }) else {
                    break
                }
                steps.append(Step(table: current.table, kind: .backlinks(target.table, target.column(linking))))
            } else {
                steps.append(Step(table: current.table, kind: .column(current.column(property))))
            }
            table = target
        }
        guard let first else {
            fatalError("Firn: an empty key path can't be observed. Name a property of \(binding.info.name).")
        }
        property = first
        self.steps = steps
    }
}
