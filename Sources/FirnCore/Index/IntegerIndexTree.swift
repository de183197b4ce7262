/// A persistent, counted B+tree of pairs (key, value), ordered by key and then by value.
///
/// The same pair may occur more than once. The tree is the index of a column whose values are numbers. Its keys are
/// these numbers, mapped to unsigned ones of the same order (`IndexKey`). Its values are object keys. It also holds the
/// backlinks of a link column: (target, source).
///
/// ```
/// leaf    0             32                    32 + 8c
///        ┌─────────────┬─────────────────────┬───────────────────┐
///        │ node header │ keys u64[c]         │ values i64[c]     │    c = capacity: 4, 16 or 64; width = 0
///        └─────────────┴─────────────────────┴───────────────────┘
/// inner   0             32                    544                 1056            1568              2080
///        ┌─────────────┬─────────────────────┬───────────────────┬───────────────┬─────────────────┐
///        │ node header │ separator keys u64  │ separator values  │ refs u64[64]  │ counts i64[64]  │
///        └─────────────┴─────────────────────┴───────────────────┴───────────────┴─────────────────┘
///         width = level above the leaves
/// ```
///
/// * **Separator** i (i > 0) is a bound between children. Every pair before child i is ≤ it, and every pair from child
///   i on is ≥ it. If the keys on the two sides differ, the separator's value is `Int64.min`, which no pair has. So the
///   search for a key whose pairs all lie in one leaf, as in every primary key, compares only keys and descends once.
///   Separator 0 is only a hint: a key that was once the child's lowest.
/// * Only a root leaf has a capacity below 64, so that thousands of small indexes cost little. A node off the right
///   edge is at least a quarter full. Pairs that arrive in ascending order leave full nodes behind, because a node at
///   the right edge is split at its end.
/// * Keys that follow each other without gaps in full leaves are found by a guess (`key - first key`, at an inner
///   node shifted by its level). A wrong guess costs one comparison.
///
/// All calls are O(log n) unless they say otherwise. Calls that write take the slot that holds the root's reference;
/// 0 is the empty tree.
enum IntegerIndexTree {
    /// Entries in a full leaf, and children of a full inner node.
    static let fanout = Limits.fanout
    /// The least number of entries in a node off the right edge. A removal that leaves a node with fewer entries merges
    /// it with a neighbour or fills it from the neighbour.
    static let minimum = 16
    /// Two neighbours are merged if they have at most this many entries together, so that the next insert doesn't
    /// split them again.
    static let mergeLimit = 48

    /// Neighbouring pairs of a leaf. Valid while the tree's version is pinned and not written to.
    struct Run {
        private let node: Node
        private let start: Int
        let count: Int

        init(_ node: Node, _ start: Int, count: Int) {
            self.node = node
            self.start = start
            self.count = count
        }

        @inline(__always) func key(_ index: Int) -> UInt64 {
            node.form == IntegerIndexLeaf.progressionForm
                ? IntegerIndexProgression(node).key(start + index) : IntegerIndexLeaf(node).keys[start + index]
        }
        @inline(__always) func value(_ index: Int) -> Int64 {
            node.form == IntegerIndexLeaf.progressionForm
                ? IntegerIndexProgression(node).value(start + index) : IntegerIndexLeaf(node).values[start + index]
        }
    }
}

