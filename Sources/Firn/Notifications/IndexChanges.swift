import FirnCore

/// What happened to the positions of a collection: deletions and modifications in the old one, insertions in the new one.
struct IndexChanges: Equatable {
    var deletions: [Int] = []
    var insertions: [Int] = []
    var modifications: [Int] = []

    var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modifications.isEmpty }

    /// Compares two states of a collection; a moved element is deleted and inserted.
    init<Element: Hashable>(from old: [Element], to new: [Element], isModified: (Element) -> Bool) {
        let kept = IndexChanges.common(old, new)
        var keptOld = Set<Int>(minimumCapacity: kept.count)
        var keptNew = Set<Int>(minimumCapacity: kept.count)
        for (oldPlace, newPlace) in kept {
            keptOld.insert(oldPlace)
            keptNew.insert(newPlace)
            if isModified(old[oldPlace]) { modifications.append(oldPlace) }
        }
        deletions = old.indices.filter { !keptOld.contains($0) }
        insertions = new.indices.filter { !keptNew.contains($0) }
    }

    /// Replays a list's script on the positions of the list before it.
    init(_ script: ListScript, oldCount: Int, isModified: (_ oldIndex: Int) -> Bool) {
        /// What stands at a position: an old element by its position, or a new one.
        enum Origin {
            case old(Int)
            case new
        }
        var places: [Origin] = (0..<oldCount).map { .old($0) }
        var gone: Set<Int> = []
        var assigned: Set<Int> = []
        func remove(_ origin: Origin) { if case .old(let index) = origin { gone.insert(index) } }
        for edit in script.edits {
            switch edit {
            case .insert(let index, _): places.insert(.new, at: index)
            case .remove(let index, _): remove(places.remove(at: index))
            case .set(let index, _, _): if case .old(let old) = places[index] { assigned.insert(old) }
            case .move(let from, let to):
                remove(places.remove(at: from))
                places.insert(.new, at: to)
            case .removeAll:
                places.forEach(remove)
                places = []
            }
        }
        deletions = gone.sorted()
        for (place, origin) in places.enumerated() {
            switch origin {
            case .new: insertions.append(place)
            case .old(let index): if assigned.contains(index) || isModified(index) { modifications.append(index) }
            }
        }
    }

    // MARK: Comparing

    /// The longest run of elements that both have in the same order, as pairs of positions. Beyond a cap the middle counts as replaced.
    private static func common<Element: Hashable>(_ old: [Element], _ new: [Element]) -> [(Int, Int)] {
        var start = 0
        while start < old.count, start < new.count, old[start] == new[start] { start += 1 }
        var oldEnd = old.count
        var newEnd = new.count
        while oldEnd > start, newEnd > start, old[oldEnd - 1] == new[newEnd - 1] {
            oldEnd -= 1
            newEnd -= 1
        }
        var pairs = (0..<start).map { ($0, $0) }
        pairs += middle(old, start..<oldEnd, new, start..<newEnd)
        pairs += zip(oldEnd..<old.count, newEnd..<new.count).map { ($0, $1) }
        return pairs
    }

    private static func middle<Element: Hashable>(
        _ old: [Element], _ oldRange: Range<Int>, _ new: [Element], _ newRange: Range<Int>
    ) -> [(Int, Int)] {
        guard !oldRange.isEmpty, !newRange.isEmpty else { return [] }
        var places: [Element: Int] = [:]
        var isUnique = true
        for place in oldRange where places.updateValue(place, forKey: old[place]) != nil { isUnique = false }
        if isUnique {
            var seen: Set<Element> = []
            for place in newRange where !seen.insert(new[place]).inserted { isUnique = false }
        }
        guard isUnique else { return myers(old, oldRange, new, newRange) }
        // Each element once on each side: the longest increasing sequence of old positions, O(n log n).
        let candidates = newRange.compactMap { place in places[new[place]].map { (old: $0, new: place) } }
        var tails: [Int] = []
        var before = Array(repeating: -1, count: candidates.count)
        for (number, candidate) in candidates.enumerated() {
            var low = 0
            var high = tails.count
            while low < high {
                let half = (low + high) / 2
                if candidates[tails[half]].old < candidate.old { low = half + 1 } else { high = half }
            }
            before[number] = low == 0 ? -1 : tails[low - 1]
            if low == tails.count { tails.append(number) } else { tails[low] = number }
        }
        var pairs: [(Int, Int)] = []
        var next = tails.last ?? -1
        while next >= 0 {
            pairs.append((candidates[next].old, candidates[next].new))
            next = before[next]
        }
        return pairs.reversed()
    }

    private static let myersLimit = 5_000

    private static func myers<Element: Hashable>(
        _ old: [Element], _ oldRange: Range<Int>, _ new: [Element], _ newRange: Range<Int>
    ) -> [(Int, Int)] {
        guard oldRange.count + newRange.count <= myersLimit else { return [] }
        let difference = new[newRange].difference(from: old[oldRange])
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(oldRange.lowerBound + offset)
            case .insert(let offset, _, _): inserted.insert(newRange.lowerBound + offset)
            }
        }
        return Array(zip(oldRange.filter { !removed.contains($0) }, newRange.filter { !inserted.contains($0) }))
    }
}
