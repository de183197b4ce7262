/// The index of a column: which tree it is, and how the column's values become keys.
///
/// It is made from a column's schema. Making it costs nothing, so each operation makes its own. An entry is (the
/// value's key, the object's key); `object` is an object key throughout.
///
/// Some values are only found as **candidates**:
/// - strings and data above `Limits.indexKeyByteCount` bytes
/// - decimals
/// - numbers and collections in a mixed column
///
/// The caller compares candidates with the row (`isExact`), and uses `forEachObject` rather than `firstObject`.
///
/// A link column's index is its backlinks, an integer index tree of (target, source). It has no entries for null.
struct ColumnIndex {
    let type: ColumnType
    /// Whether it is an `IntegerIndexTree`. Otherwise it is a `BytesIndexTree`.
    let usesIntegerTree: Bool

    init(_ column: ColumnSchema) {
        type = column.type
        switch column.type {
        case .bool, .int, .float, .double: usesIntegerTree = !column.isNullable
        case .link: usesIntegerTree = true
        case .string, .data, .date, .objectID, .uuid, .decimal, .mixed: usesIntegerTree = false
        }
    }

    /// Passes the key of a value of the column to `pair` or `bytes`. Stops the program if the value is not of the
    /// column's type.
    @inline(__always)
    private func withKey<Result>(_ value: Value, pair: (UInt64) -> Result, bytes: (IndexKey) -> Result) -> Result {
        usesIntegerTree ? pair(integerKey(value)) : IndexKey.withValue(value, in: type, bytes)
    }

    /// A value's key in an integer index tree.
    func integerKey(_ value: Value) -> UInt64 {
        switch (type, value) {
        case (.bool, .bool(let x)): return x ? 1 : 0
        case (.int, .int(let x)): return IndexKey.ordered(x)
        case (.float, .float(let x)): return UInt64(IndexKey.orderedBits(x))
        case (.double, .double(let x)): return IndexKey.orderedBits(x)
        case (.link, .link(let x)): return UInt64(bitPattern: x)
        case (.link, .null): return UInt64(bitPattern: -1)
        default: preconditionFailure("Firn: an index of type \(type) can't hold \(value)")
        }
    }

    /// Whether all objects found under the value's key are certain to have that value.
    func isExact(_ value: Value) -> Bool {
        switch value {
        case .string(let x): IndexKey.isExact(x.utf8.count)
        case .data(let x): IndexKey.isExact(x.count)
        // Numbers that are equal have the same key, even if their bits differ.
        case .decimal, .list, .set, .map: false
        case .int, .float, .double: type != .mixed
        default: true
        }
    }

    // MARK: Any value

    func insert(_ value: Value, object: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter) {
        if type == .link, isNullLink(value) { return }
        withKey(
            value, pair: { IntegerIndexTree.insert($0, value: object, at: root, writer: writer) },
            bytes: { BytesIndexTree.insert($0, value: object, at: root, writer: writer) })
    }

    /// Returns false if the entry was not there.
    func remove(_ value: Value, object: Int64, at root: UnsafeMutablePointer<UInt64>, writer: NodeWriter) -> Bool {
        withKey(
            value, pair: { IntegerIndexTree.remove($0, value: object, at: root, writer: writer) },
            bytes: { BytesIndexTree.remove($0, value: object, at: root, writer: writer) })
    }

    /// The lowest key of an object with the value; nil if there is none.
    func firstObject(of value: Value, in root: NodeRef) -> Int64? {
        withKey(
            value, pair: { IntegerIndexTree.firstValue(of: $0, in: root) },
            bytes: { BytesIndexTree.firstValue(of: $0, in: root) })
    }

    /// Calls `body` with the objects that have the value, in ascending order of their keys, until it returns false.
    func forEachObject(of value: Value, in root: NodeRef, _ body: (Int64) -> Bool) {
        withKey(
            value, pair: { IntegerIndexTree.forEachValue(of: $0, in: root, body) },
            bytes: { BytesIndexTree.forEachValue(of: $0, in: root, body) })
    }

    /// How many objects have a value below this one. This is the position of the value's first object in the order of
    /// the index (see `forEachObject(at:)`).
    func lowerBound(_ value: Value, in root: NodeRef) -> Int {
        withKey(
            value, pair: { IntegerIndexTree.lowerBound($0, in: root) },
            bytes: { BytesIndexTree.lowerBound($0, in: root) })
    }

    /// How many objects have a value not above this one.
    func upperBound(_ value: Value, in root: NodeRef) -> Int {
        withKey(
            value, pair: { IntegerIndexTree.upperBound($0, in: root) },
            bytes: { BytesIndexTree.upperBound($0, in: root) })
    }

    private func isNullLink(_ value: Value) -> Bool {
        switch value {
        case .null, .link(-1): true
        default: false
        }
    }

    // MARK: Ints and links

    @inline(__always)
    private func integerKey(int: Int64) -> UInt64 { type == .link ? UInt64(bitPattern: int) : IndexKey.ordered(int) }

    /// Adds an entry to the index of a column of ints, or of links (by their targets). `nil` means null.
    @inline(__always)
    func insert(int: Int64?, _ object: Int64, at root: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter) {
        assert(type == .int || type == .link)
        if usesIntegerTree, let int {
            return IntegerIndexTree.insert(integerKey(int: int), value: object, at: root, writer: writer)
        }
        if type == .link { return }
        withIntKey(int) { BytesIndexTree.insert($0, value: object, at: root, writer: writer) }
    }

    @inline(__always)
    func remove(int: Int64?, _ object: Int64, at root: UnsafeMutablePointer<UInt64>, _ writer: NodeWriter) -> Bool {
        assert(type == .int || type == .link)
        if usesIntegerTree, let int {
            return IntegerIndexTree.remove(integerKey(int: int), value: object, at: root, writer: writer)
        }
        if type == .link { return false }
        return withIntKey(int) { BytesIndexTree.remove($0, value: object, at: root, writer: writer) }
    }

    @inline(__always)
    func firstObject(int: Int64?, in root: NodeRef) -> Int64? {
        assert(type == .int || type == .link)
        if usesIntegerTree, let int { return IntegerIndexTree.firstValue(of: integerKey(int: int), in: root) }
        if type == .link { return nil }
        return withIntKey(int) { BytesIndexTree.firstValue(of: $0, in: root) }
    }

    @inline(__always)
    func contains(int: Int64?, in root: NodeRef) -> Bool { firstObject(int: int, in: root) != nil }

    func forEachObject(int: Int64?, in root: NodeRef, _ body: (Int64) -> Bool) {
        assert(type == .int || type == .link)
        if usesIntegerTree, let int { return IntegerIndexTree.forEachValue(of: integerKey(int: int), in: root, body) }
        if type == .link { return }
        withIntKey(int) { BytesIndexTree.forEachValue(of: $0, in: root, body) }
    }

    @inline(__always)
    private func withIntKey<Result>(_ int: Int64?, _ body: (IndexKey) -> Result) -> Result {
        precondition(!usesIntegerTree, "Firn: the index of a column that is not nullable was asked for null")
        if let int { return IndexKey.withInt(int, body) }
        return IndexKey.withNull(body)
    }
}
