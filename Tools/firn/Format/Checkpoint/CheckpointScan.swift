import FirnBytes
import FirnStorage

/// Reads the files of a checkpoint from front to back and checks each node by itself, including nodes that no
/// reference leads to any more. Only holes are skipped.
struct CheckpointScan {
    let checkpoint: OpenedCheckpoint
    private(set) var counts: [NodeKind: Int] = [:]
    private(set) var nodeCount = 0
    private(set) var findings: [Finding] = []
    /// The ranges of the mapping that can't be read.
    private(set) var damage: [Range<Int>] = []
    /// Called with each whole node, which is valid during the call.
    var visit: (OnDiskNode) -> Void = { _ in }

    init(_ checkpoint: OpenedCheckpoint) { self.checkpoint = checkpoint }

    /// - Parameter passed: called with the number of bytes read since the last call.
    mutating func run(_ passed: (Int) -> Void) throws(ToolError) {
        for file in checkpoint.files where file.file != nil {
            try Interrupts.check()
            try stored(run(file, passed))
        }
    }

    private mutating func run(_ file: OpenedCheckpoint.File, _ passed: (Int) -> Void) throws(StorageError) {
        let bytes = try SegmentFile(file.path, checkpoint.storage, keys: checkpoint.keys)
        bytes.limit(to: file.entry.byteCount)
        var offset = CheckpointHeader.byteCount
        var holes = checkpoint.footer.holes[...]
        holes = holes.dropFirst(holes.partitioned { $0.lowerBound >= file.entry.start })
        // Behind damage, each multiple of 32 is tried as the beginning of a node. An attempt may read as many bytes as
        // the header there claims, so the search has a budget.
        var searchBudget = 4 * file.entry.byteCount + (64 << 20)
        while offset < file.entry.byteCount {
            if let hole = holes.first, hole.lowerBound == file.entry.start + offset {
                holes.removeFirst()
                offset += hole.count
                passed(hole.count)
                continue
            }
            if try isFiller(offset, bytes) { return }
            let problem: String
            switch try item(at: offset, file, bytes) {
            case .node(let node):
                counts[node.kind, default: 0] += 1
                nodeCount += 1
                offset += node.bytes.count
                passed(node.bytes.count)
                do throws(NodeDamage) {
                    try node.checkShape()
                    visit(node)
                } catch {
                    findings.append(checkpoint.finding(error))
                    damage.append(node.position..<node.position + node.bytes.count)
                }
                continue
            case .bad(let reason, _): problem = reason
            }
            let start = offset
            offset = try nextNode(behind: start, file: file, bytes: bytes, searchBudget: &searchBudget)
            passed(offset - start)
            damage.append(file.entry.start + start..<file.entry.start + offset)
            findings.append(
                Finding(
                    kind: .damage, file: file.path, offset: start,
                    text: "\(problem); \(Amount.bytes(offset - start)) from here on can't be read")
            )
        }
    }

    private enum Item {
        /// An intact node, valid until the next call.
        case node(OnDiskNode)
        /// Why it is not an intact node, and how many bytes it claims.
        case bad(String, byteCount: Int)
    }

    private func item(at offset: Int, _ file: OpenedCheckpoint.File, _ bytes: SegmentFile) throws(StorageError) -> Item
    {
        let position = file.entry.start + offset
        let start = try bytes.bytes(at: offset, count: NodeHeader.byteCount)
        let header: NodeHeader
        do throws(Damage) {
            header = try NodeHeader.read(start, position: position, available: file.entry.byteCount - offset)
        } catch {
            return .bad(error.text, byteCount: NodeHeader.unit)
        }
        let whole = try bytes.bytes(at: offset, count: header.nodeByteCount)
        guard whole.count == header.nodeByteCount else {
            return .bad("the file ends within a node", byteCount: whole.count)
        }
        guard NodeHeader.isIntact(whole) else { return .bad("the node's checksum is wrong", byteCount: whole.count) }
        return .node(OnDiskNode(position: position, header: header, borrowing: whole))
    }

    /// Whether the zeros that fill a file up to a multiple of 64 are at `offset`.
    private func isFiller(_ offset: Int, _ bytes: SegmentFile) throws(StorageError) -> Bool {
        guard bytes.byteCount - offset == NodeHeader.unit else { return false }
        return try bytes.bytes(at: offset, count: NodeHeader.unit).isAllZero
    }

    /// The offset at which the next intact node behind damage begins, or at which the nodes end.
    private func nextNode(
        behind offset: Int, file: OpenedCheckpoint.File, bytes: SegmentFile, searchBudget: inout Int
    ) throws(StorageError) -> Int {
        var offset = offset + NodeHeader.unit
        while offset < file.entry.byteCount, searchBudget > 0 {
            if try isFiller(offset, bytes) { return offset }
            switch try item(at: offset, file, bytes) {
            case .node: return offset
            case .bad(_, let claimed): searchBudget -= claimed
            }
            offset += NodeHeader.unit
        }
        return file.entry.byteCount
    }
}

extension RandomAccessCollection {
    /// The number of elements before the first one that belongs. All elements behind that one must belong, too.
    fileprivate func partitioned(_ belongs: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if belongs(self[index(startIndex, offsetBy: middle)]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
