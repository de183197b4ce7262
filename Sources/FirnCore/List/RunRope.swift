/// A list as runs of elements by their origin: kept from the old list, inserted, or moved.
///
/// It begins as one run, so its size depends on the number k of edits, not on the list's length. It is a treap by
/// position, and each node is a run. A node's priority is a hash of its number, so that equal edits give equal shapes.
/// Every edit takes O(log k) expected time.
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
        /// The number of elements in the subtree.
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

    /// The old index of the element that is at `index` now; nil if the element was inserted.
    func oldIndex(at index: Int) -> Int? {
        var node = root
        var rest = index
        while node >= 0 {
            let current = nodes[Int(node)]
            let left = total(current.left)
            if rest < left {
                node = current.left
            } else if rest < left + current.run.count {
                return current.run.kind == .inserted ? nil : current.run.start + rest - left
            } else {
                rest -= left + current.run.count
                node = current.right
            }
        }
        preconditionFailure("Firn: element \(index) of a list of \(total(root))")
    }

    /// All runs in order. Neighbouring runs that continue each other are joined.
    func runs() -> [Run] {
        var result: [Run] = []
        var stack: [Int32] = []
        var node = root
        while node >= 0 || !stack.isEmpty {
            while node >= 0 {
                stack.append(node)
                node = nodes[Int(node)].left
            }
            let current = nodes[Int(stack.removeLast())]
            if let last = result.last, last.kind == current.run.kind,
                current.run.kind == .inserted
                    || current.run.kind == .kept && last.start + last.count == current.run.start
            {
                result[result.count - 1].count += current.run.count
            } else {
                result.append(current.run)
            }
            node = current.right
        }
        return result
    }

    // MARK: The treap

    private func total(_ node: Int32) -> Int { node < 0 ? 0 : nodes[Int(node)].total }

    private mutating func make(_ run: Run) -> Int32 {
        // A hash of the number (the final steps of SplitMix64) serves as the random priority.
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

    /// Adds one element to the inserted run that contains or ends at `index`, so that appending many elements makes one
    /// node. Returns false if there is no such run.
    private mutating func lengthen(at index: Int) -> Bool {
        guard index > 0 else { return false }
        // The run with the element before `index`.
        var path: [Int32] = []
        var node = root
        var rest = index - 1
        while node >= 0 {
            path.append(node)
            let current = nodes[Int(node)]
            let left = total(current.left)
            if rest < left {
                node = current.left
            } else if rest < left + current.run.count {
                guard current.run.kind == .inserted else { return false }
                nodes[Int(node)].run.count += 1
                for ancestor in path { nodes[Int(ancestor)].total += 1 }
                return true
            } else {
                rest -= left + current.run.count
                node = current.right
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

    /// Cuts a subtree so that `count` elements are on the left. A run across the cut is divided in two.
    private mutating func split(_ node: Int32, _ count: Int) -> (left: Int32, right: Int32) {
        if node < 0 { return (-1, -1) }
        if count <= 0 { return (-1, node) }
        if count >= total(node) { return (node, -1) }
        let current = nodes[Int(node)]
        let before = total(current.left)
        if count <= before {
            let halves = split(current.left, count)
            nodes[Int(node)].left = halves.right
            update(node)
            return (halves.left, node)
        }
        if count >= before + current.run.count {
            let halves = split(current.right, count - before - current.run.count)
            nodes[Int(node)].right = halves.left
            update(node)
            return (node, halves.right)
        }
        let kept = count - before
        nodes[Int(node)].run.count = kept
        nodes[Int(node)].right = -1
        update(node)
        let start = current.run.kind == .inserted ? 0 : current.run.start + kept
        let tail = make(Run(kind: current.run.kind, start: start, count: current.run.count - kept))
        return (node, merge(tail, current.right))
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
        let current = nodes[Int(node)]
        nodes[Int(node)].total = total(current.left) + current.run.count + total(current.right)
    }
}
