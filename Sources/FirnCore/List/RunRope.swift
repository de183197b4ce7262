/// A list as runs of what its elements were: stretches of the old list, inserted elements, moved ones. It begins as one run, so that its size is
/// that of the edits, not of the list.
///
/// It is a treap by position: each node is a run, its priority a hash of its number, so that equal edits give equal shapes. Every edit takes
/// O(log k) expected time.
struct RunRope {
    enum Kind { case kept, inserted, moved }

    struct Run: Equatable {
        var kind: Kind
        /// The old index of the first element of a kept or moved run.
        var start: Int
        var count: Int
    }

    private struct Node {
        var run: Run
        var priority: UInt64
        /// Elements in the subtree.
        var total: Int
        var left: Int32 = -1
        var right: Int32 = -1
    }

    private var nodes: [Node] = []
    private var root: Int32 = -1

    init(oldCount: Int) {
        if oldCount > 0 { root = make(Run(kind: .kept, start: 0, count: oldCount)) }
    }

    // MARK: Edits

    mutating func insert(at index: Int) { insert(Run(kind: .inserted, start: 0, count: 1), at: index) }

    mutating func remove(at index: Int) { _ = take(at: index) }

    mutating func removeAll() { root = -1 }

    mutating func move(from: Int, to: Int) {
        guard from != to else { return }
        let run = take(at: from)
        insert(run.kind == .inserted ? run : Run(kind: .moved, start: run.start, count: 1), at: to)
    }

    /// The old index of the element that stands at `index`; nil where it was inserted.
    func oldIndex(at index: Int) -> Int? {
        var node = root
        var rest = index
        while node >= 0 {
            let here = nodes[Int(node)]
            let left = total(here.left)
            if rest < left {
                node = here.left
            } else if rest < left + here.run.count {
                return here.run.kind == .inserted ? nil : here.run.start + rest - left
            } else {
                rest -= left + here.run.count
                node = here.right
            }
        }
        preconditionFailure("Firn: element \(index) of a list of \(total(root))")
    }

    /// All runs in order; neighbours that belong together are joined.
    func runs() -> [Run] {
        var result: [Run] = []
        var stack: [Int32] = []
        var node = root
        while node >= 0 || !stack.isEmpty {
            while node >= 0 {
                stack.append(node)
                node = nodes[Int(node)].left
            }
            let here = nodes[Int(stack.removeLast())]
            if let last = result.last, last.kind == here.run.kind,
                here.run.kind == .inserted || here.run.kind == .kept && last.start + last.count == here.run.start
            {
                result[result.count - 1].count += here.run.count
            } else {
                result.append(here.run)
            }
            node = here.right
        }
        return result
    }

    // MARK: The treap

    private func total(_ node: Int32) -> Int { node < 0 ? 0 : nodes[Int(node)].total }

    private mutating func make(_ run: Run) -> Int32 {
        // A hash of the number (SplitMix64's finish) serves as the random priority.
        var hash = (UInt64(nodes.count) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
        nodes.append(Node(run: run, priority: hash ^ hash >> 31, total: run.count))
        return Int32(nodes.count - 1)
    }

    private mutating func insert(_ run: Run, at index: Int) {
        precondition(
            index >= 0 && index <= total(root), "Firn: element \(index) inserted into a list of \(total(root))")
        if run.kind == .inserted && lengthen(at: index) { return }
        let halves = split(root, index)
        root = merge(merge(halves.left, make(run)), halves.right)
    }

    /// Makes an inserted run that the place lies in or ends longer by one, so that appending many makes one node; false where there is none.
    private mutating func lengthen(at index: Int) -> Bool {
        guard index > 0 else { return false }
        // The run with the element before the place.
        var path: [Int32] = []
        var node = root
        var rest = index - 1
        while node >= 0 {
            path.append(node)
            let here = nodes[Int(node)]
            let left = total(here.left)
            if rest < left {
                node = here.left
            } else if rest < left + here.run.count {
                guard here.run.kind == .inserted else { return false }
                nodes[Int(node)].run.count += 1
                for place in path { nodes[Int(place)].total += 1 }
                return true
            } else {
                rest -= left + here.run.count
                node = here.right
            }
        }
        return false
    }

    private mutating func take(at index: Int) -> Run {
        precondition(index >= 0 && index < total(root), "Firn: element \(index) of a list of \(total(root))")
        let halves = split(root, index)
        let rest = split(halves.right, 1)
        root = merge(halves.left, rest.right)
        return nodes[Int(rest.left)].run
    }

    /// Cuts a subtree so that `count` elements lie on the left; a run over the cut is cut in two.
    private mutating func split(_ node: Int32, _ count: Int) -> (left: Int32, right: Int32) {
        if node < 0 { return (-1, -1) }
        if count <= 0 { return (-1, node) }
        if count >= total(node) { return (node, -1) }
        let here = nodes[Int(node)]
        let before = total(here.left)
        if count <= before {
            let halves = split(here.left, count)
            nodes[Int(node)].left = halves.right
            update(node)
            return (halves.left, node)
        }
        if count >= before + here.run.count {
            let halves = split(here.right, count - before - here.run.count)
            nodes[Int(node)].right = halves.left
            update(node)
            return (node, halves.right)
        }
        let kept = count - before
        nodes[Int(node)].run.count = kept
        nodes[Int(node)].right = -1
        update(node)
        let start = here.run.kind == .inserted ? 0 : here.run.start + kept
        let tail = make(Run(kind: here.run.kind, start: start, count: here.run.count - kept))
        return (node, merge(tail, here.right))
    }

    private mutating func merge(_ left: Int32, _ right: Int32) -> Int32 {
        if left < 0 { return right }
        if right < 0 { return left }
        if nodes[Int(left)].priority > nodes[Int(right)].priority {
            nodes[Int(left)].right = merge(nodes[Int(left)].right, right)
            update(left)
            return left
        }
        nodes[Int(right)].left = merge(left, nodes[Int(right)].left)
        update(right)
        return right
    }

    private mutating func update(_ node: Int32) {
        let here = nodes[Int(node)]
        nodes[Int(node)].total = total(here.left) + here.run.count + total(here.right)
    }
}
