/// Says where a kind of node holds references, to which kinds of nodes these lead, and where the entries below these
/// are counted. All code that iterates over a node's references uses `rules(of:)`.
struct ReferenceRule {
    /// What the target of a reference belongs to.
    enum Part {
        /// A table; the target is the table's own node.
        case table
        /// The values of a column, or its index, or its backlinks.
        case values, index, backlinks
    }

    enum Place {
        /// References of 8 bytes, `stride` bytes apart.
        case run(at: Int, Number, stride: Int = 8)
        /// References at the offsets that a list in the node names. Nodes whose values may hold references have such a
        /// list.
        case listed
        /// References in the entries of a page of a bytes index.
        case entries
    }

    enum Number {
        case one
        /// As many as the node has entries.
        case entries
        /// As many as there are columns, whose number is at this offset.
        case columns(at: Int)
    }

    /// Where an inner node counts the entries below its children.
    enum Counts {
        /// Numbers of 8 bytes from an offset on.
        case each(at: Int)
        /// Numbers of 4 bytes from an offset on; each also counts those before it.
        case running(at: Int)
        /// Numbers in the entries of a page of a bytes index, at this offset of each entry.
        case entries(at: Int)
    }

    let place: Place
    let targets: [NodeKind]
    let counts: Counts?
    /// Nil if the target belongs to the same as the node that refers to it.
    let part: Part?

    private init(_ place: Place, _ targets: NodeKind..., counts: Counts? = nil, part: Part? = nil) {
        self.place = place
        self.targets = targets
        self.counts = counts
        self.part = part
    }

    private static let root = [ReferenceRule(.run(at: 32, .entries), .table, part: .table)]
    /// The rows, then each column's index and its backlinks.
    private static let table = [
        ReferenceRule(.run(at: 32, .one), .rowInner, .leaf),
        ReferenceRule(
            .run(at: 64, .columns(at: 56), stride: 16), .integerIndexInner, .integerIndexLeaf, .bytesIndexInner,
            .bytesIndexLeaf, part: .index),
        ReferenceRule(
            .run(at: 72, .columns(at: 56), stride: 16), .integerIndexInner, .integerIndexLeaf, part: .backlinks),
    ]
    private static let rowInner = [
        ReferenceRule(.run(at: 544, .entries), .rowInner, .leaf, counts: .each(at: 1056))
    ]
    /// The keys, then each column.
    private static let leaf = [
        ReferenceRule(.run(at: 40, .one), .chunk),
        ReferenceRule(.run(at: 64, .columns(at: 48)), .chunk, part: .values),
    ]
    private static let dictionary = [ReferenceRule(.run(at: 48, .one), .chunk)]
    private static let values = [ReferenceRule(.listed, .blob, .listInner, .listLeaf)]
    private static let elements = [ReferenceRule(.listed, .blob)]
    private static let integerIndexInner = [
        ReferenceRule(.run(at: 1056, .entries), .integerIndexInner, .integerIndexLeaf, counts: .each(at: 1568))
    ]
    private static let bytesIndexInner = [
        ReferenceRule(.entries, .bytesIndexInner, .bytesIndexLeaf, counts: .entries(at: 16))
    ]
    private static let listInner = [
        ReferenceRule(.run(at: 32, .entries), .listInner, .listLeaf, counts: .running(at: 544))
    ]

    /// The rules of a node, which for a chunk depend on its form.
    static func rules(of node: OnDiskNode) -> [ReferenceRule] {
        switch node.kind {
        case .root: root
        case .table: table
        case .rowInner: rowInner
        case .leaf: leaf
        case .chunk: node.header.form == ChunkForm.dictionary.rawValue ? dictionary : values
        case .blob, .integerIndexLeaf, .bytesIndexLeaf: []  // `mayHaveReferences` is false
        case .integerIndexInner: integerIndexInner
        case .bytesIndexInner: bytesIndexInner
        case .listInner: listInner
        case .listLeaf: elements
        }
    }
}

extension OnDiskNode {
    /// Calls `body` with the offset of each reference in the node, in the order of the rules, and with its number
    /// within its rule.
    func forEachReference(
        _ body: (_ offset: Int, ReferenceRule, _ number: Int) throws(NodeDamage) -> Void
    ) throws(NodeDamage) {
        for rule in ReferenceRule.rules(of: self) {
            switch rule.place {
            case .run(let start, let number, let stride):
                for index in 0..<(try count(number)) { try body(start + stride * index, rule, index) }
            case .listed:
                for (index, offset) in try listedReferences().enumerated() { try body(offset, rule, index) }
            case .entries:
                for index in 0..<count { try body(try bytesEntry(index).offset + 8, rule, index) }
            }
        }
    }

    private func count(_ number: ReferenceRule.Number) throws(NodeDamage) -> Int {
        switch number {
        case .one: return 1
        case .entries: return count
        case .columns(let offset):
            let columns = try u32(offset)
            guard columns <= FormatNumbers.columnCount else {
                throw damage("the \(kind.name.one) can't have \(columns) columns")
            }
            return columns
        }
    }

    /// How many entries the node says that a child has below it; nil if its kind counts none.
    func counted(_ child: Int, _ rule: ReferenceRule) throws(NodeDamage) -> Int64? {
        switch rule.counts {
        case nil: return nil
        case .each(let offset): return try i64(offset + 8 * child)
        case .running(let offset):
            return Int64(try u32(offset + 4 * child) - (child == 0 ? 0 : u32(offset + 4 * child - 4)))
        case .entries(let offset): return try i64(bytesEntry(child).offset + offset)
        }
    }
}
