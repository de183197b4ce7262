import CFirn
import FirnBytes
import FirnLog

/// Reads the nodes of encrypted files.
///
/// As long as `DecryptedMemory` has space, each block is decrypted once, to its address in the mapping. After that,
/// single nodes are, if they refer to others, because code holds them for long. Whoever reads another node gets a
/// copy (`ScratchNode`). It counts as the node at its address in the mapping.
///
/// A node is checked at its first use, like all nodes. What is read later is what was checked: a block is
/// authenticated each time it is decrypted, and was written once.
extension CheckpointMapping {
    /// Decrypts and validates a node that is used for the first time. The lock is held.
    func decrypt(_ offset: Int, _ index: Int) -> Reached {
        lock.assertHeld()
        guard let file = mappedFiles[index].decrypted else { preconditionFailure("Firn: the file is not encrypted") }
        let entry = mappedFiles[index].entry
        let inFile = offset - entry.start
        let address = UInt(bitPattern: base) + UInt(offset)
        var isKept = true
        let node: Node
        do throws(LogError) {
            if let whole = try decryptBlocks(of: file, offset, entry) {
                node = whole
            } else {
                node = try load(file, inFile, of: entry.byteCount) { (header, byteCount) throws(LogError) in
                    let kind = header.kindNumber
                    isKept = file.keep(inFile..<inFile + byteCount, isRequired: !ScratchNode.mayBeCopy(kind))
                    guard isKept else {
                        return ScratchNode.makeCopy(of: address, kind: kind, descriptor, byteCount: byteCount)
                    }
                    // The length is not checked yet, and others may be reading the nodes behind.
                    guard !covered.areAny(in: OnDiskNode.units(overlapping: offset..<offset + byteCount)) else {
                        throw LogError(.damage, path: "", offset: nil, detail: OnDiskNode.overlap)
                    }
                    return Node(base + offset)
                }
            }
        } catch {
            return .damaged(StoreDamage(error, in: mappedFiles[index], at: inFile))
        }
        if let damage = check(node, at: offset, index) {
            if !isKept { ScratchNode.drop(node) }
            return .damaged(damage)
        }
        if isKept {
            firn_set_validated(descriptor, address)
        } else {
            ScratchNode.finish(node, of: address)
            copied.insert(offset / OnDiskNode.unit)
        }
        return .node(node)
    }

    /// Decrypts the blocks that hold the node at an offset to their addresses. Returns nil if they may not lie there.
    /// The lock is held.
    ///
    /// A block in which a node was validated before stays as it is: others may be reading that node.
    private func decryptBlocks(
        of file: DecryptedFile, _ offset: Int, _ entry: Checkpoint.File
    ) throws(LogError) -> Node? {
        lock.assertHeld()
        let inFile = offset - entry.start
        let remaining = entry.byteCount - inFile
        func decrypt(_ byteCount: Int) throws(LogError) -> Bool {
            try file.decrypt(inFile..<inFile + byteCount, to: base + entry.start) { bytes in
                let bytes = entry.start + bytes.lowerBound..<entry.start + bytes.upperBound
                return !covered.areAny(in: OnDiskNode.units(overlapping: bytes))
            }
        }
        guard remaining >= NodeLayout.headerByteCount, try decrypt(NodeLayout.headerByteCount) else { return nil }
        let node = Node(base + offset)
        guard try decrypt(Self.claimedByteCount(node, remaining)) else { return nil }
        return node
    }

    /// Makes a copy of a node that was validated before and is not kept. Takes no lock of the mapping.
    func copyAgain(_ offset: Int, _ mappedFile: MappedFile) -> Reached {
        guard let file = mappedFile.decrypted else { preconditionFailure("Firn: the file is not encrypted") }
        let inFile = offset - mappedFile.entry.start
        let address = UInt(bitPattern: base) + UInt(offset)
        do throws(LogError) {
            let node = try load(file, inFile, of: mappedFile.entry.byteCount) { header, byteCount in
                ScratchNode.makeCopy(of: address, kind: header.kindNumber, descriptor, byteCount: byteCount)
            }
            relocate(node)
            ScratchNode.finish(node, of: address)
            return .node(node)
        } catch {
            return .damaged(StoreDamage(error, in: mappedFile, at: inFile))
        }
    }

