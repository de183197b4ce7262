import FirnCore
import FirnLog
import FirnStorage
import FirnTestSupport

/// Does everything that a program may do to a store, except what can't throw.
package enum Exercise {
    /// Runs `body` and ignores its errors, which a forged store is expected to cause.
    package static func attempt(_ body: () throws -> Void) { _ = try? body() }

    package static func run(_ storage: MemoryStorage, _ options: StoreOptions = BaseStore.options()) throws {
        attempt {
            let reader = try open(storage, options, access: .readOnly)
            defer { attempt { try reader.close() } }
            try reader.verify()
        }
        attempt {
            let store = try open(storage, options)
            defer { attempt { try store.close() } }
            attempt { try store.verify() }
            attempt { try write(store) }
            attempt { _ = try store.compact() }
            attempt { try write(store) }
            attempt { try store.verify() }
        }
        attempt {
            let store = try open(storage, options)
            try store.verify()
            try store.close()
        }
    }

    private static func open(
        _ storage: MemoryStorage, _ options: StoreOptions,
        access: LogOptions.Access = .readWrite(waitMilliseconds: 0)
    ) throws -> Store {
        var options = options
        options.log?.access = access
        return try Store(
            options, storage: storage, clock: ManualClock(now: 1_800_000_000_000_000_000),
            randomness: SeededRandomness(seed: 7))
    }

    /// Sets values, including collections, and makes and deletes objects in each table.
    package static func write(_ store: Store) throws {
        for table in store.schema.tables.indices.map(TableID.init) where !store.schema[table].isRemoved {
            try write(store) { transaction in
                for key in [0, 2, 60, 400] as [Int64] where holds(transaction, table: table, key: key) {
                    for (number, column) in store.schema[table].columns.enumerated()
                    where !column.isRemoved && column.collection != .map && !column.isLink
                        && store.schema[table].primaryKey != number
                    {
                        transaction.set(table, column: number, key: key, to: BaseStore.value(column, Int(key) + 1))
                    }
                }
            }
            try write(store) { transaction in
                var row = transaction.beginRow(table)
                for (number, column) in store.schema[table].columns.enumerated()
                where !column.isRemoved && column.collection == .none && !column.isLink {
                    transaction.fill(&row, column: number, value: BaseStore.value(column, 5000 + number))
                }
                try transaction.endRow(row)
            }
            try write(store) { transaction in
                for key in [1, 61, 401] as [Int64] where holds(transaction, table: table, key: key) {
                    transaction.delete(table, key)
                }
            }
        }
    }

    /// Whether there is such an object. It reads as the object layer does: damage is recorded so that the commit
    /// throws it, and nothing is read after that.
    private static func holds(_ transaction: WriteTransaction, table: TableID, key: Int64) -> Bool {
        guard !transaction.hasMetDamage else { return false }
        let found = transaction.recordingDamage { transaction.table(table).find(key) != nil }
        return found && !transaction.hasMetDamage
    }

    private static func write(_ store: Store, _ body: (WriteTransaction) throws -> Void) throws {
        let transaction = try store.beginWrite()
        do { try body(transaction) } catch {
            transaction.cancel()
            throw error
        }
        _ = try transaction.commit()
    }
}
