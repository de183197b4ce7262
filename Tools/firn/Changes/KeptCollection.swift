import FirnBytes

/// A copy of a collection's elements, to which edit scripts are applied. It owns its values.
struct KeptCollection {
    /// A value, and its key if the collection is a map. Both are copies.
    struct Item {
        var key: KeptCell?
        var value: KeptCell

        init(_ element: Element) {
            key = element.key.map { KeptCell(.string($0)) }
            value = KeptCell(element.value)
        }

        var element: Element {
            guard case .string(let bytes)? = key?.cell else { return Element(value: value.cell) }
            return Element(key: bytes, value: value.cell)
        }

        var byteCount: Int { 16 + value.byteCount + (key?.byteCount ?? 0) }
    }

    /// An operation of a script with copies of its elements. If the old elements were not logged, `old` is empty, and
    /// so is `new` of the inverse.
    struct Edit {
        var operation: EditScript.Operation
        var new: [Item]
        var old: [Item]

        init(_ edit: ShownEdit) {
            operation = edit.operation
            new = edit.new.map(Item.init)
            old = edit.old.map(Item.init)
        }

        /// The operation that undoes this one.
        var inverse: Edit {
            var inverse = self
            swap(&inverse.new, &inverse.old)
            switch operation {
            case .insert(let index, let count): inverse.operation = .remove(index: index, count: count)
            case .remove(let index, let count): inverse.operation = .insert(index: index, count: count)
            case .replace: break
            case .move(let from, let to): inverse.operation = .move(from: to, to: from)
            }
            return inverse
        }

        /// Whether the elements that the edit adds are known.
        var hasNew: Bool { new.count == operation.newCount }

        /// The edit for the output, valid as long as this edit.
        var shown: ShownEdit {
            ShownEdit(operation: operation, new: new.map(\.element)[...], old: old.map(\.element)[...])
        }

        var byteCount: Int { 80 + new.reduce(0) { $0 + $1.byteCount } + old.reduce(0) { $0 + $1.byteCount } }
    }

    var items: [Item]

    init(_ cell: Cell) { items = Element.all(of: cell).map(Item.init) }

    mutating func append(_ cell: Cell) { items += Element.all(of: cell).map(Item.init) }

    /// Applies an operation. Returns what is impossible about it, or nil.
    mutating func apply(_ edit: Edit) -> String? {
        let count = items.count
        switch edit.operation {
        case .insert(let index, _):
            guard index <= count else { return "an edit inserts at \(index) in a collection of \(count) elements" }
            items.insert(contentsOf: edit.new, at: index)
        case .remove(let index, let removed):
            guard index <= count, removed <= count - index else {
                return "an edit removes \(removed) elements from \(index) on in a collection of \(count)"
            }
            items.removeSubrange(index..<index + removed)
        case .replace(let index, let replaced):
            guard index <= count, replaced <= count - index else {
                return "an edit replaces \(replaced) elements from \(index) on in a collection of \(count)"
            }
            // In a map the key stays, and the script repeats it.
            items.replaceSubrange(index..<index + replaced, with: edit.new)
        case .move(let from, let to):
            guard from < count, to < count else {
                return "an edit moves element \(from) to \(to) in a collection of \(count) elements"
            }
            items.insert(items.remove(at: from), at: to)
        }
        return nil
    }

    /// Whether the elements that an operation removes or replaces are the elements that it names, if it names any.
    func fits(_ edit: Edit) -> Bool {
        let (index, count): (Int, Int)
        switch edit.operation {
        case .insert(let at, _): return at <= items.count
        case .move(let from, let to): return from < items.count && to < items.count
        case .remove(let at, let removed), .replace(let at, let removed): (index, count) = (at, removed)
        }
        guard index <= items.count, count <= items.count - index else { return false }
        if edit.old.isEmpty { return true }
        guard edit.old.count == count else { return false }
        return zip(items[index..<index + count], edit.old).allSatisfy(Self.areSame)
    }

    private static func areSame(_ a: Item, _ b: Item) -> Bool {
        let areKeysSame =
            if let key = a.key, let other = b.key { key.cell.isSame(as: other.cell) } else {
                a.key == nil && b.key == nil
            }
        return areKeysSame && a.value.cell.isSame(as: b.value.cell)
    }

    func isSame(as other: KeptCollection) -> Bool {
        items.count == other.items.count
            && zip(items, other.items).allSatisfy(Self.areSame)
    }

    /// The collection as a value, which is valid as long as this one.
    func cell(_ kind: CellCollection) -> Cell {
        switch kind {
        case .map:
            .map(
                items.map { item in
                    guard case .string(let key)? = item.key?.cell else {
                        return (UnsafeRawBufferPointer(start: nil, count: 0), item.value.cell)
                    }
                    return (key, item.value.cell)
                })
        case .set: .set(items.map(\.value.cell))
        case .none, .list: .list(items.map(\.value.cell))
        }
    }

    var byteCount: Int { items.reduce(32) { $0 + $1.byteCount } }
}
