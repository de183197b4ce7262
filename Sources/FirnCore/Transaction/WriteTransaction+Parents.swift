extension WriteTransaction {
    /// Calls `body` with each object of a table that is not linked to exactly once, as embedded objects must be, and
    /// with how many links lead to it. O(n log n) for n objects.
    package func forEachWithoutOneParent(_ id: TableID, _ body: (_ key: Int64, _ parents: Int) -> Void) {
        let incoming = resolvedSchema.tables[id.index].incoming.map { (table($0.table), $0.column) }
        table(id).forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                let parents = incoming.reduce(0) { $0 + $1.0.sourceCount(of: leaf.key(row), $1.1) }
                if parents != 1 { body(leaf.key(row), parents) }
            }
            return !hasMetDamage
        }
    }
}
