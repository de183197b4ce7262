import CLMDB
import Foundation

/// LMDB through its C interface: keys are machine integers, and a record is a packed struct followed by its texts.
///
/// ```
///  0        8        16       24   25   26   27   28   29   30   32
///  +--------+--------+--------+----+----+----+----+----+----+----+---------------------------
///  | created| score  | age    |act.|name|mail|city|bio |  zero   | name, email, city, bio
///  +--------+--------+--------+----+----+----+----+----+---------+---------------------------
/// ```
///
/// `@unchecked Sendable`: threads may share an environment, and LMDB lets one write transaction run at a time.
final class LMDBEngine: Engine, @unchecked Sendable {
    static let takesStrings = false
    static var note: String {
        "LMDB \(MDB_VERSION_MAJOR).\(MDB_VERSION_MINOR).\(MDB_VERSION_PATCH), C interface: integer keys, "
            + "records are packed structs read in place in the map, MDB_APPEND for ascending keys, no write "
            + "map; NOSYNC if the row says without sync; a durable commit is two syncs. A snapshot is a read "
            + "transaction renewed, LMDB's quickest way."
    }

    static let headerBytes = 32
    fileprivate let environment: OpaquePointer
    fileprivate let table: MDB_dbi

    init(folder: String, durability: Durability) throws {
        var made: OpaquePointer?
        try check(mdb_env_create(&made), "mdb_env_create")
        environment = made!
        try check(mdb_env_set_mapsize(environment, 64 << 30), "mdb_env_set_mapsize")
        try check(mdb_env_set_maxreaders(environment, 1_024), "mdb_env_set_maxreaders")
        let flags = UInt32(MDB_NOTLS) | (durability == .none ? UInt32(MDB_NOSYNC) : 0)
        try check(mdb_env_open(environment, folder, flags, 0o644), "mdb_env_open")
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &transaction), "mdb_txn_begin")
        var opened: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, nil, UInt32(MDB_INTEGERKEY), &opened), "mdb_dbi_open")
        try check(mdb_txn_commit(transaction), "mdb_txn_commit")
        table = opened
    }

    func load(_ people: People, batch: Int) throws {
        let append = people.keyOrder != .shuffled
        var next = 0
        while next < people.count {
            try write { transaction in
                for index in next..<min(next + batch, people.count) {
                    try put(people, index, append: append, transaction)
                }
            }
            next += batch
        }
    }

    @inline(__always)
    fileprivate func write(_ body: (OpaquePointer) throws -> Void) throws {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, 0, &transaction), "mdb_txn_begin")
        do { try body(transaction!) } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        try check(mdb_txn_commit(transaction), "mdb_txn_commit")
    }

    /// Writes the record into the memory that LMDB reserves for it, without a copy in between.
    @inline(__always)
    fileprivate func put(_ people: People, _ index: Int, append: Bool, _ transaction: OpaquePointer) throws {
        let record = people.records[index]
        var id = record.id
        var value = MDB_val(mv_size: Self.headerBytes + record.textLength, mv_data: nil)
        let flags = UInt32(MDB_RESERVE) | (append ? UInt32(MDB_APPEND) : 0)
        try withUnsafeMutableBytes(of: &id) { bytes in
            var key = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
            try check(mdb_put(transaction, table, &key, &value, flags), "mdb_put")
        }
        let target = value.mv_data!
        target.storeBytes(of: record.created, as: Int.self)
        target.storeBytes(of: record.score, toByteOffset: 8, as: Double.self)
        target.storeBytes(of: record.age, toByteOffset: 16, as: Int.self)
        target.storeBytes(of: record.active ? 1 : 0, toByteOffset: 24, as: UInt8.self)
        target.storeBytes(of: record.nameLength, toByteOffset: 25, as: UInt8.self)
        target.storeBytes(of: record.emailLength, toByteOffset: 26, as: UInt8.self)
        target.storeBytes(of: record.cityLength, toByteOffset: 27, as: UInt8.self)
        target.storeBytes(of: record.bioLength, toByteOffset: 28, as: UInt8.self)
        target.storeBytes(of: 0, toByteOffset: 29, as: UInt8.self)
        target.storeBytes(of: 0, toByteOffset: 30, as: UInt16.self)
        (target + Self.headerBytes).copyMemory(from: people.bytes + record.textOffset, byteCount: record.textLength)
    }

    func makeReader() throws -> any Reader { try LMDBReader(self) }

    func makeWriter() throws -> any Writer { LMDBWriter(self) }

    func hold() throws -> Any { try LMDBVersion(self) }

    func close() throws { mdb_env_close(environment) }
}

