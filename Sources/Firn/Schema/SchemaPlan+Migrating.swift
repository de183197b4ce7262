import FirnBytes
import FirnCore

/// The schemas of a migration that runs a block.
///
/// The block sees the new classes on an **interim** schema: that of the plan, but with the properties that the classes
/// no longer have, so that they can be renamed, and without the primary keys that change, so that the block can make
/// them unique. When the block has returned, the store gets the plan's own schema.
struct MigrationPlan {
    private(set) var final: SchemaPlan
    private(set) var interim: StoreSchema
    private let infos: [ClassInfo]

    init(_ plan: SchemaPlan, _ infos: [ClassInfo]) {
        final = plan
        self.infos = infos
        interim = plan.schema
        for id in plan.old.tables.indices.map(TableID.init) where !plan.schema[id].isRemoved {
            for (number, column) in plan.old[id].columns.enumerated()
            where !column.isRemoved && interim[id].columns[number].isRemoved
                && interim[id].column(named: column.name) == nil
            {
                interim.tables[id.index].columns[number] = column
            }
            interim.tables[id.index].primaryKey = interimKey(id)
        }
    }

    /// The primary key that a table has while the block runs: none, if the objects may not be unique yet.
    private func interimKey(_ id: TableID) -> Int? {
        let (before, after) = (final.old[id], final.schema[id])
        guard let key = after.primaryKey, key == before.primaryKey else { return nil }
        return before.columns[key].isNullable == after.columns[key].isNullable ? key : nil
    }

    /// Renames a property of a class, so that its values stay. Throws a text for the developer if that is impossible.
    mutating func rename(_ className: String, _ from: String, _ to: String) throws(RenameFault) {
        let name = "\"\(DisplayText.line(className)).\(DisplayText.line(from))\""
        guard let id = final.old.table(named: className) else {
            throw RenameFault("the store had no class \"\(DisplayText.line(className))\" before the migration")
        }
        guard let info = infos.first(where: { $0.name == className }) else {
            throw RenameFault("the class \"\(DisplayText.line(className))\" is not among the realm's classes any more")
        }
        guard final.schema[id].column(named: from) == nil else {
            throw RenameFault("the class still has the property \(name)")
        }
        guard let column = interim[id].column(named: from) else {
            throw RenameFault("the store has no property \(name)")
        }
        let newName = info.property(named: to)?.columnName ?? to
        if let taken = interim[id].column(named: newName) {
            let (old, new) = (interim[id].columns[column], interim[id].columns[taken])
            guard old.type == new.type, old.collection == new.collection, old.target == new.target else {
                throw RenameFault(
                    "\(name) is of the type \(SchemaPlan.name(old, interim)), and \"\(DisplayText.line(to))\" of the type \(SchemaPlan.name(new, interim))"
                )
            }
            interim.tables[id.index].replace(taken, by: column)
        }
        interim.tables[id.index].columns[column].name = newName
        final.rename(id, column, newName)
        interim.tables[id.index].primaryKey = interimKey(id)
    }

    /// Removes the table of a class that the realm no longer has, once the block has returned, and the links to it.
    mutating func remove(_ id: TableID) { final.remove(id) }
}

/// Why a property can't be renamed.
struct RenameFault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension TableSchema {
    /// Gives a column the declaration of another one, which is removed.
    fileprivate mutating func replace(_ taken: Int, by column: Int) {
        columns[column] = columns[taken]
        if primaryKey == taken { primaryKey = column }
        columns[taken].isRemoved = true
        columns[taken].isIndexed = false
    }
}

extension SchemaPlan {
    /// Gives a column that was to be removed the name of a property. It stays if the class has that property.
    fileprivate mutating func rename(_ id: TableID, _ column: Int, _ name: String) {
        if let taken = schema[id].column(named: name) { schema.tables[id.index].replace(taken, by: column) }
        schema.tables[id.index].columns[column].name = name
    }

    fileprivate mutating func remove(_ id: TableID) {
        schema.tables[id.index].isRemoved = true
        for table in schema.tables.indices {
            for column in schema.tables[table].columns.indices where schema.tables[table].columns[column].target == id {
                Self.remove(column, from: &schema.tables[table])
            }
        }
    }
}
