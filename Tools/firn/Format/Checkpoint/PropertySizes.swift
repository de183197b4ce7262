/// How many bytes of a checkpoint the values of each property take, with its index and its backlinks.
final class PropertySizes {
    struct Size {
        var values = 0
        var index = 0
        var backlinks = 0

        var text: String {
            var text = Amount.bytes(values)
            if index > 0 { text += ", index \(Amount.bytes(index))" }
            if backlinks > 0 { text += ", backlinks \(Amount.bytes(backlinks))" }
            return text
        }
    }

    private struct Place: Hashable {
        var table: Int
        var column: Int
    }

    private var sizes: [Place: Size] = [:]

    /// Adds a node that a walk has reached.
    func add(_ owner: ReferenceWalk.Owner, node: NodeHeader, position: Int) {
        guard let table = owner.table, let column = owner.column else { return }
        let place = Place(table: table, column: column)
        switch owner.part {
        case nil, .table: return
        case .values: sizes[place, default: Size()].values += node.nodeByteCount
        case .index: sizes[place, default: Size()].index += node.nodeByteCount
        case .backlinks: sizes[place, default: Size()].backlinks += node.nodeByteCount
        }
    }

    subscript(table: Int, column: Int) -> Size? { sizes[Place(table: table, column: column)] }
}
