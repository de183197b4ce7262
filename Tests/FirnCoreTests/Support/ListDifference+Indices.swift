@testable import FirnCore

extension ListDifference {
    /// The old index of the element that is at `newIndex` now, nil if it was inserted. O(log k).
    func oldIndex(ofNew newIndex: Int) -> Int? {
        let before = ListDifference.countBelow(newIndex, insertions)
        if before < insertions.count && insertions[before] == newIndex { return nil }
        let rank = newIndex - before
        // The old index that has `rank` surviving elements before it. Each deletion up to it moves it up by one.
        var low = 0
        var high = deletions.count
        while low < high {
            let middle = (low + high) / 2
            if deletions[middle] - middle <= rank { low = middle + 1 } else { high = middle }
        }
        return rank + low
    }

    /// The new index of the element that was at `oldIndex`, nil if it was deleted. O(log k).
    func newIndex(ofOld oldIndex: Int) -> Int? {
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
