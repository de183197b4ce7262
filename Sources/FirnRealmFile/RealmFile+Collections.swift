extension RealmFile {
    /// How deep collections in mixed values may be nested: Realm's own limit.
    private static let maximumNesting = 100

    /// Reads all objects of a class, with the elements of their collections, and throws the first damage.
    public func check(_ type: RealmFileClass) throws {
        try forEachBatch(of: type) { batch in
            for (number, property) in type.properties.enumerated() {
                do {
                    for index in 0..<batch.count { try check(batch.value(number, index)) }
                } catch let error as RealmFileError {
                    throw error.within(className: type.name, propertyName: property.name)
                }
            }
        }
    }

    private func check(_ value: RealmFileValue) throws {
        guard case .collection(let collection) = value else { return }
        if collection.kind == .dictionary {
            try forEachEntry(of: collection) { _, value in try check(value) }
        } else {
            try forEachElement(of: collection, check)
        }
    }

    /// Calls `body` with the elements of a list or a set. The elements of a set have no order.
    ///
    /// Links to objects that were removed by a server before the application knew of it are left out, as Realm does.
    public func forEachElement(
        of collection: RealmFileCollection, _ body: (RealmFileValue) throws -> Void
    ) throws {
        precondition(collection.kind != .dictionary, "Firn: forEachEntry reads dictionaries")
        if collection.isEmpty { return }
        try checkNesting(collection)
        guard collection.isSubtable else {
            return try forEachElement(in: collection.reference, collection, body)
        }
        // The only column of a table of its own.
        let tree = try nodes.node(collection.reference).referenceOrZero(0)
        guard collection.element.kind == .timestamp else { return try forEachElement(in: tree, collection, body) }
        try forEachOldTimestamp(try nodes.node(tree), body)
    }

    private func forEachElement(
        in tree: Int, _ collection: RealmFileCollection, _ body: (RealmFileValue) throws -> Void
    ) throws {
        let context = LeafContext(isElement: true, isOld: oldFormat)
        var cursor = LeafCursor(tree)
        while let leaf = try cursor.next(of: collection.element, in: context, nodes) {
            for index in 0..<leaf.count {
                let value = try leaf.value(index, nodes)
                if case .link(_, let key) = value, key < 0, collection.element.kind == .object { continue }
                try body(nested(value, in: collection))
            }
        }
    }

    private func forEachOldTimestamp(_ pair: FileNode, _ body: (RealmFileValue) throws -> Void) throws {
        let int = ElementType(kind: .int, isOptional: true, target: 0)
        let plain = ElementType(kind: .int, isOptional: false, target: 0)
        let context = LeafContext(isElement: true, isOld: true)
        var rest: [RealmFileValue] = []
        var nanoseconds = LeafCursor(try pair.referenceOrZero(1))
        while let leaf = try nanoseconds.next(of: plain, in: context, nodes) {
            for index in 0..<leaf.count { rest.append(try leaf.value(index, nodes)) }
        }
        var cursor = LeafCursor(try pair.referenceOrZero(0))
        while let leaf = try cursor.next(of: int, in: context, nodes) {
            guard cursor.end <= rest.count else {
                throw RealmFileError.damage("timestamps have fewer nanoseconds than seconds", at: cursor.leaf)
            }
            for index in 0..<leaf.count {
                guard case .int(let seconds) = try leaf.value(index, nodes),
                    case .int(let nanoseconds) = rest[cursor.start + index]
                else {
                    try body(.null)
                    continue
                }
                try body(.timestamp(seconds: seconds, nanoseconds: nanoseconds))
            }
        }
    }

    /// Calls `body` with the entries of a dictionary.
    public func forEachEntry(
        of collection: RealmFileCollection, _ body: (_ key: UnsafeRawBufferPointer, RealmFileValue) throws -> Void
    ) throws {
        precondition(collection.kind == .dictionary, "Firn: forEachElement reads lists and sets")
        if collection.isEmpty { return }
        try checkNesting(collection)
        if format < 23 {
            return try forEachClusterEntry(of: collection, body)
        }
        let pair = try nodes.node(collection.reference)
        let context = LeafContext(isElement: true)
        var keys: [UnsafeRawBufferPointer] = []
        var keyCursor = LeafCursor(try pair.referenceOrZero(0))
        while let leaf = try keyCursor.next(of: .dictionaryKey, in: context, nodes) {
            for index in 0..<leaf.count { keys.append(try dictionaryKey(leaf, index)) }
        }
        var cursor = LeafCursor(try pair.referenceOrZero(1))
        while let leaf = try cursor.next(of: .mixed, in: context, nodes) {
            guard cursor.end <= keys.count else { break }
            for index in 0..<leaf.count {
                try body(keys[cursor.start + index], nested(leaf.value(index, nodes), in: collection))
            }
        }
        guard cursor.end == keys.count else {
            throw RealmFileError.damage("a dictionary has more keys than values, or fewer", at: collection.reference)
        }
    }

    /// The formats 21 and 22 keep a dictionary as a tree of objects with a key and a value each.
    private func forEachClusterEntry(
        of collection: RealmFileCollection, _ body: (UnsafeRawBufferPointer, RealmFileValue) throws -> Void
    ) throws {
        try nodes.forEachCluster(of: collection.reference) { node, _ in
            let keys = try nodes.leaf(nodes.child(node, 1), of: .dictionaryKey, in: LeafContext(isElement: true))
            let values = try nodes.leaf(nodes.child(node, 2), of: .mixed, in: LeafContext(isElement: true))
            guard keys.count == values.count else {
                throw RealmFileError.damage(
                    "a dictionary has more keys than values, or fewer", at: collection.reference)
            }
            for index in 0..<keys.count {
                try body(dictionaryKey(keys, index), nested(values.value(index, nodes), in: collection))
            }
        }
    }

    private func dictionaryKey(_ leaf: Leaf, _ index: Int) throws(RealmFileError) -> UnsafeRawBufferPointer {
        guard case .string(let key) = try leaf.value(index, nodes) else {
            throw .damage("a dictionary has a key that is null", at: 0)
        }
        return key
    }

    private func nested(_ value: RealmFileValue, in parent: RealmFileCollection) -> RealmFileValue {
        guard case .collection(var collection) = value else { return value }
        collection.depth = parent.depth + 1
        return .collection(collection)
    }

    private func checkNesting(_ collection: RealmFileCollection) throws(RealmFileError) {
        guard collection.depth <= Self.maximumNesting else {
            throw .damage("collections are nested more than 100 levels deep", at: collection.reference)
        }
    }
}