/// The form that a leaf of an `IntegerIndexTree` has in a checkpoint if its keys and values both rise in even steps.
///
/// Keys that were assigned consecutively give such leaves.
///
/// ```
///  0             32        40         48           56           64
/// ┌─────────────┬─────────┬──────────┬────────────┬────────────┐
/// │ node header │ key 0   │ key step │ value 0    │ value step │    form = 1
/// └─────────────┴─────────┴──────────┴────────────┴────────────┘
/// ```
struct IntegerIndexProgression {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    var firstKey: UInt64 {
        @inline(__always) get { node.load(NodeLayout.IntegerIndexProgression.key) }
        nonmutating set { node.store(newValue, NodeLayout.IntegerIndexProgression.key) }
    }
    var keyStep: UInt64 {
        @inline(__always) get { node.load(NodeLayout.IntegerIndexProgression.keyStep) }
        nonmutating set { node.store(newValue, NodeLayout.IntegerIndexProgression.keyStep) }
    }
    var firstValue: Int64 {
        @inline(__always) get { node.load(NodeLayout.IntegerIndexProgression.value) }
        nonmutating set { node.store(newValue, NodeLayout.IntegerIndexProgression.value) }
    }
    var valueStep: Int64 {
        @inline(__always) get { node.load(NodeLayout.IntegerIndexProgression.valueStep) }
        nonmutating set { node.store(newValue, NodeLayout.IntegerIndexProgression.valueStep) }
    }

    @inline(__always) func key(_ index: Int) -> UInt64 {
        firstKey &+ keyStep &* UInt64(truncatingIfNeeded: index)
    }
    @inline(__always) func value(_ index: Int) -> Int64 { firstValue &+ valueStep &* Int64(index) }

    /// The steps of a leaf that can be written in this form; nil for any other leaf. A single pair has no steps.
    static func steps(_ leaf: IntegerIndexLeaf) -> (key: UInt64, value: Int64)? {
        guard leaf.count > 1 else { return nil }
        let key = leaf.keys[1] &- leaf.keys[0]
        let value = leaf.values[1] &- leaf.values[0]
        for index in 2..<max(leaf.count, 2)
        where leaf.keys[index] &- leaf.keys[index - 1] != key || leaf.values[index] &- leaf.values[index - 1] != value {
            return nil
        }
        return (key, value)
    }

    /// The leaf that a progression encodes, in memory of this thread (`ScratchNode`).
    @inline(never)
    static func decoded(_ node: Node) -> Node {
        ScratchNode.unpacked(node) { mapping in
            let scratch = ScratchNode.make(
                for: node, mapping, byteCount: NodeLayout.IntegerIndexLeaf.byteCount(capacity: node.capacity))
            scratch.form = 0
            IntegerIndexProgression(node).fill(IntegerIndexLeaf(scratch))
            return scratch
        }
    }

    /// Writes the pairs out into a leaf that has space for them.
    func fill(_ leaf: IntegerIndexLeaf) {
        for index in 0..<node.count {
            leaf.keys[index] = key(index)
            leaf.values[index] = value(index)
        }
        leaf.node.count = node.count
    }
}

/// Typed access to the fields of a leaf of an `IntegerIndexTree`.
struct IntegerIndexLeaf {
    let node: Node

    /// Opens a leaf. The pairs of an `IntegerIndexProgression` are written out into memory of the thread (see
    /// `Node.isScratch`).
    @inline(__always) init(_ node: Node) {
        self.node = node.form == IntegerIndexLeaf.progressionForm ? IntegerIndexProgression.decoded(node) : node
    }

    static let progressionForm: UInt8 = 1

    var count: Int { @inline(__always) get { node.count } }
    var keys: UnsafeMutablePointer<UInt64> {
        @inline(__always) get { node.pointer(NodeLayout.IntegerIndexLeaf.keys) }
    }
    var values: UnsafeMutablePointer<Int64> {
        @inline(__always) get { node.pointer(NodeLayout.IntegerIndexLeaf.values(capacity: node.capacity)) }
    }

    static func make(capacity: Int, _ writer: NodeWriter) -> IntegerIndexLeaf {
        let byteCount = NodeLayout.IntegerIndexLeaf.byteCount(capacity: capacity)
        return IntegerIndexLeaf(writer.make(.integerIndexLeaf, capacity: capacity, byteCount: byteCount))
    }

    /// How many pairs have a key below `key`.
    @inline(__always)
    func lowerBound(_ key: UInt64) -> Int {
        node.capacity == IntegerIndexTree.fanout
            ? IntegerIndexSearch.below(key, keys: keys, count: node.count)
            : IntegerIndexSearch.belowInSmall(key, keys: keys, count: node.count)
    }

