/// When a commit may return.
enum Durability: String, Sendable {
    /// Once it would survive a power cut.
    case full
    /// Without any sync.
    case none
}

/// One store under test, opened in a folder of its own.
///
/// The timed loops are in the engines, not in the workloads, so that each engine runs them as its own users would
/// write them, without a call through this protocol. An operation that an engine does not have throws `Unsupported`,
/// by the defaults below. A new workload takes one more requirement here and a default that throws.
protocol Engine: AnyObject, Sendable {
    /// What the report says about this engine: version and tuning, and how a record is stored.
    static var note: String { get }

    /// Whether the engine needs `People.texts`.
    static var takesStrings: Bool { get }

    /// Opens the store in `folder`, or makes it if there is none.
    init(folder: String, durability: Durability) throws

    /// Inserts all people, `batch` of them in each transaction.
    func load(_ people: People, batch: Int) throws

    /// Makes a reader for the calling thread.
    func makeReader() throws -> any Reader

    /// Makes a writer for the calling thread.
    func makeWriter() throws -> any Writer

    /// Waits while the store, by itself, compacts what was loaded. Readers that were used before continue to read
    /// what was there.
    func waitUntilIdle() throws

    /// Runs to the end whatever makes the store's files small (compactor, VACUUM, checkpoint).
    func compact() throws

    /// For the calling thread: returns a function that does such work once, beside readers and a writer.
    func makeCompactor() throws -> () throws -> Void

    /// Holds the newest version until the result is released. For the thread that made the engine.
    func hold() throws -> Any

    /// What the held versions keep in memory, as the store counts it.
    var retainedBytes: Int? { get }

    /// The bytes that a commit of one changed property writes; nil to use the kernel's count.
    var frameBytes: Int? { get }

    /// Called when readers and writers are gone.
    func close() throws
}

/// Reads a store on one thread.
protocol Reader: AnyObject {
    /// W3: looks up each key and reads name and age; returns the sum of `readDigest`.
    func pointReads(_ keys: [Int]) throws -> UInt64
    /// W4: the sum of all ages.
    func sumOfAges() throws -> Int
    /// W4b: how many are older than `age`.
    func count(olderThan age: Int) throws -> Int
    /// W4c: reads name and age of everyone in a loop of the application; returns the sum of `readDigest`.
    func readEveryone() throws -> UInt64
    /// W9: opens a read snapshot and closes it again, `count` times.
    func openSnapshots(_ count: Int) throws
    /// W14: freezes the newest version and releases it, `count` times.
    func freeze(_ count: Int) throws
    /// W14: moves on to the newest version, which another thread has made.
    func refresh() throws
    /// W17: reads every property of everyone; returns the sum of `fullDigest`.
    func readEverything() throws -> UInt64
}

/// Writes to a store on one thread.
protocol Writer: AnyObject {
    /// One transaction that sets the age of one person, found by primary key.
    func setAge(_ age: Int, ofPerson id: Int) throws
    /// One transaction that adds one person.
    func insert(_ people: People, at index: Int) throws
    /// One transaction that makes all changes, in their order.
    func apply(_ changes: [Change], of people: People) throws
    /// W11b: one transaction that sets the age of everyone.
    func setAgeOfEveryone(_ age: Int) throws
}

extension Engine {
    func compact() throws {}
    func waitUntilIdle() throws {}
    func makeCompactor() throws -> () throws -> Void { throw Unsupported() }
    func hold() throws -> Any { throw Unsupported() }
    var retainedBytes: Int? { nil }
    var frameBytes: Int? { nil }

    /// The same store after it has been compacted, closed and opened.
    func compactAndReopen(folder: String, _ durability: Durability = .full) throws -> any Engine {
        try compact()
        try close()
        return try Self(folder: folder, durability: durability)
    }
}

extension Reader {
    func pointReads(_ keys: [Int]) throws -> UInt64 { throw Unsupported() }
    func sumOfAges() throws -> Int { throw Unsupported() }
    func count(olderThan age: Int) throws -> Int { throw Unsupported() }
    func readEveryone() throws -> UInt64 { throw Unsupported() }
    func openSnapshots(_ count: Int) throws { throw Unsupported() }
    func freeze(_ count: Int) throws { throw Unsupported() }
    func refresh() throws { throw Unsupported() }
    func readEverything() throws -> UInt64 { throw Unsupported() }
}

extension Writer {
    func setAge(_ age: Int, ofPerson id: Int) throws { throw Unsupported() }
    func insert(_ people: People, at index: Int) throws { throw Unsupported() }
    func apply(_ changes: [Change], of people: People) throws { throw Unsupported() }
    func setAgeOfEveryone(_ age: Int) throws { throw Unsupported() }
}

/// The engines, by the names that the command line and the report use. `store` is Firn through FirnCore, `typed` is
/// Firn through its public interface, and `encrypted` is the same with a key. `limited` may keep less decrypted than
/// there is.
enum EngineName: String, CaseIterable, Codable, Sendable {
    case sqlite, lmdb, store, typed, encrypted, limited

    private static let types: [EngineName: any Engine.Type] = [
        .sqlite: SQLiteEngine.self, .lmdb: LMDBEngine.self, .store: StoreEngine.self, .typed: TypedEngine.self,
        .encrypted: EncryptedEngine.self, .limited: LimitedEngine.self,
    ]

    /// The engines in this build, in the order of the report.
    static let built = allCases.filter { types[$0] != nil }

    /// The engines that are measured if none is named.
    static let usual = built.filter { !$0.hasKey }

    var type: any Engine.Type { Self.types[self]! }

    var isFirn: Bool { self == .store || self == .typed || hasKey }
    var hasKey: Bool { self == .encrypted || self == .limited }
}
