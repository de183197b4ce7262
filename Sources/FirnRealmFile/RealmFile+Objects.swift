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
                    try body(batch(node, keys, of: type, interned))
                    nodes.release()
                }
            }
        } catch let error as RealmFileError {
            throw error.within(className: type.name).of(path)
        }
    }

    private func interned(_ property: RealmFileProperty, in type: RealmFileClass) throws(RealmFileError) -> InternedStrings? {
        guard property.column.interned != 0 else { return nil }
        do {
            return try InternedStrings(property.column.interned, property.type, isOld: oldFormat, nodes)
        } catch {
            throw error.within(className: type.name, propertyName: property.name)
        }
    }

    private func batch(
        _ node: FileNode, _ keys: FileNodes.ClusterKeys, of type: RealmFileClass, _ interned: [InternedStrings?]
    ) throws(RealmFileError) -> ObjectBatch {
        var columns: [ObjectBatch.Column] = []
        columns.reserveCapacity(type.properties.count)
        for (index, property) in type.properties.enumerated() {
            do {
                columns.append(try column(node, property, interned[index], count: keys.count))
            } catch {
                throw error.within(className: type.name, propertyName: property.name)
            }
        }
        return ObjectBatch(count: keys.count, keys: keys, columns: columns, nodes: nodes)
    }

    private func column(
        _ cluster: FileNode, _ property: RealmFileProperty, _ interned: InternedStrings?, count: Int
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
            let leaf = try nodes.leaf(node, property.type, LeafContext(interned: interned))
            found = leaf.count
            column = .values(leaf, offset: 0)
        }
        guard found >= count else {
            throw .damage("\(count) objects have only \(found) values of a property", at: reference)
        }
        return column
    }

    /// About how many objects a class has: for progress only, since the file's own number is not checked.
    public func estimatedCount(of type: RealmFileClass) -> Int {
        guard type.objects != 0 else { return 0 }
        do {
            let node = try nodes.node(type.objects)
            if !oldFormat {
                if node.isInner { return Int(clamping: try node.tagged(2) ?? 0) }
                return try node.tagged(0).map { Int(clamping: $0) } ?? nodes.integers(node, 0).count
            }
            guard let first = type.properties.first, first.type.kind != .timestamp else { return 0 }
            let tree = try nodes.child(node, first.column.leafIndex)
            return tree.isInner ? Int(clamping: try tree.tagged(tree.count - 1) ?? 0) : tree.count
        } catch {
            return 0  // Reading the objects will throw the error.
        }
    }
}
