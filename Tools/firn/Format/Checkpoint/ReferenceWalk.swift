/// Follows all references of a checkpoint's version, and calls back with each node's owner, header and position. Checks
/// that each reference leads to a node of an allowed kind, and that inner nodes count what is below them.
///
/// Nodes that hold no references are not read beyond their headers: a scan of the files checks their bytes.
final class ReferenceWalk {
    /// What a node belongs to: nothing for the root, a table for its own node and those of its rows and keys.
    struct Owner {
        var table: Int?
        var column: Int?
        var part: ReferenceRule.Part?
    }

    private let checkpoint: OpenedCheckpoint
    private let visit: (Owner, NodeHeader, _ position: Int) -> Void
    /// Called with damage. The damaged node and all nodes below it are then passed over. If this is nil, damage is
    /// thrown.
    var passOver: ((NodeDamage) -> Void)?
    /// The positions of the dictionaries that were visited, since several chunks may share one.
    private(set) var dictionaries: Set<Int> = []

    init(
        _ checkpoint: OpenedCheckpoint, _ visit: @escaping (Owner, NodeHeader, _ position: Int) -> Void = { _, _, _ in }
    ) {
        self.checkpoint = checkpoint
        self.visit = visit
    }

    /// Throws a `NodeDamage` at the first thing that is wrong.
    func run() throws {
        let root = try checkpoint.node(at: checkpoint.footer.root)
        guard root.kind == .root else {
            throw root.damage("the checkpoint's footer names a \(root.kind.name.one) as the root")
        }
        _ = try checkpoint.walk { try follow(root, Owner()) }
    }

    /// Returns how many entries there are in the node, or below it.
    private func follow(_ node: OnDiskNode, _ owner: Owner) throws -> Int64 {
        visit(owner, node.header, node.position)
        var references: [(offset: Int, rule: ReferenceRule, number: Int)] = []
        try node.forEachReference { (offset, rule, number) in references.append((offset, rule, number)) }
        var total: Int64 = 0
        for (offset, rule, number) in references {
            do {
                total += try follow(
                    offset, of: node, rule: rule, number: number, owner: Self.owner(rule, number: number, owner: owner))
            } catch let damage as NodeDamage {
                guard let passOver else { throw damage }
                passOver(damage)
            }
        }
        return node.kind.isInner ? total : Int64(node.count)
    }

    /// Follows one reference. Returns the number of entries below it if the node counts them, otherwise 0.
    private func follow(
        _ offset: Int, of node: OnDiskNode, rule: ReferenceRule, number: Int, owner: Owner
    ) throws -> Int64 {
        var entries: Int64 = 0
        if let position = try node.reference(offset) {
            entries = try follow(position, from: node, rule: rule, owner: owner)
        } else if rule.counts != nil {
            throw node.damage("the \(node.kind.name.one) lacks its child \(number)")
        }
        if node.kind == .table, rule.targets.contains(.leaf) { try check(node, rows: entries) }
        guard let counted = try node.counted(number, rule) else { return 0 }
        guard counted == entries else {
            throw node.damage("child \(number) is counted with \(counted) entries and has \(entries)")
        }
        return entries
    }

    private func check(_ table: OnDiskNode, rows: Int64) throws(NodeDamage) {
        let counted = try table.i64(40)
        guard counted == rows else { throw table.damage("the table counts \(counted) rows and has \(rows)") }
    }

    private func follow(
        _ position: Int, from parent: OnDiskNode, rule: ReferenceRule, owner: Owner
    ) throws -> Int64 {
        let header = try checkpoint.header(at: position)
        guard rule.targets.contains(header.kind) else {
            throw parent.damage(
                "a reference of the \(parent.kind.name.one) leads to a \(header.kind.name.one), not to a \(rule.targets[0].name.one)"
            )
        }
        // Levels must fall, so that a cycle can't make the walk endless.
        guard !parent.kind.isInner || header.kind != parent.kind || header.width < parent.header.width else {
            throw parent.damage("a child of the \(parent.kind.name.one) is not of a lower level")
        }
        if parent.kind == .chunk, header.kind == .chunk, !dictionaries.insert(position).inserted { return 0 }
        if header.kind.mayHaveReferences {
            guard let node = try checkpoint.node(position, of: parent, header.kind) else { return 0 }
            return try follow(node, owner)
        }
        try checkpoint.count(header, at: position, of: parent)
        visit(owner, header, position)
        return Int64(header.count)
    }

    private static func owner(_ rule: ReferenceRule, number: Int, owner: Owner) -> Owner {
        switch rule.part {
        case nil: owner
        case .table: Owner(table: number, part: .table)
        case let part: Owner(table: owner.table, column: number, part: part)
        }
    }
}
