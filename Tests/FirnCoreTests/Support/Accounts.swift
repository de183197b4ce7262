import FirnTestSupport

@testable import FirnCore

/// An account that the server of `ServerDay` keeps.
struct Account {
    let id: Int64
    var balance: Int64
    let name: String
    var note: [UInt8]

    init(id: Int64, _ random: inout SeededRandom) {
        self.id = id
        balance = Int64(random.below(1_000_000))
        name = "account \(id) of \(random.next())"
        note = Self.note(&random)
    }

    static func note(_ random: inout SeededRandom) -> [UInt8] {
        (0..<(10 + random.below(30))).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
    }

    var values: [Value] { [.int(id), .int(balance), .string(name), .data(note)] }

    static let schema = StoreSchema(tables: [
        TableSchema(
            name: "Account", primaryKey: 0,
            columns: [
                ColumnSchema(name: "id", type: .int), ColumnSchema(name: "balance", type: .int, isIndexed: true),
                ColumnSchema(name: "name", type: .string), ColumnSchema(name: "note", type: .data),
            ])
    ])
}

/// The expected accounts.
struct Accounts {
    private var byKey: [Int64: Account] = [:]
    /// Unordered, except that the newest come last.
    private var keys: [Int64] = []
    private(set) var nextID: Int64 = 0
    private(set) var total: Int64 = 0

    var count: Int { keys.count }

    subscript(key: Int64) -> Account? { byKey[key] }

    func key(_ index: Int) -> Int64 { keys[index] }

    /// The index of one of the newest accounts.
    func recent(_ random: inout SeededRandom) -> Int { keys.count - 1 - random.below(max(1, keys.count / 50)) }

    mutating func add(_ key: Int64, _ account: Account) {
        byKey[key] = account
        keys.append(key)
        nextID = account.id + 1
        total += account.balance
    }

    mutating func change(_ key: Int64, _ body: (inout Account) -> Void) {
        guard var account = byKey[key] else { return }
        total -= account.balance
        body(&account)
        total += account.balance
        byKey[key] = account
    }

    mutating func remove(_ index: Int) {
        let key = keys.remove(at: index)
        total -= byKey[key]?.balance ?? 0
        byKey[key] = nil
    }
}
