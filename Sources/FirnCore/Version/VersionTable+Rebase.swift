extension VersionTable {
    /// Puts an equal tree in the place of the tip, which must be published: the same version with another stamp. The caller holds the write lock and a pin on the tip, which from then on
    /// is a version like any that is held.
    func replaceTip(stamp: UInt64, root: Node, mapping: CheckpointMapping) {
        withLock { table in
            let tip = table.entries[table.entries.count - 1]
            precondition(tip === table.publishedEntry, "Firn: a tip that is not published is replaced")
            let entry = Entry(
                stamp: stamp, version: tip.version, time: tip.time, root: root, reference: tip.reference,
                mapping: mapping,
                first: tip.lead)
            table.append(entry)
            table.publishedEntry = entry
            tip.isKept = false
        }
    }

    /// Enters nodes as dead after a version that the caller holds. O(nodes), and nearly all of it outside the lock.
    func addDead(_ nodes: NodeList, after stamp: UInt64) {
        // Versions that go meanwhile only make the buckets finer than they need be; none comes before one that is held.
        let active = withLock { table in table.stamps.filter { $0 <= stamp } }
        let list = DeadList(nodes, active: active[...])
        withLock { table in
            guard let place = table.place(of: stamp) else {
                preconditionFailure("Firn: nodes died after a version that is not active")
            }
            table.deadByteCount += nodes.byteCount
            table.entries[place].dead.join(list) { stamp in
                let next = table.stamps.firstIndex(notBelow: stamp + 1)
                return next < table.stamps.count ? table.stamps[next] : .max
            }
            table.report?(table)
        }
    }
}
