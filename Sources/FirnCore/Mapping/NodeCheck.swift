import FirnBytes

/// Checks a node of a checkpoint against what it must be (`NodeClaim`), when the node is validated. Every number in it
/// is bounded by the node's own length, by what its parent counts, and by the schema. So code that reads the node
/// afterwards need not check any number again. The node's checksum was verified before, but this does not prove that
/// Firn made the node.
///
/// Cost: O(bytes of the node), as for the checksum.
struct NodeCheck {
    let node: Node
    let claim: NodeClaim
    let schema: ResolvedSchema
    /// Whether the node is part of the version that was opened. A chunk of that version has exactly the rows of its
    /// leaf, because that leaf is the only one that refers to it.
    let isOpened: Bool
    /// The addresses of the node's references, and the claims on the nodes that they lead to.
    private(set) var refs: [(address: UnsafeMutableRawPointer, claim: NodeClaim)] = []
    /// Rows, entries or elements in a node of a tree and below it.
    private var total: Int?

    init(node: Node, claim: NodeClaim, schema: ResolvedSchema, isOpened: Bool) {
        self.node = node
        self.claim = claim
        self.schema = schema
        self.isOpened = isOpened
    }

    /// The highest level of a node of a tree. A higher tree would hold more entries than there are addresses, even if
    /// each node had only its least number of children.
    static let highestLevel = 12
    /// The keys that objects may have: the ones that a changeset may name. Counting up from one of them never
    /// overflows.
    private static let keys = 0..<ChangesetFormat.keyLimit

    /// Throws if the node is not what it must be. Afterwards `refs` are its references.
    mutating func check() throws(Damage) {
        total = node.count
        switch claim.role {
        case .root: try root()
        case .table(let table): try self.table(table)
        case .rows(let table): try rows(table)
        case .keys: try leafKeys()
        case .chunk, .dictionary: try chunk()
        case .pairs: node.width == 0 ? try integerIndexLeaf() : try integerIndexInner()
        case .bytes: try bytesPage()
        case .list(let cells):
            node.kindNumber == Node.Kind.listInner.rawValue ? try listInner(cells) : try listLeaf(cells)
        case .blob(let cells): try blob(cells)
        }
    }

    /// The claim, completed by the node's level and count if the parent gave none. Once it is entered, no other node
    /// can claim the node with another level or count.
    var full: NodeClaim {
        switch claim.role {
        case .rows, .pairs, .bytes, .list: NodeClaim(claim.role, level: node.width, count: total)
        default: claim
        }
    }

    /// Throws if the node's count, or a count that it claims for a child, is above `most`. Call it after `check`.
    func checkCount(most: Int) throws(Damage) {
        let count = refs.reduce(full.count ?? 0) { max($0, $1.claim.count ?? 0) }
        try Damage.check(
            count <= most, "a node counts \(count) rows, entries or elements, more than its files can hold")
    }

    mutating func add(_ address: UnsafeMutableRawPointer, _ claim: NodeClaim) { refs.append((address, claim)) }

    /// Whether a node that was validated before also has what this node claims of it, beyond what comparing two claims
    /// shows.
    func isEnough(_ child: Node, _ claim: NodeClaim) -> Bool {
        switch claim.role {
        // All rows of the child have been checked.
        case .chunk, .dictionary: return hasRows(child, claim)
        // Only as many keys have been checked as the claim at that time counted.
        case .keys:
            var check = NodeCheck(node: child, claim: claim, schema: schema, isOpened: isOpened)
            return (try? check.check()) != nil
        default: return true
        }
    }

    /// Whether a chunk has the rows that a claim asks for.
    func hasRows(_ chunk: Node, _ claim: NodeClaim) -> Bool {
        let wanted = claim.count ?? 0
        // Neighbouring leaves share a dictionary, so it may hold more values than one of them uses.
        if case .dictionary = claim.role { return chunk.capacity >= wanted }
        return isOpened ? chunk.capacity == wanted : chunk.capacity >= wanted
    }

    func isKind(_ kind: Node.Kind) -> Bool { node.kindNumber == kind.rawValue }

    /// Calls `body` with each field of a node that holds a reference. If `body` throws, stops and throws the same
    /// error. The node's kind must have been checked, and its number of children, tables or columns.
    @inline(__always)
    private static func forEachRef(
        of node: Node, _ body: (UnsafeMutableRawPointer, RefField) throws(Damage) -> Void
    ) throws(Damage) {
        var damage: Damage?
        node.forEachRefField { address, field in
            guard damage == nil else { return }
            do throws(Damage) { try body(address, field) } catch { damage = error }
        }
        if let damage { throw damage }
    }

