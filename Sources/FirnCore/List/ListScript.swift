/// One edit of a list, with the old values that undoing it needs. Indices are those at the time of the edit.
package enum ListEdit: Sendable, Hashable {
    case insert(Int, Value)
    case remove(Int, old: Value)
    /// An assignment, whether or not the values differ: assigning marks the element.
    case set(Int, new: Value, old: Value)
    /// The element at `from` is removed and inserted so that its new index is `to`.
    case move(from: Int, to: Int)
    case removeAll(old: [Value])
}

/// Something that edits can be applied to: an array or a `ListEditor`.
package protocol ListEditable {
    mutating func apply(_ edit: ListEdit)
}

/// The edits that a transaction made in one list, in order.
///
/// The script is written to the changeset, is replayed from there, and shows observers which of several equal elements
/// was edited.
package struct ListScript: Sendable, Hashable {
    package private(set) var edits: [ListEdit]

    package init(_ edits: [ListEdit] = []) { self.edits = edits }

    package var isEmpty: Bool { edits.isEmpty }

    /// Adds an edit that has already been made. O(1).
    ///
    /// An edit without effect is not added, and some edits are combined with the last one:
    ///
    /// * A move to the same index, and removing everything from an empty list, have no effect.
    /// * Removing the element that was just inserted drops both edits.
    /// * Assigning the element that was just inserted or assigned gives one edit.
    /// * Removing the element that was just assigned becomes a removal of the old value.
    /// * Moving the element that was just moved becomes one move.
    package mutating func append(_ edit: ListEdit) {
        switch (edits.last, edit) {
        case (_, .move(let from, let to)) where from == to: return
        case (_, .removeAll(let old)) where old.isEmpty: return
        case (.insert(let index, _), .remove(let removed, _)) where index == removed: edits.removeLast()
        case (.insert(let index, _), .set(let assigned, let new, _)) where index == assigned:
            edits[edits.count - 1] = .insert(index, new)
        case (.set(let index, _, let old), .set(let assigned, let new, _)) where index == assigned:
            edits[edits.count - 1] = .set(index, new: new, old: old)
        case (.set(let index, _, let old), .remove(let removed, _)) where index == removed:
            edits[edits.count - 1] = .remove(index, old: old)
        case (.move(let from, let to), .move(let again, let target)) where to == again:
            edits.removeLast()
            append(.move(from: from, to: target))
        default: edits.append(edit)
        }
    }

    package mutating func append(contentsOf other: ListScript) {
        for edit in other.edits { append(edit) }
    }

    package func apply(to list: inout some ListEditable) {
        for edit in edits { list.apply(edit) }
    }
}

extension Array: ListEditable where Element == Value {
    package mutating func apply(_ edit: ListEdit) {
        switch edit {
        case .insert(let index, let value): insert(value, at: index)
        case .remove(let index, let old):
            let removed = remove(at: index)
            assert(removed == old, "Firn: a script removes \(old), but the element is \(removed)")
        case .set(let index, let new, let old):
            assert(self[index] == old, "Firn: a script replaces \(old), but the element is \(self[index])")
            self[index] = new
        case .move(let from, let to): insert(remove(at: from), at: to)
        case .removeAll(let old):
            assert(self == old, "Firn: a script empties a list other than the one it was made from")
            removeAll()
        }
    }
}

extension ListEditor: ListEditable {
    mutating func apply(_ edit: ListEdit) {
        switch edit {
        case .insert(let index, let value): insert(value, at: index)
        case .remove(let index, _): remove(at: index)
        case .set(let index, let new, _): set(new, at: index)
        case .move(let from, let to): move(from: from, to: to)
        case .removeAll: removeAll()
        }
    }
}
