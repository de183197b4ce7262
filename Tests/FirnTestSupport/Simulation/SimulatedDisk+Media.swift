import FirnStorage

/// Damage to bytes at rest. For a disk that no process uses, with the trait `remembersSectors`.
extension SimulatedDisk {
    /// The files on the disk.
    public var filePaths: [String] {
        guarded.withLock { state in
            var result: [String] = []
            func visit(_ node: SimulatedNode, _ path: String) {
                guard let children = node.children else { return result.append(path) }
                for (name, child) in children.sorted(by: { $0.key < $1.key }) { visit(child, path + "/" + name) }
            }
            visit(state.tree.root, "")
            return result
        }
    }

    /// The offsets of a file's sectors that were overwritten, and so can become stale.
    public func overwrittenSectors(of path: String) throws(StorageError) -> [Int] {
        try withFile(path) { node in node.past.keys.filter { $0 < node.durable.count }.sorted() }
    }

    /// Undoes the last write of a sector, as if it was lost although the disk reported success.
    ///
    /// Returns false if the sector never had other bytes.
    public func makeStale(_ path: String, at start: Int) throws(StorageError) -> Bool {
        try withFile(path) { node in
            let now = node.sector(at: start)
            guard let old = node.past[start]?.last(where: { $0 != now }) else { return false }
            node.replaceSector(at: start, with: old)
            return true
        }
    }

    /// Moves the last write of a sector to another sector, of the same file or another one.
    ///
    /// The other sector gets its bytes, and the sector has its old bytes again (zeros if it had none).
    public func misdirect(
        _ path: String, at start: Int, to other: String, at target: Int
    ) throws(StorageError) -> Bool {
        try guarded.withLock { (state) throws(StorageError) in
            let from = try state.tree.existing(path, "media")
            let to = try state.tree.existing(other, "media")
            let now = from.sector(at: start)
            let old = from.past[start]?.last { $0 != now } ?? [UInt8](repeating: 0, count: now.count)
            guard old != now, to.sector(at: target) != now else { return false }
            from.replaceSector(at: start, with: old)
            to.replaceSector(at: target, with: now)
            return true
        }
    }

    /// Calls `body` with damaged copies of the disk, and with a text that says what is wrong.
    ///
    /// In each copy one of the overwritten sectors is stale, or its last write was misdirected to another one.
    /// Returns how many copies there were.
    public func forEachDamagedSector(_ body: (SimulatedDisk, String) throws -> Void) throws -> Int {
        var count = 0
        func call(_ context: String, _ damage: (SimulatedDisk) throws -> Bool) throws {
            let damaged = afterPowerCut(seed: 1, .nothing)
            guard try damage(damaged) else { return }
            count += 1
            try body(damaged, context)
        }
        let sectors = try filePaths.flatMap { path in
            try overwrittenSectors(of: path).map { (path: path, start: $0) }
        }
        for one in sectors {
            try call("\(one.path), sector at \(one.start) is stale") { try $0.makeStale(one.path, at: one.start) }
            for other in sectors {
                try call("\(one.path), sector at \(one.start) landed on \(other.path) at \(other.start)") {
                    try $0.misdirect(one.path, at: one.start, to: other.path, at: other.start)
                }
            }
        }
        return count
    }

    private func withFile<Result>(
        _ path: String, _ body: (SimulatedNode) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try guarded.withLock { (state) throws(StorageError) in try body(try state.tree.existing(path, "media")) }
    }
}
