import FirnBytes
import FirnStorage

/// Reads the files of a checkpoint from front to back, node by node, and checks each for itself: what no reference leads to any more, too, but for holes.
struct CheckpointScan {
    let space: CheckpointSpace
    private(set) var counts: [NodeKind: Int] = [:]
    private(set) var nodeCount = 0
    private(set) var findings: [Finding] = []

    init(_ space: CheckpointSpace) { self.space = space }

    /// - Parameter passed: told how many bytes more have been read.
    mutating func run(_ passed: (Int) -> Void) throws(ToolError) {
        for file in space.files where file.file != nil {
            do throws(StorageError) {
                try run(file, passed)
            } catch {
                throw ToolError(error)
            }
        }
    }

    private mutating func run(_ file: CheckpointSpace.File, _ passed: (Int) -> Void) throws(StorageError) {
        let bytes = try SegmentFile(file.path, space.storage)
        bytes.limit(to: file.entry.byteCount)
        var offset = CheckpointHeader.byteCount
        var holes = space.foot.holes[...]
        holes = holes.dropFirst(holes.partitioned { $0.lowerBound >= file.entry.start })
        // Behind damage a node is looked for at each multiple of 32. What lies there may claim to be long each time, so not for ever.
        var searched = 4 * file.entry.byteCount + (64 << 20)
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
                do throws(NodeFault) {
                    try node.checkShape()
                } catch {
                    findings.append(space.finding(error))
                }
                continue
            case .bad(let reason, _): problem = reason
            }
            let start = offset
            offset = try nextNode(behind: start, file, bytes, &searched)
            passed(offset - start)
            findings.append(
                Finding(
                    .damage, file.path, start, "\(problem); \(Amount.bytes(offset - start)) from here on can't be read")
            )
        }
    }

    private enum Item {
        /// Valid until the next call.
        case node(OnDiskNode)
        /// Why not, and how long it claims to be.
        case bad(String, byteCount: Int)
    }

    private func item(at offset: Int, _ file: CheckpointSpace.File, _ bytes: SegmentFile) throws(StorageError) -> Item {
        let place = file.entry.start + offset
        let start = try bytes.bytes(at: offset, count: NodeHead.byteCount)
        let head: NodeHead
        switch NodeHead.read(start, place: place, room: file.entry.byteCount - offset) {
        case .refused(let reason): return .bad(reason, byteCount: NodeHead.unit)
        case .head(let found): head = found
        }
        let whole = try bytes.bytes(at: offset, count: head.nodeByteCount)
        guard whole.count == head.nodeByteCount else {
            return .bad("the file ends within a node", byteCount: whole.count)
        }
        guard NodeHead.isWhole(whole) else { return .bad("the node's checksum is wrong", byteCount: whole.count) }
        return .node(OnDiskNode(place: place, head: head, borrowing: whole))
    }

    /// Files are filled up to a multiple of 64.
    private func isFiller(_ offset: Int, _ bytes: SegmentFile) throws(StorageError) -> Bool {
        guard bytes.byteCount - offset == NodeHead.unit else { return false }
        return try bytes.bytes(at: offset, count: NodeHead.unit).isAllZero
    }

    /// Where behind damage the next whole node begins, or the nodes end.
    private func nextNode(
        behind offset: Int, _ file: CheckpointSpace.File, _ bytes: SegmentFile, _ searched: inout Int
    ) throws(StorageError) -> Int {
        var offset = offset + NodeHead.unit
        while offset < file.entry.byteCount, searched > 0 {
            if try isFiller(offset, bytes) { return offset }
            switch try item(at: offset, file, bytes) {
            case .node: return offset
            case .bad(_, let claimed): searched -= claimed
            }
            offset += NodeHead.unit
        }
        return file.entry.byteCount
    }
}

extension RandomAccessCollection {
    /// How many elements come before those that `belongs` is true for, which are all behind the others.
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
