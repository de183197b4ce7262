import FirnLog
import FirnSimulation
import FirnStorage
import FirnTestSupport
import Testing

@testable import FirnCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A store may have as many classes and properties as `Limits` says, and is used as any other then.
@Suite(.timeLimit(.minutes(TestEnvironment.minutes))) struct ManyClassesTests {
    /// The classes of a store, and the properties of each.
    struct Size: Sendable, CustomStringConvertible {
        let classes: Int
        let properties: Int
        var description: String { "\(classes) classes of \(properties) properties" }

        init(_ classes: Int, _ properties: Int) { (self.classes, self.properties) = (classes, properties) }

        /// `FIRN_CLASSES=16384x3,1x1024` runs the test with these sizes instead, and prints how long each step takes.
        static let all: [Size] = {
            guard let text = TestEnvironment.value("FIRN_CLASSES") else {
                return [Size(600, 3), Size(1, Limits.columnCount), Size(40, 40)]
            }
            return text.split(separator: ",").map { size in
                let numbers = size.split(separator: "x").compactMap { Int($0) }
                precondition(numbers.count == 2, "FIRN_CLASSES is not like 100x3,1x1024")
                return Size(numbers[0], numbers[1])
            }
        }()
    }

    private static let types: [ColumnType] = [.int, .string, .link, .double, .date, .bool]

    /// Each class has an integer key, and links to the next class if it has three properties.
    private static func schema(_ size: Size) -> StoreSchema {
        StoreSchema(
            tables: (0..<size.classes).map { number in
                let columns = (0..<size.properties).map { column in
                    let type = column == 0 ? .int : types[column % types.count]
                    return ColumnSchema(
                        name: "p\(column)", type: type, isNullable: column > 0, isIndexed: column < 2,
                        target: type == .link ? TableID((number + 1) % size.classes) : nil)
                }
                return TableSchema(name: "Class\(number)", primaryKey: 0, columns: columns)
            })
    }

    private static func value(_ type: ColumnType, _ number: Int) -> Value {
        switch type {
        case .string: .string("text \(number)")
        case .link: .link(0)
        case .double: .double(Double(number))
        case .date: .date(Timestamp(seconds: Int64(number), nanoseconds: 0))
        case .bool: .bool(number % 2 == 0)
        default: .int(Int64(number))
        }
    }

    /// The schema after a migration: every class has one more property and one less, every third lets its second one
    /// be nil no more, and every tenth class is removed.
    private static func migrated(_ old: StoreSchema) -> StoreSchema {
        var new = old
        new.version += 1
        for table in new.tables.indices {
            let last = new.tables[table].columns.count - 1
            new.tables[table].columns[last].isRemoved = last > 0
            if last > 0 { new.tables[table].columns[last].isIndexed = false }
            if last < Limits.columnCount - 1 {
                new.tables[table].columns.append(ColumnSchema(name: "new", type: .string, isNullable: true))
            }
            if table % 3 == 0, last > 1 { new.tables[table].columns[1].isNullable = false }
            if table % 10 == 9 { new.tables[table].isRemoved = true }
        }
        for table in new.tables.indices {
            for (number, column) in new.tables[table].columns.enumerated()
            where column.target.map({ new[$0].isRemoved }) ?? false {
                new.tables[table].columns[number].isRemoved = true
            }
        }
        return new
    }

    /// Checks that each class has its one object, with the values that it was made with.
    private static func check(_ snapshot: Snapshot, _ step: String) {
        var wrong: [String] = []
        for (number, table) in snapshot.schema.tables.enumerated() {
            let view = snapshot.table(TableID(number))
            if view.count != (table.isRemoved ? 0 : 1) { wrong.append(table.name) }
            if table.isRemoved { continue }
            for (column, property) in table.columns.enumerated() where !property.isRemoved {
                let expected = property.name == "new" ? .null : value(property.type, number)
                if view.value(column, of: 0) != expected { wrong.append("\(table.name).\(property.name)") }
            }
        }
        #expect(wrong.isEmpty, "\(step): \(wrong.prefix(5))")
    }

    @Test(arguments: Size.all) func aStoreOfManyClasses(_ size: Size) throws {
        let watch = StepTimes(size.description, prints: TestEnvironment.value("FIRN_CLASSES") != nil)
        let folder = TemporaryFolder()
        let path = TestEnvironment.value("FIRN_CLASSES_STORE") ?? folder.path + "/store"
        let schema = Self.schema(size)
        var options = LogOptions(folder: path)
        options.verify = .everything
        func open() throws -> Store { try Store(StoreOptions(log: options), storage: PosixStorage.shared) }
        var store = try open()
        try watch.step("making the classes") {
            let transaction = try store.beginWrite()
            try transaction.changeSchema(to: schema)
            try transaction.commit()
        }
        try watch.step("an object of each class") {
            let transaction = try store.beginWrite()
            for (number, table) in schema.tables.enumerated() {
                var row = transaction.beginRow(TableID(number))
                for (column, property) in table.columns.enumerated() where property.type != .link {
                    transaction.fill(&row, column: column, value: Self.value(property.type, number))
                }
                try transaction.endRow(row)
            }
            for (number, table) in schema.tables.enumerated() {
                for (column, property) in table.columns.enumerated() where property.type == .link {
                    transaction.set(TableID(number), column: column, key: 0, to: .link(0))
                }
            }
            try transaction.commit()
        }
        try watch.step("100 small commits") {
            for number in 0..<100 {
                let transaction = try store.beginWrite()
                let table = TableID(number % size.classes)
                transaction.set(table, column: 0, key: 0, to: .int(Int64(table.index)))
                try transaction.commit()
            }
        }
        watch.step("reading back") { Self.check(store.pin().snapshot, "written") }
        try watch.step("closing") { try store.close() }
        try watch.step("opening from the log") { store = try open() }
        Self.check(store.pin().snapshot, "opened from the log")
        _ = try watch.step("a checkpoint") { try store.compact() }
        try watch.step("closing and opening") {
            try store.close()
            store = try open()
        }
        Self.check(store.pin().snapshot, "opened from a checkpoint")
        try watch.step("verifying") { try store.verify() }
        let new = Self.migrated(schema)
        try watch.step("migrating") {
            let transaction = try store.beginWrite()
            try transaction.changeSchema(to: new)
            try transaction.commit()
        }
        Self.check(store.pin().snapshot, "migrated")
        try watch.step("closing and opening again") {
            try store.close()
            store = try open()
        }
        #expect(store.schema == new)
        _ = try watch.step("another checkpoint") { try store.compact() }
        watch.step("checking the invariants") { store._checkInvariants() }
        try store.close()
        store = try open()
        Self.check(store.pin().snapshot, "opened from a checkpoint of the migrated store")
        try store.close()
        watch.end()
    }

    // MARK: Limits

    private static func refusal(_ schema: StoreSchema) throws -> String {
        let store = try Store.open(on: MemoryStorage())
        defer { #expect(store.schema.tables.isEmpty) }
        let transaction = try store.beginWrite()
        defer { transaction.cancel() }
        let error = try #require(throws: StoreError.self) { try transaction.changeSchema(to: schema) }
        #expect(error.code == .schema)
        return error.description
    }

    private static func wide(_ count: Int, name: String = "Wide") -> TableSchema {
        TableSchema(name: name, columns: (0..<count).map { ColumnSchema(name: "p\($0)", type: .int) })
    }

    @Test(arguments: [Limits.tableCount + 1, 100_000]) func tooManyClassesAreRefused(count: Int) throws {
        let text = try Self.refusal(StoreSchema(tables: (0..<count).map { TableSchema(name: "C\($0)", columns: []) }))
        #expect(text.contains("has \(count) classes; 16384 are allowed") && text.contains("Keep similar objects"))
    }

    @Test(arguments: [Limits.columnCount + 1, 100_000]) func tooManyPropertiesAreRefused(count: Int) throws {
        let text = try Self.refusal(StoreSchema(tables: [Self.wide(3, name: "Narrow"), Self.wide(count)]))
        #expect(text.contains("Wide has had \(count) properties; 1024 are allowed") && text.contains("firn export"))
    }

    /// A schema whose encoding has exactly so many bytes: classes whose properties' names share their text here, and
    /// one that fills the rest.
    private static func long(_ byteCount: Int) -> StoreSchema {
        func column(_ length: Int) -> ColumnSchema {
            ColumnSchema(name: String(repeating: "n", count: length), type: .int)
        }
        let longest = column(Limits.nameByteCount)
        let full = TableSchema(name: "Full", columns: Array(repeating: longest, count: 500))
        let count = byteCount / SchemaCoding.byteCount(StoreSchema(tables: [full])) - 1
        var schema = StoreSchema(tables: Array(repeating: full, count: count + 1))
        func left() -> Int { byteCount - SchemaCoding.byteCount(schema) }
        schema.tables[count].columns += Array(repeating: longest, count: left() / 262)
        // A column takes two bytes more than its name, and a name one or two more than its text.
        while left() > 3 {
            schema.tables[count].columns.append(column(left() > 131 ? min(255, left() - 4) : min(127, left() - 3)))
        }
        // So does a version of 7, 14 or 21 bits.
        schema.version = left() == 0 ? 0 : 1 << UInt64(7 * left())
        precondition(left() == 0 && schema.limitFault?.text.contains("has had") != true)
        return schema
    }

    @Test func aSchemaThatIsAsLongAsTheLimitIsStored() throws {
        let schema = Self.long(Limits.schemaByteCount)
        #expect(schema.limitFault == nil)
        let storage = MemoryStorage()
        var store = try Store.open(on: storage)
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: schema)
        try transaction.commit()
        try store.close()
        store = try Store.open(on: storage)
        #expect(store.schema == schema)
        try store.compact()
        try store.close()
        store = try Store.open(on: storage)
        #expect(store.schema == schema)
        try store.close()
    }

    /// One byte more would be refused by the log, but only when the transaction commits.
    @Test func aSchemaOfTooManyBytesIsRefused() throws {
        let text = try Self.refusal(Self.long(Limits.schemaByteCount + 1))
        #expect(text.contains("take 16777217 bytes; 16777216 are allowed") && text.contains("shorter names"))
        let all = TableSchema(name: "Wide", columns: Self.long(1 << 20).tables[0].columns)
        #expect(
            try Self.refusal(StoreSchema(tables: Array(repeating: all, count: 1000))).contains("16777216 are allowed"))
    }

    @Test func aSchemaHasAsManyBytesAsIsCounted() {
        for size in [Size(0, 0), Size(1, 1), Size(3, 200), Size(200, 3)] {
            let schema = Self.schema(size)
            #expect(SchemaCoding.byteCount(schema) == SchemaCoding.encode(schema).count)
        }
        #expect(SchemaCoding.byteCount(modelSchema()) == SchemaCoding.encode(modelSchema()).count)
    }

    /// A character may have any number of combining marks.
    @Test(arguments: [String(repeating: "n", count: 1 << 20), "n" + String(repeating: "\u{301}", count: 1 << 19)])
    func theNameInAMessageIsShort(name: String) throws {
        for schema in [
            StoreSchema(tables: [TableSchema(name: name, columns: [])]),
            StoreSchema(tables: [TableSchema(name: "C", columns: [ColumnSchema(name: name, type: .int)])]),
            // Faulty in another way, too.
            StoreSchema(tables: [TableSchema(name: name, primaryKey: 7, columns: [])]),
        ] {
            let text = try Self.refusal(schema)
            #expect(text.utf8.count < 2000 && text.contains("has \(name.utf8.count) bytes; 1 to 255 are allowed"))
        }
    }
}

/// How long the steps of a test take, for those who ask for large ones. Nothing is asserted about it.
private struct StepTimes {
    private let title: String
    private let prints: Bool
    private let start = SystemClock.shared.monotonic()

    init(_ title: String, prints: Bool) {
        (self.title, self.prints) = (title, prints)
        if prints { print(title) }
    }

    func step<Result, Failure: Error>(_ name: String, _ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let start = SystemClock.shared.monotonic()
        let result = try body()
        if prints {
            var usage = rusage()
            // 0 is the process itself. Swift has a different type for its name on each system.
            getrusage(0, &usage)
            print(
                "  \(name): \((SystemClock.shared.monotonic() - start) / 1_000_000) ms, at most \(usage.ru_maxrss >> 10) MB"
            )
        }
        return result
    }

    func end() {
        if prints { print("  in all: \((SystemClock.shared.monotonic() - start) / 1_000_000) ms") }
    }
}
