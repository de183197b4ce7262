/// The values of one column for the objects of a leaf, or the elements of a part of a collection.
///
/// The lengths of all nodes are checked when the leaf is opened (`FileNodes.leaf`), so getting a value only checks what
/// the value itself says. A leaf is valid until the pages are released.
struct Leaf {
    enum Form {
        case integers(FileNode)
        /// The element 0 is the value that means null in this leaf. It differs from leaf to leaf.
        case nullableIntegers(FileNode, null: Int64)
        case booleans(FileNode)
        /// 3 means null.
        case nullableBooleans(FileNode)
        /// Optional ones of the formats up to 9 are numbers.
        case nullableOldBooleans(FileNode, null: Int64)
        case floats(FileNode)
        case doubles(FileNode)
        /// Strings of up to 15 bytes: each has the node's width, and its last byte says how many before it are unused.
        case shortStrings(FileNode)
        case mediumStrings(SmallBlobs)
        case mediumBinaries(SmallBlobs)
        /// One blob for each value.
        case longStrings(FileNode)
        case longBinaries(FileNode)
        /// Indexes into values that the whole column shares.
        case internedStrings(FileNode, InternedStrings)
        /// Whole seconds.
        case dates(FileNode)
        case nullableDates(FileNode, null: Int64)
        case timestamps(seconds: FileNode, null: Int64, nanoseconds: FileNode)
        case decimals(FileNode)
        case fixedBytes(UnsafeRawBufferPointer, width: Int)
        /// The key of an object plus one; 0 is null.
        case links(FileNode)
        /// The key of an object.
        case plainLinks(FileNode)
        case typedLinks(FileNode)
        case mixed(MixedLeaf)
    }

    let form: Form
    let count: Int
    let type: ElementType

    /// The value at an index below `count`.
    func value(_ index: Int, _ nodes: FileNodes) throws(RealmFileError) -> RealmFileValue {
        switch form {
        case .integers(let node): return .int(node.signed(index))
        case .nullableIntegers(let node, let null):
            let value = node.signed(index + 1)
            return value == null ? .null : .int(value)
        case .booleans(let node): return .bool(node.signed(index) != 0)
        case .nullableBooleans(let node):
            let value = node.signed(index)
            return value == 3 ? .null : .bool(value != 0)
        case .nullableOldBooleans(let node, let null):
            let value = node.signed(index + 1)
            return value == null ? .null : .bool(value != 0)
        case .floats(let node):
            let bits = UInt32(littleEndian: node.elements.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
            return bits == 0x7fc0_00aa ? .null : .float(bits)
        case .doubles(let node):
            let bits = UInt64(littleEndian: node.elements.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
            return bits == 0x7ff8_0000_0000_00aa ? .null : .double(bits)
        case .shortStrings(let node): return text(try Self.shortString(node, index))
        case .mediumStrings(let blobs): return text(try blobs.value(index).map(withoutNUL))
        case .mediumBinaries(let blobs): return binary(try blobs.value(index))
        case .longStrings(let node): return text(try longBlob(of: node, at: index, in: nodes).map(withoutNUL))
        case .longBinaries(let node): return binary(try longBlob(of: node, at: index, in: nodes))
        case .internedStrings(let node, let values):
            return text(try values.value(node.signed(index), in: nodes, at: node.reference))
        case .dates(let node): return .timestamp(seconds: node.signed(index), nanoseconds: 0)
        case .nullableDates(let node, let null):
            let value = node.signed(index + 1)
            return value == null ? .null : .timestamp(seconds: value, nanoseconds: 0)
        case .timestamps(let seconds, let null, let nanoseconds):
            let value = seconds.signed(index + 1)
            return value == null ? .null : .timestamp(seconds: value, nanoseconds: nanoseconds.signed(index))
        case .decimals(let node): return Decimals.value(node, index)
        case .fixedBytes(let bytes, let width): return fixedBytes(bytes, width: width, at: index)
        case .links(let node):
            let value = node.signed(index)
            return value <= 0 ? .null : .link(table: type.target, key: value - 1)
        case .plainLinks(let node): return .link(table: type.target, key: node.signed(index))
        case .typedLinks(let node):
            let table = node.signed(index * 2)
            return table == 0
                ? .null
                : .link(
                    table: UInt32(truncatingIfNeeded: table &- 1) & 0x7fff_ffff, key: node.signed(index * 2 + 1) &- 1)
        case .mixed(let leaf): return try leaf.value(index, nodes)
        }
    }

    /// A string of a required property is never null: what looks so is empty.
    private func text(_ bytes: UnsafeRawBufferPointer?) -> RealmFileValue {
        if let bytes { return .string(bytes) }
        return type.isOptional ? .null : .string(UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private func binary(_ bytes: UnsafeRawBufferPointer?) -> RealmFileValue {
        if let bytes { return .binary(bytes) }
        return type.isOptional ? .null : .binary(UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Strings have a byte 0 behind them.
    private func withoutNUL(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes.dropLast())
    }

    /// A short string; nil if it is null.
    static func shortString(_ node: FileNode, _ index: Int) throws(RealmFileError) -> UnsafeRawBufferPointer? {
        let width = node.width
        if width == 0 { return nil }
        let start = node.elements + index * width
        let unused = Int(start.load(fromByteOffset: width - 1, as: UInt8.self))
        if unused == width { return nil }
        guard unused < width else {
            throw .damage("a short string has an impossible length", at: node.elementsOffset + index * width)
        }
        return UnsafeRawBufferPointer(start: start, count: width - 1 - unused)
    }

    private func longBlob(
        of node: FileNode, at index: Int, in nodes: FileNodes
    ) throws(RealmFileError) -> UnsafeRawBufferPointer? {
        let reference = node.signed(index)
        return reference == 0 ? nil : try nodes.blob(Int(reference))
    }

    /// Values without padding in blocks of eight. A block begins with a byte whose bits say which values are null.
    private func fixedBytes(_ bytes: UnsafeRawBufferPointer, width: Int, at index: Int) -> RealmFileValue {
        let block = index / 8 * (8 * width + 1)
        if bytes[block] >> UInt8(index % 8) & 1 == 1 { return .null }
        let start = block + 1 + index % 8 * width
        let value = UnsafeRawBufferPointer(rebasing: bytes[start..<start + width])
        return width == 12 ? .objectID(value) : .uuid(value)
    }
}

/// Strings or binaries of medium length: where each ends, the bytes of all, and which are null.
struct SmallBlobs {
    let ends: FileNode
    let bytes: UnsafeRawBufferPointer
    let nulls: FileNode?
    /// The flag that means null: 1, but 0 for strings of the formats up to 9.
    let nullFlag: Bool

    func value(_ index: Int) throws(RealmFileError) -> UnsafeRawBufferPointer? {
        let start = index == 0 ? 0 : ends.signed(index - 1)
        let end = ends.signed(index)
        guard 0 <= start, start <= end, end <= bytes.count else {
            throw .damage("the ends of strings or binaries are not in order", at: ends.reference)
        }
        if let nulls, (nulls.signed(index) != 0) == nullFlag { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[Int(start)..<Int(end)])
    }
}
