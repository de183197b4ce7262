extension RealmFile {
    /// In the formats up to 9 each column is a B+tree over all objects, and an object's key is its position. The leaves
    /// of different columns need not have the same lengths, so a batch ends where the first of them does.
    func forEachOldBatch(
        of type: RealmFileClass, _ interned: [InternedStrings?], _ body: (ObjectBatch) throws -> Void
    ) throws {
        let table = try nodes.node(type.objects)
        var columns: [OldColumn] = []
        for (index, property) in type.properties.enumerated() {
            do {
                columns.append(try OldColumn(property, interned: interned[index], table: table, in: nodes))
            } catch {
                throw error.within(className: type.name, propertyName: property.name)
            }
        }
        var position = 0
        while !columns.isEmpty {
            var end = Int.max
            var ended = 0
            for index in columns.indices {
                do {
                    guard let next = try columns[index].reach(position, nodes) else {
                        ended += 1
                        continue
                    }
                    end = min(end, next)
                } catch {
                    throw error.within(className: type.name, propertyName: type.properties[index].name)
                }
            }
            if ended == columns.count { return }
            guard ended == 0 else {
                throw RealmFileError.damage(
                    "the columns of a table differ in length: some end at object \(position)", at: type.objects)
            }
            var views: [ObjectBatch.Column] = []
            for column in columns { views.append(try column.view(position, nodes)) }
            let keys = FileNodes.ClusterKeys(offset: UInt64(position), keys: nil, count: end - position)
            try body(ObjectBatch(count: end - position, keys: keys, columns: views, nodes: nodes))
            position = end
            nodes.release()
        }
    }
}

/// A column of a file of a format up to 9, at the leaf that has the current object.
private struct OldColumn {
    private let property: RealmFileProperty
    private let context: LeafContext
    private var values: LeafCursor
    /// The tree of a timestamp's nanoseconds.
    private var nanoseconds: LeafCursor?

    private static let optionalInt = ElementType(kind: .int, isOptional: true, target: 0)
    private static let int = ElementType(kind: .int, isOptional: false, target: 0)

    init(
        _ property: RealmFileProperty, interned: InternedStrings?, table: FileNode, in nodes: FileNodes
    ) throws(RealmFileError) {
        self.property = property
        context = LeafContext(isOld: true, interned: interned)
        let reference = try table.referenceOrZero(property.column.leafIndex)
        guard property.type.kind == .timestamp, property.collection == nil else {
            values = LeafCursor(reference)
            return
        }
        let pair = try nodes.node(reference)
        values = LeafCursor(try pair.referenceOrZero(0))
        nanoseconds = LeafCursor(try pair.referenceOrZero(1))
    }

    /// What a leaf's elements are for `Leaf`.
    private var type: ElementType {
        if property.collection != nil { return Self.int }
        return property.type.kind == .timestamp ? Self.optionalInt : property.type
    }

    /// Goes to the leaf with the object at a position, and returns the position behind its last one. Nil if the column
    /// ends before.
    mutating func reach(_ position: Int, _ nodes: FileNodes) throws(RealmFileError) -> Int? {
        guard try Self.reach(position, &values, of: type, context: context, in: nodes) else { return nil }
        guard var cursor = nanoseconds else { return values.end }
        // More nanoseconds than seconds do no harm.
        guard try Self.reach(position, &cursor, of: Self.int, context: context, in: nodes) else {
            throw .damage("timestamps have fewer nanoseconds than seconds", at: values.leaf)
        }
        nanoseconds = cursor
        return min(values.end, cursor.end)
    }

    private static func reach(
        _ position: Int, _ cursor: inout LeafCursor, of type: ElementType, context: LeafContext, in nodes: FileNodes
    ) throws(RealmFileError) -> Bool {
        while position >= cursor.end {
            if try cursor.next(of: type, in: context, nodes) == nil { return false }
        }
        return true
    }

    /// The leaves at a position, opened anew since the pages may have been released.
    func view(_ position: Int, _ nodes: FileNodes) throws(RealmFileError) -> ObjectBatch.Column {
        let node = try nodes.node(values.leaf)
        if let kind = property.collection {
            try node.checkIntegers()
            return .collections(
                node, offset: position - values.start, kind, property.type, isSubtable: property.column.isSubtable)
        }
        let leaf = try nodes.leaf(node, of: type, in: context)
        guard let nanoseconds else { return .values(leaf, offset: position - values.start) }
        let rest = try nodes.leaf(nodes.node(nanoseconds.leaf), of: Self.int, in: context)
        return .timestamps(
            leaf, offset: position - values.start, nanoseconds: rest,
            nanosecondsOffset: position - nanoseconds.start)
    }
}
