/// The values of a column whose strings are interned: leaves have only their indexes. The values are one B+tree.
///
/// Leaves stay open until the pages are released, since a value is looked up for each object.
final class InternedStrings {
    private let type: ElementType
    private let context: LeafContext
    private var references: [Int] = []
    /// The index of each leaf's first value.
    private var starts: [Int] = []
    private let count: Int
    private var leaves: [Leaf?]
    private var generation: Int

    init(_ reference: Int, of type: ElementType, isOld: Bool, in nodes: FileNodes) throws(RealmFileError) {
        self.type = type
        context = LeafContext(isElement: true, isOld: isOld)
        var cursor = LeafCursor(reference)
        while let leaf = try cursor.next(of: type, in: context, nodes) {
            // Each value is looked at once, so that damage is found even if no object has it.
            for index in 0..<leaf.count { _ = try leaf.value(index, nodes) }
            references.append(cursor.leaf)
            starts.append(cursor.start)
        }
        count = cursor.end
        leaves = Array(repeating: nil, count: references.count)
        generation = nodes.pages.generation
    }

    /// The value at an index, or nil if it is null.
    func value(
        _ index: Int64, in nodes: FileNodes, at reference: Int
    ) throws(RealmFileError) -> UnsafeRawBufferPointer? {
        guard 0 <= index, index < count else { throw .damage("an interned string does not exist", at: reference) }
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= index { low = middle } else { high = middle }
        }
        let value = try leaf(low, nodes).value(Int(index) - starts[low], nodes)
        guard case .string(let bytes) = value else { return nil }
        return bytes
    }

    private func leaf(_ number: Int, _ nodes: FileNodes) throws(RealmFileError) -> Leaf {
        if generation != nodes.pages.generation {
            leaves = Array(repeating: nil, count: references.count)
            generation = nodes.pages.generation
        }
        if let leaf = leaves[number] { return leaf }
        let leaf = try nodes.leaf(nodes.node(references[number]), of: type, in: context)
        leaves[number] = leaf
        return leaf
    }
}
