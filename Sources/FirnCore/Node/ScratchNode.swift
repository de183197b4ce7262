import CFirn

/// Decodes nodes: turns a node that a checkpoint holds in a compact form into its heap form, in memory of the reading
/// thread.
///
/// A thread keeps the 16 decoded nodes that it requested last. A node that is needed for longer must be copied
/// (`Node.isScratch`).
enum ScratchNode {
    typealias Mapping = UnsafeMutablePointer<firn_mapping_t>

    /// The decoded form of `node`: the form that this thread still has, or the form that `decode` makes.
    @inline(__always)
    static func decoded(_ node: Node, _ decode: (Mapping) -> Node) -> Node {
        let address = UInt(bitPattern: node.address)
        guard let mapping = firn_mapping_of(address) else {
            preconditionFailure("Firn: an encoded node outside a checkpoint")
        }
        if let memory = firn_scratch_find(address, mapping.pointee.number) { return Node(memory) }
        return decode(mapping)
    }

    /// Returns memory for the decoded form of `node`, with its header filled in.
    ///
    /// The thread keeps the node for later reads, unless the thread's operation has met damage: the content may then
    /// come from a stand-in.
    static func make(for node: Node, _ mapping: Mapping, byteCount: Int) -> Node {
        let length = NodeLayout.heapByteCount(byteCount)
        let memory = firn_scratch_make(
            UInt(bitPattern: node.address), mapping.pointee.number, length, !DamageRecord.isSet)
        guard let memory else {
            fatalError("Firn: there is no memory left to decode \(length) bytes")
        }
        memory.copyMemory(from: node.address, byteCount: NodeLayout.headerByteCount)
        let scratch = Node(memory)
        // An encoded node has 64 KiB at most, so its length in units fits above the 48 bits of the address.
        scratch.link = UInt64(UInt(bitPattern: node.address)) | UInt64(node.byteCount / NodeLayout.diskUnit) << 48
        scratch.kindByte = node.kindNumber | Node.locationBits
        scratch.byteCount = length
        return scratch
    }
}
