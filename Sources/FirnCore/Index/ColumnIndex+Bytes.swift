import FirnBytes

extension ColumnIndex {
    // MARK: Strings and data

    /// Adds an entry to the index of a column of strings (as UTF-8) or data. `nil` means null.
    @inline(__always)
    func insert(
        bytes: UnsafeRawBufferPointer?, _ object: Int64, at root: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter
    ) {
        withKey(bytes) { BytesIndexTree.insert($0, value: object, at: root, writer: writer) }
    }

    @inline(__always)
    func remove(
        bytes: UnsafeRawBufferPointer?, _ object: Int64, at root: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter
    ) -> Bool {
        withKey(bytes) { BytesIndexTree.remove($0, value: object, at: root, writer: writer) }
    }

    /// The lowest key of an object with the bytes; nil if there is none. If `IndexKey.isExact(bytes.count)` is false,
    /// the object is only a candidate.
    @inline(__always)
    func firstObject(bytes: UnsafeRawBufferPointer?, in root: NodeRef) -> Int64? {
        withKey(bytes) { BytesIndexTree.firstValue(of: $0, in: root) }
    }

    @inline(__always)
    func contains(bytes: UnsafeRawBufferPointer?, in root: NodeRef) -> Bool {
        firstObject(bytes: bytes, in: root) != nil
    }

    func forEachObject(bytes: UnsafeRawBufferPointer?, in root: NodeRef, _ body: (Int64) -> Bool) {
        withKey(bytes) { BytesIndexTree.forEachValue(of: $0, in: root, body) }
    }

    /// The positions of the values that begin with the bytes. There may be at most `Limits.indexKeyByteCount - 8`
    /// bytes.
    func positions(beginningWith bytes: UnsafeRawBufferPointer, in root: NodeRef) -> Range<Int> {
        precondition(bytes.count <= Limits.indexKeyByteCount - 8, "Firn: an index can't find prefixes above 120 bytes")
        assert(type == .string || type == .data)
        let lower = IndexKey.withBytes(bytes) { BytesIndexTree.lowerBound($0, in: root) }
        // The upper bound is the least key above all keys with the prefix. To make it, the last byte that is not 0xFF
        // is raised by one, and the bytes behind it are dropped. If all bytes are 0xFF, the tag before them is raised.
        let upper = IndexKey.withKey(
            { encoder in
                guard let last = bytes.lastIndex(where: { $0 != 0xFF }) else { return encoder.append(UInt8(2)) }
                encoder.append(UInt8(1))
                encoder.append(UnsafeRawBufferPointer(rebasing: bytes[..<last]))
                encoder.append(bytes[last] + 1)
            }, { BytesIndexTree.lowerBound($0, in: root) })
        return lower..<upper
    }

    @inline(__always)
    private func withKey<Result>(_ bytes: UnsafeRawBufferPointer?, _ body: (IndexKey) -> Result) -> Result {
        assert(type == .string || type == .data)
        if let bytes { return IndexKey.withBytes(bytes, body) }
        return IndexKey.withNull(body)
    }

    // MARK: The whole tree

    /// The number of entries.
    func count(in root: NodeRef) -> Int {
        usesIntegerTree ? IntegerIndexTree.count(in: root) : BytesIndexTree.count(in: root)
    }

    /// Calls `body` with the objects at the positions, in the order of the index, until it returns false.
    func forEachObject(at positions: Range<Int>, in root: NodeRef, descending: Bool = false, _ body: (Int64) -> Bool) {
        switch (usesIntegerTree, descending) {
        case (true, false):
            IntegerIndexTree.forEachRun(positions, in: root) { run in
                for index in 0..<run.count where !body(run.value(index)) { return false }
                return true
            }
        case (true, true):
            IntegerIndexTree.forEachRunBackwards(positions, in: root) { run in
                for index in stride(from: run.count - 1, through: 0, by: -1) where !body(run.value(index)) {
                    return false
                }
                return true
            }
        case (false, false):
            BytesIndexTree.forEachRun(positions, in: root) { run in
                for index in 0..<run.count where !body(run.value(index)) { return false }
                return true
            }
        case (false, true):
            BytesIndexTree.forEachRunBackwards(positions, in: root) { run in
                for index in stride(from: run.count - 1, through: 0, by: -1) where !body(run.value(index)) {
                    return false
                }
                return true
            }
        }
    }

    /// The object at a position; nil if the position is behind the last entry.
    func object(at position: Int, in root: NodeRef) -> Int64? {
        usesIntegerTree
            ? IntegerIndexTree.entry(at: position, in: root)?.value
            : BytesIndexTree.run(from: position, in: root)?.value(0)
    }

    /// Retires every node of the tree.
    func retireAll(_ root: NodeRef, _ writer: NodeWriter) {
        usesIntegerTree ? IntegerIndexTree.retireAll(root, writer) : BytesIndexTree.retireAll(root, writer)
    }

    func forEachNode(_ root: NodeRef, _ body: (Node) -> Void) {
        usesIntegerTree ? IntegerIndexTree.forEachNode(root, body) : BytesIndexTree.forEachNode(root, body)
    }

    func checkInvariants(_ root: NodeRef) throws(Damage) {
        usesIntegerTree ? try IntegerIndexTree.checkInvariants(root) : try BytesIndexTree.checkInvariants(root)
    }
}

/// Builds a column's index from values in any order, at a fraction of the cost of inserting them.
struct ColumnIndexBuilder: ~Copyable {
    private let index: ColumnIndex
    private var keys: [UInt64] = []
    private var objects: [Int64] = []
    private var bytes: BytesIndexTreeBuilder

    init(_ index: ColumnIndex, expectedCount: Int = 0) {
        self.index = index
        bytes = BytesIndexTreeBuilder(expectedCount: index.usesIntegerTree ? 0 : expectedCount)
        if index.usesIntegerTree {
            keys.reserveCapacity(expectedCount)
            objects.reserveCapacity(expectedCount)
        }
    }

    mutating func append(_ value: Value, _ object: Int64) {
        guard index.usesIntegerTree else {
            IndexKey.withValue(value, in: index.type) { bytes.append($0, object) }
            return
        }
        switch (index.type, value) {
        case (.link, .null), (.link, .link(-1)): return
        default:
            keys.append(index.integerKey(value))
            objects.append(object)
        }
    }

    /// Appends a value of a column of ints or links. `nil` means null.
    mutating func append(int: Int64?, _ object: Int64) {
        if index.usesIntegerTree {
            guard let int else { return }
            keys.append(index.type == .link ? UInt64(bitPattern: int) : IndexKey.ordered(int))
            objects.append(object)
        } else if let int {
            IndexKey.withInt(int) { bytes.append($0, object) }
        } else {
            IndexKey.withNull { bytes.append($0, object) }
        }
    }

    /// Appends a value of a column of strings or data. `nil` means null.
    mutating func append(bytes value: UnsafeRawBufferPointer?, _ object: Int64) {
        if let value {
            IndexKey.withBytes(value) { bytes.append($0, object) }
        } else {
            IndexKey.withNull { bytes.append($0, object) }
        }
    }

    /// Builds the tree of everything that was appended.
    consuming func finish(_ writer: NodeWriter) -> NodeRef {
        if index.usesIntegerTree { return IntegerIndexTree.build(sorting: &keys, &objects, writer) }
        return bytes.finish(writer)
    }
}