    /// How many pairs are below (key, value).
    @inline(__always)
    func lowerBound(_ key: UInt64, _ value: Int64) -> Int {
        let index = lowerBound(key)
        // The value decides only among pairs with the same key.
        if index < node.count, keys[index] == key, values[index] < value {
            return IntegerIndexSearch.below(key, value: value, keys: keys, values: values, count: node.count)
        }
        return index
    }

    /// How many pairs are not above (key, value).
    @inline(__always)
    func upperBound(_ key: UInt64, _ value: Int64) -> Int {
        // Ascending inserts need no search.
        let last = node.count &- 1
        if last < 0 || keys[last] < key { return last &+ 1 }
        let index =
            node.capacity == IntegerIndexTree.fanout
            ? IntegerIndexSearch.notAbove(key, keys: keys, count: node.count)
            : IntegerIndexSearch.notAboveInSmall(key, keys: keys, count: node.count)
        if index > 0, keys[index &- 1] == key, values[index &- 1] > value {
            return IntegerIndexSearch.notAbove(key, value: value, keys: keys, values: values, count: node.count)
        }
        return index
    }

    @inline(__always)
    func insert(_ key: UInt64, _ value: Int64, at index: Int) {
        let count = node.count
        assert(count < node.capacity && index <= count)
        let keys = keys
        let values = values
        if index < count {
            (keys + index + 1).update(from: keys + index, count: count &- index)
            (values + index + 1).update(from: values + index, count: count &- index)
        }
        keys[index] = key
        values[index] = value
        node.count = count &+ 1
    }

    func remove(at index: Int) {
        let count = node.count
        assert(index < count)
        (keys + index).update(from: keys + index + 1, count: count - index - 1)
        (values + index).update(from: values + index + 1, count: count - index - 1)
        node.count = count - 1
    }

    /// Appends `length` pairs of `source` to this leaf.
    func append(from source: IntegerIndexLeaf, at start: Int, count length: Int) {
        (keys + node.count).update(from: source.keys + start, count: length)
        (values + node.count).update(from: source.values + start, count: length)
        node.count += length
    }

    /// Removes the first `length` pairs.
    func removeFirst(_ length: Int) {
        (keys).update(from: keys + length, count: node.count - length)
        (values).update(from: values + length, count: node.count - length)
        node.count -= length
    }
}

/// Typed access to the fields of an inner node of an `IntegerIndexTree`.
struct IntegerIndexInner {
    let node: Node

    @inline(__always) init(_ node: Node) { self.node = node }

    var count: Int { @inline(__always) get { node.count } }
    var keys: UnsafeMutablePointer<UInt64> {
        @inline(__always) get { node.pointer(NodeLayout.IntegerIndexInner.keys) }
    }
    var values: UnsafeMutablePointer<Int64> {
        @inline(__always) get { node.pointer(NodeLayout.IntegerIndexInner.values) }
    }
    var refs: UnsafeMutablePointer<UInt64> {
        @inline(__always) get { node.pointer(NodeLayout.IntegerIndexInner.refs) }
    }
    var counts: UnsafeMutablePointer<Int64> {
        @inline(__always) get { node.pointer(NodeLayout.IntegerIndexInner.counts) }
    }

    static func make(level: Int, _ writer: NodeWriter) -> IntegerIndexInner {
        IntegerIndexInner(
            writer.make(
                .integerIndexInner, width: level, capacity: IntegerIndexTree.fanout,
                byteCount: NodeLayout.IntegerIndexInner.byteCount))
    }

    @inline(__always)
    func child(_ index: Int) -> Node { NodeRef(refs[index]).node }

