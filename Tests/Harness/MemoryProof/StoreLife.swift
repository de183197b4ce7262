import FirnCore
import FirnCrypto
import FirnLog
import FirnStorage

/// The steps in the life of a store that is larger than memory. `generations` is the oracle: how often each object
/// was changed.
///
/// An encrypted store has no scratch files. So what is one large transaction without a key is many here, and between
/// them the store compacts itself.
struct StoreLife {
    let folder: String
    let objectCount: Int
    let memory: Int
    let isEncrypted: Bool
    private var generations: [UInt8]
    private var random: UInt64 = 7
    private let meter: Meter

    init(folder: String, objectCount: Int, memory: Int, isEncrypted: Bool) {
        self.folder = folder
        self.objectCount = objectCount
        self.memory = memory
        self.isEncrypted = isEncrypted
        generations = [UInt8](repeating: 0, count: objectCount)
        meter = Meter(folder: folder)
    }

    mutating func run() throws {
        var store = try open(isAutomatic: isEncrypted)
        try meter.step(isEncrypted ? "load" : "load in one transaction", store: store) { try load(store) }
        try meter.step("scan what was loaded", store: store) { try scan(store) }
        try store.close()
        store = try meter.opening(isEncrypted ? "reopen" : "reopen, from the log alone") { try open(isAutomatic: true) }
        try meter.step("scan again", store: store) { try scan(store) }
        try meter.step("change 5,000 objects, 20 a transaction", store: store) { try change(store, 250, of: 20) }
        try meter.step("compact", store: store) { try store.compact() }
        try meter.step("scan the checkpoint", store: store) { try scan(store) }
        try store.close()
        store = try meter.opening("reopen, from the checkpoint") { try open(isAutomatic: true) }
        try meter.step("scan", store: store) { try scan(store) }
        try meter.step("change 200 objects, one a transaction", store: store) { try change(store, 200, of: 1) }
        try meter.step("compact what has changed", store: store) { try store.compact() }
        try meter.step("change 5,000 objects, one a transaction", store: store) { try change(store, 5_000, of: 1) }
        if isEncrypted {
            try meter.step("change 10,000 objects, 100 a transaction", store: store) { try change(store, 100, of: 100) }
        } else {
            try meter.step("change 100,000 objects in one transaction", store: store) {
                try change(store, 1, of: 100_000)
            }
        }
        try meter.step("compact", store: store) { try store.compact() }
        try meter.step("scan", store: store) { try scan(store) }
        try store.close()
        store = try meter.opening("reopen, every byte checked") { try open(isAutomatic: true, verify: .everything) }
        try meter.step("scan", store: store) { try scan(store) }
        try store.close()
    }

    private func open(isAutomatic: Bool, verify: VerifyOnOpen = .directory) throws -> Store {
        var options = StoreOptions(log: LogOptions(folder: folder + "/store", verify: verify))
        options.transactionMemoryByteCount = memory / (isEncrypted ? 16 : 4)
        options.decryptedMemoryByteCount = memory / 8
        if isEncrypted {
            let key = [UInt8](repeating: 0x46, count: EncryptionKey.byteCount)
            options.log?.encryptionKey = key.withUnsafeBytes { EncryptionKey($0) }
        }
        options.compaction.isAutomatic = isAutomatic
        return try Store(options, storage: PosixStorage.shared)
    }

    // MARK: Steps

    /// The number of objects that an encrypted store takes in one transaction.
    private static let loadedTogether = 10_000

    private func load(_ store: Store) throws {
        var transaction = try store.beginWrite()
        try transaction.changeSchema(
            to: StoreSchema(tables: [
                TableSchema(
                    name: "Record", primaryKey: 0,
                    columns: [
                        ColumnSchema(name: "id", type: .int),
                        ColumnSchema(name: "group", type: .int, isIndexed: true),
                        ColumnSchema(name: "score", type: .double), ColumnSchema(name: "text", type: .string),
                        ColumnSchema(name: "payload", type: .data),
                    ])
            ]))
        for number in 0..<objectCount {
            if isEncrypted, number % Self.loadedTogether == 0, number > 0 {
                try transaction.commit()
                transaction = try store.beginWrite()
            }
            var row = transaction.beginRow(TableID(0))
            for (column, value) in Record(number, generation: 0).values.enumerated() {
                transaction.fill(&row, column: column, value: value)
            }
            try transaction.endRow(row)
        }
        try transaction.commit()
    }

    private func scan(_ store: Store) throws {
        let pin = store.pin()
        let table = pin.snapshot.table(TableID(0))
        var number = 0
        var fault: String?
        guard table.count == objectCount else { throw Fault("\(table.count) objects instead of \(objectCount)") }
        table.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count {
                let wanted = Record(number, generation: generations[number])
                for (column, value) in wanted.values.enumerated()
                where table.value(column, leaf: leaf, row: row) != value {
                    fault = "property \(column) of object \(number)"
                }
                number += 1
            }
            return fault == nil
        }
        if let fault { throw Fault(fault + " is not what was written") }
        guard number == objectCount else { throw Fault("the scan met \(number) objects") }
        // The primary key index too, for a sample of the objects.
        for number in stride(from: 0, to: objectCount, by: 1009) {
            guard table.firstKey(primaryKeyInt: Int64(number)) == Int64(number) else {
                throw Fault("object \(number) is not found by its primary key")
            }
        }
        withExtendedLifetime(pin) {}
    }

    private mutating func change(_ store: Store, _ transactions: Int, of count: Int) throws {
        for _ in 0..<transactions {
            let transaction = try store.beginWrite()
            for _ in 0..<count {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let number = Int((random >> 20) % UInt64(objectCount))
                generations[number] &+= 1
                let changed = Record(number, generation: generations[number])
                for (column, value) in changed.values.enumerated().dropFirst() {
                    transaction.set(TableID(0), column: column, key: Int64(number), to: value)
                }
            }
            try transaction.commit()
        }
    }
}

/// An object's values: a function of its number and generation, whose result LZ4 can't compress.
struct Record {
    let values: [Value]

    init(_ number: Int, generation: UInt8) {
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(generation) &* 0xD6E8_FEB8_6659_FD93
        func next() -> UInt64 {
            state ^= state >> 30
            state = state &* 0xBF58_476D_1CE4_E5B9 &+ 1
            state ^= state >> 27
            return state
        }
        let first = next()
        let textCount = 40 + Int(first >> 8 & 127)
        let text = String(
            unsafeUninitializedCapacity: textCount,
            initializingUTF8With: { buffer in
                var word: UInt64 = 0
                for index in 0..<textCount {
                    if index % 8 == 0 { word = next() }
                    buffer[index] = 48 + UInt8(truncatingIfNeeded: word >> UInt64(index % 8 * 8) & 63)
                }
                return textCount
            })
        // One object in 256 has a blob.
        let byteCount = first >> 16 & 255 == 0 ? 6000 : 300 + Int(first >> 24 & 255)
        let payload = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initialized in
            var word: UInt64 = 0
            for index in 0..<byteCount {
                if index % 8 == 0 { word = next() }
                buffer[index] = UInt8(truncatingIfNeeded: word >> UInt64(index % 8 * 8))
            }
            initialized = byteCount
        }
        values = [
            .int(Int64(number)), .int(Int64(first % 1000)), .double(Double(first >> 11)), .string(text), .data(payload),
        ]
    }
}

struct Fault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