    /// Returns the length in a node's header, which has not been checked: at least a header's, and at most what is left
    /// of the file.
    private static func claimedByteCount(_ header: Node, _ remaining: Int) -> Int {
        min(remaining, max(header.byteCount, NodeLayout.headerByteCount))
    }

    /// Copies a node's bytes from a file to where `target` says.
    ///
    /// - Parameter target: gets the node's header, which has not been checked, and its length: see `claimedByteCount`.
    private func load(
        _ file: DecryptedFile, _ inFile: Int, of fileByteCount: Int, to target: (Node, Int) throws(LogError) -> Node
    ) throws(LogError) -> Node {
        let remaining = fileByteCount - inFile
        guard remaining >= NodeLayout.headerByteCount else {
            throw LogError(.damage, path: "", offset: nil, detail: "the file ends within a node's header")
        }
        var header: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        let (node, byteCount) = try withUnsafeMutableBytes(of: &header) { (bytes) throws(LogError) -> (Node, Int) in
            let header = Node(bytes.baseAddress.unsafelyUnwrapped)
            try file.copy(inFile..<inFile + NodeLayout.headerByteCount, to: header.address)
            let byteCount = Self.claimedByteCount(header, remaining)
            return (try target(header, byteCount), byteCount)
        }
        do throws(LogError) { try file.copy(inFile..<inFile + byteCount, to: node.address) } catch {
            // The memory is not initialised.
            ScratchNode.drop(node)
            throw error
        }
        return node
    }

    /// Calls `body` with a node that was validated before, in the mapping or in memory for the call. The lock is held.
    func withValidated<Result>(_ offset: Int, _ body: (Node) -> Result) throws(Damage) -> Result {
        lock.assertHeld()
        guard isCopied(offset), let index = fileIndex(at: offset), let file = mappedFiles[index].decrypted else {
            return body(Node(base + offset))
        }
        var memory: UnsafeMutableRawPointer?
        defer { memory?.deallocate() }
        do throws(LogError) {
            let node = try load(file, offset - mappedFiles[index].entry.start, of: mappedFiles[index].entry.byteCount) {
                let target = UnsafeMutableRawPointer.allocate(byteCount: $1, alignment: 16)
                memory = target
                return Node(target)
            }
            return body(node)
        } catch {
            throw Damage("a node to which another one refers, too, can't be read: \(error.detail)")
        }
    }

    /// Calls `body` with the beginning of a node, up to and including the fields of an encoded chunk. Returns nil if it
    /// can't be read.
    func withStart<Result>(
        of inFile: Int, _ remaining: Int, in file: DecryptedFile, _ body: (Node) -> Result?
    ) -> Result? {
        withUnsafeTemporaryAllocation(byteCount: NodeLayout.EncodedChunk.payload, alignment: 16) { bytes in
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            let start = bytes.baseAddress.unsafelyUnwrapped
            let count = min(remaining, NodeLayout.EncodedChunk.payload)
            guard (try? file.copy(inFile..<inFile + count, to: start)) != nil else { return nil }
            return body(Node(start))
        }
    }

    /// Checks every node of a file, one after the other, so that no more than one of them is in memory.
    func verify(_ file: DecryptedFile, _ mappedFile: MappedFile, besides holes: [Range<Int>]) -> StoreDamage? {
        var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: DecryptedMemory.blockByteCount, alignment: 16)
        defer { memory.deallocate() }
        return forEachNode(of: mappedFile, besides: holes) { (offset, remaining) throws(LogError) in
            let node = try load(file, offset, of: offset + remaining) { _, byteCount in
                if byteCount > memory.count {
                    memory.deallocate()
                    memory = .allocate(byteCount: byteCount, alignment: 16)
                }
                return Node(memory.baseAddress.unsafelyUnwrapped)
            }
            return node.address
        }
    }
}

extension StoreDamage {
    /// What a failed read of a file says.
    fileprivate init(_ error: LogError, in file: CheckpointMapping.MappedFile, at offset: Int) {
        self.init(path: file.path, offset: error.offset ?? offset, detail: error.detail)
    }
}