    private func hasRef(_ address: UnsafeMutableRawPointer) -> Bool { address.load(as: UInt64.self) != 0 }

    private static var wrongKind: Damage { Damage("a reference leads to a node of another kind") }

    // MARK: Tables and rows

    private mutating func root() throws(Damage) {
        let tables = schema.tables
        guard isKind(.root) else { throw Self.wrongKind }
        guard node.count == tables.count, NodeLayout.Root.byteCount(tables: node.count) <= node.byteCount else {
            throw Damage("a root of \(node.count) tables, where the schema has \(tables.count)")
        }
        try Self.forEachRef(of: node) { (address, field) throws(Damage) in
            guard case .table(let table) = field, hasRef(address) else { return }
            guard !tables[table].schema.isRemoved else { throw Damage("a table that was removed has a node") }
            add(address, NodeClaim(.table(table)))
        }
    }

    private mutating func table(_ number: Int) throws(Damage) {
        let layout = schema.tables[number]
        let table = TableNode(node)
        guard isKind(.table) else { throw Self.wrongKind }
        guard node.byteCount >= NodeLayout.Table.columns, table.columnCount == layout.columns.count,
            NodeLayout.Table.byteCount(columns: table.columnCount) <= node.byteCount
        else { throw Damage("a table's node does not fit its \(layout.columns.count) columns") }
        // `RowWriter.append` checks, when it uses the next key, that it lies above the last key. A next key that is
        // the limit, or just below it, is never used: `WriteTransaction.beginRow`.
        guard (0...1 << 48).contains(table.rowCount), (0...ChangesetFormat.keyLimit).contains(table.nextKey) else {
            throw Damage("a table of \(table.rowCount) rows, whose next key is \(table.nextKey)")
        }
        // An empty leaf would have chunks without space for a row, but the code that appends assumes that there is
        // some.
        guard (table.rows.pointee != 0) == (table.rowCount > 0) else {
            throw Damage("a table of \(table.rowCount) rows has no row tree, or has one although it has no rows")
        }
        let count = Int(table.rowCount)
        try Self.forEachRef(of: node) { (address, field) throws(Damage) in
            guard hasRef(address) else { return }
            switch field {
            case .rows: add(address, NodeClaim(.rows(number), count: count))
            case .index(let column):
                guard layout.indexed.contains(column) else {
                    throw Damage("a column that has no index in the schema has an index tree")
                }
                let schema = layout.columns[column]
                let usesIntegerTree = ColumnIndex(schema).usesIntegerTree
                add(address, NodeClaim(usesIntegerTree ? .pairs : .bytes, count: schema.isLink ? nil : count))
            case .backlinks(let column):
                guard layout.links.contains(column) || layout.mixed.contains(column) else {
                    throw Damage("a column without links has backlinks")
                }
                add(address, NodeClaim(.pairs))
            case .table, .keys, .chunk, .child: throw Self.wrongKind
            }
        }
    }

    private mutating func rows(_ table: Int) throws(Damage) {
        guard node.isLeaf else { return try rowInner(table) }
        let layout = schema.tables[table]
        let leaf = Leaf(node)
        guard isKind(.leaf), claim.level ?? 0 == 0 else { throw Self.wrongKind }
        guard node.byteCount >= NodeLayout.Leaf.chunks, leaf.columnCount == layout.columns.count,
            NodeLayout.Leaf.byteCount(columns: leaf.columnCount) <= node.byteCount
        else { throw Damage("a leaf does not fit its table's \(layout.columns.count) columns") }
        guard (1...Limits.rowsPerLeaf).contains(leaf.count), leaf.count == claim.count ?? leaf.count else {
            throw Damage("a leaf of \(leaf.count) rows, where \(claim.count ?? 0) were expected")
        }
        guard Self.keys.contains(leaf.firstKey), Self.keys.contains(leaf.firstKey + Int64(max(leaf.count, 1) - 1))
        else {
            throw Damage("a leaf's first key is \(leaf.firstKey)")
        }
        try Self.forEachRef(of: node) { (address, field) throws(Damage) in
            switch field {
            case .keys:
                if hasRef(address) { add(address, NodeClaim(.keys, count: leaf.count)) }
            case .chunk(let column):
                let schema = layout.columns[column]
                guard schema.isRemoved != hasRef(address) else {
                    throw Damage("a leaf lacks a column, or has one that was removed")
                }
                if !schema.isRemoved { add(address, NodeClaim(.chunk(CellClass(schema)), count: leaf.count)) }
            case .table, .rows, .index, .backlinks, .child: throw Self.wrongKind
            }
        }
    }

