import CFirn
import FirnLog

/// Writes a version out: every node that it reaches and that does not lie in the checkpoint's space yet, children before their parents.
///
/// The chunks of one column of the (at most 64) leaves below one inner node are written one behind the other, so that a scan of a column reads that column alone, and then the leaves, so that nodes with
/// references lie together.
///
/// It belongs to one thread. The version must be pinned while it runs; the writer of the next versions goes on beside it, and may append rows behind those of this version's last leaf
/// in the very chunks that are read here: only the rows that this version counts are looked at.
struct CheckpointWriter: ~Copyable {
    private let snapshot: Snapshot
    private let file: CheckpointFileWriter
    /// What lies here needs not be written: the space that the file is added to. Nil where everything is written.
    private let space: NodeSpace?
    /// What is written although it lies there.
    private let relocation: Relocation?
    private var buffer: NodeBuffer
    private var packer = ChunkPacker()
    /// Where the nodes went.
    let forwarding = Forwarding()
    /// Called whenever a piece has been written, outside of all locks: it may wait, or throw to give the checkpoint up.
    private let afterPiece: (Int) throws(StoreError) -> Void

    init(
        _ snapshot: Snapshot, to file: CheckpointFileWriter, adding space: NodeSpace?,
        moving relocation: Relocation? = nil,
        afterPiece: @escaping (Int) throws(StoreError) -> Void
    ) {
        self.snapshot = snapshot
        self.file = file
        self.space = space
        self.relocation = relocation
        self.afterPiece = afterPiece
        buffer = NodeBuffer(place: file.start + file.byteCount, fileStart: file.start)
    }

    /// Writes everything; returns the reference of the root as the file has it.
    mutating func write() throws(StoreError) -> UInt64 {
        let root = RootNode(snapshot.root)
        var words: [UInt64] = []
        for id in 0..<root.tableCount { words.append(try write(table: root.slot(id).pointee, TableID(id))) }
        let place = append(root.node) { copy in
            for (id, word) in words.enumerated() { RootNode(copy).slot(id).pointee = word }
        }
        try flush()
        return place
    }

    /// The nodes of the finished file.
    func nodes(of file: Checkpoint.File) -> WrittenNodes {
        WrittenNodes(file, starts: buffer.starts, end: buffer.end)
    }

    // MARK: Nodes

    /// The reference of a node that is written already, or lies in the space; nil for one that has to be written.
    @inline(__always)
    private func known(_ word: UInt64) -> UInt64? {
        if word == 0 { return 0 }
        let address = NodeRef(word).address
        if let space, space.contains(address), !(relocation?.moves(address) ?? false) {
            return UInt64(address - UInt(bitPattern: space.base)) | 1
        }
        return forwarding.find(address)?.ref
    }

    /// Writes a copy of a node, which `change` gives the references that it has in the file.
    private mutating func append(
        _ node: Node, byteCount: Int? = nil, rows: Int = 0, _ change: (Node) -> Void = { _ in }
    ) -> UInt64 {
        let used = byteCount ?? node.byteCount
        let place = buffer.append(byteCount: used) { memory in
            CheckpointWriter.copyHeader(node, to: memory)
            (memory + Node.headerByteCount).copyMemory(
                from: node.address + Node.headerByteCount, byteCount: used - Node.headerByteCount)
            change(Node(memory))
        }
        let ref = UInt64(place) | 1
        forwarding.set(UInt(bitPattern: node.address), ref, rows: rows)
        return ref
    }

    /// What a node's header says, but its link: the writer may be putting the node on a dead list.
    private static func copyHeader(_ node: Node, to memory: UnsafeMutableRawPointer) {
        memory.copyMemory(from: node.address, byteCount: 8)
        (memory + 16).copyMemory(from: node.address + 16, byteCount: Node.headerByteCount - 16)
    }

