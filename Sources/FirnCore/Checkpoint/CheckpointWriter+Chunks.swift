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
            let dictionaryRef = write(dictionary, leaves, column)
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
    mutating func write(_ dictionary: TextDictionary, _ leaves: [Leaf], _ column: Int) -> UInt64 {
        let count = dictionary.firsts.count
        let heap = dictionary.firsts.reduce(0) { $0 + leaves[$1.leaf].chunk(column).slot($1.row).heapLength }
        let offset = buffer.append(byteCount: 64 + 4 * count + heap) { memory in
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
    /// - Parameter refs: where in the payload references lie, and their values in the file.
    mutating func append(
        _ packed: ChunkEncoder.EncodedChunk, _ node: Node, rows: Int, refs: [(offset: Int, word: UInt64)]
    ) -> UInt64 {
        let table = (64 + packed.payload.count + 3) & ~3
        let byteCount = refs.isEmpty ? 64 + packed.payload.count : table + 4 * refs.count
        let offset = buffer.append(byteCount: byteCount) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
            let copy = Node(memory)
            copy.stamp = node.stamp
            copy.store(Node.Kind.chunk.rawValue, 16)
            copy.form = packed.form.rawValue
            copy.width = node.width
            copy.capacity = rows
            copy.store(UInt8(packed.width), ChunkEncoding.widthOffset)
            copy.store(UInt8(packed.isNullable ? 1 : 0), ChunkEncoding.nullOffset)
            copy.store(UInt32(packed.heap), ChunkEncoding.heapOffset)
            copy.store(packed.first, ChunkEncoding.baseOffset)
            copy.store(packed.second, ChunkEncoding.stepOffset)
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
        let ref = UInt64(offset) | 1
        forwarding.set(UInt(bitPattern: node.address), ref, rows: rows)
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
        let width = chunk.form == .variable ? 4 : chunk.node.width
        let used = chunk.form == .variable ? CellRefs.heapEnd(of: chunk, rows: rows) : 0
        let values = 64 + width * rows
        let byteCount = chunk.form == .nullable ? values + rows : values + used
        let table = (byteCount + 3) & ~3
        let position = buffer.append(byteCount: refs.isEmpty ? byteCount : table + 4 * refs.count) { memory in
            // The count is not copied, because the writer may be adding to it.
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
            // The distance between a reference in the chunk, which has spare rows, and in the copy, which has none.
            let shift = (chunk.node.capacity - rows) * 4
            for (index, ref) in refs.enumerated() {
                let offset = ref.offset - shift
                memory.storeBytes(of: ref.word, toByteOffset: offset, as: UInt64.self)
                copy.store(UInt32(offset), table + 4 * index)
            }
            copy.store(UInt32(refs.isEmpty ? 0 : table), 32)
            copy.store(UInt32(refs.count), 36)
        }
        let ref = UInt64(position) | 1
        forwarding.set(UInt(bitPattern: chunk.node.address), ref, rows: rows)
        return ref
    }
}