    /// Returns the level of an inner node; nil if the node can't be one.
    private func innerLevel(_ kind: Node.Kind, byteCount: Int) -> Int? {
        guard isKind(kind), (1...Self.highestLevel).contains(node.level), claim.level ?? node.level == node.level,
            node.byteCount >= byteCount, (1...Limits.fanout).contains(node.count)
        else { return nil }
        return node.level
    }

    /// Adds claims for the children of an inner node, each with its own count. Throws if a child is missing or a count
    /// is wrong.
    private mutating func addChildren(_ level: Int, most: Int, _ count: (Int) -> Int) throws(Damage) {
        var total = 0
        for child in 0..<node.count {
            let below = count(child)
            let address = node.childRef(child)
            guard hasRef(address), below > 0, below <= most else {
                throw Damage("a child has \(below) entries, where at most \(most) are possible")
            }
            total += below
            add(address, NodeClaim(claim.role, level: level - 1, count: below))
        }
        self.total = total
        try Damage.check(
            total == claim.count ?? total,
            "an inner node counts \(total) entries, where \(claim.count ?? 0) were expected")
    }

    /// Returns the most entries below a node of a level if each leaf has at most `leaf` entries, which is about 2^10.
    /// The result is at most about 2^46, so that it fits in a claim.
    private static func most(_ leaf: Int, level: Int) -> Int { leaf << min(6 * level, 46 - 10) }

    private mutating func rowInner(_ table: Int) throws(Damage) {
        guard let level = innerLevel(.rowInner, byteCount: NodeLayout.RowInner.byteCount) else { throw Self.wrongKind }
        let inner = RowNode(node)
        for child in 1..<max(inner.count, 1) where inner.keys[child] <= inner.keys[child - 1] {
            throw Damage("the keys of an inner node do not ascend")
        }
        try addChildren(level, most: Self.most(Limits.rowsPerLeaf, level: level - 1)) {
            Int(inner.counts[$0])
        }
    }

    private mutating func leafKeys() throws(Damage) {
        let rows = claim.count ?? 0
        guard isKind(.chunk), node.byteCount >= NodeLayout.Chunk.data, node.width == ChunkLayout.keys.width,
            hasRows(node, claim), node.capacity <= Limits.rowsPerLeaf
        else { throw Self.wrongKind }
        // Keys are never encoded: code that reads or writes them expects numbers of 8 bytes.
        guard node.form == Chunk.Form.fixed.rawValue else { throw Damage("a leaf's keys are of the form \(node.form)") }
        guard ChunkLayout.keys.byteCount(capacity: node.capacity) <= node.byteCount else {
            throw Damage("a leaf's keys end early")
        }
        var last: Int64 = -1
        for row in 0..<rows {
            let key: Int64 = Chunk(node).load(row)
            guard key > last, Self.keys.contains(key) else { throw Damage("the keys of a leaf do not ascend") }
            last = key
        }
        try checkHasNoRefs()
    }

    // MARK: Indexes

    private mutating func integerIndexInner() throws(Damage) {
        guard let level = innerLevel(.integerIndexInner, byteCount: NodeLayout.IntegerIndexInner.byteCount) else {
            throw Self.wrongKind
        }
        // Only a leaf may be a progression.
        guard node.form == 0, node.capacity == IntegerIndexTree.fanout else {
            throw Damage("an inner node of an index has the form or the capacity of a leaf")
        }
        let inner = IntegerIndexInner(node)
        try addChildren(level, most: Self.most(IntegerIndexTree.fanout, level: level - 1)) {
            Int(inner.counts[$0])
        }
    }

    private func integerIndexLeaf() throws(Damage) {
        guard isKind(.integerIndexLeaf), claim.level ?? 0 == 0 else { throw Self.wrongKind }
        let isProgression = node.form == IntegerIndexLeaf.progressionForm
        guard node.form <= IntegerIndexLeaf.progressionForm,
            NodeLayout.IntegerIndexLeaf.capacities.contains(node.capacity),
            node.count <= node.capacity,
            // Only a root may be small: merging neighbours assumes that each has the capacity of a full leaf.
            node.capacity == IntegerIndexTree.fanout || claim.level == nil, node.count > 0,
            node.count == claim.count ?? node.count,
            (isProgression
                ? NodeLayout.IntegerIndexProgression.byteCount
                : NodeLayout.IntegerIndexLeaf.byteCount(capacity: node.capacity))
                <= node.byteCount
        else { throw Damage("a leaf of an index has \(node.count) entries, where \(claim.count ?? 0) were expected") }
        let values = node.pointer(NodeLayout.IntegerIndexLeaf.values(capacity: node.capacity), to: Int64.self)
        for index in 0..<node.count {
            let value = isProgression ? IntegerIndexProgression(node).value(index) : values[index]
            guard Self.keys.contains(value) else { throw Damage("an index leads to object \(value)") }
        }
    }

