import FirnStorage

/// What goes wrong with bytes at rest. For a disk on which no process runs; the traits must say `remembersSectors`.
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

    /// The starts of a file's sectors that have been overwritten, and so can be stale.
    public func overwrittenSectors(of path: String) throws(StorageError) -> [Int] {
        try withFile(path) { node in node.past.keys.filter { $0 < node.durable.count }.sorted() }
    }

    /// A write of a sector was lost although the disk said it was done: the sector is what it was before. False where it never was anything else.
    public func makeStale(_ path: String, at start: Int) throws(StorageError) -> Bool {
        try withFile(path) { node in
            let now = node.sector(at: start)
            guard let old = node.past[start]?.last(where: { $0 != now }) else { return false }
            node.replaceSector(at: start, with: old)
            return true
        }
    }

    /// The last write of a sector landed on another one of the same or another file: that has these bytes, and the sector is what it was before (zeros where nothing was).
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

    /// Calls `body` with copies of the disk and what is wrong with each: a sector that is stale, or one that has landed
    /// on another, of all that were written. Returns how many there were.
    public func forEachSpoiledSector(_ body: (SimulatedDisk, String) throws -> Void) throws -> Int {
        var tried = 0
        func call(_ context: String, _ spoil: (SimulatedDisk) throws -> Bool) throws {
            let spoiled = afterPowerCut(seed: 1, .nothing)
            guard try spoil(spoiled) else { return }
            tried += 1
            try body(spoiled, context)
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
        return tried
    }

    private func withFile<Result>(
        _ path: String, _ body: (SimulatedNode) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try guarded.withLock { (state) throws(StorageError) in try body(try state.tree.existing(path, "media")) }
    }
}
