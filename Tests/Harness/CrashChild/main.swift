import FirnCore
import FirnCrypto
import FirnLog
import FirnStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

// firn-crash-child FOLDER: commits from four threads until it is killed. The contents of a commit depend on its
// thread and number alone, so a reader of the store can tell a complete commit from a partial one:
//
//     Writer (id = thread; last = n; entries = all of its entries)      changed by every commit of the thread
//     Entry  (id = 4 n + thread; number = n; payload = f(thread, n))    made by it
//
// After each acknowledged commit it writes a line `thread number version hash` to standard output, by one write(2).
//
// firn-crash-child FOLDER compact: the same, and writes one checkpoint after another at the same time.
//
// firn-crash-child FOLDER count TIMES: adds 1 to the property `value` of the object of the class `Counter` with the
// primary key 1, in TIMES transactions (which read it first), while other processes may do the same. After each
// acknowledged commit it writes a line `value version` to standard output.
//
// firn-crash-child FOLDER hold TIMES: pins the newest version and adds 1 to property 1 of object 0 of table 0, TIMES
// times, and writes `held VERSION`. When the file FOLDER.release exists, it releases the pins, writes `released`, and
// waits to be killed.
//
// firn-crash-child FOLDER spill TIMES: the same with a limit of two versions and `.spill`, beside other processes.
// After each commit it writes a line `value version`, and at the end `kept N` if all N versions that it held are as
// they were.
//
// firn-crash-child FOLDER key FILE: makes an encrypted store with the key in a file, adds objects, compacts, and writes
// `open`. When the file FOLDER.release exists, it goes on, closes the store, writes `closed`, and waits to be killed.

/// The payload of a thread's n-th entry. Most are short. Some are a blob, and a few make a commit of several parts.
func payload(_ thread: Int, _ number: Int) -> [UInt8] {
    let count = number % 61 == 60 ? 1_500_000 : number % 7 == 6 ? 5000 : 40
    var state = UInt64(thread + 1) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        for index in 0..<count {
            if index & 7 == 0 { state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
            buffer[index] = UInt8(truncatingIfNeeded: state >> UInt64(8 * (index & 7)))
        }
        initialized = count
    }
}

/// FNV-1a.
func hash(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}

let schema = StoreSchema(tables: [
    TableSchema(
        name: "Writer", primaryKey: 0,
        columns: [
            ColumnSchema(name: "id", type: .int), ColumnSchema(name: "last", type: .int),
            ColumnSchema(name: "entries", type: .link, collection: .list, target: TableID(1)),
        ]),
    TableSchema(
        name: "Entry", primaryKey: 0,
        columns: [
            ColumnSchema(name: "id", type: .int), ColumnSchema(name: "number", type: .int, isIndexed: true),
            ColumnSchema(name: "payload", type: .data),
        ]),
])

func fail(_ error: any Error, _ code: Int32) -> Never {
    let text = Array("firn-crash-child: \(error)\n".utf8)
    _ = write(2, text, text.count)
    exit(code)
}

func writeEntries(_ store: Store, _ thread: Int) throws {
    while true {
        let transaction = try store.beginWrite()
        let writers = transaction.table(TableID(0))
        guard let writer = writers.firstKey(primaryKeyInt: Int64(thread)),
            case .int(let last)? = writers.value(1, of: writer)
        else { exit(5) }
        let number = Int(last) + 1
        let bytes = payload(thread, number)
        transaction.set(TableID(0), column: 1, key: writer, to: .int(Int64(number)))
        var row = transaction.beginRow(TableID(1))
        transaction.fill(&row, column: 0, value: .int(Int64(4 * number + thread)))
        transaction.fill(&row, column: 1, value: .int(Int64(number)))
        transaction.fill(&row, column: 2, value: .data(bytes))
        try transaction.endRow(row)
        transaction.edit(TableID(0), column: 2, key: writer) { $0.append(.link(row.key)) }
        let version = try transaction.commit().number
        say("\(thread) \(number) \(version) \(hash(bytes))")
    }
}

func say(_ text: String) {
    let line = Array((text + "\n").utf8)
    if write(1, line, line.count) != line.count { exit(6) }
}

func count(_ store: Store, _ times: Int) throws {
    guard let table = store.schema.table(named: "Counter"), let column = store.schema[table].column(named: "value")
    else { exit(5) }
    for _ in 0..<times {
        let transaction = try store.beginWrite()
        let counters = transaction.table(table)
        guard let key = counters.firstKey(primaryKeyInt: 1), case .int(let value)? = counters.value(column, of: key)
        else { exit(5) }
        transaction.set(table, column: column, key: key, to: .int(value + 1))
        say("\(value + 1) \(try transaction.commit().number)")
    }
    try store.close()
}

