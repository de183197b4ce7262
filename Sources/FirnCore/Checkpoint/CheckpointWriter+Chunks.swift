/// Writes chunks column by column, encoded if that makes them smaller.
extension CheckpointWriter {
    /// Writes the chunks of one column of neighbouring leaves.
    mutating func write(
        chunks leaves: [Leaf], _ column: Int, _ layout: TableLayout
    ) throws(StoreError) -> [UInt64] {
        let schema = layout.columns[column]
        var words: [UInt64] = []
        if schema.collection == .none, schema.type == .string || schema.type == .data,
            // A chunk that is encoded in another mapping is copied as it is.
            leaves.allSatisfy({ !ChunkEncoding.isEncoded($0.chunkNode(column)) }),
            let dictionary = TextDictionary(leaves, column)
        {
            let dictionaryRef = write(dictionary, leaves: leaves, column: column)
            for (index, leaf) in leaves.enumerated() {
                let packed = dictionary.codes[index].withUnsafeBytes { codes in
                    append(
                        ChunkEncoder.EncodedChunk(form: .dictionary, first: dictionaryRef, payload: codes),
                        leaf.chunkNode(column),
                        rows: leaf.count, refs: [])
                }
                words.append(packed)
            }
            dictionaries.append(
                WrittenNodes.Dictionary(offset: Int(dictionaryRef & ~1), chunks: words.map { Int($0 & ~1) }))
            try flushIfFull()
            return words
        }
        for leaf in leaves {
            words.append(
                try write(
                    chunk: leaf.chunkNode(column), rows: leaf.count, schema,
                    mayCompress: !layout.indexed.contains(column)))
            try flushIfFull()
        }
        return words
    }