    private mutating func flushIfFull() throws(StoreError) {
        if buffer.count >= NodeBuffer.pieceByteCount { try flush() }
    }

    private mutating func flush() throws(StoreError) {
        let count = buffer.count
        do { try file.append(buffer.bytes) } catch { throw StoreError(error) }
        buffer.removeAll()
        try afterPiece(count)
    }

    // MARK: Tables

    private mutating func write(table word: UInt64, _ id: TableID) throws(StoreError) -> UInt64 {
        if let known = known(word) { return known }
        let table = TableNode(NodeRef(word).node)
        let layout = snapshot.reference.tables[id.index]
        let rows = try write(rows: table.rows.pointee, layout)
        var columns: [(column: Int, index: UInt64, backlinks: UInt64)] = []
        for column in 0..<table.columnCount {
            let index = try write(tree: table.index(column).pointee)
            let backlinks = try write(tree: table.backlinks(column).pointee)
            columns.append((column, index, backlinks))
        }
        return append(table.node) { copy in
            let copy = TableNode(copy)
            copy.rows.pointee = rows
            for (column, index, backlinks) in columns {
                copy.index(column).pointee = index
                copy.backlinks(column).pointee = backlinks
            }
        }
    }

    private mutating func write(rows word: UInt64, _ layout: TableLayout) throws(StoreError) -> UInt64 {
        if let known = known(word) { return known }
        let node = NodeRef(word).node
        if node.isLeaf {
            var leaf = word
            let written = try withUnsafeMutablePointer(to: &leaf) { (pointer) throws(StoreError) in
                try write(leaves: UnsafeBufferPointer(start: pointer, count: 1), layout)
            }
            return written[0]
        }
        let inner = RowNode(node)
        let children = UnsafeBufferPointer(start: inner.refs, count: inner.count)
        var words: [UInt64] = []
        if node.level == 1 {
            words = try write(leaves: children, layout)
        } else {
            for child in children { words.append(try write(rows: child, layout)) }
        }
        return append(node) { copy in
            for (child, word) in words.enumerated() { RowNode(copy).refs[child] = word }
        }
    }

    /// Writes the leaves below one inner node: column by column, then the leaves themselves.
    private mutating func write(
        leaves words: UnsafeBufferPointer<UInt64>, _ layout: TableLayout
    ) throws(StoreError) -> [UInt64] {
        var refs = words.map { known($0) ?? 0 }
        let places = refs.indices.filter { refs[$0] == 0 }
        let leaves = places.map { Leaf(NodeRef(words[$0]).node) }
        var chunks = [[UInt64]](repeating: [], count: leaves.count)
        for column in layout.columns.indices {
            let fresh = leaves.indices.filter { index in
                column < leaves[index].columnCount && known(leaves[index].chunkSlot(column).pointee) == nil
            }
            let words = try write(chunks: fresh.map { leaves[$0] }, column, layout)
            var next = 0
            for (index, leaf) in leaves.enumerated() where column < leaf.columnCount {
                if next < fresh.count, fresh[next] == index {
                    chunks[index].append(words[next])
                    next += 1
                } else {
                    chunks[index].append(known(leaf.chunkSlot(column).pointee) ?? 0)
                }
            }
        }
        for (index, leaf) in leaves.enumerated() {
            var keys: UInt64 = 0
            if leaf.keysSlot.pointee != 0 {
                keys =
                    known(leaf.keysSlot.pointee)
                    ?? append(plain: Chunk(NodeRef(leaf.keysSlot.pointee).node), rows: leaf.count, refs: [])
            }
            refs[places[index]] = append(leaf.node) { copy in
                let copy = Leaf(copy)
                copy.keysSlot.pointee = keys
                for (column, word) in chunks[index].enumerated() { copy.chunkSlot(column).pointee = word }
            }
        }
        try flushIfFull()
        return refs
    }

    // MARK: Chunks