    /// The last child whose separator is not above (key, value). The pair is inserted there.
    @inline(__always)
    func upperChild(_ key: UInt64, _ value: Int64) -> Int {
        let last = node.count &- 1
        let keys = keys
        // Ascending inserts go down the right edge without a search.
        if last > 0, keys[last] < key { return last }
        let index = IntegerIndexSearch.notAbove(key, keys: keys + 1, count: last)
        if index > 0, keys[index] == key, values[index] > value {
            return IntegerIndexSearch.notAbove(key, value: value, keys: keys + 1, values: values + 1, count: last)
        }
        return index
    }

    /// The last child whose separator is below (key, value). It holds the first pair that is not below (key, value),
    /// or else that pair's predecessor.
    @inline(__always)
    func lowerChild(_ key: UInt64, _ value: Int64) -> Int {
        let last = node.count &- 1
        let keys = keys
        let index = IntegerIndexSearch.notAbove(key, keys: keys + 1, count: last)
        if index > 0, keys[index] == key, values[index] >= value {
            return IntegerIndexSearch.below(key, value: value, keys: keys + 1, values: values + 1, count: last)
        }
        return index
    }

    /// The last child whose separator's key is not above `key`.
    @inline(__always)
    func child(of key: UInt64) -> Int {
        let count = node.count
        let keys = keys
        let guess = (key &- keys[0]) &>> UInt64(truncatingIfNeeded: 6 &* node.width)
        if guess < UInt64(truncatingIfNeeded: count) {
            let index = Int(truncatingIfNeeded: guess)
            if keys[index] <= key, index &+ 1 == count || keys[index &+ 1] > key { return index }
        }
        return IntegerIndexSearch.notAbove(key, keys: keys + 1, count: count &- 1)
    }

    /// The number of pairs in the children before `index`.
    @inline(__always)
    func countBefore(_ index: Int) -> Int {
        let counts = counts
        var sum: Int64 = 0
        for child in 0..<index { sum &+= counts[child] }
        return Int(sum)
    }

    /// The number of pairs in all children.
    var total: Int { countBefore(node.count) }

    /// The child that holds the pair at `position`. Changes `position` to the pair's position in that child. A position
    /// behind the last pair gives the last child.
    @inline(__always)
    func child(at position: inout Int) -> Int {
        let counts = counts
        let last = node.count &- 1
        var index = 0
        while index < last {
            let next = position &- Int(counts[index])
            if next < 0 { break }
            position = next
            index &+= 1
        }
        return index
    }

    func insertChild(_ split: IntegerIndexTree.Split, at index: Int) {
        let count = node.count
        assert(count < IntegerIndexTree.fanout && index <= count)
        let moved = count - index
        (keys + index + 1).update(from: keys + index, count: moved)
        (values + index + 1).update(from: values + index, count: moved)
        (refs + index + 1).update(from: refs + index, count: moved)
        (counts + index + 1).update(from: counts + index, count: moved)
        keys[index] = split.key
        values[index] = split.value
        refs[index] = split.ref
        counts[index] = Int64(split.count)
        node.count = count + 1
    }

    func removeChild(at index: Int) {
        let moved = node.count - index - 1
        (keys + index).update(from: keys + index + 1, count: moved)
        (values + index).update(from: values + index + 1, count: moved)
        (refs + index).update(from: refs + index + 1, count: moved)
        (counts + index).update(from: counts + index + 1, count: moved)
        node.count -= 1
    }

    func append(from source: IntegerIndexInner, at start: Int, count length: Int) {
        let count = node.count
        (keys + count).update(from: source.keys + start, count: length)
        (values + count).update(from: source.values + start, count: length)
        (refs + count).update(from: source.refs + start, count: length)
        (counts + count).update(from: source.counts + start, count: length)
        node.count = count + length
    }

    func removeFirst(_ length: Int) {
        let kept = node.count - length
        keys.update(from: keys + length, count: kept)
        values.update(from: values + length, count: kept)
        refs.update(from: refs + length, count: kept)
        counts.update(from: counts + length, count: kept)
        node.count = kept
    }
}

