import CFirn
import FirnBytes
import FirnLog
import FirnStorage

/// Validates nodes: see `CheckpointMapping`.
extension CheckpointMapping {
    /// How many nodes have been validated. O(the reserved bytes of the mapping).
    var validatedCount: Int {
        (0..<Int(descriptor.pointee.length) / OnDiskNode.unit / 64).reduce(0) {
            $0 + descriptor.pointee.validated[$1].nonzeroBitCount
        }
    }

    /// Validates the node at `address` and returns it. If the node is damaged, records the damage and returns a
    /// stand-in. If the thread does not record damage, or no stand-in can be made, reports the damage to the
    /// application and stops the program.
    func validate(_ address: UInt) -> UnsafeMutableRawPointer {
        switch reach(address) {
        case .node(let node): return node.address
        case .damaged(let damage):
            if let standIn = standIn(address), DamageRecord.note(damage) { return standIn.address }
            LockRank.expectNone("damage is reported to the application")
            onDamage?(damage)
            fatalError("Firn: \(damage)")
        }
    }

    /// Returns the node that is read in place of a damaged one; nil if no claim says what the node should be.
    private func standIn(_ address: UInt) -> Node? {
        lock.lock()
        defer { lock.unlock() }
        let offset = Int(address - UInt(bitPattern: base))
        guard let claim = claims.find(offset / OnDiskNode.unit) else { return nil }
        return file(at: offset)?.origin.standIns.node(claim)
    }

    /// The file that an offset lies in. The lock is held.
    func file(at offset: Int) -> MappedFile? {
        mappedFiles.last { $0.entry.start <= offset && offset < $0.entry.start + $0.entry.byteCount }
    }

    /// Enters a claim for a node that a node on the heap refers to. Validating the claimed node enters claims for the
    /// nodes to which it refers.
    func claim(_ word: UInt64, _ claim: NodeClaim) {
        lock.lock()
        defer { lock.unlock() }
        let isRight = claims.enter(claim, Int(NodeRef(word).address - UInt(bitPattern: base)) / OnDiskNode.unit)
        assert(isRight, "Firn: a node that was just written is claimed as two different things")
    }

    /// Claims and validates the root of the version that the mapping was opened with; returns the damage if it is
    /// damaged.
    func openRoot(at offset: Int) -> StoreDamage? {
        lock.lock()
        do throws(Damage) { try checkReference(UInt64(truncatingIfNeeded: offset) | 1) } catch {
            lock.unlock()
            return StoreDamage(error, path: files.last.map { path(of: $0) } ?? "", offset: 0)
        }
        _ = claims.enter(NodeClaim(.root), offset / OnDiskNode.unit)
        lock.unlock()
        if case .damaged(let damage) = reach(UInt(bitPattern: base) + UInt(offset)) { return damage }
        return nil
    }

    private func path(of file: Checkpoint.File) -> String {
        lock.withLock { mappedFiles.first { $0.entry == file }?.path ?? "" }
    }

    /// Throws if a reference, in the form that references have in a file, can't lead to a node. The lock is held.
    private func checkReference(_ word: UInt64) throws(Damage) {
        lock.assertHeld()
        let offset = word &- 1
        guard word & 1 == 1, offset % UInt64(OnDiskNode.unit) == 0, offset < UInt64(byteCount),
            mappedFiles.contains(where: { $0.entry.nodes.contains(Int(offset)) })
        else { throw Damage("a reference leads to an offset where no node can lie") }
    }

    /// Checks a node, whose bytes are intact, against its claim, enters claims for the nodes that it refers to, and
    /// turns its references into addresses. The lock is held.
    private func prepare(_ node: Node, at offset: Int, claim: NodeClaim, origin: Origin) throws(Damage) {
        lock.assertHeld()
        guard node.stamp <= origin.stamp else { throw Damage("a node is younger than the version that it is part of") }
        var check = NodeCheck(node: node, claim: claim, schema: origin.schema, isOpened: origin.isOpened)
        try check.check()
        try check.checkCount(most: CheckpointMapping.mostPerByte * fileByteCount)
        guard claims.enter(check.full, offset / OnDiskNode.unit) else {
            throw Damage("a node does not have the level or size that was expected")
        }
        for ref in check.refs {
            let word = ref.address.loadUnaligned(as: UInt64.self)
            try checkReference(word)
            let offset = Int(word - 1)
            let unit = offset / OnDiskNode.unit
            let isKnown = claims.find(unit) != nil
            guard claims.enter(ref.claim, unit) else {
                throw Damage("a node is referred to as two different things")
            }
            // Only in opened files must such a node have one reference. In a file that this process wrote, a version
            // may refer to nodes to which the version before it refers too.
            if origin.isOpened, ref.claim.role.isOwned, !claims.take(unit) {
                throw Damage("a node is referred to twice")
            }
            // If the node was validated before, it must also be what this node expects.
            if isValidated(offset) {
                guard isKnown || file(at: offset)?.origin.isOpened == false,
                    try withValidated(offset, { check.isEnough($0, ref.claim) })
                else { throw Damage("a node is not what a second reference expects") }
            }
        }
    }

    /// Turns the references of a node from distances in the mapping into addresses.
    func relocate(_ node: Node) {
        let distance = UInt64(UInt(bitPattern: base))
        OnDiskNode.forEachRef(node) { slot in
            let word = slot.loadUnaligned(as: UInt64.self)
            if word != 0 { slot.storeBytes(of: word &+ distance, as: UInt64.self) }
        }
    }