    /// Writes the chunks of one column of neighbouring leaves.
    private mutating func write(
        chunks leaves: [Leaf], _ column: Int, _ layout: TableLayout
    ) throws(StoreError) -> [UInt64] {
        let schema = layout.columns[column]
        var words: [UInt64] = []
        if schema.collection == .none, schema.type == .string || schema.type == .data,
            // What lies packed in another space is copied as it is.
            leaves.allSatisfy({ !Packing.isPacked($0.chunkNode(column)) }),
            let dictionary = TextDictionary(leaves, column)
        {
            let place = write(dictionary, leaves, column)
            for (index, leaf) in leaves.enumerated() {
                let packed = dictionary.codes[index].withUnsafeBytes { codes in
                    append(
                        ChunkPacker.Packed(form: .dictionary, first: place, payload: codes), leaf.chunkNode(column),
                        rows: leaf.count, refs: [])
                }
                words.append(packed)
            }
            try flushIfFull()
            return words
        }
        for leaf in leaves {
            words.append(
                try write(
                    chunk: leaf.chunkNode(column), rows: leaf.count, schema,
                    mayPress: !layout.indexed.contains(column)))
            try flushIfFull()
        }
        return words
    }

    /// Writes the values of a dictionary as a variable chunk; returns its reference.
    private mutating func write(_ dictionary: TextDictionary, _ leaves: [Leaf], _ column: Int) -> UInt64 {
        let count = dictionary.firsts.count
        let heap = dictionary.firsts.reduce(0) { $0 + leaves[$1.leaf].chunk(column).slot($1.row).heapLength }
        let place = buffer.append(byteCount: 64 + 4 * count + heap) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
            let node = Node(memory)
            node.stamp = leaves[0].node.stamp
            node.store(Node.Kind.chunk.rawValue, 16)
            node.form = Chunk.Form.variable.rawValue
            node.width = 4
            node.count = heap
            node.capacity = count
            let target = Chunk(node)
            var used = 0
            for (code, first) in dictionary.firsts.enumerated() {
                let source = leaves[first.leaf].chunk(column)
                let slot = source.slot(first.row)
                target.setSlot(
                    Chunk.Slot(offset: UInt16(truncatingIfNeeded: used), length: slot.length), code)
                (target.heap + used).copyMemory(from: source.heap + Int(slot.offset), byteCount: slot.heapLength)
                used += slot.heapLength
            }
        }
        return UInt64(place) | 1
    }

    private mutating func write(
        chunk node: Node, rows: Int, _ schema: ColumnSchema, mayPress: Bool
    ) throws(StoreError) -> UInt64 {
        if node.isStored { return try write(stored: node, rows: rows) }
        let chunk = Chunk(node)
        guard chunk.form == .variable else {
            if let packed = packer.packNumbers(chunk, rows: rows, schema) {
                return append(packed, node, rows: rows, refs: [])
            }
            return append(plain: chunk, rows: rows, refs: [])
        }
        let cell = ElementLayout(schema)
        if schema.collection == .none {
            // What is to be referred to is written first, as it moves the packer's memory on.
            var moved: [UInt64: UInt64] = [:]
            for place in CellRefs.places(in: chunk, rows: rows, schema) {
                let word = place.loadUnaligned(as: UInt64.self)
                moved[word] = try write(cell: word, cell)
            }
            if let packed = packer.packText(chunk, rows: rows, mayPress: mayPress && schema.type != .mixed) {
                return append(packed, node, rows: rows, refs: packed.refs.map { ($0.offset, moved[$0.word] ?? 0) })
            }
        }
        var refs: [(offset: Int, word: UInt64)] = []
        for place in CellRefs.places(in: chunk, rows: rows, schema) {
            refs.append((place - node.address, try write(cell: place.loadUnaligned(as: UInt64.self), cell)))
        }
        return append(plain: chunk, rows: rows, refs: refs)
    }

    /// Writes a packed chunk.
    ///
    /// - Parameter refs: where in the payload references lie, and what they are in the file.
    private mutating func append(
        _ packed: ChunkPacker.Packed, _ node: Node, rows: Int, refs: [(offset: Int, word: UInt64)]
    ) -> UInt64 {
        let table = (64 + packed.payload.count + 3) & ~3
        let byteCount = refs.isEmpty ? 64 + packed.payload.count : table + 4 * refs.count
        let place = buffer.append(byteCount: byteCount) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
            let copy = Node(memory)
            copy.stamp = node.stamp
            copy.store(Node.Kind.chunk.rawValue, 16)
            copy.form = packed.form.rawValue
            copy.width = node.width
            copy.capacity = rows
            copy.store(UInt8(packed.width), Packing.widthOffset)
            copy.store(UInt8(packed.isNullable ? 1 : 0), Packing.nullOffset)
            copy.store(UInt32(packed.heap), Packing.heapOffset)
            copy.store(packed.first, Packing.baseOffset)
            copy.store(packed.second, Packing.stepOffset)
            if let base = packed.payload.baseAddress {
                (memory + 64).copyMemory(from: base, byteCount: packed.payload.count)
            }
            for (index, ref) in refs.enumerated() {
                memory.storeBytes(of: ref.word, toByteOffset: 64 + ref.offset, as: UInt64.self)
                copy.store(UInt32(64 + ref.offset), table + 4 * index)
            }
            copy.store(UInt32(refs.isEmpty ? 0 : table), 32)
            copy.store(UInt32(refs.count), 36)
        }
        let ref = UInt64(place) | 1
        forwarding.set(UInt(bitPattern: node.address), ref, rows: rows)
        return ref
    }

    /// Copies a node of another space, whose reference table says where its references lie.
    private mutating func write(stored node: Node, rows: Int) throws(StoreError) -> UInt64 {
        var refs: [(offset: Int, word: UInt64)] = []
        var places: [UnsafeMutableRawPointer] = []
        StoredNode.forEachRef(node) { places.append($0) }
        for place in places {
            refs.append((place - node.address, try write(cell: place.loadUnaligned(as: UInt64.self), nil)))
        }
        return append(node, rows: rows) { copy in
            for (offset, word) in refs { copy.address.storeBytes(of: word, toByteOffset: offset, as: UInt64.self) }
        }
    }

    /// Writes a chunk that lies on the heap, with room for its rows alone and a reference table behind.
    private mutating func append(plain chunk: Chunk, rows: Int, refs: [(offset: Int, word: UInt64)]) -> UInt64 {
        let width = chunk.form == .variable ? 4 : chunk.node.width
        let used = chunk.form == .variable ? CellRefs.heapEnd(of: chunk, rows: rows) : 0
        let values = 64 + width * rows
        let whole = chunk.form == .nullable ? values + rows : values + used
        let table = (whole + 3) & ~3
        let place = buffer.append(byteCount: refs.isEmpty ? whole : table + 4 * refs.count) { memory in
            // Not the count, to which the writer may be adding.
            let copy = Node(memory)
            copy.stamp = chunk.node.stamp
            copy.store(chunk.node.load(16, as: UInt32.self), 16)
            copy.count = used
            copy.capacity = rows
            (memory + 64).copyMemory(from: chunk.data, byteCount: width * rows)
            switch chunk.form {
            case .fixed: break
            case .nullable: (memory + values).copyMemory(from: chunk.nullFlags, byteCount: rows)
            case .variable:
                (memory + values).copyMemory(from: chunk.heap, byteCount: used)
            }
            // Where a reference stood in the chunk with its spare rows, and stands in the copy without.
            let shift = (chunk.node.capacity - rows) * 4
            for (index, ref) in refs.enumerated() {
                let offset = ref.offset - shift
                memory.storeBytes(of: ref.word, toByteOffset: offset, as: UInt64.self)
                copy.store(UInt32(offset), table + 4 * index)
            }
            copy.store(UInt32(refs.isEmpty ? 0 : table), 32)
            copy.store(UInt32(refs.count), 36)
        }
        let ref = UInt64(place) | 1
        forwarding.set(UInt(bitPattern: chunk.node.address), ref, rows: rows)
        return ref
    }

    // MARK: Cells with nodes of their own, indexes

    /// Writes what a cell refers to: a blob, or the tree of a collection. What lies in another space needs no layout, as its reference tables say all.
    private mutating func write(cell word: UInt64, _ layout: ElementLayout?) throws(StoreError) -> UInt64 {
        if let known = known(word) { return known }
        let node = NodeRef(word).node
        switch node.kind {
        case .blob:
            let ref = append(node, byteCount: Node.headerByteCount + node.count)
            try flushIfFull()
            return ref
        case .listInner:
            let inner = ListTree.Inner(node)
            var words: [UInt64] = []
            for child in 0..<node.count { words.append(try write(cell: inner.refs[child], layout)) }
            return append(node) { copy in
                for (child, word) in words.enumerated() { ListTree.Inner(copy).refs[child] = word }
            }
        default:
            guard !node.isStored, let layout else { return try write(stored: node, rows: 0) }
            return try write(listLeaf: ListTree.Leaf(node, layout))
        }
    }

    private mutating func write(listLeaf leaf: ListTree.Leaf) throws(StoreError) -> UInt64 {
        var refs: [(offset: Int, word: UInt64)] = []
        var places: [UnsafeMutableRawPointer] = []
        leaf.block.forEachBlobPlace { places.append($0) }
        for place in places {
            let word = place.loadUnaligned(as: UInt64.self)
            refs.append((place - leaf.node.address, try write(cell: word, leaf.layout)))
        }
        let used = ListTree.Leaf.blockOffset + leaf.length
        let table = (used + 3) & ~3
        let place = buffer.append(byteCount: refs.isEmpty ? used : table + 4 * refs.count) { memory in
            memory.copyMemory(from: leaf.node.address, byteCount: used)
            let copy = Node(memory)
            for (index, ref) in refs.enumerated() {
                memory.storeBytes(of: ref.word, toByteOffset: ref.offset, as: UInt64.self)
                copy.store(UInt32(ref.offset), table + 4 * index)
            }
            copy.store(UInt32(refs.count), 32)
        }
        let ref = UInt64(place) | 1
        forwarding.set(UInt(bitPattern: leaf.node.address), ref)
        try flushIfFull()
        return ref
    }

    /// Writes a tree of an index or of backlinks.
    private mutating func write(tree word: UInt64) throws(StoreError) -> UInt64 {
        if let known = known(word) { return known }
        let node = NodeRef(word).node
        var children: [UInt64] = []
        switch node.kind {
        case .pairInner: for child in 0..<node.count { children.append(try write(tree: PairInner(node).refs[child])) }
        case .bytesInner:
            for child in 0..<node.count { children.append(try write(tree: BytesPage(node).refSlot(child).pointee)) }
        default: break
        }
        if node.kindNumber == Node.Kind.pairLeaf.rawValue, !node.isStored, let steps = PairRow.steps(PairLeaf(node)) {
            let leaf = PairLeaf(node)
            return append(node, byteCount: PairRow.byteCount) { copy in
                copy.form = PairLeaf.rowForm
                copy.store(leaf.keys[0], 32)
                copy.store(steps.key, 40)
                copy.store(leaf.values[0], 48)
                copy.store(steps.value, 56)
            }
        }
        let ref = append(node) { copy in
            for (child, word) in children.enumerated() {
                if copy.kindNumber == Node.Kind.pairInner.rawValue {
                    PairInner(copy).refs[child] = word
                } else {
                    BytesPage(copy).refSlot(child).pointee = word
                }
            }
        }
        try flushIfFull()
        return ref
    }
}
