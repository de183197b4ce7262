@testable import FirnCore

extension ListEdit {
    /// The edits that undo this one. For `removeAll` there are as many insertions as there were elements (see
    /// `ListScript.inverted()`).
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

extension ListScript {
    /// The script that undoes this one.
    func inverted() -> ListScript {
        var result: [ListEdit] = []
        result.reserveCapacity(edits.count)
        for edit in edits.reversed() { result.append(contentsOf: edit.inverse) }
        return ListScript(result)
    }
}
