extension RealmFile {
    /// Begins to read all objects once more: see `FileNodes`. Whoever reads the classes twice calls it in between.
    public func beginReading() { nodes.beginReading() }

    /// Calls `body` with the objects of a class in the order of their keys, some hundred at a time.
    ///
    /// An error names the class, and the property if it is known.
    public func forEachBatch(of type: RealmFileClass, _ body: (ObjectBatch) throws -> Void) throws {
        if type.objects == 0 { return }
        do {
            var interned: [InternedStrings?] = []
            for property in type.properties { interned.append(try self.interned(property, in: type)) }
            if oldFormat {
                try forEachOldBatch(of: type, interned, body)
            } else {
                try nodes.forEachCluster(of: type.objects) { node, keys in
                    try body(batch(node, keys: keys, of: type, interned: interned))
                    nodes.release()
                }
            }
        } catch let error as RealmFileError {
            throw error.within(className: type.name).of(path)
        }
    }

    private func interned(_ property: RealmFileProperty, in type: RealmFileClass) throws(RealmFileError)
        -> InternedStrings?
    {
        guard property.column.interned != 0 else { return nil }
        do {
            return try InternedStrings(property.column.interned, of: property.type, isOld: oldFormat, in: nodes)
        } catch {
            throw error.within(className: type.name, propertyName: property.name)
        }
    }

    private func batch(
        _ node: FileNode, keys: FileNodes.ClusterKeys, of type: RealmFileClass, interned: [InternedStrings?]
    ) throws(RealmFileError) -> ObjectBatch {
        var columns: [ObjectBatch.Column] = []
        columns.reserveCapacity(type.properties.count)
        for (index, property) in type.properties.enumerated() {
            do {
                columns.append(try column(of: property, in: node, interned: interned[index], count: keys.count))
            } catch {
                throw error.within(className: type.name, propertyName: property.name)
            }
        }
        return ObjectBatch(count: keys.count, keys: keys, columns: columns, nodes: nodes)
    }

    private func column(
        of property: RealmFileProperty, in cluster: FileNode, interned: InternedStrings?, count: Int
    ) throws(RealmFileError) -> ObjectBatch.Column {
        let reference = try cluster.referenceOrZero(1 + property.column.leafIndex)
        guard reference != 0 else {
            guard count == 0 else { throw .damage("objects lack the values of a property", at: cluster.reference) }
            return .missing
        }
        let node = try nodes.node(reference)
        let found: Int
        let column: ObjectBatch.Column
        if let kind = property.collection {
            try node.checkIntegers()
            found = node.count
            column = .collections(node, offset: 0, kind, property.type, isSubtable: false)
        } else {
            let leaf = try nodes.leaf(node, of: property.type, in: LeafContext(interned: interned))
            found = leaf.count
            column = .values(leaf, offset: 0)
        }
        guard found >= count else {
            throw .damage("\(count) objects have only \(found) values of a property", at: reference)
        }
        return column
    }

    /// The greatest key of a class's objects: the one in the tree's last branch. It is -1 if the class has no objects.
    /// Other branches of a damaged file may have greater keys.
    public func lastKey(of type: RealmFileClass) throws -> Int64 {
        if type.objects == 0 { return -1 }
        if oldFormat { return Int64(estimatedCount(of: type)) - 1 }
        var last: Int64 = -1
        try nodes.findCluster(of: type.objects, key: .max) { _, keys in
            if keys.count > 0 { last = keys[keys.count - 1] }
        }
        return last
    }

    /// About how many objects a class has: for progress only, since the file's own number is not checked.
    public func estimatedCount(of type: RealmFileClass) -> Int {
        guard type.objects != 0 else { return 0 }
        do {
            let node = try nodes.node(type.objects)
            if oldFormat {
                guard let tree = try firstTree(of: type, node) else { return 0 }
                let root = try nodes.node(tree)
                if root.isInner { return Int(clamping: try root.tagged(root.count - 1) ?? 0) }
                return try leafCount(root, of: type.properties[0])
            }
            if node.isInner { return Int(clamping: try node.tagged(2) ?? 0) }
            return try node.tagged(0).map { Int(clamping: $0) } ?? nodes.integers(node, 0).count
        } catch {
            return 0  // Reading the objects throws the error.
        }
    }

    /// The number of elements in a leaf of a property's column, in a format up to 9.
    private func leafCount(_ leaf: FileNode, of property: RealmFileProperty) throws(RealmFileError) -> Int {
        // Nanoseconds and references of collections have an element for each object.
        if property.collection != nil || property.type.kind == .timestamp { return leaf.count }
        let isInterned = property.column.interned != 0
        return isInterned ? leaf.count : try nodes.leaf(leaf, of: property.type, in: LeafContext(isOld: true)).count
    }

    /// The B+tree of a column of a format up to 9, in which each object has an element.
    private func firstTree(of type: RealmFileClass, _ table: FileNode) throws(RealmFileError) -> Int? {
        guard let first = type.properties.first else { return nil }
        let reference = try table.referenceOrZero(first.column.leafIndex)
        guard first.type.kind == .timestamp, first.collection == nil else { return reference }
        return try nodes.node(reference).referenceOrZero(1)
    }

    /// Calls `body` with the key of each object of a class, without reading the objects.
    public func forEachKey(of type: RealmFileClass, _ body: (Int64) -> Void) throws {
        if type.objects == 0 { return }
        guard oldFormat else {
            return try nodes.forEachCluster(of: type.objects) { _, keys in
                for index in 0..<keys.count { body(keys[index]) }
                nodes.release()
            }
        }
        // The numbers of a column are not checked here; a row that is missing is found when the objects are read.
        for key in 0..<Int64(estimatedCount(of: type)) { body(key) }
    }

    /// Calls `body` with one object of a class, and the batch in which it lies. Returns false if there is no such
    /// object. Only for formats from 10 on; O(depth of the tree), and the leaves of all columns are opened.
    public func withObject(
        _ key: Int64, of type: RealmFileClass, _ body: (ObjectBatch, _ index: Int) throws -> Void
    ) throws -> Bool {
        precondition(!oldFormat, "Firn: objects of the formats up to 9 are read in order")
        if type.objects == 0 || key < 0 { return false }
        var isFound = false
        try nodes.findCluster(of: type.objects, key: UInt64(key)) { node, keys in
            var (low, high) = (0, keys.count)
            while low < high {
                let middle = (low + high) / 2
                if keys[middle] < key { low = middle + 1 } else { high = middle }
            }
            guard low < keys.count, keys[low] == key else { return }
            isFound = true
            var interned: [InternedStrings?] = []
            for property in type.properties { interned.append(try self.interned(property, in: type)) }
            try body(batch(node, keys: keys, of: type, interned: interned), low)
        }
        return isFound
    }
}
