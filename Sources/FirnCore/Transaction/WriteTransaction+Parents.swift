extension WriteTransaction {
    /// Returns how many objects of a table are not linked to exactly once, as embedded objects must be. O(n log n) for
    /// n objects.
    package func countWithoutOneParent(_ id: TableID) -> Int {
        let incoming = resolvedSchema.tables[id.index].incoming.map { (table($0.table), $0.column) }
        var count = 0
        table(id).forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                let parents = incoming.reduce(0) { $0 + $1.0.sourceCount(of: leaf.key(row), $1.1) }
                if parents != 1 { count += 1 }
            }
            return !hasMetDamage
        }
        return count
    }
}