    /// Writes the values of a dictionary as a variable chunk; returns its reference.
    mutating func write(_ dictionary: TextDictionary, leaves: [Leaf], column: Int) -> UInt64 {
        let count = dictionary.firsts.count
        let heap = dictionary.firsts.reduce(0) { $0 + leaves[$1.leaf].chunk(column).slot($1.row).heapLength }
        let layout = ChunkLayout.variable()
        let offset = buffer.append(byteCount: layout.byteCount(capacity: count, heap: heap)) { memory in
            let node = Node(memory)
            node.stamp = leaves[0].node.stamp
            node.kindByte = Node.Kind.chunk.rawValue
            node.form = layout.form.rawValue
            node.width = layout.width
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
        return UInt64(offset) | 1
    }

    mutating func write(
        chunk node: Node, rows: Int, _ schema: ColumnSchema, mayCompress: Bool
    ) throws(StoreError) -> UInt64 {
        if node.isOnDisk { return try write(onDisk: node, rows: rows) }
        let chunk = Chunk(node)
        guard chunk.form == .variable else {
            if let packed = packer.encodeNumbers(chunk, rows: rows, schema) {
                return append(packed, node, rows: rows, refs: [])
            }
            return append(plain: chunk, rows: rows, refs: [])
        }
        let cell = ElementLayout(schema)
        if schema.collection == .none {
            // The referenced nodes are written first, because writing them reuses the packer's memory.
            var moved: [UInt64: UInt64] = [:]
            for address in CellRefs.addresses(in: chunk, rows: rows, schema) {
                let word = address.loadUnaligned(as: UInt64.self)
                moved[word] = try write(cell: word, cell)
            }
            if let packed = packer.encodeText(chunk, rows: rows, mayCompress: mayCompress && schema.type != .mixed) {
                return append(packed, node, rows: rows, refs: packed.refs.map { ($0.offset, moved[$0.word] ?? 0) })
            }
        }
        var refs: [(offset: Int, word: UInt64)] = []
        for address in CellRefs.addresses(in: chunk, rows: rows, schema) {
            refs.append((address - node.address, try write(cell: address.loadUnaligned(as: UInt64.self), cell)))
        }
        return append(plain: chunk, rows: rows, refs: refs)
    }

    /// Writes an encoded chunk.
    ///
    /// - Parameter refs: the offsets of references in the payload, and their values in the file.
    mutating func append(
        _ packed: ChunkEncoder.EncodedChunk, _ node: Node, rows: Int, refs: [(offset: Int, word: UInt64)]
    ) -> UInt64 {
        let payload = NodeLayout.EncodedChunk.payload
        let end = payload + packed.payload.count
        let table = NodeLayout.refTable(after: end)
        let byteCount = refs.isEmpty ? end : NodeLayout.tableEntry(refs.count, of: table)
        let offset = buffer.append(byteCount: byteCount) { memory in
            let copy = Node(memory)
            copy.stamp = node.stamp
            copy.kindByte = Node.Kind.chunk.rawValue
            copy.form = packed.form.rawValue
            copy.width = node.width
            copy.capacity = rows
            copy.store(UInt8(packed.width), NodeLayout.EncodedChunk.width)
            copy.store(UInt8(packed.isNullable ? 1 : 0), NodeLayout.EncodedChunk.hasNulls)
            copy.store(UInt32(packed.heap), NodeLayout.EncodedChunk.heap)
            copy.store(packed.first, NodeLayout.EncodedChunk.base)
            copy.store(packed.second, NodeLayout.EncodedChunk.step)
            if let base = packed.payload.baseAddress {
                (memory + payload).copyMemory(from: base, byteCount: packed.payload.count)
            }
            for (index, ref) in refs.enumerated() {
                memory.storeBytes(of: ref.word, toByteOffset: payload + ref.offset, as: UInt64.self)
                copy.store(UInt32(payload + ref.offset), NodeLayout.tableEntry(index, of: table))
            }
            copy.store(UInt32(refs.isEmpty ? 0 : table), NodeLayout.Chunk.refTable)
            copy.store(UInt32(refs.count), NodeLayout.Chunk.refCount)
        }
        let ref = UInt64(offset) | 1
        forwarding.set(node.diskLocation.address, ref, rows: rows)
        return ref
    }

    /// Copies a node of another mapping, whose reference table says where its references lie.
    mutating func write(onDisk node: Node, rows: Int) throws(StoreError) -> UInt64 {
        var refs: [(offset: Int, word: UInt64)] = []
        var addresses: [UnsafeMutableRawPointer] = []
        OnDiskNode.forEachRef(node) { addresses.append($0) }
        for address in addresses {
            refs.append((address - node.address, try write(cell: address.loadUnaligned(as: UInt64.self), nil)))
        }
        return append(node, rows: rows) { copy in
            for (offset, word) in refs { copy.address.storeBytes(of: word, toByteOffset: offset, as: UInt64.self) }
        }
    }

    /// Writes a chunk that is on the heap, with space for its rows alone and a reference table behind them.
    mutating func append(plain chunk: Chunk, rows: Int, refs: [(offset: Int, word: UInt64)]) -> UInt64 {
        let width = chunk.form == .variable ? NodeLayout.Chunk.slotByteCount : chunk.node.width
        let used = chunk.form == .variable ? CellRefs.heapEnd(of: chunk, rows: rows) : 0
        let values = NodeLayout.Chunk.data + width * rows
        let byteCount = chunk.form == .nullable ? values + rows : values + used
        let table = NodeLayout.refTable(after: byteCount)
        let position = buffer.append(
            byteCount: refs.isEmpty ? byteCount : NodeLayout.tableEntry(refs.count, of: table)
        ) { memory in
            // The count is not copied, because a transaction may be adding to it.
            let copy = Node(memory)
            copy.stamp = chunk.node.stamp
            copy.kindByte = Node.Kind.chunk.rawValue
            copy.form = chunk.node.form
            copy.width = chunk.node.width
            copy.count = used
            copy.capacity = rows
            Chunk(copy).data.copyMemory(from: chunk.data, byteCount: width * rows)
            switch chunk.form {
            case .fixed: break
            case .nullable: (memory + values).copyMemory(from: chunk.nullFlags, byteCount: rows)
            case .variable:
                (memory + values).copyMemory(from: chunk.heap, byteCount: used)
            }
            // The distance between a reference in the chunk, which has spare rows, and in the copy, which has none.
            let shift = (chunk.node.capacity - rows) * width
            for (index, ref) in refs.enumerated() {
                let offset = ref.offset - shift
                memory.storeBytes(of: ref.word, toByteOffset: offset, as: UInt64.self)
                copy.store(UInt32(offset), NodeLayout.tableEntry(index, of: table))
            }
            copy.store(UInt32(refs.isEmpty ? 0 : table), NodeLayout.Chunk.refTable)
            copy.store(UInt32(refs.count), NodeLayout.Chunk.refCount)
        }
        let ref = UInt64(position) | 1
        forwarding.set(chunk.node.diskLocation.address, ref, rows: rows)
        return ref
    }
}
