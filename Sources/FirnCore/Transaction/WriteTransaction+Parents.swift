extension WriteTransaction {
    /// Calls `body` with each object of a table that is not linked to exactly once, and with the number of links to it.
    /// Embedded objects must be linked to exactly once. O(n log n) for n objects.
    package func forEachWithoutOneParent(_ id: TableID, _ body: (_ key: Int64, _ parents: Int) -> Void) {
        let incoming = resolvedSchema.tables[id.index].incoming.map { (table($0.table), $0.column) }
        forEachObject(of: id) { key in
            let parents = incoming.reduce(0) { $0 + $1.0.sourceCount(of: key, $1.1) }
            if parents != 1 { body(key, parents) }
        }
    }

    /// Calls `body` with the key of each object of a table, until damage is met.
    package func forEachObject(of id: TableID, _ body: (Int64) -> Void) {
        table(id).forEachLeaf { leaf, _ in
            for row in 0..<leaf.count { body(leaf.key(row)) }
            return !hasMetDamage
        }
    }

    /// The columns of mixed values that contain a link to an object.
    package func mixedSources(of key: Int64, in id: TableID) -> [(table: TableID, column: Int)] {
        resolvedSchema.mixed.filter { origin in
            var isSource = false
            table(origin.table).forEachSource(of: key, in: id, mixed: origin.column) { _ in
                isSource = true
                return false
            }
            return isSource
        }
    }

    /// The objects of some tables that are reached by links from other tables, directly or through further objects of
    /// the same tables. O(n log n) for the n objects of these tables.
    ///
    /// - Parameter isIgnored: whether the links of a column don't count.
    package func objects(
        of ids: Set<TableID>, underOthersExcept isIgnored: (TableID, Int) -> Bool
    ) -> [TableID: Set<Int64>] {
        var found: [TableID: Set<Int64>] = [:]
        var added: [(table: TableID, key: Int64)] = []
        for id in ids.sorted() where !hasMetDamage {
            let origins = resolvedSchema.links(to: id).filter {
                !ids.contains($0.table) && !isIgnored($0.table, $0.column)
            }
            forEachObject(of: id) { key in
                guard origins.contains(where: { table($0.table).sourceCount(of: key, $0.column) > 0 }) else { return }
                found[id, default: []].insert(key)
                added.append((id, key))
            }
        }
        while let next = added.popLast(), !hasMetDamage {
            forEachPart(of: next.table, next.key, in: ids) { id, key, column in
                if !isIgnored(next.table, column), found[id, default: []].insert(key).inserted {
                    added.append((id, key))
                }
            }
        }
        return found
    }

    /// Calls `body` with each object in the tables `ids` to which an object links, and with the column of the link.
    package func forEachPart(
        of id: TableID, _ key: Int64, in ids: Set<TableID>, _ body: (TableID, Int64, _ column: Int) -> Void
    ) {
        let table = table(id)
        for (column, schema) in resolvedSchema.schema[id].columns.enumerated() {
            guard !schema.isRemoved, let target = schema.target, ids.contains(target) else { continue }
            let value = table.value(column, of: key) ?? .null
            for part in schema.collection == .none ? [value.linkedKey] : value.elements.map(\.linkedKey) {
                if let part { body(target, part, column) }
            }
        }
    }
}
