import FirnCore
import FirnStorage
import FirnTestSupport

@testable import FirnTool

/// A store with properties of every type, filled with random and with extreme values.
struct EveryTypeStore {
    static let thing = TableID(0)
    static let person = TableID(1)
    static let place = TableID(2)
    static let detail = TableID(3)
    static let coded = TableID(4)

    /// `Thing` has every type in every form and no primary key; the others are what it links to.
    static let schema: StoreSchema = {
        var columns: [ColumnSchema] = []
        for type in ColumnType.allCases {
            for collection in CollectionKind.allCases {
                for isNullable in [false, true] {
                    let isLink = type == .link
                    // Mixed values may always be nil; single links too, elements of collections never.
                    guard type != .mixed || isNullable, !isLink || isNullable == (collection == .none) else { continue }
                    for target in isLink ? [thing, person, coded] : [thing] {
                        columns.append(
                            ColumnSchema(
                                name:
                                    "\(type) \(collection)\(isNullable ? "?" : "")\(isLink ? " \(target.index)" : "")",
                                type: type, collection: collection, isNullable: isNullable,
                                target: isLink ? target : nil))
                    }
                }
            }
        }
        for collection in [CollectionKind.none, .list, .map] {
            columns.append(
                ColumnSchema(
                    name: "place \(collection)", type: .link, collection: collection, isNullable: collection == .none,
                    target: place))
        }
        return StoreSchema(
            version: 7,
            tables: [
                TableSchema(name: "Thing", columns: columns),
                TableSchema(
                    name: "Person", primaryKey: 0,
                    columns: [
                        ColumnSchema(name: "name", type: .string, isIndexed: true),
                        ColumnSchema(name: "friend", type: .link, isNullable: true, target: person),
                    ]),
                TableSchema(
                    name: "Place", isEmbedded: true,
                    columns: [
                        ColumnSchema(name: "city", type: .string, isNullable: true),
                        ColumnSchema(name: "details", type: .link, collection: .list, target: detail),
                        ColumnSchema(name: "owner", type: .link, isNullable: true, target: person),
                    ]),
                TableSchema(
                    name: "Detail", isEmbedded: true,
                    columns: [ColumnSchema(name: "any", type: .mixed, isNullable: true)]),
                TableSchema(
                    name: "Coded \"é\"", primaryKey: 0,
                    columns: [
                        ColumnSchema(name: "$id\n", type: .uuid, isIndexed: true),
                        ColumnSchema(name: "x,y>: int", type: .int),
                    ]),
            ])
    }()

    let sample: SampleStore
    private var random: SeededRandom

    init(seed: UInt64, things: Int = 40) throws {
        sample = SampleStore(empty: ())
        random = SeededRandom(seed: seed)
        let store = try sample.open()
        var transaction = try store.beginWrite()
        try transaction.changeSchema(to: Self.schema)
        for number in 0..<20 {
            let name =
                ["", "Ä\u{301}\u{202E}", "\"quoted\"", "a\nb,c", "p"][number % 5] + (number < 5 ? "" : "\(number)")
            try SampleStore.add(transaction, table: Self.person, values: [0: .string(name)])
            try SampleStore.add(
                transaction, table: Self.coded,
                values: [0: .uuid(UUIDBytes(high: UInt64(number) << 60, low: ~UInt64(number)))])
        }
        for _ in 0..<things { try SampleStore.add(transaction, table: Self.thing, values: [:]) }
        // A gap in the numbers.
        transaction.delete(Self.thing, [3, 4, 9])
        for key in 0..<Int64(20) { transaction.set(Self.person, column: 1, key: key, to: .link(19 - key)) }
        for key in 0..<Int64(things) where ![3, 4, 9].contains(key) {
            for column in Self.schema[Self.thing].columns.indices where random.below(3) > 0 {
                try fill(transaction, number: column, key: key, things: things)
            }
        }
        try transaction.commit()
        transaction = try store.beginWrite()
        transaction.cancel()
        try store.close()
    }

    private mutating func fill(_ transaction: WriteTransaction, number: Int, key: Int64, things: Int) throws {
        let column = Self.schema[Self.thing].columns[number]
        let count = random.below(4)
        switch column.collection {
        case .none:
            transaction.set(
                Self.thing, column: number, key: key, to: try element(transaction, column: column, things: things))
        case .list:
            let elements = try (0..<count).map { _ in try element(transaction, column: column, things: things) }
            transaction.set(Self.thing, column: number, key: key, to: .list(elements))
        case .set:
            let elements = try (0..<count).map { _ in try element(transaction, column: column, things: things) }
            transaction.edit(Self.thing, column: number, key: key) { set in
                for element in elements { set.insertMember(element) }
            }
        case .map:
            let elements = try (0..<count).map { index in
                (["", "$link", "k\u{0}", "é"][index], try element(transaction, column: column, things: things))
            }
            transaction.edit(Self.thing, column: number, key: key) { map in
                for (name, element) in elements { map.setValue(element, forKey: name) }
            }
        }
    }