    private mutating func bytesPage() throws(Damage) {
        let page = SlottedPage(node)
        let level = node.width
        guard isKind(level == 0 ? .bytesIndexLeaf : .bytesIndexInner), level <= Self.highestLevel,
            claim.level ?? level == level
        else { throw Self.wrongKind }
        // As in `integerIndexLeaf`, only a root may be small.
        let mayBeSmall = level == 0 && claim.level == nil
        // A slot, and an entry without a key.
        let leastByteCount = 2 * NodeLayout.BytesIndex.wordByteCount
        guard
            node.byteCount == SlottedPage.fullByteCount
                || mayBeSmall && NodeLayout.BytesIndex.pageByteCounts.contains(node.byteCount),
            node.count > 0, node.count <= node.byteCount / leastByteCount, page.heapStart <= node.byteCount,
            NodeLayout.BytesIndex.slot(node.count) <= page.heapStart
        else { throw Damage("a page of an index has \(node.count) entries in \(node.byteCount) bytes") }
        do { try BytesIndexTree.checkBytes(page, "") } catch {
            throw Damage("a page of an index is invalid:\(error.text)")
        }
        // A reference becomes an address, so it must not be part of another entry.
        var ranges = (0..<node.count).map { index in
            let offset = page.entryOffset(index)
            return offset..<offset + page.entryByteCount(wordCount: page.key(index).wordCount)
        }
        guard Self.areApart(&ranges) else { throw Damage("entries of an index overlap") }
        guard level > 0 else {
            guard node.count == claim.count ?? node.count else {
                throw Damage("a leaf of an index has \(node.count) entries")
            }
            for index in 0..<node.count where !Self.keys.contains(page.value(index)) {
                throw Damage("an index leads to object \(page.value(index))")
            }
            return
        }
        try addChildren(level, most: Self.most(256, level: level)) { page.childCount($0) }
    }

    /// Whether no two ranges share a byte. Sorts the ranges.
    static func areApart(_ ranges: inout [Range<Int>]) -> Bool {
        ranges.sort { $0.lowerBound < $1.lowerBound }
        return zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }
    }

    // MARK: Collections and blobs

    private mutating func listInner(_ cells: CellClass) throws(Damage) {
        guard let level = innerLevel(.listInner, byteCount: NodeLayout.ListInner.byteCount) else {
            throw Self.wrongKind
        }
        let inner = ListTree.Inner(node)
        let most = Self.most(ListTree.leafElementCount, level: level - 1)
        try addChildren(level, most: most) { Int(inner.ends[$0]) - inner.start($0) }
        // An insertion into a longer collection would stop the program.
        try Damage.check(
            inner.total <= Limits.listCount,
            "a collection has \(inner.total) elements, more than \(Limits.listCount)")
    }

    private mutating func listLeaf(_ cells: CellClass) throws(Damage) {
        let start = NodeLayout.ListLeaf.block
        guard isKind(.listLeaf), claim.level ?? 0 == 0, cells.collection != .none else { throw Self.wrongKind }
        guard node.byteCount >= start, node.capacity <= ListTree.leafByteCount, start + node.capacity <= node.byteCount,
            node.count > 0, node.count <= ListTree.leafElementCount, node.count == claim.count ?? node.count
        else { throw Damage("a leaf of a collection has \(node.count) elements in \(node.capacity) bytes") }
        guard let found = block(at: start, length: node.capacity, cells), found == node.count else {
            throw Damage("the elements of a leaf of a collection are invalid")
        }
        try checkRefs(
            table: NodeLayout.refTable(after: start + node.capacity), countAt: NodeLayout.ListLeaf.refCount)
    }

    private func blob(_ cells: CellClass) throws(Damage) {
        guard isKind(.blob) else { throw Self.wrongKind }
        guard node.count <= ChangesetFormat.blobByteCount, NodeLayout.Blob.bytes + node.count <= node.byteCount else {
            throw Damage("a value has \(node.count) bytes in a node of \(node.byteCount)")
        }
        try Damage.check(isValue(Blob(node).bytes, cells), "a value is not a valid \(cells.type)")
    }
}
