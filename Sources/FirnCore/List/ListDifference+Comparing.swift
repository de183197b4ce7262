extension ListDifference {
    /// The difference of two lists of which no edits are known, by the identities of their elements: as few deletions and insertions as can be, found
    /// by Myers' greedy algorithm.
    ///
    /// What the two have in common at both ends is taken off first. Where the rest takes more than `maximumEdits` deletions and insertions, all of it is
    /// deleted and inserted. O(n + (n + d) · d) time for d edits, at worst O(n · `maximumEdits`), and 2 d² bytes.
    public init<Identity: Equatable>(comparing old: [Identity], to new: [Identity], maximumEdits: Int = 512) {
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
                compare(olds, news, offset: head, maximumEdits)
            }
        }
    }

    private mutating func compare<Identity: Equatable>(
        _ old: UnsafeBufferPointer<Identity>, _ new: UnsafeBufferPointer<Identity>, offset: Int, _ maximumEdits: Int
    ) {
        guard !old.isEmpty, !new.isEmpty, abs(old.count - new.count) <= maximumEdits,
            let steps = ListDifference.furthestReaches(old, new, maximumEdits)
        else {
            deletions = Array(offset..<offset + old.count)
            insertions = Array(offset..<offset + new.count)
            return
        }
        // Back from the end: which diagonal each step came from.
        var x = old.count
        var y = new.count
        for d in stride(from: steps.count, to: 0, by: -1) {
            guard let step = ListDifference.step(to: x - y, steps[d - 1], old.count, new.count) else {
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

    /// For each number of edits below the one that reaches the end, how far into `old` each diagonal was followed (-1: not at all); nil where that takes
    /// more than `maximumEdits`. Diagonal k is where x - y = k; with d edits only -d, -d + 2 … d are reached, at place (k + d) / 2.
    private static func furthestReaches<Identity: Equatable>(
        _ old: UnsafeBufferPointer<Identity>, _ new: UnsafeBufferPointer<Identity>, _ maximumEdits: Int
    ) -> [[Int32]]? {
        var steps: [[Int32]] = []
        for d in 0...maximumEdits {
            var reaches = [Int32](repeating: -1, count: d + 1)
            for place in 0...d {
                let k = 2 * place - d
                var x = 0
                if let last = steps.last {
                    guard let step = step(to: k, last, old.count, new.count) else { continue }
                    x = step.x
                }
                while x < old.count && x - k < new.count && old[x] == new[x - k] { x += 1 }
                reaches[place] = Int32(x)
                if x == old.count && x - k == new.count { return steps }
            }
            steps.append(reaches)
        }
        return nil
    }

    /// The better of the two single edits that lead to diagonal `k` from what one edit less reached, and the x that it leads to.
    private static func step(to k: Int, _ last: [Int32], _ oldCount: Int, _ newCount: Int) -> (
        x: Int, isInsertion: Bool
    )? {
        let place = (k + last.count) / 2
        // An insertion comes from the diagonal above and keeps x, a deletion from the one below and moves x on; neither leads beyond an end.
        var inserted = place < last.count ? Int(last[place]) : -1
        var deleted = place > 0 && last[place - 1] >= 0 ? Int(last[place - 1]) + 1 : -1
        if inserted - k > newCount { inserted = -1 }
        if deleted > oldCount { deleted = -1 }
        if inserted < 0 && deleted < 0 { return nil }
        return inserted >= deleted ? (inserted, true) : (deleted, false)
    }
}
