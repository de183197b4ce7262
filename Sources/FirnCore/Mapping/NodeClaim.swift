/// What a node of a checkpoint must be, according to the node that refers to it and to the schema.
///
/// A node's own bytes do not say to which table or column it belongs. Code that reads a node trusts the node's parent
/// for that, and checks nothing again. So a parent, when it is validated, enters a claim for each of its children. A
/// child is checked against its claim when it is validated (`NodeCheck`). Roles only lead downwards, so no path through
/// validated nodes is a cycle. Roles lead from `root` to `table`, then to `rows`, `pairs` or `bytes`, from the highest
/// level of the tree down. From the leaves of `rows` they lead to `keys` and `chunk`. From there they lead to
/// `dictionary`, or to `list` from the highest level down, and last to `blob`.
enum NodeRole: Hashable {
    case root
    /// A table's node, by the table's number.
    case table(Int)
    /// A node of the table's row tree.
    case rows(Int)
    /// The chunk of a leaf's keys.
    case keys
    /// The chunk of a column.
    case chunk(CellClass)
    /// The dictionary of a column's chunks, which refer to its values by number.
    case dictionary(CellClass)
    /// A node of an index of numbers, or of backlinks.
    case pairs
    /// A node of an index of bytes.
    case bytes
    /// A node of a collection's tree.
    case list(CellClass)
    /// A value of a column, or an element of a collection: `CellClass.value`.
    case blob(CellClass)

    /// Whether a version has only one reference to the node, so that code that replaces the node may free it. The other
    /// nodes may be shared: a dictionary by neighbouring chunks, a blob because it is never written to.
    var isOwned: Bool {
        switch self {
        case .root, .table, .rows, .keys, .chunk, .pairs, .bytes, .list: true
        case .dictionary, .blob: false
        }
    }
}

/// What a parent expects of a child: its role, its level, and what the parent counts in it.
struct NodeClaim: Hashable {
    let role: NodeRole
    /// The level above the leaves; nil for the root of a tree, which may have any level.
    var level: Int?
    /// Rows, entries or elements in the node and below it; for a chunk, the least number of rows. Nil if the parent
    /// does not say.
    var count: Int?

    init(_ role: NodeRole, level: Int? = nil, count: Int? = nil) {
        self.role = role
        self.level = level
        self.count = count
    }
}

/// The claims on the nodes of a mapping, by unit. They are in a hash table of 16 bytes per entry, with one entry for
/// each claimed node. It is guarded by the mapping's lock.
struct NodeClaims: ~Copyable {
    /// ```
    /// key    ┌ unit + 1 (44 bits) ┬ kind of role (4) ┬ its detail (16) ┐      0: free
    /// value  ┌ level (8; 255: unknown) ┬ taken (1) ┬ count (55; all ones: unknown) ┐
    /// ```
    private typealias Entry = (key: UInt64, value: UInt64)
    private var entries: [Entry] = []
    private(set) var count = 0

    private static let unknownCount: UInt64 = 1 << 55 - 1
    private static let takenBit: UInt64 = 1 << 55
    private static let unitShift: UInt64 = 20

    func find(_ unit: Int) -> NodeClaim? {
        guard !entries.isEmpty else { return nil }
        let entry = entries[index(of: unit)]
        return entry.key == 0 ? nil : Self.decode(entry)
    }

    /// Enters a claim. Returns false if another claim contradicts it.
    mutating func enter(_ claim: NodeClaim, _ unit: Int) -> Bool {
        if (count + 1) * 3 > entries.count * 2 { grow() }
        let index = index(of: unit)
        guard entries[index].key != 0 else {
            count += 1
            entries[index] = Self.encode(claim, unit)
            return true
        }
        guard var known = Self.decode(entries[index]), known.role == claim.role,
            known.level == nil || claim.level == nil || known.level == claim.level
        else { return false }
        switch claim.role {
        case .chunk, .keys, .dictionary:
            // Several leaves, or versions of one leaf, may count different numbers of rows in a chunk.
            known.count = max(known.count ?? 0, claim.count ?? 0)
        default:
            guard known.count == nil || claim.count == nil || known.count == claim.count else { return false }
            known.count = known.count ?? claim.count
        }
        known.level = known.level ?? claim.level
        let taken = entries[index].value & Self.takenBit
        entries[index] = Self.encode(known, unit)
        entries[index].value |= taken
        return true
    }

    /// Records that the one reference to an owned node was found. Returns false if there was one before.
    mutating func take(_ unit: Int) -> Bool {
        let index = index(of: unit)
        guard entries[index].value & Self.takenBit == 0 else { return false }
        entries[index].value |= Self.takenBit
        return true
    }

    private func index(of unit: Int) -> Int {
        let mask = entries.count - 1
        var index = Int(truncatingIfNeeded: UInt64(unit) &* 0x9E37_79B9_7F4A_7C15 >> 24) & mask
        while entries[index].key != 0, entries[index].key >> Self.unitShift != UInt64(unit) + 1 {
            index = (index + 1) & mask
        }
        return index
    }

    private mutating func grow() { remake(entries.filter { $0.key != 0 }, capacity: max(64, entries.count * 2)) }

    /// Forgets the claims on nodes in some ranges of units, whose files are no longer part of the mapping. O(claims).
    mutating func forget(_ ranges: [Range<Int>]) {
        let left = entries.filter { entry in
            let unit = Int(entry.key >> Self.unitShift) - 1
            return entry.key != 0 && !ranges.contains { $0.contains(unit) }
        }
        var capacity = 64
        while (left.count + 1) * 3 > capacity * 2 { capacity *= 2 }
        remake(left, capacity: capacity)
    }

    private mutating func remake(_ left: [Entry], capacity: Int) {
        entries = [Entry](repeating: (0, 0), count: capacity)
        count = left.count
        for entry in left { entries[index(of: Int(entry.key >> Self.unitShift) - 1)] = entry }
    }

    private static func encode(_ claim: NodeClaim, _ unit: Int) -> Entry {
        let (kind, detail): (UInt64, UInt64) =
            switch claim.role {
            case .root: (0, 0)
            case .table(let table): (1, UInt64(table))
            case .rows(let table): (2, UInt64(table))
            case .keys: (3, 0)
            case .chunk(let cells): (4, cells.bits)
            case .dictionary(let cells): (5, cells.bits)
            case .pairs: (6, 0)
            case .bytes: (7, 0)
            case .list(let cells): (8, cells.bits)
            case .blob(let cells): (9, cells.bits)
            }
        return (
            (UInt64(unit) + 1) << unitShift | kind << 16 | detail,
            UInt64(claim.level ?? 255) << 56 | (claim.count.map { UInt64($0) } ?? unknownCount)
        )
    }

    private static func decode(_ entry: Entry) -> NodeClaim? {
        let detail = entry.key & 0xFFFF
        let role: NodeRole
        switch entry.key >> 16 & 15 {
        case 0: role = .root
        case 1: role = .table(Int(detail))
        case 2: role = .rows(Int(detail))
        case 3: role = .keys
        case 6: role = .pairs
        case 7: role = .bytes
        case let kind:
            guard let cells = CellClass(bits: detail) else { return nil }
            switch kind {
            case 4: role = .chunk(cells)
            case 5: role = .dictionary(cells)
            case 8: role = .list(cells)
            default: role = .blob(cells)
            }
        }
        let (level, count) = (Int(entry.value >> 56), entry.value & unknownCount)
        return NodeClaim(role, level: level == 255 ? nil : level, count: count == unknownCount ? nil : Int(count))
    }
}
