import CFirn
import FirnLog

/// Writes a version out: every node that it reaches and that is not in the checkpoint's mapping yet, children before
/// parents.
///
/// At most 64 leaves lie directly below one inner node. Their chunks are written column by column, one after the other,
/// so that a scan of a column reads that column alone. The nodes that lead to chunks lie together elsewhere
/// (`StructureBuffer`).
///
/// A writer belongs to one thread. The version must be pinned while it runs. The transactions that make the next
/// versions go on beside it. They may append rows to the very chunks of this version's last leaf that are read here. So
/// only the rows that this version counts are read.
struct CheckpointWriter: ~Copyable {
    private let snapshot: Snapshot
    private let file: CheckpointFileWriter
    /// The mapping that the file is added to: nodes in it need not be written. Nil if everything is written.
    private let mapping: CheckpointMapping?
    /// The nodes that are written although they are in the mapping.
    private let cleaning: CleaningPlan?
    var buffer: NodeBuffer
    private var structure = StructureBuffer()
    var packer = ChunkEncoder()
    /// The references of the written nodes. They may be provisional until everything is written.
    let forwarding = Forwarding()
    /// The dictionaries that were made.
    var dictionaries: [WrittenNodes.Dictionary] = []
    /// Called after each piece that is written, outside all locks: it may wait, or throw to abandon the checkpoint.
    private let afterPiece: (Int) throws(StoreError) -> Void

    init(
        _ snapshot: Snapshot, to file: CheckpointFileWriter, adding mapping: CheckpointMapping?,
        moving cleaning: CleaningPlan? = nil,
        afterPiece: @escaping (Int) throws(StoreError) -> Void
    ) {
        self.snapshot = snapshot
        self.file = file
        self.mapping = mapping
        self.cleaning = cleaning
        self.afterPiece = afterPiece
        buffer = NodeBuffer(offset: file.start + file.byteCount, fileStart: file.start)
    }

    /// Writes everything. Returns the reference to the root, in the form that it has in the file.
    mutating func write() throws(StoreError) -> UInt64 {
        let root = RootNode(snapshot.root)
        var words: [UInt64] = []
        for id in 0..<root.tableCount { words.append(try write(table: root.slot(id).pointee, TableID(id))) }
        let ref = append(structure: root.node) { copy in
            for (id, word) in words.enumerated() { RootNode(copy).slot(id).pointee = word }
        }
        try writeStructure()
        try flush()
        forwarding.updateRefs { structure.resolve($0) }
        return structure.resolve(ref)
    }

    /// The nodes of the finished file.
    func nodes(of file: Checkpoint.File) -> WrittenNodes {
        WrittenNodes(file, starts: buffer.starts, end: buffer.end, dictionaries: dictionaries)
    }

    // MARK: Nodes

    /// Returns the reference of a node that is already written or in the mapping; nil for a node that has to be
    /// written.
    @inline(__always)
    func known(_ word: UInt64) -> UInt64? {
        if word == 0 { return 0 }
        let address = NodeRef(word).address
        if let mapping, mapping.contains(address), !(cleaning?.moves(address) ?? false) {
            return UInt64(address - UInt(bitPattern: mapping.base)) | 1
        }
        return forwarding.find(address)?.ref
    }

    /// Writes a copy of a node; `change` stores the references that the copy has in the file. In a complete copy, the
    /// bytes that the node does not use are zero, because on the heap they hold whatever the program freed there.
    mutating func append(
        _ node: Node, byteCount: Int? = nil, rows: Int = 0, _ change: (Node) -> Void = { _ in }
    ) -> UInt64 {
        let used = byteCount ?? node.byteCount
        let offset = buffer.append(byteCount: used) { memory in
            CheckpointWriter.copy(node, byteCount: used, to: memory)
            if byteCount == nil { OnDiskNode.clearUnused(Node(memory)) }
            change(Node(memory))
        }
        let ref = UInt64(offset) | 1
        forwarding.set(node.diskLocation.address, ref, rows: rows)
        return ref
    }

    /// Writes a copy of a node that leads to others, once there are enough of them. Returns its provisional reference.
    mutating func append(structure node: Node, _ change: (Node) -> Void) -> UInt64 {
        let ref = structure.append(byteCount: node.byteCount) { memory in
            CheckpointWriter.copy(node, byteCount: node.byteCount, to: memory)
            OnDiskNode.clearUnused(Node(memory))
            change(Node(memory))
        }
        forwarding.set(node.diskLocation.address, ref)
        return ref
    }

    private mutating func writeStructure() throws(StoreError) {
        structure.beginGroup(at: buffer.end)
        var position = 0
        while position < structure.byteCount {
            position = structure.write(at: position, to: &buffer)
            if buffer.count >= NodeBuffer.pieceByteCount { try flush() }
        }
        structure.endGroup()
    }

    /// Copies the beginning of a node, except its link: a transaction may be putting the node on a dead list at this
    /// moment.
    static func copy(_ node: Node, byteCount: Int, to memory: UnsafeMutableRawPointer) {
        let behind = NodeLayout.Header.kind
        memory.copyMemory(from: node.address, byteCount: NodeLayout.Header.link)
        (memory + behind).copyMemory(from: node.address + behind, byteCount: byteCount - behind)
    }

    mutating func flushIfFull() throws(StoreError) {
        if buffer.count >= NodeBuffer.pieceByteCount { try flush() }
        if structure.byteCount >= StructureBuffer.groupByteCount { try writeStructure() }
    }

    private mutating func flush() throws(StoreError) {
        let count = buffer.count
        try logged(file.append(buffer.bytes))
        buffer.removeAll()
        try afterPiece(count)
    }

    // MARK: Tables

    private mutating func write(table word: UInt64, _ id: TableID) throws(StoreError) -> UInt64 {
        if let known = known(word) { return known }
        let table = TableNode(NodeRef(word).node)
        let layout = snapshot.resolvedSchema.tables[id.index]
        let rows = try write(rows: table.rows.pointee, layout)
        var columns: [(column: Int, index: UInt64, backlinks: UInt64)] = []
        for column in 0..<table.columnCount {
            let index = try write(tree: table.index(column).pointee)
            let backlinks = try write(tree: table.backlinks(column).pointee)
            columns.append((column, index, backlinks))
        }
        return append(structure: table.node) { copy in
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
        return append(structure: node) { copy in
            for (child, word) in words.enumerated() { RowNode(copy).refs[child] = word }
        }
    }

    /// Writes the leaves below one inner node: their chunks column by column, then the leaves themselves.
    private mutating func write(
        leaves words: UnsafeBufferPointer<UInt64>, _ layout: TableLayout
    ) throws(StoreError) -> [UInt64] {
        var refs = words.map { known($0) ?? 0 }
        let missing = refs.indices.filter { refs[$0] == 0 }
        let leaves = missing.map { Leaf(NodeRef(words[$0]).node) }
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
            refs[missing[index]] = append(structure: leaf.node) { copy in
                let copy = Leaf(copy)
                copy.keysSlot.pointee = keys
                for (column, word) in chunks[index].enumerated() { copy.chunkSlot(column).pointee = word }
            }
        }
        try flushIfFull()
        return refs
    }
}