func hold(_ store: Store, times: Int, folder: String) throws -> Never {
    var pins: [Pin] = []
    for _ in 0..<times {
        pins.append(store.pin())
        let transaction = try store.beginWrite()
        guard case .int(let value)? = transaction.table(TableID(0)).value(1, of: 0) else { exit(5) }
        transaction.set(TableID(0), column: 1, key: 0, to: .int(value + 1))
        try transaction.commit()
    }
    say("held \(store.publishedVersion)")
    while access(folder + ".release", F_OK) != 0 { usleep(1000) }
    withExtendedLifetime(pins) {}
    pins = []
    say("released")
    while true { sleep(1) }
}

func spill(_ store: Store, _ times: Int) throws {
    var held: [(pin: Pin, value: Int64)] = []
    for _ in 0..<times {
        let transaction = try store.beginWrite()
        guard case .int(let value)? = transaction.table(TableID(0)).value(1, of: 0) else { exit(5) }
        transaction.set(TableID(0), column: 1, key: 0, to: .int(value + 1))
        let version = try transaction.commit().number
        let pin = store.pin()
        guard case .int(let shown)? = pin.snapshot.table(TableID(0)).value(1, of: 0) else { exit(5) }
        held.append((pin, shown))
        say("\(value + 1) \(version)")
    }
    for (pin, value) in held where pin.snapshot.table(TableID(0)).value(1, of: 0) != .int(value) { exit(7) }
    say("kept \(held.count)")
    held = []
    try store.close()
}

/// Works with a store whose key is nowhere else in this process.
func useKey(in file: String, _ options: StoreOptions, folder: String) throws {
    let descriptor = open(file, O_RDONLY)
    let secret = SecretBytes(count: EncryptionKey.byteCount) { bytes in
        guard read(descriptor, bytes.baseAddress, bytes.count) == bytes.count else { exit(8) }
    }
    close(descriptor)
    var options = options
    options.log?.encryptionKey = secret.withBytes { EncryptionKey($0) }
    let store = try Store(options, storage: PosixStorage.shared)
    let transaction = try store.beginWrite()
    try transaction.changeSchema(to: schema)
    try transaction.commit()
    func add(_ ids: Range<Int>) throws {
        for id in ids {
            let transaction = try store.beginWrite()
            var row = transaction.beginRow(TableID(1))
            transaction.fill(&row, column: 0, value: .int(Int64(id)))
            transaction.fill(&row, column: 2, value: .data(payload(id, id)))
            try transaction.endRow(row)
            try transaction.commit()
        }
    }
    try add(0..<200)
    _ = try store.compact()
    try add(200..<400)
    say("open")
    while access(folder + ".release", F_OK) != 0 { usleep(1000) }
    _ = try store.compact()
    try add(400..<500)
    try store.verify()
    try store.close()
}

let words = CommandLine.arguments
guard
    words.count == 2 || words.count == 3 && words[2] == "compact"
        || words.count == 4 && ["count", "hold", "spill"].contains(words[2]) && Int(words[3]) != nil
        || words.count == 4 && words[2] == "key"
else { exit(64) }
do {
    var options = LogOptions(
        folder: CommandLine.arguments[1], durability: .full,
        verify: .everything)
    options.segmentByteCount = 256 << 10
    options.reserveByteCount = 0
    var storeOptions = StoreOptions(log: options)
    if words.count == 4, words[2] == "spill" {
        storeOptions.maximumNumberOfActiveVersions = 2
        storeOptions.activeVersionPolicy = .spill
    }
    if words.count == 4, words[2] == "key" {
        try useKey(in: words[3], storeOptions, folder: words[1])
        say("closed")
        while true { sleep(1) }
    }
    let store = try Store(storeOptions, storage: PosixStorage.shared)
    if words.count == 4 {
        let times = Int(words[3]) ?? 0
        switch words[2] {
        case "hold": try hold(store, times: times, folder: words[1])
        case "spill": try spill(store, times)
        default: try count(store, times)
        }
        exit(0)
    }
    if store.schema.tables.isEmpty {
        let transaction = try store.beginWrite()
        try transaction.changeSchema(to: schema)
        for thread in 0..<4 {
            var row = transaction.beginRow(TableID(0))
            transaction.fill(&row, column: 0, value: .int(Int64(thread)))
            try transaction.endRow(row)
        }
        try transaction.commit()
    }
    let threads = try (0..<4).map { thread in
        try StorageThread.start(name: "writer \(thread)") {
            do { try writeEntries(store, thread) } catch {
                fail(error, 3)
            }
        }
    }
    if words.count == 3 {
        // An error here is a bug: the disk is not full.
        while true { _ = try store.compact() }
    }
    for thread in threads { thread.join() }
} catch {
    fail(error, 4)
}
