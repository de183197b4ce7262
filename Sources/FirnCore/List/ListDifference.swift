/// How an old list became a new one, in the form that an observer is shown.
///
/// Removing the deletions from the old list and then inserting the insertions gives the new list. The other elements
/// keep their order. All three arrays are in ascending order. Modifications are disjoint from deletions.
package struct ListDifference: Sendable, Hashable {
    /// Old indices of elements that were deleted or moved elsewhere.
    package var deletions: [Int]
    /// New indices of elements that were inserted or moved from elsewhere.
    package var insertions: [Int]
    /// Old indices of elements that stayed and were assigned.
    package var modifications: [Int]

    package init(deletions: [Int] = [], insertions: [Int] = [], modifications: [Int] = []) {
        self.deletions = deletions
        self.insertions = insertions
        self.modifications = modifications
    }

    package var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

    /// The difference that `edits` make in a list of `oldCount` elements. The edits may come from several transactions,
    /// one after the other.
    ///
    /// A moved element is a deletion and an insertion, unless it is back between its old neighbours. An assigned
    /// element is modified if it was in the old list and stayed. O(k log k) time for k edits, plus O(result), whatever
    /// the list's length.
    package init(_ edits: [ListEdit], oldCount: Int) {
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
        // For each run, computed from the back: the old index of the next element that never moved.
        var bounds = [Int](repeating: oldCount, count: runs.count)
        var next = oldCount
        for runIndex in runs.indices.reversed() {
            bounds[runIndex] = next
            if runs[runIndex].kind == .kept { next = runs[runIndex].start }
        }
        self.init()
        var newIndex = 0
        var nextOld = 0
        for (runIndex, run) in runs.enumerated() {
            // A moved element counts as staying if it is again behind all earlier elements that stay, and before the
            // next element that never moved.
            let stays = run.kind == .kept || run.kind == .moved && run.start >= nextOld && run.start < bounds[runIndex]
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

    /// The elements of an ascending array that are not in another ascending array.
    private static func without(_ removed: [Int], _ indices: [Int]) -> [Int] {
        var next = 0
        return indices.filter { index in
            while next < removed.count && removed[next] < index { next += 1 }
            return next == removed.count || removed[next] != index
        }
    }

    /// Adds `indices` to the modifications, except those whose elements did not stay. They are old indices, in any
    /// order.
    package mutating func addModifications(_ indices: [Int]) {
        guard !indices.isEmpty else { return }
        modifications = ListDifference.without(deletions, Set(modifications).union(indices).sorted())
    }
}
