import FirnCore
import FirnTestSupport

/// Random changes of objects, made in a transaction and in an oracle alike. The schema is `modelSchema()`, or one
/// that adds to it.
package struct RandomOperations {
    package struct Failure: Error, CustomStringConvertible { package let description: String }

    package var random: SeededRandom
    private var values: ValueMaker
    /// The number of objects of a table from which on deletions are about as frequent as insertions.
    private let rowGoal: Int
    /// Whether values often grow so much that leaves split, and the last objects of a table are often deleted.
    private let splitsOften: Bool

    package init(seed: UInt64, rowGoal: Int, splitsOften: Bool = false) {
        self.splitsOften = splitsOften
        random = SeededRandom(seed: seed)
        values = ValueMaker(random: SeededRandom(seed: seed &* 77))
        self.rowGoal = rowGoal
    }

    private mutating func randomKey(_ table: Int, _ oracle: Oracle) -> Int64? {
        let count = oracle.keys[table].count
        return count == 0 ? nil : oracle.keys[table][random.below(count)]
    }

    /// Makes one random change in the transaction and in the oracle.
    package mutating func operate(_ transaction: WriteTransaction, _ oracle: inout Oracle) throws {
        let table = random.below(4) == 0 ? 1 : 0
        let count = oracle.keys[table].count
        let dice = splitsOften && random.below(12) == 0 ? 99 : random.below(100)
        switch dice {
        case 0..<(count < rowGoal ? 40 : 10): try create(transaction, table: table, oracle: &oracle)
        case 40..<65: set(transaction, table: table, oracle: &oracle)
        case 65..<85: editList(transaction, table: table, oracle: &oracle)
        case 85..<(count < rowGoal ? 90 : 98): delete(transaction, table: table, oracle: &oracle)
        case 98 where random.below(40) == 0:
            transaction.deleteAll(TableID(table))
            oracle.deleteAll(table)
        case 99 where splitsOften:
            switch random.below(6) {
            case 0: deleteLast(transaction, table: table, oracle: &oracle)
            case 1...3: swell(transaction, table: table, oracle: &oracle)
            default:
                for _ in 0..<max(0, min(80, rowGoal - count)) { try create(transaction, table: table, oracle: &oracle) }
            }
        default: selfAssign(transaction, table: table, oracle: oracle)
        }
    }

    private mutating func create(_ transaction: WriteTransaction, table: Int, oracle: inout Oracle) throws {
        let id = TableID(table)
        var row = transaction.beginRow(id)
        var made: [Value] = []
        for (number, column) in oracle.schema.tables[table].columns.enumerated() {
            var value: Value
            if column.collection == .list {
                value = .list(
                    (0..<random.below(random.below(10) == 0 ? 300 : 6)).compactMap { _ in element(column, oracle) })
            } else if column.type == .link {
                value = randomKey(column.target!.index, oracle).map(Value.link) ?? .null
            } else if number == 0, table == 0 {
                value = .int(Int64(random.below(100_000)))
            } else {
                value = values.value(column)
            }
            if random.below(8) == 0, column.collection == .none, column.type != .link, number != 0 {
                value = blank(column)
            } else {
                transaction.fill(&row, column: number, value: value)
            }
            made.append(value)
        }
        let isTaken = oracle.key(table, primaryKey: made[0]) != nil
        do {
            try transaction.endRow(row)
            if isTaken { throw Failure(description: "a primary key was taken twice: \(made[0])") }
            oracle.insert(table, key: row.key, values: made)
        } catch let error as StoreError {
            guard isTaken, error.code == .primaryKeyTaken else { throw error }
        }
    }

    private func blank(_ column: ColumnSchema) -> Value {
        if column.isNullable { return .null }
        switch column.type {
        case .bool: return .bool(false)
        case .int: return .int(0)
        case .float: return .float(0)
        case .double: return .double(0)
        case .string: return .string("")
        case .data: return .data([])
        case .date: return .date(Timestamp(seconds: 0, nanoseconds: 0))
        case .objectID: return .objectID(ObjectIDBytes(a: 0, b: 0, c: 0))
        case .uuid: return .uuid(UUIDBytes(high: 0, low: 0))
        case .decimal: return .decimal(DecimalBits(high: 0, low: 0))
        case .link, .mixed: return .null
        }
    }

    private mutating func element(_ column: ColumnSchema, _ oracle: Oracle) -> Value? {
        if column.type == .link { return randomKey(column.target!.index, oracle).map(Value.link) }
        return values.value(column)
    }

    private mutating func set(_ transaction: WriteTransaction, table: Int, oracle: inout Oracle) {
        guard let key = randomKey(table, oracle) else { return }
        let column = 1 + random.below(oracle.schema.tables[table].columns.count - 1)
        let property = oracle.schema.tables[table].columns[column]
        let value: Value =
            if property.collection == .list {
                .list((0..<random.below(8)).compactMap { _ in element(property, oracle) })
            } else if property.type == .link {
                random.below(4) == 0 ? .null : randomKey(property.target!.index, oracle).map(Value.link) ?? .null
            } else { values.value(property) }
        transaction.set(TableID(table), column: column, key: key, to: value)
        oracle[table, key, column] = value
    }

    private mutating func selfAssign(_ transaction: WriteTransaction, table: Int, oracle: Oracle) {
        guard let key = randomKey(table, oracle) else { return }
        let column = 1 + random.below(oracle.schema.tables[table].columns.count - 1)
        transaction.set(TableID(table), column: column, key: key, to: oracle[table, key, column])
    }

    private mutating func delete(_ transaction: WriteTransaction, table: Int, oracle: inout Oracle) {
        guard let key = randomKey(table, oracle) else { return }
        transaction.delete(TableID(table), key)
        oracle.delete(table, key)
    }

    /// Deletes the last objects of a table, so that another leaf may become its last one and get the new objects.
    private mutating func deleteLast(_ transaction: WriteTransaction, table: Int, oracle: inout Oracle) {
        let keys = Array(oracle.keys[table].suffix(min(oracle.keys[table].count, 1 + random.below(150))))
        transaction.delete(TableID(table), keys.reversed())
        for key in keys { oracle.delete(table, key) }
    }

    /// Makes the data of neighbouring objects long or short. About 70 long values are more than a leaf can hold, so
    /// it splits.
    private mutating func swell(_ transaction: WriteTransaction, table: Int, oracle: inout Oracle) {
        let columns = oracle.schema.tables[table].columns
        let dataColumns = columns.indices.filter {
            $0 != oracle.schema.tables[table].primaryKey && columns[$0].collection == .none && columns[$0].type == .data
        }
        let keys = oracle.keys[table]
        guard let column = dataColumns.first, !keys.isEmpty else { return }
        let first = random.below(keys.count)
        let isLong = random.below(3) > 0
        for key in keys[first..<min(keys.count, first + 1 + random.below(100))] {
            let byte = UInt8(truncatingIfNeeded: random.next())
            let value = Value.data([UInt8](repeating: byte, count: isLong ? 700 + random.below(325) : random.below(9)))
            transaction.set(TableID(table), column: column, key: key, to: value)
            oracle[table, key, column] = value
        }
    }

    private mutating func editList(_ transaction: WriteTransaction, table: Int, oracle: inout Oracle) {
        guard let key = randomKey(table, oracle) else { return }
        let lists = oracle.schema.tables[table].columns.indices.filter {
            oracle.schema.tables[table].columns[$0].collection == .list
        }
        let column = lists[random.below(lists.count)]
        guard case .list(var elements) = oracle[table, key, column] else { return }
        transaction.edit(TableID(table), column: column, key: key) { change in
            for _ in 0...random.below(5) {
                switch random.below(6) {
                case 0, 1:
                    guard let value = element(oracle.schema.tables[table].columns[column], oracle) else { continue }
                    let index = random.below(elements.count + 1)
                    change.insert(value, at: index)
                    elements.insert(value, at: index)
                case 2 where !elements.isEmpty:
                    let index = random.below(elements.count)
                    change.remove(at: index)
                    elements.remove(at: index)
                case 3 where !elements.isEmpty:
                    guard let value = element(oracle.schema.tables[table].columns[column], oracle) else { continue }
                    let index = random.below(elements.count)
                    change.set(value, at: index)
                    elements[index] = value
                case 4 where !elements.isEmpty:
                    let (from, to) = (random.below(elements.count), random.below(elements.count))
                    change.move(from: from, to: to)
                    elements.insert(elements.remove(at: from), at: to)
                case 5 where random.below(12) == 0:
                    change.removeAll()
                    elements = []
                default: break
                }
            }
        }
        oracle[table, key, column] = .list(elements)
    }
}
