extension ListDifference {
    /// The difference of two lists without known edits, by the identities of their elements.
    ///
    /// Finds the fewest deletions and insertions. Equal elements at both ends of the lists are left out first.
    ///
    /// - Each element of the rest may occur once in each list, as in results. Then the elements with the longest
    ///   increasing sequence of old indices stay. O(n log n) time, whatever the number of edits.
    /// - Otherwise Myers' greedy algorithm is used. If it needs more than `maximumEdits` deletions and insertions, all
    ///   the rest is deleted and inserted. O(n + (n + d) · d) time for d edits, at worst O(n · `maximumEdits`), and 2
    ///   d² bytes.
    package init(comparing old: [Int64], to new: [Int64], maximumEdits: Int = 512) {
        self.init(identities: old, new, maximumEdits)
    }

    /// The difference of two lists of values, found in the same way. Both initialisers are concrete, because other
    /// modules could not specialise a generic one.
    package init(comparing old: [Value], to new: [Value], maximumEdits: Int = 512) {
        self.init(identities: old, new, maximumEdits)
    }

    private init<Identity: Hashable>(identities old: [Identity], _ new: [Identity], _ maximumEdits: Int) {
        self.init()
        old.withUnsafeBufferPointer { old in
            new.withUnsafeBufferPointer { new in
                let shorter = min(old.count, new.count)
                var head = 0
                while head < shorter && old[head] == new[head] { head += 1 }
                var tail = 0
                while tail < shorter - head && old[old.count - 1 - tail] == new[new.count - 1 - tail] { tail += 1 }
                let olds = UnsafeBufferPointer(rebasing: old[head..<old.count - tail])
                let news = UnsafeBufferPointer(rebasing: new[head..<new.count - tail])
                if olds.isEmpty || news.isEmpty {
                    deletions = Array(head..<head + olds.count)
                    insertions = Array(head..<head + news.count)
                } else if let indices = ListDifference.uniqueIndices(olds), ListDifference.uniqueIndices(news) != nil {
                    compare(indices, oldCount: olds.count, new: news, offset: head)
                } else {
                    compare(olds, new: news, offset: head, maximumEdits: maximumEdits)
                }
            }
        }
    }

    /// The index of each element; nil if an element occurs twice.
    private static func uniqueIndices<Identity: Hashable>(_ list: UnsafeBufferPointer<Identity>) -> [Identity: Int]? {
        var indices = [Identity: Int](minimumCapacity: list.count)
        for (index, element) in list.enumerated() where indices.updateValue(index, forKey: element) != nil {
            return nil
        }
        return indices
    }

    /// The difference of two lists in which each element occurs once. Patience sorting finds the longest increasing
    /// sequence of old indices among the elements of the new list.
    private mutating func compare<Identity: Hashable>(
        _ oldIndices: [Identity: Int], oldCount: Int, new: UnsafeBufferPointer<Identity>, offset: Int
    ) {
        let common = new.indices.compactMap { index in oldIndices[new[index]].map { (old: $0, new: index) } }
        // `ends` has, for each length, the last element of the sequence of that length that ends lowest. `before` has
        // the predecessor of each element.
        var ends: [Int] = []
        var before = [Int](repeating: -1, count: common.count)
        for (index, element) in common.enumerated() {
            var low = 0
            var high = ends.count
            while low < high {
                let middle = (low + high) / 2
                if common[ends[middle]].old < element.old { low = middle + 1 } else { high = middle }
            }
            before[index] = low == 0 ? -1 : ends[low - 1]
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var staysInOld = [Bool](repeating: false, count: oldCount)
        var staysInNew = [Bool](repeating: false, count: new.count)
        var index = ends.last ?? -1
        while index >= 0 {
            staysInOld[common[index].old] = true
            staysInNew[common[index].new] = true
            index = before[index]
        }
        deletions = staysInOld.indices.lazy.filter { !staysInOld[$0] }.map { offset + $0 }
        insertions = staysInNew.indices.lazy.filter { !staysInNew[$0] }.map { offset + $0 }
    }

    private mutating func compare<Identity: Equatable>(
        _ old: UnsafeBufferPointer<Identity>, new: UnsafeBufferPointer<Identity>, offset: Int, maximumEdits: Int
    ) {
        guard abs(old.count - new.count) <= maximumEdits,
            let steps = ListDifference.furthestReaches(old, new: new, maximumEdits: maximumEdits)
        else {
            deletions = Array(offset..<offset + old.count)
            insertions = Array(offset..<offset + new.count)
            return
        }
        // Walk back from the end, and find the diagonal that each step came from.
        var x = old.count
        var y = new.count
        for d in stride(from: steps.count, to: 0, by: -1) {
            guard
                let step = ListDifference.step(to: x - y, last: steps[d - 1], oldCount: old.count, newCount: new.count)
            else {
                preconditionFailure("Firn: a path of edits has no beginning")
            }
            if step.isInsertion {
                y = step.x - (x - y) - 1
                x = step.x
                insertions.append(offset + y)
            } else {
                y = step.x - (x - y)
                x = step.x - 1
                deletions.append(offset + x)
            }
        }
        deletions.reverse()
        insertions.reverse()
    }

    /// For each number of edits that does not reach the end: the distance into `old` to which each diagonal was
    /// followed (-1: not at all). Nil if the end needs more than `maximumEdits` edits.
    ///
    /// Diagonal k is where x - y = k. With d edits only the diagonals -d, -d + 2 … d are reached; their index is (k +
    /// d) / 2.
    private static func furthestReaches<Identity: Equatable>(
        _ old: UnsafeBufferPointer<Identity>, new: UnsafeBufferPointer<Identity>, maximumEdits: Int
    ) -> [[Int32]]? {
        var steps: [[Int32]] = []
        for d in 0...maximumEdits {
            var reaches = [Int32](repeating: -1, count: d + 1)
            for index in 0...d {
                let k = 2 * index - d
                var x = 0
                if let last = steps.last {
                    guard let step = step(to: k, last: last, oldCount: old.count, newCount: new.count) else { continue }
                    x = step.x
                }
                while x < old.count && x - k < new.count && old[x] == new[x - k] { x += 1 }
                reaches[index] = Int32(x)
                if x == old.count && x - k == new.count { return steps }
            }
            steps.append(reaches)
        }
        return nil
    }

    /// The better of the two single edits that lead to diagonal `k`, and the x that it leads to. `last` has the
    /// distances that were reached with one edit less.
    private static func step(to k: Int, last: [Int32], oldCount: Int, newCount: Int) -> (
        x: Int, isInsertion: Bool
    )? {
        let index = (k + last.count) / 2
        // An insertion comes from the diagonal above and keeps x. A deletion comes from the diagonal below and
        // advances x. Neither may go beyond an end.
        var inserted = index < last.count ? Int(last[index]) : -1
        var deleted = index > 0 && last[index - 1] >= 0 ? Int(last[index - 1]) + 1 : -1
        if inserted - k > newCount { inserted = -1 }
        if deleted > oldCount { deleted = -1 }
        if inserted < 0 && deleted < 0 { return nil }
        return inserted >= deleted ? (inserted, true) : (deleted, false)
    }
}
