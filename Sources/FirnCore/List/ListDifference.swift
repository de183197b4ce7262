/// What an observer of a list is shown (SEMANTICS 52–53): how the old list became the new one.
///
/// Taking the deletions out of the old list and putting the insertions in gives the new one; what is in neither kept its order. The three are
/// ascending. Modifications are disjoint from deletions.
public struct ListDifference: Sendable, Hashable {
    /// Old indices of elements that are gone, or stand elsewhere.
    public var deletions: [Int]
    /// New indices of elements that came, or from elsewhere.
    public var insertions: [Int]
    /// Old indices of elements that stayed and were assigned.
    public var modifications: [Int]

    public init(deletions: [Int] = [], insertions: [Int] = [], modifications: [Int] = []) {
        self.deletions = deletions
        self.insertions = insertions
        self.modifications = modifications
    }

    public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

    /// The difference that `edits` make of a list of `oldCount` elements. The edits may be those of several transactions, one behind the other.
    ///
    /// A moved element is a deletion and an insertion, unless it stands again between the neighbours that it had. An assigned one is modified if it
    /// was there before and stayed. O(k log k) time for k edits, and O(result), whatever the list's length.
    public init(_ edits: some Sequence<ListEdit>, oldCount: Int) {
        var rope = RunRope(oldCount: oldCount)
        var assigned: [Int] = []
        for edit in edits {
            switch edit {
            case .insert(let index, _): rope.insert(at: index)
            case .remove(let index, _): rope.remove(at: index)
            case .set(let index, _, _): if let old = rope.oldIndex(at: index) { assigned.append(old) }
            case .move(let from, let to): rope.move(from: from, to: to)
            case .removeAll: rope.removeAll()
            }
        }
        self.init(runs: rope.runs(), oldCount: oldCount, assigned: assigned)
    }

    private init(runs: [RunRope.Run], oldCount: Int, assigned: [Int]) {
        // From the back: the old index that the next element that never moved has.
        var bounds = [Int](repeating: oldCount, count: runs.count)
        var next = oldCount
        for place in runs.indices.reversed() {
            bounds[place] = next
            if runs[place].kind == .kept { next = runs[place].start }
        }
        self.init()
        var newIndex = 0
        var nextOld = 0
        for (place, run) in runs.enumerated() {
            // A moved element stays where it again stands behind all before it that stay, and before the next that never moved.
            let stays = run.kind == .kept || run.kind == .moved && run.start >= nextOld && run.start < bounds[place]
            if stays {
                deletions.append(contentsOf: nextOld..<run.start)
                nextOld = run.start + run.count
            } else {
                insertions.append(contentsOf: newIndex..<newIndex + run.count)
            }
            newIndex += run.count
        }
        deletions.append(contentsOf: nextOld..<oldCount)
        modifications = ListDifference.without(deletions, Set(assigned).sorted())
    }

    /// The elements of an ascending array that another does not hold.
    private static func without(_ removed: [Int], _ indices: [Int]) -> [Int] {
        var place = 0
        return indices.filter { index in
            while place < removed.count && removed[place] < index { place += 1 }
            return place == removed.count || removed[place] != index
        }
    }

    /// The old index of the element that now stands at `newIndex`; nil where it was inserted. O(log k).
    public func oldIndex(ofNew newIndex: Int) -> Int? {
        let before = ListDifference.countBelow(newIndex, insertions)
        if before < insertions.count && insertions[before] == newIndex { return nil }
        let rank = newIndex - before
        // The old index with `rank` surviving elements before it: deletions up to it push it on.
        var low = 0
        var high = deletions.count
        while low < high {
            let middle = (low + high) / 2
            if deletions[middle] - middle <= rank { low = middle + 1 } else { high = middle }
        }
        return rank + low
    }

    /// The new index of the element that stood at `oldIndex`; nil where it was deleted. O(log k).
    public func newIndex(ofOld oldIndex: Int) -> Int? {
        ListDifference(deletions: insertions, insertions: deletions).oldIndex(ofNew: oldIndex)
    }

    private static func countBelow(_ bound: Int, _ indices: [Int]) -> Int {
        var low = 0
        var high = indices.count
        while low < high {
            let middle = (low + high) / 2
            if indices[middle] < bound { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
