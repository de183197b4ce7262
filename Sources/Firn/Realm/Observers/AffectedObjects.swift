import FirnCore
import FirnQuery
import FirnStorage

/// Finds the objects of a class that a change affects: along key paths, or through any links up to four deep.
///
/// It follows links backwards from the changed objects. So its cost depends on the number of these objects and of the
/// rows that link to them.
struct AffectedObjects {
    let summary: ChangeSummary
    /// The version that the summary begins from. The summary ends with the version of `snapshot`.
    let old: Snapshot
    let snapshot: Snapshot

    /// The number of links along which a change is followed.
    static let depth = 4

    private func modified(_ table: TableID, _ column: Int) -> Set<Int64> {
        guard let summary = summary.tables[table] else { return [] }
        var keys: Set<Int64> = []
        for (key, columns) in summary.modified where columns.contains(column) { keys.insert(key) }
        for list in summary.scripts.keys where list.column == column { keys.insert(list.key) }
        return keys
    }

    private func modified(_ table: TableID) -> Set<Int64> {
        guard let summary = summary.tables[table] else { return [] }
        return Set(summary.modified.keys).union(summary.scripts.keys.map(\.key))
    }

    /// The objects that changed themselves, or that lead by at most four links to an object that changed.
    func viaLinks() -> [TableID: Set<Int64>] {
        var reached: [TableID: Set<Int64>] = [:]
        var frontier: [TableID: Set<Int64>] = [:]
        for id in summary.tables.keys { frontier[id] = modified(id) }
        for level in 0...Self.depth {
            for (id, keys) in frontier { reached[id, default: []].formUnion(keys) }
            if level == Self.depth { break }
            var next: [TableID: Set<Int64>] = [:]
            func note(_ source: Int64, of origin: TableID) -> Bool {
                if !(reached[origin]?.contains(source) ?? false) { next[origin, default: []].insert(source) }
                return true
            }
            for (target, keys) in frontier where !keys.isEmpty {
                for (origin, column) in snapshot.resolvedSchema.links(to: target) {
                    let view = snapshot.table(origin)
                    for key in keys { view.forEachSource(of: key, column) { note($0, of: origin) } }
                }
            }
            // A mixed value may link to an object of any table.
            for (origin, column) in snapshot.resolvedSchema.mixed {
                let view = snapshot.table(origin)
                for (table, keys) in frontier {
                    for key in keys { view.forEachSource(of: key, in: table, mixed: column) { note($0, of: origin) } }
                }
            }
            frontier = next
            if frontier.isEmpty { break }
        }
        return reached
    }

    /// The objects at the beginning of a path along which something changed.
    func via(_ path: ReadPath) -> Set<Int64> {
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
                // A linking object that changed, that was inserted or whose link was set affects the objects that it
                // links to.
                let assigned = modified(origin, column)
                let changed = assigned.union(reached).union(summary.tables[origin]?.inserted ?? [])
                insertTargets(of: changed, origin, column, in: snapshot, into: &here)
                // A linking object whose link was set, or that was deleted, also affects the objects that it linked to
                // before.
                let before = assigned.union(summary.tables[origin]?.deleted ?? [])
                insertTargets(of: before, origin, column, in: old, into: &here)
            }
            reached = here
        }
        return reached
    }

    /// Adds the objects that objects of a table link to in a version.
    private func insertTargets(
        of keys: Set<Int64>, _ origin: TableID, _ column: Int, in snapshot: Snapshot, into result: inout Set<Int64>
    ) {
        let tables = snapshot.resolvedSchema.schema.tables
        // The class or the property may be newer than the version.
        guard !keys.isEmpty, origin.index < tables.count, column < tables[origin.index].columns.count else { return }
        let view = snapshot.table(origin)
        for key in keys {
            switch view.value(column, of: key) {
            case .link(let target) where target >= 0: result.insert(target)
            case .list(let targets), .set(let targets):
                for case .link(let target) in targets { result.insert(target) }
            case .map(let entries):
                for case .link(let target) in entries.map(\.value) { result.insert(target) }
            default: break
            }
        }
    }
}

/// A key path that is observed, resolved to tables and columns.
struct ObservedPath {
    /// The first property.
    let property: PropertyInfo
    let path: ReadPath
    var isNested: Bool { path.steps.count > 1 }

    /// Finds the properties of a text like `dogs.name`. Stops the program if there is no such property.
    init(text: String, binding: TableBinding, schema: SchemaBinding) {
        var steps: [ReadPath.Step] = []
        var first: PropertyInfo?
        var table: TableBinding? = binding
        for name in PropertyPath.names(in: text).map(\.text) {
            guard let current = table, let property = current.info.property(named: name) else {
                let reason =
                    table.map { $0.info.missingPropertyText(name) }
                    ?? "what comes before \"\(name)\" is no object"
                stopProgram(
                    "the key path \"\(text)\" can't be observed: \(reason). Name properties of \(binding.info.name), joined by dots."
                )
            }
            if first == nil { first = property }
            let target = property.shape.target.flatMap { schema.table(of: $0) }
            if property.isLinkingObjects {
                guard let target, let linking = property.origin.flatMap({ target.info.property(named: $0) }) else {
                    break
                }
                steps.append(.init(table: current.table, kind: .backlinks(target.table, target.column(linking))))
            } else {
                steps.append(.init(table: current.table, kind: .column(current.column(property))))
            }
            table = target
        }
        guard let first else {
            stopProgram("an empty key path can't be observed. Name a property of \(binding.info.name).")
        }
        property = first
        path = ReadPath(steps)
    }
}