    /// What a reference leads to.
    enum Reached {
        case node(Node)
        case damaged(StoreDamage)
    }

    /// The node at `address`, which is validated if it was not before. It lies there, or is a copy of this thread
    /// (`ScratchNode`).
    func reach(_ address: UInt) -> Reached {
        if isEncrypted, let copy = ScratchNode.copy(of: address, descriptor) { return .node(copy) }
        lock.lock()
        let offset = Int(address - UInt(bitPattern: base))
        if firn_is_validated(descriptor, address) != 0 {
            lock.unlock()
            return .node(Node(base + offset))
        }
        guard let index = fileIndex(at: offset) else {
            let path = mappedFiles.last?.path ?? ""
            lock.unlock()
            return .damaged(
                StoreDamage(path: path, offset: offset, detail: "a reference leads beyond the checkpoint's files"))
        }
        if isCopied(offset) {
            // Decrypting takes long, so it is not done under the lock. The version that is read holds the file.
            let file = mappedFiles[index]
            lock.unlock()
            return copyAgain(offset, file)
        }
        defer { lock.unlock() }
        return mappedFiles[index].decrypted == nil ? validateInPlace(offset, index) : decrypt(offset, index)
    }

    /// The index of the file that an offset lies in. The lock is held.
    func fileIndex(at offset: Int) -> Int? {
        lock.assertHeld()
        guard let index = mappedFiles.lastIndex(where: { $0.entry.start <= offset }),
            offset - mappedFiles[index].entry.start < mappedFiles[index].entry.byteCount
        else { return nil }
        return index
    }

    /// Whether a node of an encrypted file has been validated and is not kept. The lock is held.
    func isCopied(_ offset: Int) -> Bool {
        lock.assertHeld()
        let unit = offset / OnDiskNode.unit
        return isEncrypted && copied.contains(unit)
    }

    /// Whether the node at an offset has been validated. The lock is held.
    private func isValidated(_ offset: Int) -> Bool {
        firn_is_validated(descriptor, UInt(bitPattern: base) + UInt(offset)) != 0 || isCopied(offset)
    }

    /// Validates a node of a file that is not encrypted. The lock is held.
    private func validateInPlace(_ offset: Int, _ index: Int) -> Reached {
        let entry = mappedFiles[index].entry
        let inFile = offset - entry.start
        let start = base + offset
        let remaining = entry.byteCount - inFile
        if let damage = read(index, inFile..<min(inFile + NodeLayout.headerByteCount, entry.byteCount)) {
            return .damaged(damage)
        }
        if remaining >= NodeLayout.headerByteCount {
            let length = min(remaining, Int(start.load(fromByteOffset: NodeLayout.Header.bytes, as: UInt32.self)))
            if let damage = read(index, inFile..<(inFile + length)) { return .damaged(damage) }
        }
        if let damage = check(Node(start), at: offset, index) { return .damaged(damage) }
        firn_set_validated(descriptor, UInt(bitPattern: start))
        return .node(Node(start))
    }

    /// Checks a node whose bytes were read, enters claims for the nodes that it refers to, and turns its references
    /// into addresses. The lock is held.
    ///
    /// - Parameters:
    ///   - node: the node, in the mapping or a copy.
    ///   - offset: its offset in the mapping.
    func check(_ node: Node, at offset: Int, _ index: Int) -> StoreDamage? {
        let entry = mappedFiles[index].entry
        let inFile = offset - entry.start
        do throws(Damage) {
            try OnDiskNode.check(at: node.address, offset: offset, remaining: entry.byteCount - inFile)
            let bytes = offset..<offset + node.byteCount
            let units = OnDiskNode.units(bytes)
            // Free space is punched, and its memory is given back, while versions read what they reach.
            guard !dead.isSomeFree(bytes) else { throw Damage("a node lies in free space") }
            guard !covered.areAny(in: units) else { throw Damage(OnDiskNode.overlap) }
            // This process has written a node for which no claim was entered: see `NodeShape.claim`.
            if let claim = claims.find(offset / OnDiskNode.unit) {
                try prepare(node, at: offset, claim: claim, origin: mappedFiles[index].origin)
            }
            covered.insert(units)
        } catch {
            return StoreDamage(error, path: mappedFiles[index].path, offset: inFile)
        }
        relocate(node)
        return nil
    }

    /// Calls `body` with the beginning of a node, up to and including the fields of an encoded chunk, and whether its
    /// references are addresses. Returns nil if the node can't be read. The lock is held.
    func withStart<Result>(of offset: Int, _ body: (Node, _ isValidated: Bool) -> Result?) -> Result? {
        lock.assertHeld()
        guard let index = fileIndex(at: offset) else { return nil }
        if firn_is_validated(descriptor, UInt(bitPattern: base) + UInt(offset)) != 0 {
            return body(Node(base + offset), true)
        }
        let inFile = offset - mappedFiles[index].entry.start
        let remaining = mappedFiles[index].entry.byteCount - inFile
        guard remaining >= NodeLayout.headerByteCount else { return nil }
        if let file = mappedFiles[index].decrypted {
            return withStart(of: inFile, remaining, in: file) { body($0, false) }
        }
        guard read(index, inFile..<inFile + NodeLayout.headerByteCount) == nil else { return nil }
        return body(Node(base + offset), false)
    }
}
