import CFirn

/// A node of a checkpoint in memory of the reading thread. It is an unpacked node, which the checkpoint holds in a
/// compact form, or a copy of a decrypted node (`CheckpointMapping+Decrypted`).
///
/// A thread keeps the 16 nodes of each ring that it requested last. There is a ring for unpacked nodes, and one each
/// for copies of chunks, blobs, leaves of indexes and leaves of collections. Of long blobs it keeps as many as fit in
/// 16 MiB, and at least 4. A node that is needed for longer must be copied (`Node.isScratch`). Code that calls other
/// code between two uses of a node does not know how many nodes are requested meanwhile: see `holding`.
enum ScratchNode {
    typealias Mapping = UnsafeMutablePointer<firn_mapping_t>

    /// The unpacked form of `node`: the form that this thread still has, or the form that `unpack` makes.
    @inline(__always)
    static func unpacked(_ node: Node, _ unpack: (Mapping) -> Node) -> Node {
        let address = node.diskLocation.address
        guard let mapping = firn_mapping_of(address) else {
            preconditionFailure("Firn: an encoded node outside a checkpoint")
        }
        if let memory = firn_scratch_find(unpackedRing, address, mapping.pointee.number) { return Node(memory) }
        return unpack(mapping)
    }

    /// Returns memory for the unpacked form of `node`, with its header filled in.
    ///
    /// The thread keeps the node for later reads, unless the thread's operation has met damage: the content may then
    /// come from a stand-in.
    static func make(for node: Node, _ mapping: Mapping, byteCount: Int) -> Node {
        let length = NodeLayout.heapByteCount(byteCount)
        let (address, diskByteCount) = node.diskLocation
        let scratch = make(
            in: unpackedRing, for: address, mapping, byteCount: length, isKept: !DamageRecord.isSet)
        scratch.address.copyMemory(from: node.address, byteCount: NodeLayout.headerByteCount)
        // An encoded node has 64 KiB at most, so its length in units fits above the 48 bits of the address.
        scratch.link = UInt64(address) | UInt64(diskByteCount / NodeLayout.diskUnit) << 48
        scratch.kindByte = node.kindNumber | Node.locationBits
        scratch.byteCount = length
        return scratch
    }

    private static let unpackedRing = UInt32(FIRN_SCRATCH_UNPACKED)

    private static func make(
        in ring: UInt32, for address: UInt, _ mapping: Mapping, byteCount: Int, isKept: Bool
    ) -> Node {
        guard let memory = firn_scratch_make(ring, address, mapping.pointee.number, byteCount, isKept) else {
            fatalError("Firn: there is no memory left to decode \(byteCount) bytes")
        }
        return Node(memory)
    }

    // MARK: Copies

    /// The ring for copies of a kind of node; nil if such nodes are not copied. Those refer to others, and code holds
    /// them for long.
    private static func ring(_ kind: UInt8) -> UInt32? {
        switch Node.Kind(rawValue: kind) {
        case .chunk: UInt32(FIRN_SCRATCH_CHUNKS)
        case .blob: UInt32(FIRN_SCRATCH_BLOBS)
        case .integerIndexLeaf, .bytesIndexLeaf: UInt32(FIRN_SCRATCH_INDEXES)
        case .listLeaf: UInt32(FIRN_SCRATCH_LISTS)
        case .root, .table, .rowInner, .leaf, .integerIndexInner, .bytesIndexInner, .listInner, nil: nil
        }
    }

    /// Whether nodes of a kind may be copied.
    static func mayBeCopy(_ kind: UInt8) -> Bool { ring(kind) != nil }

    /// The copy of a node that this thread still has.
    @inline(__always)
    static func copy(of address: UInt, _ mapping: Mapping) -> Node? {
        firn_scratch_find_copy(address, mapping.pointee.number).map { Node($0) }
    }

    /// Returns memory for a copy of a node of a kind. The content is not initialised: `finish` or `drop` follows.
    static func makeCopy(of address: UInt, kind: UInt8, _ mapping: Mapping, byteCount: Int) -> Node {
        guard let ring = ring(kind) else { preconditionFailure("Firn: nodes of the kind \(kind) are not copied") }
        return make(in: ring, for: address, mapping, byteCount: byteCount, isKept: true)
    }

    /// Completes the header of a copy whose bytes are those in the file.
    static func finish(_ copy: Node, of address: UInt) {
        copy.link = UInt64(address)
        copy.kindByte = copy.kindNumber | Node.locationBits
    }

    /// Ends a copy that could not be read, or turned out to be damaged. Does nothing to other nodes.
    static func drop(_ copy: Node) { firn_scratch_drop(copy.address) }

    /// Whether the thread has ever had a copy.
    @inline(__always)
    static var hasCopies: Bool { firn_scratch_has_copies() }

    /// Whether an address lies in a copy, whose memory is used again soon.
    @inline(__always)
    static func hasCopy(_ address: UnsafeRawPointer?) -> Bool {
        guard let address else { return false }
        return firn_scratch_has_copy(address)
    }

    /// Calls `body` with `node`, or with a second copy of it if it is a scratch node. The second copy is valid during
    /// the call, whatever `body` reads.
    @inline(__always)
    static func holding<Result>(_ node: Node, _ body: (Node) -> Result) -> Result {
        node.isScratch ? holdingCopy(node, body) : body(node)
    }

    @inline(never)
    private static func holdingCopy<Result>(_ node: Node, _ body: (Node) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: node.byteCount, alignment: 16) { memory in
            let copy = memory.baseAddress.unsafelyUnwrapped
            copy.copyMemory(from: node.address, byteCount: node.byteCount)
            return body(Node(copy))
        }
    }

    /// Calls `body` with `bytes`, or with a second copy of them if they lie in a scratch node.
    @inline(__always)
    static func holding<Result>(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        guard hasCopy(bytes.baseAddress) else { return body(bytes) }
        return withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 16) { memory in
            memory.copyMemory(from: bytes)
            return body(UnsafeRawBufferPointer(rebasing: memory[..<bytes.count]))
        }
    }
}
