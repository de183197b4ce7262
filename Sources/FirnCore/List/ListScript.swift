/// One edit of a list, with the old values that undoing it needs. Indices are those at the time of the edit.
public enum ListEdit: Sendable, Hashable {
    case insert(Int, Value)
    case remove(Int, old: Value)
    /// An assignment, whether or not the values differ: assigning marks the element.
    case set(Int, new: Value, old: Value)
    /// The element at `from` is taken out and put in so that it stands at `to`.
    case move(from: Int, to: Int)
    case removeAll(old: [Value])

    /// The edit that undoes this one. Of `removeAll` it is as many insertions as there were elements: see `ListScript.inverted()`.
    var inverse: [ListEdit] {
        switch self {
        case .insert(let index, let value): [.remove(index, old: value)]
        case .remove(let index, let old): [.insert(index, old)]
        case .set(let index, let new, let old): [.set(index, new: old, old: new)]
        case .move(let from, let to): [.move(from: to, to: from)]
        case .removeAll(let old): old.enumerated().map { .insert($0, $1) }
        }
    }
}

/// What edits are applied to: an array, a `ListEditor`.
public protocol ListEditable {
    mutating func apply(_ edit: ListEdit)
}

/// What a transaction did to one list, in order. It goes into the changeset, is replayed and inverted from there, and tells observers which element
/// of equal ones was meant.
public struct ListScript: Sendable, Hashable {
    public private(set) var edits: [ListEdit]

    public init(_ edits: [ListEdit] = []) { self.edits = edits }

    public var isEmpty: Bool { edits.isEmpty }

    /// Adds an edit, after it was made. What is trivially void or one with the last edit is not added as such, O(1):
    ///
    /// * a move to the same place, and removing everything from an empty list;
    /// * a removal of what was just inserted, which takes both away;
    /// * an assignment to what was just inserted or assigned, which becomes one edit with it;
    /// * a removal of what was just assigned, which is a removal of the old value;
    /// * a second move of what was just moved, which becomes one move.
    public mutating func append(_ edit: ListEdit) {
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

    public mutating func append(contentsOf other: ListScript) {
        for edit in other.edits { append(edit) }
    }

    /// The script that undoes this one.
    public func inverted() -> ListScript {
        var result: [ListEdit] = []
        result.reserveCapacity(edits.count)
        for edit in edits.reversed() { result.append(contentsOf: edit.inverse) }
        return ListScript(result)
    }

    public func apply(to list: inout some ListEditable) {
        for edit in edits { list.apply(edit) }
    }
}

extension Array: ListEditable where Element == Value {
    public mutating func apply(_ edit: ListEdit) {
        switch edit {
        case .insert(let index, let value): insert(value, at: index)
        case .remove(let index, let old):
            let removed = remove(at: index)
            assert(removed == old, "Firn: a script removes \(old) where \(removed) stands")
        case .set(let index, let new, let old):
            assert(self[index] == old, "Firn: a script replaces \(old) where \(self[index]) stands")
            self[index] = new
        case .move(let from, let to): insert(remove(at: from), at: to)
        case .removeAll(let old):
            assert(self == old, "Firn: a script empties another list than it was made of")
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
