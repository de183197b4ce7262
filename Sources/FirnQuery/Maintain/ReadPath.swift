import FirnCore

/// The properties that lead from an object to a value. If one of them is assigned, or an object that it leads to is
/// inserted or deleted, the value may have changed.
package struct ReadPath: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// A property of the object: a value, a link, or a collection.
        case column(Int)
        /// The objects of a table whose property links to the object.
        case backlinks(TableID, Int)
    }
    package struct Step: Sendable, Hashable {
        package let table: TableID
        package let kind: Kind

        package init(table: TableID, kind: Kind) {
            self.table = table
            self.kind = kind
        }
    }

    package var steps: [Step]

    package init(_ steps: [Step]) { self.steps = steps }
}

extension BoundPath {
    /// The properties that the path reads, after `prefix`.
    func reads(after prefix: [ReadPath.Step] = []) -> ReadPath {
        var result = prefix
        var table = root
        for step in steps {
            switch step {
            case .link(let column, let target), .item(let column, _, let target), .links(let column, let target):
                result.append(.init(table: table, kind: .column(column)))
                table = target
            case .sources(let origin, let column):
                result.append(.init(table: table, kind: .backlinks(origin, column)))
                table = origin
            }
        }
        switch end {
        case .object: break
        case .value(let column), .elements(let column), .keys(let column), .entry(let column, _),
            .element(let column, _):
            result.append(.init(table: table, kind: .column(column)))
        case .sources(let origin, let column): result.append(.init(table: table, kind: .backlinks(origin, column)))
        }
        return ReadPath(result)
    }
}

extension QueryCompiler {
    /// The paths that a predicate reads.
    func reads(_ predicate: Predicate, from table: TableID) throws(QueryError) -> Set<ReadPath> {
        var paths: Set<ReadPath> = []
        try addReads(predicate, from: table, after: [], &paths)
        return paths
    }

    private func addReads(
        _ predicate: Predicate, from table: TableID, after prefix: [ReadPath.Step], _ paths: inout Set<ReadPath>
    ) throws(QueryError) {
        switch predicate {
        case .constant: break
        case .not(let part): try addReads(part, from: table, after: prefix, &paths)
        case .all(let parts), .any(let parts):
            for part in parts { try addReads(part, from: table, after: prefix, &paths) }
        case .comparison(let comparison):
            try addReads(comparison.left, from: table, after: prefix, &paths)
            try addReads(comparison.right, from: table, after: prefix, &paths)
            if case .region = comparison.right, case .path(let path) = comparison.left {
                addLocation(try bind(path, from: table), after: prefix, &paths)
            }
        }
    }

    /// Adds the properties that decide whether a GeoJSON point lies in a region (`GeoNode`).
    private func addLocation(_ point: BoundPath, after prefix: [ReadPath.Step], _ paths: inout Set<ReadPath>) {
        guard let target = point.target else { return }
        for name in ["type", "coordinates"] {
            guard case .column(let column)? = resolver.property(name, of: target) else { continue }
            paths.insert(ReadPath(point.reads(after: prefix).steps + [.init(table: target, kind: .column(column))]))
        }
    }

    private func addReads(
        _ operand: Operand, from table: TableID, after prefix: [ReadPath.Step], _ paths: inout Set<ReadPath>
    ) throws(QueryError) {
        switch operand {
        case .value, .values, .region: break
        case .path(let path):
            let bound = try bind(path, from: table)
            let reads = bound.reads(after: prefix)
            paths.insert(reads)
            guard !path.elementPath.isEmpty, let target = bound.target else { return }
            let inner = try bind(path.elementPath, from: target, text: path.text, position: path.position)
            paths.insert(inner.reads(after: reads.steps))
        case .subquery(let path, _, let predicate):
            let bound = try bind(path, from: table)
            let reads = bound.reads(after: prefix)
            paths.insert(reads)
            if let target = bound.target { try addReads(predicate, from: target, after: reads.steps, &paths) }
        }
    }
}
