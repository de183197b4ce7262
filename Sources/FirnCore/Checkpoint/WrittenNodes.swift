import FirnLog

/// The nodes of a checkpoint's file that nothing reaches from the beginning: the version that it was written from has been replaced meanwhile, and the newest one has let go of them. What is given here is the truth at once, where a walk
/// of the version would tell it only at the next checkpoint (`CleaningPlan`).
///
/// A node ends where the next one begins. A dictionary of texts is reached if one of the chunks is that name it.
struct WrittenNodes {
    private let file: Checkpoint.File
    /// The first units of all nodes of the file, and of what is not reached. Counted from the file's start.
    private let starts: BitSet
    private var unreached: BitSet
    private let dictionaries: [Dictionary]

    /// Where a dictionary lies, and the chunks that were written with it.
    struct Dictionary {
        let place: Int
        let chunks: [Int]
    }

    /// - Parameters:
    ///   - starts: the first units of the nodes, counted from the file's start.
    ///   - end: where the last one ends.
    init(_ file: Checkpoint.File, starts: BitSet, end: Int, dictionaries: [Dictionary] = []) {
        self.file = file
        self.dictionaries = dictionaries
        var starts = starts
        unreached = BitSet(count: file.byteCount / OnDiskNode.unit)
        // What rounds the file up.
        if end < file.range.upperBound {
            let padding = (end - file.start) / OnDiskNode.unit
            starts.insert(padding)
            unreached.insert(padding)
        }
        self.starts = starts
    }

    private func unit(_ place: Int) -> Int { (place - file.start) / OnDiskNode.unit }

    /// The node at a place of the space is not reached.
    mutating func leave(_ place: Int) { unreached.insert(unit(place)) }

    /// It is.
    mutating func reach(_ place: Int) { unreached.remove(unit(place)) }

    /// Where in the space the nodes lie that are not reached, runs of them in one.
    var unreachedPlaces: [Range<Int>] {
        var unreached = unreached
        for dictionary in dictionaries where dictionary.chunks.allSatisfy({ unreached.contains(unit($0)) }) {
            unreached.insert(unit(dictionary.place))
        }
        let end = unit(file.nodes.upperBound)
        var places: [Range<Int>] = []
        var start = unit(file.nodes.lowerBound)
        while start < end {
            let next = min(starts.next(after: start) ?? end, end)
            if unreached.contains(start) {
                let range = file.start + start * OnDiskNode.unit..<file.start + next * OnDiskNode.unit
                if let last = places.last, last.upperBound == range.lowerBound {
                    places[places.count - 1] = last.lowerBound..<range.upperBound
                } else {
                    places.append(range)
                }
            }
            start = next
        }
        return places
    }
}