    private mutating func element(
        _ transaction: WriteTransaction, column: ColumnSchema, things: Int
    ) throws -> Value {
        if column.isNullable, column.type != .mixed, random.below(4) == 0 { return .null }
        guard column.type == .link else { return value(column.type) }
        switch column.target {
        case Self.thing:
            let key = Int64(random.below(things))
            return .link([3, 4, 9].contains(key) ? 0 : key)
        case Self.place:
            let place = try SampleStore.add(
                transaction, table: Self.place, values: [0: random.below(2) == 0 ? .null : value(.string)])
            if random.below(2) == 0 {
                transaction.set(Self.place, column: 2, key: place, to: .link(Int64(random.below(20))))
            }
            let details = try (0..<random.below(3)).map { _ in
                let detail = try SampleStore.add(transaction, table: Self.detail, values: [:])
                transaction.set(Self.detail, column: 0, key: detail, to: value(.mixed))
                return Value.link(detail)
            }
            transaction.set(Self.place, column: 1, key: place, to: .list(details))
            return .link(place)
        default: return .link(Int64(random.below(20)))
        }
    }

    private mutating func value(_ type: ColumnType, depth: Int = 0) -> Value {
        func one<T>(_ values: [T]) -> T { values[random.below(values.count)] }
        switch type {
        case .bool: return .bool(random.below(2) == 0)
        case .int: return .int(one([0, -1, .max, .min, 1 << 53 + 1, Int64(truncatingIfNeeded: random.next())]))
        case .float:
            return .float(
                one([
                    0, -0.0, .nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1,
                    16_777_216, -.nan, Float(nan: 7, signaling: false),
                ]))
        case .double:
            return .double(
                one([
                    0, -0.0, .nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1, 1e21,
                    5, -.nan, Double(nan: 7, signaling: false), Double(nan: 1 << 40, signaling: true),
                    Double(random.next()) / 7,
                ]))
        case .string:
            return .string(
                one([
                    "", " ", "null", "a,b", "\"", "\\", "\u{0}\u{1}\u{7F}", "line\r\nline", "😀\u{2028}é", "{\"$x\":1}",
                    "12",
                ]))
        case .data: return .data((0..<random.below(7)).map { UInt8(truncatingIfNeeded: $0 &* 67 &+ random.below(256)) })
        case .date:
            return .date(
                one([
                    Timestamp(seconds: 0, nanoseconds: 0), Timestamp(seconds: -1, nanoseconds: -999_999_999),
                    Timestamp(seconds: 0, nanoseconds: -1), Timestamp(seconds: .max, nanoseconds: 999_999_999),
                    Timestamp(seconds: .min, nanoseconds: -5), Timestamp(seconds: 253_402_300_799, nanoseconds: 1),
                    Timestamp(seconds: -62_135_596_800, nanoseconds: 0),
                    Timestamp(seconds: 951_782_400, nanoseconds: 1_000_000),
                    Timestamp(seconds: Int64(random.below(1 << 36)), nanoseconds: Int32(random.below(1_000_000_000))),
                ]))
        case .objectID: return .objectID(ObjectIDBytes(a: UInt32(random.below(1 << 32)), b: 0, c: .max))
        case .uuid: return .uuid(UUIDBytes(high: random.next(), low: random.next()))
        case .decimal:
            return .decimal(
                one(
                    [
                        "0", "-0", "1.50", "1E+6111", "-1E-6176", "9999999999999999999999999999999999", "NaN",
                        "-Infinity", "-NaN", "sNaN",
                    ].map {
                        DecimalBits(text: $0)!
                    }))
        case .link: return .null
        case .mixed:
            if depth < 3, random.below(6) == 0 {
                return .list((0..<random.below(3)).map { _ in value(.mixed, depth: depth + 1) })
            }
            if depth < 3, random.below(6) == 0 {
                let names = ["$date", "k", "\u{10FFFF}"].prefix(random.below(4))
                return .map(names.sorted().map { .init(key: $0, value: value(.mixed, depth: depth + 1)) })
            }
            if random.below(6) == 0 {
                return one([.typedLink(Self.person, 2), .typedLink(Self.thing, 5), .typedLink(Self.coded, 3), .null])
            }
            return value(one([.bool, .int, .float, .double, .string, .data, .date, .objectID, .uuid, .decimal]))
        }
    }
}
