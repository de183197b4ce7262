import FirnLog

/// The nodes of a checkpoint's new file, and which of them are dead from the beginning. A node is dead if the version
/// that was written has been replaced meanwhile, and the newest version does not use the node. Such nodes are recorded
/// as dead at once; a walk of the version would find them only at the next checkpoint (`CleaningPlan`).
///
/// A node ends where the next one begins. A dictionary of texts is reached if one of the chunks that name it is
/// reached.
struct WrittenNodes {
    private let file: Checkpoint.File
    /// The first units of all nodes of the file, and those of the nodes that are not reached. Counted from the file's
    /// start.
    private let starts: BitSet
    private var unreached: BitSet
    private let dictionaries: [Dictionary]

    /// The offset of a dictionary, and the offsets of the chunks that were written with it, in the mapping.
    struct Dictionary {
        let offset: Int
        let chunks: [Int]
    }

    /// - Parameters:
    ///   - starts: the first units of the nodes, counted from the file's start.
    ///   - end: the offset in the mapping where the last node ends.
    init(_ file: Checkpoint.File, starts: BitSet, end: Int, dictionaries: [Dictionary] = []) {
        self.file = file
        self.dictionaries = dictionaries
        var starts = starts
        unreached = BitSet(count: file.byteCount / OnDiskNode.unit)
        // The bytes that round the file up count as a node that is not reached.
        if end < file.range.upperBound {
            let padding = (end - file.start) / OnDiskNode.unit
            starts.insert(padding)
            unreached.insert(padding)
        }
        self.starts = starts
    }

    private func unit(_ offset: Int) -> Int { (offset - file.start) / OnDiskNode.unit }

    /// Marks the node at an offset of the mapping as not reached.
    mutating func leave(_ offset: Int) { unreached.insert(unit(offset)) }

    /// Marks the node at an offset of the mapping as reached.
    mutating func reach(_ offset: Int) { unreached.remove(unit(offset)) }

    /// The ranges of the mapping that hold nodes that are not reached. Adjacent nodes are in one range.
    var unreachedRanges: [Range<Int>] {
        var unreached = unreached
        for dictionary in dictionaries where dictionary.chunks.allSatisfy({ unreached.contains(unit($0)) }) {
            unreached.insert(unit(dictionary.offset))
        }
        let end = unit(file.nodes.upperBound)
        var ranges: [Range<Int>] = []
        var start = unit(file.nodes.lowerBound)
        while start < end {
            let next = min(starts.next(after: start) ?? end, end)
            if unreached.contains(start) {
                let range = file.start + start * OnDiskNode.unit..<file.start + next * OnDiskNode.unit
                if let last = ranges.last, last.upperBound == range.lowerBound {
                    ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
                } else {
                    ranges.append(range)
                }
            }
            start = next
        }
        return ranges
    }
}
