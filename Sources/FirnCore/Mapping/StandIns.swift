import CFirn

/// Makes the nodes that are read in place of a mapping's damaged ones, by work that will throw (`DamageRecord`). A
/// stand-in has the kind and shape that the parent expects. It has as many rows, entries or elements as the parent
/// counts in the damaged node, all of them blank. None holds a key that an object can have. Stand-ins are made on the
/// heap when they are first needed, and live as long as their mapping. Guarded by the mapping's lock.
final class StandIns {
    private let schema: ResolvedSchema
    private var made: [NodeClaim: Node] = [:]
    private var memory: [UnsafeMutableRawPointer] = []

    /// The key of the first row of a leaf, which no object has.
    private static let firstKey: Int64 = .min / 2

    init(_ schema: ResolvedSchema) { self.schema = schema }

    deinit { for memory in memory { firn_deallocate(memory) } }

    func node(_ claim: NodeClaim) -> Node {
        if let node = made[claim] { return node }
        let node = make(claim)
        made[claim] = node
        return node
    }

    private func make(_ claim: NodeClaim) -> Node {
        let count = claim.count ?? 0
        switch claim.role {
        case .root:
            return allocate(
                .root, byteCount: NodeLayout.Root.byteCount(tables: schema.tables.count), count: schema.tables.count)
        case .table(let table):
            let columns = schema.tables[table].columns.count
            let node = allocate(.table, byteCount: NodeLayout.Table.byteCount(columns: columns))
            node.store(UInt32(columns), NodeLayout.Table.columnCount)
            return node
        case .rows(let table):
            let level = claim.level ?? Self.level(of: count, leaf: Limits.rowsPerLeaf)
            return level == 0 ? leaf(table, min(count, Limits.rowsPerLeaf)) : rowInner(claim, level)
        case .keys:
            let layout = ChunkLayout.keys
            let rows = Limits.rowsPerLeaf
            let node = allocate(
                .chunk, byteCount: layout.byteCount(capacity: rows), capacity: rows, width: layout.width)
            for row in 0..<rows { Chunk(node).store(Self.firstKey + Int64(row), row) }
            return node
        case .chunk(let cells), .dictionary(let cells): return chunk(cells, min(count, Limits.rowsPerLeaf))
        case .pairs:
            let level = claim.level ?? Self.level(of: count, leaf: IntegerIndexTree.fanout)
            return level == 0
                ? integerIndexLeaf(min(max(count, 1), IntegerIndexTree.fanout)) : integerIndexInner(claim, level)
        case .bytes:
            let level = claim.level ?? Self.level(of: count, leaf: Self.pageEntries)
            return bytesPage(claim, level)
        case .list(let cells):
            let level = claim.level ?? Self.level(of: count, leaf: ListTree.leafElementCount)
            return level == 0 ? listLeaf(cells, min(max(count, 1), ListTree.leafElementCount)) : listInner(claim, level)
        case .blob(let cells):
            // A mixed value has at least a tag: here, null's tag.
            return allocate(.blob, byteCount: NodeLayout.Blob.bytes + 1, count: cells.type == .mixed ? 1 : 0)
        }
    }

    private func allocate(
        _ kind: Node.Kind, byteCount: Int, count: Int = 0, capacity: Int = 0, width: Int = 0, form: UInt8 = 0
    ) -> Node {
        let length = OnDiskNode.roundUp(byteCount)
        guard let memory = firn_allocate_zeros(1, length) else { fatalError("Firn: there is no memory left") }
        self.memory.append(memory)
        let node = Node(memory)
        // Marked as a node of a checkpoint, so that it is never written to and never freed.
        node.kindByte = kind.rawValue | Node.onDiskBit
        node.form = form
        node.width = width
        node.count = count
        node.capacity = capacity
        node.byteCount = length
        return node
    }

    // MARK: Trees

    /// Returns the least level at which a node can hold `count` rows, entries or elements.
    private static func level(of count: Int, leaf: Int) -> Int {
        var level = 0
        while leaf << (6 * level) < count, level < NodeCheck.highestLevel { level += 1 }
        return level
    }

    /// Returns how many rows, entries or elements each child of a node at a level has: full children, and a last one
    /// with the rest.
    private static func shares(_ count: Int, _ level: Int, leaf: Int) -> [Int] {
        let most = leaf << min(6 * (level - 1), 36)
        var rest = max(count, 1)
        var shares: [Int] = []
        while rest > most, shares.count < Limits.fanout - 1 {
            shares.append(most)
            rest -= most
        }
        return shares + [rest]
    }

    private func children(_ claim: NodeClaim, _ level: Int, leaf: Int) -> [(node: Node, count: Int)] {
        Self.shares(claim.count ?? 0, level, leaf: leaf).map {
            (node(NodeClaim(claim.role, level: level - 1, count: $0)), $0)
        }
    }

    private func rowInner(_ claim: NodeClaim, _ level: Int) -> Node {
        let children = children(claim, level, leaf: Limits.rowsPerLeaf)
        let node = allocate(
            .rowInner, byteCount: NodeLayout.RowInner.byteCount, count: children.count, capacity: Limits.fanout,
            width: level)
        let inner = RowNode(node)
        for (index, child) in children.enumerated() {
            inner.keys[index] = Self.firstKey + Int64(index)
            inner.refs[index] = NodeRef(child.node).word
            inner.counts[index] = Int64(child.count)
        }
        return node
    }

