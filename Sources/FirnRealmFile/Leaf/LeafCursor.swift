/// Walks the leaves of a B+tree one by one. Between two leaves the pages of the file may be released.
///
/// An inner node's first element only serves to find an index. Then come the references of its children, and the number
/// of all elements below.
struct LeafCursor {
    private struct Level {
        let reference: Int
        /// The index of the next child among the node's elements.
        var next: Int
        /// The index of the first element below.
        let start: Int
    }

    private var levels: [Level] = []
    private var isBegun = false
    private let root: Int
    /// The current leaf; 0 before the first and behind the last.
    private(set) var leaf = 0
    /// The index of the leaf's first element.
    private(set) var start = 0
    /// The index behind the leaf's last element.
    private(set) var end = 0

    init(_ root: Int) { self.root = root }

    /// Goes to the next leaf and opens it. Nil behind the last one.
    mutating func next(
        of type: ElementType, in context: LeafContext, _ nodes: FileNodes
    ) throws(RealmFileError) -> Leaf? {
        var reference = root
        if isBegun {
            guard let next = try nextReference(nodes) else {
                leaf = 0
                return nil
            }
            reference = next
        }
        isBegun = true
        while true {
            let node = try nodes.node(reference)
            guard node.isInner else {
                let opened = try nodes.leaf(node, of: type, in: context)
                leaf = reference
                start = end
                end += opened.count
                return opened
            }
            guard levels.count <= FileNodes.maximumDepth else { throw .damage("a tree is too deep", at: reference) }
            guard node.count >= 2 else { throw .damage("an inner node of a tree has no children", at: reference) }
            levels.append(Level(reference: reference, next: 1, start: end))
            guard let next = try nextReference(nodes) else {
                leaf = 0
                return nil
            }
            reference = next
        }
    }

    private mutating func nextReference(_ nodes: FileNodes) throws(RealmFileError) -> Int? {
        while let level = levels.last {
            let node = try nodes.node(level.reference)
            if level.next < node.count - 1 {
                levels[levels.count - 1].next += 1
                let child = try node.integer(level.next)
                guard child != 0, child & 1 == 0 else {
                    throw .damage("a tree's child is no reference", at: level.reference)
                }
                return Int(child)
            }
            let total = try node.integer(node.count - 1) >> 1
            guard total == end - level.start else {
                throw .damage(
                    "a tree says that it has \(total) elements, and has \(end - level.start)", at: level.reference)
            }
            levels.removeLast()
        }
        return nil
    }
}
