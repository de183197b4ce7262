extension VersionTable {
    /// Replaces the tip, which must be published, by an equal tree: the same version with another stamp. The caller
    /// holds the write lock and a pin on the old tip, which from then on is a held version like any other.
    func replaceTip(stamp: UInt64, root: Node, mapping: CheckpointMapping) {
        withLock { table in
            let tip = table.entries[table.entries.count - 1]
            precondition(tip === table.publishedEntry, "Firn: the tip must be published before it is replaced")
            let entry = Entry(
                stamp: stamp, version: tip.version, time: tip.time, root: root, resolvedSchema: tip.resolvedSchema,
                mapping: mapping,
                first: tip.lead)
            table.append(entry)
            table.publishedEntry = entry
            tip.isKept = false
        }
    }

    /// Records nodes as dead after a version that the caller holds. O(nodes), nearly all of it outside the lock.
    func addDead(_ nodes: NodeList, after stamp: UInt64) {
        // The list of stamps may be stale when the lock is taken again. This is harmless: a version that is dropped
        // meanwhile only makes buckets smaller than necessary, and a new version is newer than `stamp`.
        let active = withLock { table in table.stamps.filter { $0 <= stamp } }
        let list = DeadList(nodes, active: active[...])
        withLock { table in
            guard let index = table.index(of: stamp) else {
                preconditionFailure("Firn: nodes died after a version that is not active")
            }
            table.deadByteCount += nodes.byteCount
            table.entries[index].dead.join(list) { stamp in
                let next = table.stamps.firstIndex(notBelow: stamp + 1)
                return next < table.stamps.count ? table.stamps[next] : .max
            }
            table.reportHoldings()
        }
    }
}
