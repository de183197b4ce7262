import FirnBytes

/// One object's values before and after several versions.
final class NetObject {
    /// What happened to the object, all in all.
    var change: ChangedObject.Change
    /// The object's values and collections, by the column's number.
    var singles: [Int: NetValue] = [:]
    var collections: [Int: NetCollection] = [:]
    /// Whether the object was deleted without its old values in the log.
    var lacksOldValues = false

    init(_ change: ChangedObject.Change) { self.change = change }

    /// Roughly how many bytes the object takes in memory.
    var byteCount: Int {
        singles.values.reduce(128) { $0 + 64 + ($1.old?.byteCount ?? 0) + ($1.new?.byteCount ?? 0) }
            + collections.values.reduce(0) { $0 + 64 + $1.byteCount }
    }

    /// Records that the object is deleted and its old values were not logged. Old values known from earlier versions
    /// stay.
    func deleteWithoutOldValues() {
        lacksOldValues = true
        for (column, value) in singles { singles[column] = NetValue(old: value.old, lacksOld: value.lacksOld) }
        for collection in collections.values { collection.delete(nil) }
    }

    func collection(_ column: Int, _ kind: CellCollection) -> NetCollection {
        if let known = collections[column] { return known }
        let made = NetCollection(kind)
        // A collection that an insert does not list is empty.
        if change == .inserted { made.insert(.list([])) }
        collections[column] = made
        return made
    }
}

/// A single value before and after. A side is nil if the object did not exist then. It is also nil if the value was
/// nil, 0 or empty, which the log does not list.
struct NetValue {
    var old: KeptCell?
    var new: KeptCell?
    /// Whether there was an old value that was not logged.
    var lacksOld = false
}

/// A collection before and after. What is known of it depends on what the versions did. The log has the complete
/// elements if the collection was assigned, or its object inserted or deleted. Otherwise it has only edits.
final class NetCollection {
    let kind: CellCollection
    /// The edits from the first version on, up to the first version after which the complete elements are known.
    private(set) var edits: [(version: UInt64, edits: [KeptCollection.Edit])] = []
    /// The complete elements after `edits`, before the collection was assigned or its object deleted.
    private var base: KeptCollection?
    /// The complete elements now; nil if they are not known, or the object is deleted.
    private(set) var new: KeptCollection?
    /// The last version that has edited the elements; 0 if none has.
    private(set) var lastEdit: UInt64 = 0
    /// Whether the elements before the first version are unknown, because they were not logged.
    private(set) var lacksOld = false
    /// Whether a version's edits were passed over. They did not fit, because versions before it are missing.
    private(set) var isDoubtful = false
    /// Whether further old elements of the log belong to `base`, whether further new ones belong to `new`, and whether
    /// the new ones belong to both.
    private var isBaseOpen = false
    private var isNewOpen = false
    private var areBothOpen = false
    private(set) var byteCount = 0

    init(_ kind: CellCollection) { self.kind = kind }

    /// The elements of an inserted object's collection.
    func insert(_ cell: Cell) {
        replace(KeptCollection(cell))
        isNewOpen = true
    }

    /// The elements after the edits, if `elements` were there before. The edits of a version that do not fit are passed
    /// over.
    func edited(_ elements: KeptCollection) -> KeptCollection {
        var result = elements
        for (_, edits) in edits {
            if let edited = Self.edited(result, edits) { result = edited } else { isDoubtful = true }
        }
        return result
    }

    /// - Parameters:
    ///   - old: nil if the assigned elements are equal to those before, or if those were not logged.
    ///   - isOldLogged: whether the elements before are known.
    func assign(_ cell: Cell, old: Cell?, isOldLogged: Bool, isInserted: Bool) {
        isBaseOpen = false
        isNewOpen = true
        isDoubtful = false
        if !isInserted {
            // Elements assigned unchanged were the same before, and so are the further ones that follow.
            if isOldLogged { begin(old ?? cell) } else { forgetOld() }
        }
        areBothOpen = old == nil && isBaseOpen
        replace(KeptCollection(cell))
    }

    /// Records that the object is deleted.
    ///
    /// - Parameter cell: nil if the elements were not logged.
    func delete(_ cell: Cell?) {
        if let cell { begin(cell) } else { forgetOld() }
        replace(nil)
        isNewOpen = false
    }

    /// Records that the complete elements before this moment are unknown, unless an earlier version logged them.
    private func forgetOld() {
        isBaseOpen = false
        if base == nil { lacksOld = true }
    }

    func append(_ cell: Cell, _ owner: MoreElements.Owner) {
        if owner.isOld ? isBaseOpen : isNewOpen {
            let more = KeptCollection(cell)
            byteCount += more.byteCount
            if owner.isOld || areBothOpen { base?.items += more.items }
            if !owner.isOld { new?.items += more.items }
        }
    }

    /// Adds a script's operations.
    ///
    /// - Parameter isSalvage: whether a script that does not fit is passed over; otherwise it throws `Damage`.
    func edit(_ script: EditScript, version: UInt64, isSalvage: Bool = false) throws(Damage) {
        lastEdit = version
        let added = script.edits.map(KeptCollection.Edit.init)
        if new == nil {
            byteCount += added.reduce(0) { $0 + $1.byteCount }
            // A long script is cut into several.
            if edits.last?.version == version {
                edits[edits.count - 1].edits += added
            } else {
                edits.append((version, added))
            }
            return
        }
        if isSalvage {
            guard let edited = Self.edited(new, added) else {
                isDoubtful = true
                return
            }
            replace(edited)
            return
        }
        for edit in added {
            try Self.check(new?.apply(edit))
            byteCount += edit.new.reduce(0) { $0 + $1.byteCount } - edit.old.reduce(0) { $0 + $1.byteCount }
        }
    }

    /// The elements after the edits; nil if one of them does not fit.
    private static func edited(_ elements: KeptCollection?, _ edits: [KeptCollection.Edit]) -> KeptCollection? {
        guard var result = elements else { return nil }
        for edit in edits {
            guard result.fits(edit), result.apply(edit) == nil else { return nil }
        }
        return result
    }

    /// The complete elements before the first version; nil if only edits are known.
    func old(isDeleted: Bool) throws(Damage) -> KeptCollection? {
        guard !lacksOld, var old = base ?? (isDeleted ? KeptCollection(.list([])) : nil) else { return nil }
        for (_, edits) in edits.reversed() {
            for edit in edits.reversed() {
                let inverse = edit.inverse
                guard inverse.hasNew else { return nil }
                try Self.check(old.apply(inverse))
            }
        }
        return old
    }

    private func begin(_ cell: Cell) {
        isBaseOpen = base == nil && !lacksOld
        guard isBaseOpen else { return }
        let elements = KeptCollection(cell)
        byteCount += elements.byteCount
        base = elements
    }

    private func replace(_ elements: KeptCollection?) {
        byteCount += (elements?.byteCount ?? 0) - (new?.byteCount ?? 0)
        new = elements
    }

    private static func check(_ problem: String?) throws(Damage) {
        if let problem { throw Damage(problem, at: 0) }
    }
}