@inline(__always)
private func check(_ result: Int32, _ what: String) throws {
    if result != 0 { throw BenchError("LMDB: \(what): \(String(cString: mdb_strerror(result)))") }
}

private final class LMDBWriter: Writer {
    private let engine: LMDBEngine

    init(_ engine: LMDBEngine) { self.engine = engine }

    func setAge(_ age: Int, ofPerson id: Int) throws {
        try engine.write { try setAge(age, id, $0) }
    }

    @inline(__always)
    private func setAge(_ age: Int, _ id: Int, _ transaction: OpaquePointer) throws {
        var id = id
        try withUnsafeMutableBytes(of: &id) { bytes in
            var key = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
            var old = MDB_val()
            try check(mdb_get(transaction, engine.table, &key, &old), "mdb_get")
            // The put may free the old page, so the record is copied out, changed and put back.
            try withUnsafeTemporaryAllocation(byteCount: old.mv_size, alignment: 8) { copy in
                copy.copyMemory(from: UnsafeRawBufferPointer(start: old.mv_data, count: old.mv_size))
                copy.storeBytes(of: age, toByteOffset: 16, as: Int.self)
                var value = MDB_val(mv_size: copy.count, mv_data: copy.baseAddress)
                try check(mdb_put(transaction, engine.table, &key, &value, 0), "mdb_put")
            }
        }
    }

    private func setBio(_ bio: UnsafeRawBufferPointer, _ id: Int, _ transaction: OpaquePointer) throws {
        var id = id
        try withUnsafeMutableBytes(of: &id) { bytes in
            var key = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
            var old = MDB_val()
            try check(mdb_get(transaction, engine.table, &key, &old), "mdb_get")
            let kept = old.mv_size - Int(old.mv_data!.load(fromByteOffset: 28, as: UInt8.self))
            try withUnsafeTemporaryAllocation(byteCount: kept + bio.count, alignment: 8) { copy in
                copy.copyMemory(from: UnsafeRawBufferPointer(start: old.mv_data, count: kept))
                copy.storeBytes(of: UInt8(bio.count), toByteOffset: 28, as: UInt8.self)
                UnsafeMutableRawBufferPointer(rebasing: copy[kept...]).copyMemory(from: bio)
                var value = MDB_val(mv_size: copy.count, mv_data: copy.baseAddress)
                try check(mdb_put(transaction, engine.table, &key, &value, 0), "mdb_put")
            }
        }
    }

    func apply(_ changes: [Change], of people: People) throws {
        try engine.write { transaction in
            for change in changes {
                switch change {
                case .setAge(let age, let person): try setAge(age, person, transaction)
                case .setBio(let index, let person):
                    let record = people.records[index]
                    let bio = UnsafeRawBufferPointer(
                        start: people.bytes + record.bioOffset, count: Int(record.bioLength))
                    try setBio(bio, person, transaction)
                case .insert(let index): try engine.put(people, index, append: false, transaction)
                case .delete(var person):
                    try withUnsafeMutableBytes(of: &person) { bytes in
                        var key = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
                        try check(mdb_del(transaction, engine.table, &key, nil), "mdb_del")
                    }
                }
            }
        }
    }

    func setAgeOfEveryone(_ age: Int) throws {
        try engine.write { transaction in
            var cursor: OpaquePointer?
            try check(mdb_cursor_open(transaction, engine.table, &cursor), "mdb_cursor_open")
            defer { mdb_cursor_close(cursor) }
            var key = MDB_val()
            var old = MDB_val()
            while mdb_cursor_get(cursor, &key, &old, MDB_NEXT) == 0 {
                try withUnsafeTemporaryAllocation(byteCount: old.mv_size, alignment: 8) { copy in
                    copy.copyMemory(from: UnsafeRawBufferPointer(start: old.mv_data, count: old.mv_size))
                    copy.storeBytes(of: age, toByteOffset: 16, as: Int.self)
                    var value = MDB_val(mv_size: copy.count, mv_data: copy.baseAddress)
                    try check(mdb_cursor_put(cursor, &key, &value, UInt32(MDB_CURRENT)), "mdb_cursor_put")
                }
            }
        }
    }

