import FirnTestSupport

@testable import FirnCore

/// A collection with all its pinned versions. Each has the model of its content, and an oracle knows which nodes must
/// be alive.
///
/// Nodes are freed by the rule of dead lists. When version p is dropped and q is the pinned version before it, a node
/// that died after p is freed if it was born after q, and passes to q otherwise. Freed memory is overwritten first,
/// so that a test notices when it is read.
final class CollectionHistory<Model> {
    enum Stored {
        case inline([UInt8])
        case tree(NodeRef)
    }

    struct Version {
        let number: UInt64
        var stored: Stored
        var model: Model
        var dead: [Node] = []
        var isHeld = false
    }

    let layout: ElementLayout
    private(set) var versions: [Version]
    private(set) var alive: Set<UInt> = []
    private let scratch = UnsafeMutableRawPointer.allocate(byteCount: ListEditor.scratchByteCount, alignment: 16)

    init(_ layout: ElementLayout, _ model: Model) {
        self.layout = layout
        versions = [Version(number: 1, stored: .inline([]), model: model)]
    }

    deinit {
        for address in alive { NodeHeap.free(Node(UnsafeMutableRawPointer(bitPattern: address)!)) }
        scratch.deallocate()
    }

    var current: Version { versions[versions.count - 1] }

    func withCell<R>(_ version: Version, _ body: (ListCell) -> R) -> R {
        switch version.stored {
        case .inline(let bytes): bytes.withUnsafeBytes { body(ListCell(inline: $0, layout)) }
        case .tree(let root): body(ListCell(root: root, layout))
        }
    }

    /// Runs one transaction, and rolls it back if `isKept` is false.
    func write(isKept: Bool = true, _ body: (inout ListEditor, inout Model) -> Void) {
        let base = current
        let writer = NodeWriter(stamp: base.number + 1)
        defer { writer.dispose().deallocate() }
        var model = base.model
        let stored: Stored = withCell(base) { cell in
            var editor = ListEditor(cell, writer, scratch: scratch)
            body(&editor, &model)
            switch editor.finish() {
            case .inline(let bytes): return .inline([UInt8](bytes))
            case .tree(let root): return .tree(root)
            }
        }
        let made = (0..<writer.state.pointee.madeCount).map { writer.state.pointee.made[$0] }
        guard isKept else {
            for node in made { free(node, isNew: true) }
            return
        }
        for node in made { alive.insert(UInt(bitPattern: node.address)) }
        writer.state.pointee.dead.forEach { versions[versions.count - 1].dead.append($0) }
        versions.append(Version(number: base.number + 1, stored: stored, model: model))
        if !base.isHeld { drop(at: versions.count - 2) }
    }

    func holdCurrent() { versions[versions.count - 1].isHeld = true }

    /// Drops a version that is not the current one.
    func drop(at index: Int) {
        let version = versions.remove(at: index)
        let before = index > 0 ? versions[index - 1].number : 0
        for node in version.dead {
            if node.stamp > before {
                free(node, isNew: false)
            } else {
                versions[index - 1].dead.append(node)
            }
        }
    }

    private func free(_ node: Node, isNew: Bool) {
        if !isNew { precondition(alive.remove(UInt(bitPattern: node.address)) != nil, "a node was freed twice") }
        // Everything but the header, which says how to free the node.
        (node.address + NodeLayout.headerByteCount).initializeMemory(
            as: UInt8.self, repeating: 0xDD, count: node.byteCount - NodeLayout.headerByteCount)
        NodeHeap.free(node)
    }

    /// The nodes that the pinned versions reach.
    var reachable: Set<UInt> {
        var result: Set<UInt> = []
        for version in versions {
            withCell(version) { $0.forEachNode { result.insert(UInt(bitPattern: $0.address)) } }
        }
        return result
    }

    func checkTree(_ version: Version) {
        switch version.stored {
        case .tree(let root): ListTree.checkInvariants(root, layout)
        case .inline(let bytes):
            precondition(bytes.count <= Limits.inlineByteCount)
            precondition(
                bytes.isEmpty
                    || bytes.withUnsafeBytes { ElementBlock($0.baseAddress!, layout).byteCount == $0.count })
        }
    }
}

extension Value {
    /// A value for an element of the type, from a small or a large domain.
    static func random(_ type: ColumnType, isNullable: Bool, _ random: inout SeededRandom, domain: Int64 = 1 << 40)
        -> Value
    {
        if isNullable && Int.random(in: 0..<5, using: &random) == 0 { return .null }
        let number = Int64.random(in: 0..<domain, using: &random)
        switch type {
        case .bool: return .bool(number & 1 == 1)
        case .int: return .int(number - domain / 2)
        case .float: return number % 97 == 0 ? .float(.nan) : .float(Float(number) / 8)
        case .double: return number % 97 == 0 ? .double(-.infinity) : .double(Double(number) / 8)
        case .string: return .string(randomText(number, &random))
        case .data: return .data(Array(randomText(number, &random).utf8))
        case .date: return .date(Timestamp(seconds: number, nanoseconds: Int32(number % 1000)))
        case .objectID:
            return .objectID(ObjectIDBytes(a: UInt32(truncatingIfNeeded: number), b: 7, c: UInt32(number & 15)))
        case .uuid: return .uuid(UUIDBytes(high: UInt64(number), low: ~UInt64(number)))
        case .decimal: return .decimal(DecimalBits(high: 0x3040_0000_0000_0000, low: UInt64(number)))
        case .link: return .link(number)
        case .mixed:
            let types: [ColumnType] = [
                .bool, .int, .float, .double, .string, .data, .date, .objectID, .uuid, .decimal,
            ]
            switch Int.random(in: 0..<14, using: &random) {
            case 0: return .typedLink(TableID(3), number)
            case 1:
                return .list([
                    .int(number), .null,
                    .map([.init(key: "a", value: .string("nested")), .init(key: "b", value: .list([.bool(true)]))]),
                ])
            case let choice: return .random(types[choice % types.count], isNullable: false, &random, domain: domain)
            }
        }
    }

    private static func randomText(_ number: Int64, _ random: inout SeededRandom) -> String {
        let length: Int
        switch Int.random(in: 0..<60, using: &random) {
        case 0: length = Int.random(in: 1020...1030, using: &random)
        case 1: length = Int.random(in: 2000...5000, using: &random)
        case 2...6: length = Int.random(in: 120...700, using: &random)
        case 7...9: return ""
        default: length = Int.random(in: 0...20, using: &random)
        }
        return "\(number)" + String(repeating: "ä", count: length / 2)
    }
}
