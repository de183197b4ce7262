import FirnCore

extension Realm {
    /// What became of an object between two versions: an element of `Realm.changes(from:to:)`.
    public struct Change {
        /// Whether the object was inserted, modified or deleted.
        public enum Kind: Sendable, Hashable {
            /// The second version has it, and the first does not.
            case inserted
            /// Both versions have it, with different values.
            case modified
            /// The first version has it, and the second does not.
            case deleted
        }

        /// What became of the object.
        public let kind: Kind
        /// The name of the object's class.
        public let objectType: String
        /// The value of its primary key, numbers as `NSNumber`; nil for a class without one, and for a nil key.
        public let primaryKey: Any?
        /// The properties that differ, in the order of their declaration, with their values in both versions. For an
        /// inserted or a deleted object, these are all its properties, with the values of the one version that has it.
        /// Links are frozen objects of their version, and lists frozen lists.
        public let properties: [PropertyChange]
    }

    /// The objects that differ between two versions, with their values in both. The changes lead from `from` to `to`,
    /// which may be the older version.
    ///
    /// ```swift
    /// for change in try realm.changes(from: 10, to: 20) {
    ///     print(change.kind, change.objectType, change.primaryKey ?? "", change.properties.map(\.name))
    /// }
    /// ```
    ///
    /// Only the realm's classes are compared. The result is sorted by class name, and then by the order in which the
    /// objects were created.
    ///
    /// Only the net effect counts. An object that was created and deleted between the two versions is left out. So is a
    /// property that has the same value in both, whatever it held between them. A link is the same if it leads to the
    /// same object. An object that was deleted and created again with the same primary key is two objects: one deleted
    /// and one inserted.
    ///
    /// Cost: both versions are opened, and the commits between them are decoded; beyond that O(objects changed)
    /// memory. Stops the program on the wrong thread.
    ///
    /// - Throws: the errors of `asOf(version:)`, for both versions.
    public func changes(
        from: UInt64, to: UInt64, file: StaticString = #fileID, line: UInt = #line
    ) throws -> [Change] {
        let old = try asOf(version: from, file: file, line: line).instance
        let new = try asOf(version: to, file: file, line: line).instance
        guard from != to else { return [] }
        let (earlier, later) = from < to ? (old, new) : (new, old)
        let summary = try instance.withStore { store throws(StoreError) in
            try store.changeSummary(from: earlier.shownPin, to: later.shownPin)
        }
        return try instance.withStore { store throws(StoreError) in
            try store.reading {
                var changes: [Change] = []
                for binding in instance.schema.tables.sorted(by: { $0.info.name < $1.info.name }) {
                    let ends = ChangeEnds(binding: binding, old: old, new: new)
                    guard let table = summary.tables[binding.table] else { continue }
                    for key in table.inserted.union(table.deleted).union(table.modified.keys).sorted() {
                        if let change = ends.change(key, table.modified[key]) { changes.append(change) }
                    }
                }
                return changes
            }
        }
    }
}

/// The two versions between which the changes of a class's objects are computed.
private struct ChangeEnds {
    let binding: TableBinding
    let old: _RealmInstance
    let new: _RealmInstance
    let before: TableView?
    let after: TableView?

    init(binding: TableBinding, old: _RealmInstance, new: _RealmInstance) {
        self.binding = binding
        self.old = old
        self.new = new
        before = old.table(binding)
        after = new.table(binding)
    }

    /// The change of an object; nil if nothing changed. `columns` are the assigned columns, if both versions have the
    /// object.
    func change(_ key: Int64, _ columns: ColumnSet?) -> Realm.Change? {
        let was = before?.find(key).map { old.accessor(binding, leaf: $0.leaf, row: $0.row, key: key) }
        let isNow = after?.find(key).map { new.accessor(binding, leaf: $0.leaf, row: $0.row, key: key) }
        guard let some = isNow ?? was else { return nil }
        let kind: Realm.Change.Kind = was == nil ? .inserted : isNow == nil ? .deleted : .modified
        let changed =
            kind == .modified
            ? binding.info.stored.filter { differs($0, key: key, columns: columns) } : binding.info.stored
        guard kind != .modified || !changed.isEmpty else { return nil }
        return Realm.Change(
            kind: kind, objectType: binding.info.name, primaryKey: binding.info.primaryKey.flatMap(some.anyValue),
            properties: changed.map { property in
                PropertyChange(
                    name: property.name, oldValue: was.flatMap { $0.anyValue(property) },
                    newValue: isNow.flatMap { $0.anyValue(property) })
            })
    }

    /// Whether a property that may have been written has different values in the two versions.
    private func differs(_ property: PropertyInfo, key: Int64, columns: ColumnSet?) -> Bool {
        let column = binding.column(property)
        return columns?.contains(column) == true && before?.value(column, of: key) != after?.value(column, of: key)
    }
}