    private func leaf(_ table: Int, _ count: Int) -> Node {
        let columns = schema.tables[table].columns
        let node = allocate(.leaf, byteCount: NodeLayout.Leaf.byteCount(columns: columns.count), count: count)
        let leaf = Leaf(node)
        leaf.firstKey = Self.firstKey
        node.store(UInt32(columns.count), NodeLayout.Leaf.columnCount)
        for (column, schema) in columns.enumerated() where !schema.isRemoved {
            let chunk = self.node(NodeClaim(.chunk(CellClass(schema)), count: count))
            leaf.chunkSlot(column).pointee = NodeRef(chunk).word
        }
        return node
    }

    private func integerIndexInner(_ claim: NodeClaim, _ level: Int) -> Node {
        let children = children(claim, level, leaf: IntegerIndexTree.fanout)
        let node = allocate(
            .integerIndexInner, byteCount: NodeLayout.IntegerIndexInner.byteCount, count: children.count,
            capacity: IntegerIndexTree.fanout, width: level)
        let inner = IntegerIndexInner(node)
        for (index, child) in children.enumerated() {
            inner.keys[index] = .max
            inner.refs[index] = NodeRef(child.node).word
            inner.counts[index] = Int64(child.count)
        }
        return node
    }

    private func integerIndexLeaf(_ count: Int) -> Node {
        let capacity = IntegerIndexTree.fanout
        let node = allocate(
            .integerIndexLeaf, byteCount: NodeLayout.IntegerIndexLeaf.byteCount(capacity: capacity), count: count,
            capacity: capacity)
        let leaf = IntegerIndexLeaf(node)
        for index in 0..<count {
            leaf.keys[index] = .max
            leaf.values[index] = .max - 1
        }
        return node
    }

    /// The number of entries in a page. Each takes a slot, and at most 24 bytes more, because it has no key.
    private static let pageEntries = 64

    private func bytesPage(_ claim: NodeClaim, _ level: Int) -> Node {
        let children = level == 0 ? [] : children(claim, level, leaf: Self.pageEntries)
        let count = level == 0 ? min(max(claim.count ?? 0, 1), Self.pageEntries) : children.count
        let entryByteCount =
            NodeLayout.BytesIndex.entryByteCount(keyWordCount: 0, isLeaf: level == 0)
        let length = SlottedPage.fullByteCount
        let start = length - entryByteCount * count
        let node = allocate(
            level == 0 ? .bytesIndexLeaf : .bytesIndexInner, byteCount: length, count: count, capacity: start,
            width: level)
        let page = SlottedPage(node)
        for index in 0..<count {
            page.slots[index] = NodeLayout.BytesIndex.slot(
                head: 0, offset: start + entryByteCount * index, keyByteCount: 0)
            page.entry(index)[NodeLayout.BytesIndex.valueWord] = UInt64(bitPattern: .max - 1)
            guard level > 0 else { continue }
            page.refSlot(index).pointee = NodeRef(children[index].node).word
            page.entry(index)[NodeLayout.BytesIndex.countWord] = UInt64(children[index].count)
        }
        return node
    }

    private func listInner(_ claim: NodeClaim, _ level: Int) -> Node {
        let children = children(claim, level, leaf: ListTree.leafElementCount)
        let node = allocate(.listInner, byteCount: NodeLayout.ListInner.byteCount, count: children.count, width: level)
        let inner = ListTree.Inner(node)
        var end = 0
        for (index, child) in children.enumerated() {
            end += child.count
            inner.refs[index] = NodeRef(child.node).word
            inner.ends[index] = UInt32(truncatingIfNeeded: end)
        }
        return node
    }

    // MARK: Values

    /// Makes a chunk. Like a checkpoint's chunks, it has no space for more rows, so nothing is appended to it.
    private func chunk(_ cells: CellClass, _ rows: Int) -> Node {
        let layout = cells.column.layout
        let node = allocate(
            .chunk, byteCount: layout.byteCount(capacity: rows), capacity: rows, width: layout.width,
            form: layout.form.rawValue)
        guard layout.blank != .zero || cells.collection != .none else { return node }
        for row in 0..<rows {
            switch layout.form {
            case .fixed: Chunk(node).store(Int64(-1), row)
            case .nullable: Chunk(node).nullFlags[row] = 1
            case .variable: Chunk(node).setSlot(Chunk.Slot(offset: 0, length: Chunk.Slot.null), row)
            }
        }
        return node
    }

    private func listLeaf(_ cells: CellClass, _ count: Int) -> Node {
        let layout = ElementLayout(cells.column)
        // An element of variable length takes one byte: it is null or empty. A map's key is empty.
        let each = layout.form == .variable ? (layout.collection == .map ? 2 : 1) : layout.width
        let length =
            NodeLayout.ElementBlock.headerByteCount + count * (each + (layout.form == .nullable ? 1 : 0))
        let node = allocate(
            .listLeaf, byteCount: NodeLayout.ListLeaf.block + length, count: count, capacity: length)
        let block = ListTree.Leaf(node, layout).block
        block.count = count
        guard layout.form == .variable else { return node }
        // A number in a map, and a mixed value, can't be empty, but may be null.
        let isText = cells.type == .string || cells.type == .data
        let value = isText ? ElementPart.emptyCode : ElementPart.nullCode
        let codes = layout.collection == .map ? [ElementPart.emptyCode, value] : [value]
        for element in 0..<count {
            (block.content + element * each).copyMemory(from: codes, byteCount: each)
        }
        return node
    }
}