/// Searches in the ascending keys of a node, without branches on the data. The keys searched for are random, so a
/// branch would be mispredicted half the time.
///
/// A node's keys fill eight cache lines. The search compares one key of each line first, then the eight of one line:
/// sixteen comparisons that wait for two loads. A binary search waits for six loads, four of them often not in the
/// cache. (1M random keys: 1.5x as fast as the binary search.)
enum IntegerIndexSearch {
    /// How many of the ascending keys are below `key`, in a node of 64.
    @inline(__always)
    static func below(_ key: UInt64, keys: UnsafeMutablePointer<UInt64>, count: Int) -> Int {
        let line = prefixLength(count &>> 3) { keys[$0 &* 8 &+ 7] < key ? 1 : 0 } &* 8
        let rest = keys + line
        return line &+ prefixLength(count &- line) { rest[$0] < key ? 1 : 0 }
    }

    /// How many of the ascending keys are not above `key`, in a node of 64.
    @inline(__always)
    static func notAbove(_ key: UInt64, keys: UnsafeMutablePointer<UInt64>, count: Int) -> Int {
        let line = prefixLength(count &>> 3) { keys[$0 &* 8 &+ 7] <= key ? 1 : 0 } &* 8
        let rest = keys + line
        return line &+ prefixLength(count &- line) { rest[$0] <= key ? 1 : 0 }
    }

    /// How many of the ascending keys are below `key`, in the leaf of a small tree.
    @inline(__always)
    static func belowInSmall(_ key: UInt64, keys: UnsafeMutablePointer<UInt64>, count: Int) -> Int {
        var index = 0
        for position in 0..<count { index &+= keys[position] < key ? 1 : 0 }
        return index
    }

    @inline(__always)
    static func notAboveInSmall(_ key: UInt64, keys: UnsafeMutablePointer<UInt64>, count: Int) -> Int {
        var index = 0
        for position in 0..<count { index &+= keys[position] <= key ? 1 : 0 }
        return index
    }

    /// How many of the first `count` of eight conditions hold (of all eight if `count` is larger). They hold up to some
    /// index and not after it. The conditions from `count` on are evaluated but not counted. They read only memory of
    /// the node, because more fields lie behind its keys.
    @inline(__always)
    private static func prefixLength(_ count: Int, _ holds: (Int) -> UInt32) -> Int {
        var mask = holds(0)
        mask |= holds(1) &<< 1
        mask |= holds(2) &<< 2
        mask |= holds(3) &<< 3
        mask |= holds(4) &<< 4
        mask |= holds(5) &<< 5
        mask |= holds(6) &<< 6
        mask |= holds(7) &<< 7
        mask &= (1 &<< UInt32(truncatingIfNeeded: min(count, 8))) &- 1
        return (~mask).trailingZeroBitCount
    }

    /// How many of the ascending pairs are below (key, value).
    @inline(never)
    static func below(
        _ key: UInt64, value: Int64, keys: UnsafeMutablePointer<UInt64>, values: UnsafeMutablePointer<Int64>,
        count: Int
    ) -> Int {
        var low = 0
        var rest = count
        while rest > 0 {
            let half = rest &>> 1
            let middle = low &+ half
            let isBelow = keys[middle] < key || (keys[middle] == key && values[middle] < value)
            low = isBelow ? middle &+ 1 : low
            rest = isBelow ? rest &- half &- 1 : half
        }
        return low
    }

    /// How many of the ascending pairs are not above (key, value).
    @inline(never)
    static func notAbove(
        _ key: UInt64, value: Int64, keys: UnsafeMutablePointer<UInt64>, values: UnsafeMutablePointer<Int64>,
        count: Int
    ) -> Int {
        var low = 0
        var rest = count
        while rest > 0 {
            let half = rest &>> 1
            let middle = low &+ half
            let isNotAbove = keys[middle] < key || (keys[middle] == key && values[middle] <= value)
            low = isNotAbove ? middle &+ 1 : low
            rest = isNotAbove ? rest &- half &- 1 : half
        }
        return low
    }
}
