import FirnCore

extension Realm {
    /// What became of an object between two versions.
    public struct Change {
        public enum Kind: Sendable, Hashable {
            /// It is there in the second version and was not in the first.
            case inserted
            /// It is there in both, with different values.
            case modified
            /// It was there in the first version and is not in the second.
            case deleted
        }

        public let kind: Kind
        /// The name of the object's class.
        public let objectType: String
        /// The value of its primary key; nil for a class without one.
        public let primaryKey: Any?
        /// What differs, in the order of declaration: of a new object its values, of one that is gone its old ones. Links are frozen objects and lists frozen lists of their
        /// version.
        public let properties: [PropertyChange]
    }

    /// What differs between two versions, for the realm's classes: what leads from one to the other, either direction. Ordered by class name, then by the order in which the objects were
    /// created.
    ///
    /// The net effect: an object that came and went between them is left out, and so is a property that has the same value in both, whatever it held between. A link is the same
    /// where it leads to the same object. An object that was deleted and created again with the same primary key is another one: it is deleted, and inserted.
    ///
    /// Cost: both versions are opened, and the commits between them decoded; O(objects changed) memory beyond that.
    ///
    /// - Throws: as `asOf(version:)`.
    public func changes(
        from: UInt64, to: UInt64, file: StaticString = #fileID, line: UInt = #line
    ) throws -> [Change] {
        let old = try asOf(version: from, file: file, line: line).instance
        let new = try asOf(version: to, file: file, line: line).instance
        guard from != to else { return [] }
        let (earlier, later) = from < to ? (old, new) : (new, old)
        let touched = try instance.storing { store throws(StoreError) in
            try store.touchedRows(from: earlier.shownPin, to: later.shownPin)
        }
        return try instance.storing { store throws(StoreError) in
            try store.reading {
                var changes: [Change] = []
                for binding in instance.schema.tables.sorted(by: { $0.info.name < $1.info.name }) {
                    let ends = ChangeEnds(binding, old, new)
                    for (key, columns) in (touched[binding.table] ?? [:]).sorted(by: { $0.key < $1.key }) {
                        if let change = ends.change(key, columns) { changes.append(change) }
                    }
                }
                return changes
            }
        }
    }
}

/// The two versions that a change of a class's objects is seen between.
private struct ChangeEnds {
    let binding: TableBinding
    let old: RealmInstance
    let new: RealmInstance
    let before: TableView?
    let after: TableView?

    init(_ binding: TableBinding, _ old: RealmInstance, _ new: RealmInstance) {
        self.binding = binding
        self.old = old
        self.new = new
        before = old.table(binding)
        after = new.table(binding)
    }

    /// What became of an object some of whose columns were written; nil where nothing did.
    func change(_ key: Int64, _ columns: ColumnSet) -> Realm.Change? {
        let was = before?.find(key).map { old.accessor(binding, $0.leaf, $0.row, key: key) }
        let isNow = after?.find(key).map { new.accessor(binding, $0.leaf, $0.row, key: key) }
        guard let some = isNow ?? was else { return nil }
        let kind: Realm.Change.Kind = was == nil ? .inserted : isNow == nil ? .deleted : .modified
        let changed = kind == .modified ? binding.info.stored.filter { differs($0, key, columns) } : binding.info.stored
        guard kind != .modified || !changed.isEmpty else { return nil }
        return Realm.Change(
            kind: kind, objectType: binding.info.name, primaryKey: binding.info.primaryKey.flatMap(some.anyValue),
            properties: changed.map { property in
                PropertyChange(
                    name: property.name, oldValue: was.flatMap { $0.anyValue(property) },
                    newValue: isNow.flatMap { $0.anyValue(property) })
            })
    }

    private func differs(_ property: PropertyInfo, _ key: Int64, _ columns: ColumnSet) -> Bool {
        let column = binding.column(property)
        return columns.contains(column) && before?.value(column, of: key) != after?.value(column, of: key)
    }
}