    func insert(_ people: People, at index: Int) throws {
        try engine.write { try engine.put(people, index, append: false, $0) }
    }
}

/// A held version: a read transaction that stays open.
private final class LMDBVersion {
    private let transaction: OpaquePointer

    init(_ engine: LMDBEngine) throws {
        var begun: OpaquePointer?
        try check(mdb_txn_begin(engine.environment, nil, UInt32(MDB_RDONLY), &begun), "mdb_txn_begin")
        transaction = begun!
    }

    deinit { mdb_txn_abort(transaction) }
}

private final class LMDBReader: Reader {
    private let engine: LMDBEngine
    private let transaction: OpaquePointer

    init(_ engine: LMDBEngine) throws {
        self.engine = engine
        var begun: OpaquePointer?
        try check(mdb_txn_begin(engine.environment, nil, UInt32(MDB_RDONLY), &begun), "mdb_txn_begin")
        transaction = begun!
        mdb_txn_reset(transaction)
    }

    deinit { mdb_txn_abort(transaction) }

    @inline(__always)
    private func digest(_ value: MDB_val) -> UInt64 {
        let record = UnsafeRawPointer(value.mv_data!)
        return readDigest(
            age: record.loadUnaligned(fromByteOffset: 16, as: Int.self),
            nameLength: Int(record.load(fromByteOffset: 25, as: UInt8.self)),
            firstByte: record.load(fromByteOffset: LMDBEngine.headerBytes, as: UInt8.self))
    }

    func pointReads(_ keys: [Int]) throws -> UInt64 {
        var sum: UInt64 = 0
        try check(mdb_txn_renew(transaction), "mdb_txn_renew")
        var id = 0
        try withUnsafeMutableBytes(of: &id) { bytes in
            for number in keys {
                bytes.storeBytes(of: number, as: Int.self)
                var key = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
                var value = MDB_val()
                try check(mdb_get(transaction, engine.table, &key, &value), "mdb_get")
                sum &+= digest(value)
            }
        }
        mdb_txn_reset(transaction)
        return sum
    }

    /// Calls `body` with every record, in a cursor's order.
    @inline(__always)
    private func scan(_ body: (MDB_val) -> Void) throws { try scanKeys { body($1) } }

    @inline(__always)
    private func scanKeys(_ body: (MDB_val, MDB_val) -> Void) throws {
        try check(mdb_txn_renew(transaction), "mdb_txn_renew")
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, engine.table, &cursor), "mdb_cursor_open")
        var key = MDB_val()
        var value = MDB_val()
        while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 { body(key, value) }
        mdb_cursor_close(cursor)
        mdb_txn_reset(transaction)
    }

    @inline(__always)
    private func age(_ value: MDB_val) -> Int {
        UnsafeRawPointer(value.mv_data!).loadUnaligned(fromByteOffset: 16, as: Int.self)
    }

    func sumOfAges() throws -> Int {
        var sum = 0
        try scan { sum &+= age($0) }
        return sum
    }

    func count(olderThan limit: Int) throws -> Int {
        var count = 0
        try scan { count &+= age($0) > limit ? 1 : 0 }
        return count
    }

    func readEveryone() throws -> UInt64 {
        var sum: UInt64 = 0
        try scan { sum &+= digest($0) }
        return sum
    }

    func readEverything() throws -> UInt64 {
        var sum: UInt64 = 0
        try scanKeys { key, value in
            let record = UnsafeRawPointer(value.mv_data!)
            var text = LMDBEngine.headerBytes
            var texts: UInt64 = 0
            for position in 0..<4 {
                let length = Int(record.load(fromByteOffset: 25 + position, as: UInt8.self))
                let first = record.load(fromByteOffset: text, as: UInt8.self)
                texts &+= textDigest(UInt64(position), length: length, firstByte: first)
                text += length
            }
            sum &+= fullDigest(
                id: key.mv_data!.loadUnaligned(as: Int.self), age: age(value),
                score: record.loadUnaligned(fromByteOffset: 8, as: Double.self),
                created: record.loadUnaligned(as: Int.self),
                active: record.load(fromByteOffset: 24, as: UInt8.self) != 0, texts: texts)
        }
        return sum
    }

    func openSnapshots(_ count: Int) throws {
        for _ in 0..<count {
            try check(mdb_txn_renew(transaction), "mdb_txn_renew")
            mdb_txn_reset(transaction)
        }
    }

    func refresh() throws { try openSnapshots(1) }
}
