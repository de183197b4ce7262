/// Writes the nodes that cells refer to, indexes and backlinks.
extension CheckpointWriter {
    /// Writes the node that a cell refers to: a blob, or the tree of a collection. A node in another mapping needs no
    /// layout, because its reference table says where its references lie.
    mutating func write(cell word: UInt64, _ layout: ElementLayout?) throws(StoreError) -> UInt64 {
        if let known = known(word) { return known }
        let node = NodeRef(word).node
        switch node.kind {
        case .blob:
            let ref = append(node, byteCount: NodeLayout.Blob.bytes + node.count)
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
            guard !node.isOnDisk, let layout else { return try write(onDisk: node, rows: 0) }
            return try write(listLeaf: ListTree.Leaf(node, layout))
        }
    }

    mutating func write(listLeaf leaf: ListTree.Leaf) throws(StoreError) -> UInt64 {
        var refs: [(offset: Int, word: UInt64)] = []
        var addresses: [UnsafeMutableRawPointer] = []
        leaf.block.forEachBlobRef { addresses.append($0) }
        for address in addresses {
            let word = address.loadUnaligned(as: UInt64.self)
            refs.append((address - leaf.node.address, try write(cell: word, leaf.layout)))
        }
        let used = NodeLayout.ListLeaf.block + leaf.length
        let table = NodeLayout.refTable(after: used)
        let offset = buffer.append(byteCount: refs.isEmpty ? used : NodeLayout.tableEntry(refs.count, of: table)) {
            memory in
            CheckpointWriter.copy(leaf.node, byteCount: used, to: memory)
            let copy = Node(memory)
            for (index, ref) in refs.enumerated() {
                memory.storeBytes(of: ref.word, toByteOffset: ref.offset, as: UInt64.self)
                copy.store(UInt32(ref.offset), NodeLayout.tableEntry(index, of: table))
            }
            copy.store(UInt32(refs.count), NodeLayout.ListLeaf.refCount)
        }
        let ref = UInt64(offset) | 1
        forwarding.set(leaf.node.diskLocation.address, ref)
        try flushIfFull()
        return ref
    }

    /// Writes a tree of an index or of backlinks.
    mutating func write(tree word: UInt64) throws(StoreError) -> UInt64 {
        if let known = known(word) { return known }
        let node = NodeRef(word).node
        switch node.kind {
        case .integerIndexInner:
            let inner = IntegerIndexInner(node)
            var children: [UInt64] = []
            for child in 0..<node.count { children.append(try write(tree: inner.refs[child])) }
            return append(structure: node) { copy in
                for (child, word) in children.enumerated() { IntegerIndexInner(copy).refs[child] = word }
            }
        case .bytesIndexInner:
            let inner = SlottedPage(node)
            var children: [UInt64] = []
            for child in 0..<node.count { children.append(try write(tree: inner.refSlot(child).pointee)) }
            return append(structure: node) { copy in
                for (child, word) in children.enumerated() { SlottedPage(copy).refSlot(child).pointee = word }
            }
        default: return try write(indexLeaf: node)
        }
    }

    private mutating func write(indexLeaf node: Node) throws(StoreError) -> UInt64 {
        if node.kindNumber == Node.Kind.integerIndexLeaf.rawValue, !node.isOnDisk,
            let steps = IntegerIndexProgression.steps(IntegerIndexLeaf(node))
        {
            let leaf = IntegerIndexLeaf(node)
            return append(node, byteCount: NodeLayout.IntegerIndexProgression.byteCount) { copy in
                copy.form = IntegerIndexLeaf.progressionForm
                let progression = IntegerIndexProgression(copy)
                progression.firstKey = leaf.keys[0]
                progression.keyStep = steps.key
                progression.firstValue = leaf.values[0]
                progression.valueStep = steps.value
            }
        }
        let ref = append(node)
        try flushIfFull()
        return ref
    }
}
