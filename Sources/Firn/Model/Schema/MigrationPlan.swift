import FirnBytes
import FirnCore

/// The schemas of a migration that runs a block.
///
/// The block sees the classes on an **interim** schema: the classes' own schema, but
/// - with the properties that the classes no longer have, so that they can be renamed;
/// - without the primary keys that change or that the block sets, so that it can make them unique;
/// - with the classes that become embedded still ordinary, so that the block can give each object one parent.
///
/// When the block has returned, the store gets the `final` schema.
struct MigrationPlan {
    private let old: StoreSchema
    private let infos: NameMap<ClassInfo>
    private(set) var interim: StoreSchema
    /// The tables of the classes that become embedded.
    let becomingEmbedded: Set<TableID>
    private var removed: Set<TableID> = []
    /// The tables of the classes whose primary keys the block has set.
    private var freed: Set<TableID> = []
    /// The objects that the block has tried to copy into themselves, by table.
    private var selfContaining: [TableID: Set<Int64>] = [:]
    private var renamed: [(table: TableID, column: Int, from: String)] = []

    init(_ infos: [ClassInfo], version: UInt64, on old: StoreSchema) {
        self.old = old
        self.infos = NameMap(infos.map { ($0.name, $0) })
        let planned = SchemaPlan(infos, version: version, on: old).schema
        becomingEmbedded = Set(
            old.tables.indices.map(TableID.init).filter { planned[$0].isEmbedded && !old[$0].isEmbedded })
        interim = planned
        for id in old.tables.indices.map(TableID.init) {
            if becomingEmbedded.contains(id) { interim.tables[id.index].isEmbedded = false }
            let numbers = interim[id].numbersByName
            for (number, column) in old[id].columns.enumerated()
            where !column.isRemoved && interim[id].columns[number].isRemoved && numbers[column.name] == nil {
                interim.tables[id.index].columns[number] = column
            }
            updateKey(id)
        }
    }

    /// The class of a table; nil if the realm does not have it.
    private func info(_ id: TableID) -> ClassInfo? { infos[interim[id].name] }

    /// Sets a table's primary key, or removes it while its values need not be unique yet.
    private mutating func updateKey(_ id: TableID) {
        guard let info = info(id) else { return }
        let key = info.primaryKey.flatMap { interim[id].column(named: $0.columnName) }
        let isUnique = key.map { !freed.contains(id) && interim[id].keepsKey($0, of: old[id]) }
        interim.tables[id.index].primaryKey = isUnique ?? false ? key : nil
    }

    /// Renames a property of a class, and keeps its values.
    mutating func rename(_ className: String, from: String, to: String) throws(Fault) {
        func text(_ name: String) -> String { "\"\(DisplayText.line(className)).\(DisplayText.line(name))\"" }
        guard let id = old.table(named: className) else {
            throw Fault("the store had no class \"\(DisplayText.line(className))\" before the migration")
        }
        guard let info = info(id) else {
            throw Fault("the class \"\(DisplayText.line(className))\" is not among the realm's classes any more")
        }
        guard info.property(named: from) == nil, !info.stored.contains(where: { $0.columnName == from }) else {
            throw Fault("the class still has the property \(text(from))")
        }
        guard let column = interim[id].column(named: from) else {
            throw Fault("the store has no property \(text(from))")
        }
        let newName = info.property(named: to)?.columnName ?? to
        guard newName != from, (1...Limits.nameByteCount).contains(newName.utf8.count) else {
            throw Fault("the new name is the old one, or has not 1 to \(Limits.nameByteCount) bytes")
        }
        if let taken = interim[id].column(named: newName) {
            let (old, new) = (interim[id].columns[column], interim[id].columns[taken])
            guard old.type == new.type, old.collection == new.collection, old.target == new.target else {
                throw Fault(
                    "\(text(from)) is of the type \(SchemaPlan.name(old, interim)), and \(text(to)) of the type \(SchemaPlan.name(new, interim))"
                )
            }
            interim.tables[id.index].columns[column] = new
            SchemaPlan.remove(taken, from: &interim.tables[id.index])
        }
        interim.tables[id.index].columns[column].name = newName
        renamed.append((id, column, from))
        updateKey(id)
    }

    /// Lets the objects of a class have the same primary key until the block has returned.
    mutating func freeKeys(of id: TableID) {
        freed.insert(id)
        updateKey(id)
    }

    /// Removes the table of a class that the realm no longer has, and the links to it, once the block has returned.
    mutating func remove(_ id: TableID) { removed.insert(id) }

    /// The schema that the store has in the end.
    var final: StoreSchema {
        var schema = interim
        for id in schema.tables.indices.map(TableID.init) {
            if removed.contains(id) { schema.tables[id.index].isRemoved = true }
            for (number, column) in schema[id].columns.enumerated()
            where !column.isRemoved && column.target.map(removed.contains) ?? false {
                SchemaPlan.remove(number, from: &schema.tables[id.index])
            }
            guard let info = info(id) else { continue }
            let names = Set(info.stored.map(\.columnName))
            for (number, column) in schema[id].columns.enumerated()
            where !column.isRemoved && !names.contains(column.name) {
                SchemaPlan.remove(number, from: &schema.tables[id.index])
            }
            schema.tables[id.index].isEmbedded = info.isEmbedded
            schema.tables[id.index].primaryKey = info.primaryKey.flatMap { schema[id].column(named: $0.columnName) }
        }
        return schema
    }

    /// Notes that an object whose class becomes embedded is a part of itself.
    mutating func noteSelfContaining(_ id: TableID, key: Int64) { selfContaining[id, default: []].insert(key) }

    /// The reasons why the migration can't be committed, one sentence each. The transaction has the final schema.
    /// Possible reasons are:
    /// - properties that were renamed to a name which the class does not have;
    /// - objects that are parts of themselves;
    /// - objects that do not fit the classes.
    func faults(in transaction: WriteTransaction) -> [String] {
        let schema = transaction.resolvedSchema.schema
        var faults: [String] = []
        for (id, column, from) in renamed where schema[id].columns[column].isRemoved {
            let name = "\"\(schema[id].name).\(DisplayText.line(from))\""
            faults.append(
                "\(name) was renamed to \"\(DisplayText.line(schema[id].columns[column].name))\", which the class does not have."
            )
        }
        for (id, keys) in selfContaining.sorted(by: { $0.key.index < $1.key.index }) {
            faults.append(SchemaPlan.selfContainingFault(id, keys.sorted(), in: transaction, from: old))
        }
        return faults + SchemaPlan.objectFaults(in: transaction, from: old, freed: freed)
    }
}
