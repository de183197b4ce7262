/// How a leaf is read, apart from the type of its values.
struct LeafContext {
    /// Whether the leaf belongs to a list, a set or a dictionary, and not to a column.
    var isElement = false
    /// Whether the file has a format up to 9.
    var isOld = false
    /// The shared values of an interned column.
    var interned: InternedStrings?
}

extension FileNodes {
    /// Opens a leaf and checks the lengths of its nodes.
    func leaf(_ node: FileNode, of type: ElementType, in context: LeafContext) throws(RealmFileError) -> Leaf {
        let (form, count) = try form(node, of: type, in: context)
        return Leaf(form: form, count: count, type: type)
    }

    private func form(
        _ node: FileNode, of type: ElementType, in context: LeafContext
    ) throws(RealmFileError) -> (Leaf.Form, count: Int) {
        switch type.kind {
        case .int:
            guard type.isOptional else {
                try node.checkIntegers()
                return (.integers(node), node.count)
            }
            return (.nullableIntegers(node, null: try nullValue(node)), node.count - 1)
        case .bool:
            try node.checkIntegers()
            if !context.isOld { return (.nullableBooleans(node), node.count) }
            guard type.isOptional else { return (.booleans(node), node.count) }
            return (.nullableOldBooleans(node, null: try nullValue(node)), node.count - 1)
        case .oldDate:
            guard type.isOptional else {
                try node.checkIntegers()
                return (.dates(node), node.count)
            }
            return (.nullableDates(node, null: try nullValue(node)), node.count - 1)
        case .float:
            try check(node, hasBytes: 4, "float")
            return (.floats(node), node.count)
        case .double:
            try check(node, hasBytes: 8, "double")
            return (.doubles(node), node.count)
        case .string: return try strings(node, of: type, in: context)
        case .binary:
            if node.hasContext {
                try node.checkIntegers()
                return (.longBinaries(node), node.count)
            }
            let blobs = try smallBlobs(node, nullFlag: true)
            return (.mediumBinaries(blobs), blobs.ends.count)
        case .timestamp: return try timestamps(node)
        case .decimal: return (.decimals(node), try Decimals.check(node))
        case .objectID: return try fixedBytes(node, width: 12)
        case .uuid: return try fixedBytes(node, width: 16)
        case .object:
            try node.checkIntegers()
            return (context.isElement ? .plainLinks(node) : .links(node), node.count)
        case .typedLink:
            try node.checkIntegers()
            return (.typedLinks(node), node.count / 2)
        case .mixed:
            let leaf = try MixedLeaf(node, self)
            return (.mixed(leaf), leaf.count)
        }
    }

    private func nullValue(_ node: FileNode) throws(RealmFileError) -> Int64 {
        try node.checkIntegers()
        guard node.count > 0 else { throw .damage("a leaf of optional numbers lacks its null", at: node.reference) }
        return node.signed(0)
    }

    private func check(_ node: FileNode, hasBytes width: Int, _ name: String) throws(RealmFileError) {
        guard node.count == 0 || node.kind == .bytes && node.width == width else {
            throw .damage("a leaf of \(name) values has another width", at: node.reference)
        }
    }

    /// The form of a string leaf stands in its header.
    private func strings(
        _ node: FileNode, of type: ElementType, in context: LeafContext
    ) throws(RealmFileError) -> (Leaf.Form, count: Int) {
        if node.hasReferences {
            if node.hasContext {
                try node.checkIntegers()
                return (.longStrings(node), node.count)
            }
            // The flags of the formats up to 9 say which are not null.
            let blobs = try smallBlobs(node, nullFlag: !context.isOld)
            return (.mediumStrings(blobs), blobs.ends.count)
        }
        if node.kind == .bytes { return (.shortStrings(node), node.count) }
        guard let interned = context.interned, !context.isElement else {
            if node.count == 0 { return (.integers(node), 0) }
            throw .damage("strings are interned, and the column has no shared values", at: node.reference)
        }
        try node.checkIntegers()
        return (.internedStrings(node, interned), node.count)
    }

    private func smallBlobs(_ node: FileNode, nullFlag: Bool) throws(RealmFileError) -> SmallBlobs {
        let ends = try integers(node, 0)
        let bytesReference = try node.referenceOrZero(1)
        let empty = UnsafeRawBufferPointer(start: pages.base, count: 0)
        let bytes = bytesReference == 0 ? empty : try self.bytes(of: self.node(bytesReference))
        let nulls = try optionalIntegers(node, 2)
        if let nulls, nulls.count < ends.count {
            throw .damage("there are fewer flags for null than values", at: nulls.reference)
        }
        return SmallBlobs(ends: ends, bytes: bytes, nulls: nulls, nullFlag: nullFlag)
    }

    private func timestamps(_ node: FileNode) throws(RealmFileError) -> (Leaf.Form, count: Int) {
        let seconds = try child(node, 0)
        let null = try nullValue(seconds)
        let nanoseconds = try integers(node, 1)
        guard nanoseconds.count >= seconds.count - 1 else {
            throw .damage("timestamps have fewer nanoseconds than seconds", at: node.reference)
        }
        return (.timestamps(seconds: seconds, null: null, nanoseconds: nanoseconds), seconds.count - 1)
    }

    private func fixedBytes(_ node: FileNode, width: Int) throws(RealmFileError) -> (Leaf.Form, count: Int) {
        guard node.count == 0 || node.kind == .bytes && node.width == 1 else {
            throw .damage("a leaf of identifiers has another width", at: node.reference)
        }
        let block = 8 * width + 1
        let count = (node.count - (node.count + block - 1) / block) / width
        return (.fixedBytes(UnsafeRawBufferPointer(start: node.elements, count: node.count), width: width), count)
    }
}
