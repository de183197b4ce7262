extension FileNodes {
    /// The keys of the objects in one leaf of a cluster tree.
    struct ClusterKeys {
        /// Added to each key.
        let offset: UInt64
        /// Nil if the keys are 0, 1, 2 and so on.
        let keys: FileNode?
        let count: Int

        @inline(__always)
        subscript(index: Int) -> Int64 { Int64(bitPattern: offset &+ (keys?.unsigned(index) ?? UInt64(index))) }
    }

    /// Calls `body` with the leaves of a cluster tree, which has the objects of a class in the order of their keys. A
    /// leaf's first element is its keys or their number, and each further one the values of a column.
    func forEachCluster(of reference: Int, _ body: (FileNode, ClusterKeys) throws -> Void) throws {
        try forEachCluster(of: reference, offset: 0, depth: 0, body)
    }

    private func forEachCluster(
        of reference: Int, offset: UInt64, depth: Int, _ body: (FileNode, ClusterKeys) throws -> Void
    ) throws {
        let node = try node(reference)
        guard node.isInner else { return try body(node, clusterKeys(node, offset)) }
        guard depth <= Self.maximumDepth else {
            throw RealmFileError.damage("a tree of objects is too deep", at: reference)
        }
        guard node.count >= 3 else {
            throw RealmFileError.damage("an inner node of a tree of objects is too short", at: reference)
        }
        let keys = try optionalUnsigned(node, 0)
        guard let level = try node.tagged(1), 1...16 ~= level else {
            throw RealmFileError.damage("an inner node of a tree of objects has an impossible depth", at: reference)
        }
        let count = node.count - 3
        if let keys, keys.count < count {
            throw RealmFileError.damage(
                "an inner node of a tree of objects has fewer keys than children", at: reference)
        }
        for index in 0..<count {
            let added = keys?.unsigned(index) ?? (level < 8 ? UInt64(index) << (8 * level) : 0)
            try forEachCluster(
                of: node.referenceOrZero(3 + index), offset: offset &+ added, depth: depth + 1, body)
        }
    }

    /// Calls `body` with the leaf of a cluster tree that has an object if any leaf has it.
    func findCluster(
        of reference: Int, key: UInt64, _ body: (FileNode, ClusterKeys) throws -> Void
    ) throws {
        var reference = reference
        var offset: UInt64 = 0
        for _ in 0...Self.maximumDepth {
            let node = try node(reference)
            guard node.isInner else { return try body(node, clusterKeys(node, offset)) }
            guard node.count > 3 else { return }
            let keys = try optionalUnsigned(node, 0)
            guard let level = try node.tagged(1), 1...16 ~= level else {
                throw RealmFileError.damage("an inner node of a tree of objects has an impossible depth", at: reference)
            }
            guard keys.map({ $0.count >= node.count - 3 }) ?? true else {
                throw RealmFileError.damage(
                    "an inner node of a tree of objects has fewer keys than children", at: reference)
            }
            func start(_ child: Int) -> UInt64 {
                keys?.unsigned(child) ?? (level < 8 ? UInt64(child) << (8 * level) : 0)
            }
            // The last child that begins at the key or before it.
            var (low, high) = (0, node.count - 3)
            while high - low > 1 {
                let middle = (low + high) / 2
                if start(middle) <= key &- offset { low = middle } else { high = middle }
            }
            offset &+= start(low)
            reference = try node.referenceOrZero(3 + low)
        }
        throw RealmFileError.damage("a tree of objects is too deep", at: reference)
    }

    private func clusterKeys(_ node: FileNode, _ offset: UInt64) throws(RealmFileError) -> ClusterKeys {
        let first: Int64 = node.count == 0 ? 1 : try node.integer(0)
        guard first & 1 == 0 else {
            let count = UInt64(bitPattern: first) >> 1
            guard first > 0, count <= UInt64(Int32.max) else {
                throw .damage("a leaf of objects has an impossible number of them", at: node.reference)
            }
            try spend(Int(count), at: node.reference)
            return ClusterKeys(offset: offset, keys: nil, count: Int(count))
        }
        let keys = try integers(node, 0)
        return ClusterKeys(offset: offset, keys: keys, count: keys.count)
    }

    private func optionalUnsigned(_ node: FileNode, _ index: Int) throws(RealmFileError) -> FileNode? {
        guard node.count > index, try node.integer(index) != 0 else { return nil }
        return try integers(node, index)
    }
}
