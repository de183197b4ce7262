extension CheckpointMapping {
    /// Checks that no node that a version reaches in the mapping is recorded as dead. O(nodes that it reaches).
    func checkAlive(_ snapshot: Snapshot, at stamp: UInt64) {
        var alive = BitSet(count: unitCount)
        snapshot.forEachOnDiskNode(below: self) { root in
            if let damage = mark(from: root, in: &alive) { preconditionFailure("Firn: \(damage)") }
        }
        withDead { dead in
            for range in dead.free + dead.waiting.filter({ $0.after < stamp }).map(\.range) {
                precondition(
                    alive.count(in: OnDiskNode.units(range)) == 0,
                    "Firn: a node in \(range) is recorded as dead, but the version reaches it")
            }
        }
    }
}
