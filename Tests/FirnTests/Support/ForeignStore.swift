import FirnCore
import FirnLog
import FirnStorage

/// A store opened below the object layer, as by a process with other classes.
struct ForeignStore {
    private let store: Store

    init(_ path: String) throws {
        store = try Store(StoreOptions(log: LogOptions(folder: path)), storage: PosixStorage.shared)
    }

    private func change(_ body: (inout StoreSchema) throws -> Void) throws {
        let transaction = try store.beginWrite()
        var schema = transaction.resolvedSchema.schema
        try body(&schema)
        try transaction.changeSchema(to: schema)
        try transaction.commit()
    }

    func removeColumn(_ name: String, of table: String) throws {
        try change { schema in
            guard let id = schema.table(named: table), let column = schema[id].column(named: name) else { return }
            schema.tables[id.index].columns[column].isRemoved = true
        }
    }

    func addColumn(_ name: String, to table: String) throws {
        try change { schema in
            guard let id = schema.table(named: table) else { return }
            schema.tables[id.index].columns.append(ColumnSchema(name: name, type: .int))
        }
    }

    func addIndex(_ name: String, of table: String) throws {
        try change { schema in
            guard let id = schema.table(named: table), let column = schema[id].column(named: name) else { return }
            schema.tables[id.index].columns[column].isIndexed = true
        }
    }

    func close() throws { try store.close() }

    func addTable(_ name: String) throws {
        try change { schema in
            schema.tables.append(TableSchema(name: name, columns: [ColumnSchema(name: "x", type: .int)]))
        }
    }

    func tables() throws -> [String] {
        try store.catchUp()
        return store.schema.tables.filter { !$0.isRemoved }.map(\.name)
    }
}
