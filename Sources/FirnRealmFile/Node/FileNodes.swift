/// Finds nodes in the pages of a file, and bounds what reading them costs.
///
/// A reference must be a multiple of 8 and its whole node must lie within the file. A node of width 0 claims up to 16
/// million elements in 8 bytes, and nodes may be shared. So every reading of the file has a **budget** of elements,
/// which grows with the file; a file that claims more than that is damaged. It bounds cycles as well.
///
/// One thread uses an object of this type.
final class FileNodes {
    let pages: FilePages
    /// References and nodes lie below this offset.
    var end: Int
    private var budget = 0
    /// Blobs that were joined from pieces, until the pages are released.
    private var joined: [UnsafeMutableRawBufferPointer] = []

    static let maximumDepth = 64

    init(_ pages: FilePages) {
        self.pages = pages
        end = pages.byteCount
        beginReading()
    }

    deinit { for buffer in joined { buffer.deallocate() } }

    /// Grants the budget anew. Whoever reads all objects once more calls it.
    func beginReading() { budget = 256 * pages.byteCount + 1 << 20 }

    /// Takes elements from the budget.
    @inline(__always)
    func spend(_ count: Int, at reference: Int) throws(RealmFileError) {
        budget -= count
        if budget < 0 { throw .damage("there are more elements than a file of this size can have", at: reference) }
    }

    /// Frees what the pages and joined blobs hold, if it is much. All nodes become invalid.
    func release() {
        pages.release()
        for buffer in joined { buffer.deallocate() }
        joined.removeAll()
    }

    /// The node at a reference.
    @inline(__always)
    func node(_ reference: Int) throws(RealmFileError) -> FileNode {
        guard
            reference >= 24, reference & 7 == 0, reference <= end - FileNode.headerByteCount
        else { throw badReference(reference) }
        try pages.prepare(reference, FileNode.headerByteCount)
        let header = pages.base + reference
        let flags = header.load(fromByteOffset: 4, as: UInt8.self)
        let count = Int(UInt32(bigEndian: header.load(fromByteOffset: 4, as: UInt32.self)) & 0xff_ffff)
        let width = (1 << Int(flags & 7)) >> 1
        try spend(1 + (width == 0 ? count : count >> 3), at: reference)
        guard let kind = FileNode.Kind(rawValue: flags >> 3 & 3) else {
            throw .damage("a node has an unknown kind", at: reference)
        }
        let byteCount =
            switch kind {
            case .bits: (count * width + 7) >> 3
            case .bytes: count * width
            case .blob: count
            }
        guard byteCount <= end - reference - FileNode.headerByteCount else {
            throw .damage("a node of \(byteCount) bytes runs past the end of the file", at: reference)
        }
        try pages.prepare(reference, FileNode.headerByteCount + byteCount)
        return FileNode(
            reference: reference, count: count, width: width, kind: kind, isInner: flags & 0x80 != 0,
            hasReferences: flags & 0x40 != 0, hasContext: flags & 0x20 != 0,
            elements: header + FileNode.headerByteCount)
    }

    @inline(never)
    private func badReference(_ reference: Int) -> RealmFileError {
        .damage("a reference leads to byte \(reference), which is outside of the file or not aligned", at: reference)
    }

    /// The node in an element of another one. Throws if there is none.
    func child(_ node: FileNode, _ index: Int) throws(RealmFileError) -> FileNode {
        try self.node(node.referenceOrZero(index))
    }

    /// A child whose elements are integers.
    func integers(_ node: FileNode, _ index: Int) throws(RealmFileError) -> FileNode {
        let child = try child(node, index)
        try child.checkIntegers()
        return child
    }

    /// The node in an element, nil if the element is 0 or missing.
    func optionalIntegers(_ node: FileNode, _ index: Int) throws(RealmFileError) -> FileNode? {
        let reference = try node.referenceOrZero(index)
        if reference == 0 { return nil }
        let child = try self.node(reference)
        try child.checkIntegers()
        return child
    }

    /// The bytes of a node, whatever its kind says of their widths.
    func bytes(of node: FileNode) throws(RealmFileError) -> UnsafeRawBufferPointer {
        let wanted = node.kind == .bytes ? node.count * node.width : node.count
        let count = min(wanted, pages.byteCount - node.elementsOffset)
        try pages.prepare(node.elementsOffset, count)
        return UnsafeRawBufferPointer(start: node.elements, count: count)
    }

    /// The bytes of a blob, which may be cut into pieces.
    func blob(_ reference: Int) throws(RealmFileError) -> UnsafeRawBufferPointer {
        let node = try node(reference)
        guard node.hasContext else { return try piece(node) }
        try node.checkIntegers()
        var pieces: [UnsafeRawBufferPointer] = []
        var total = 0
        for index in 0..<node.count {
            let piece = try piece(self.node(Int(node.signed(index))))
            // Pieces may be shared, so their sum may be larger than the file.
            total += piece.count
            try spend(piece.count / 8, at: reference)
            pieces.append(piece)
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(total, 1), alignment: 1)
        joined.append(buffer)
        var filled = 0
        for piece in pieces {
            UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: piece)
            filled += piece.count
        }
        return UnsafeRawBufferPointer(rebasing: buffer[..<total])
    }

    private func piece(_ node: FileNode) throws(RealmFileError) -> UnsafeRawBufferPointer {
        guard !node.hasContext, !node.hasReferences else {
            throw .damage("a blob has references", at: node.reference)
        }
        let count = min(node.count, pages.byteCount - node.elementsOffset)
        try pages.prepare(node.elementsOffset, count)
        return UnsafeRawBufferPointer(start: node.elements, count: count)
    }
}
