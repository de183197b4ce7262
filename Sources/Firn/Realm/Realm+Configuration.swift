import FirnCore
import FirnStorage
public import Foundation

extension Realm {
    /// Which store is opened, and how.
    ///
    /// ```swift
    /// var configuration = Realm.Configuration(fileURL: folder.appendingPathComponent("dogs.firn"), schemaVersion: 2)
    /// configuration.durability = .relaxed(interval: 0.1)
    /// configuration.maximumNumberOfActiveVersions = 16
    /// configuration.historyRetention = .age(30 * 24 * 3600)
    /// Realm.Configuration.defaultConfiguration = configuration
    /// ```
    ///
    /// It is a value: changing a copy changes no open realm. Settings are checked when a realm is opened. Those
    /// described as "set by the first opener" apply to the whole process. While the store is open in this process,
    /// later openers' values are ignored.
    public struct Configuration: CustomStringConvertible, Sendable {
        /// When a commit counts as done.
        public enum Durability: Sendable, Equatable {
            /// A commit is done when it is on the disk: a power cut loses nothing that was acknowledged. The default.
            case full
            /// A commit is done when it is written. It is on the disk after at most this many seconds and the time of a
            /// sync. That also holds if the program returns from `main` or calls `exit` before that. A power cut may
            /// lose the newest commits, complete ones only. A process that is killed loses nothing, but the system then
            /// decides when the commits reach the disk.
            ///
            /// An interval below 1 ms counts as 1 ms; opening throws `.invalidInput` for NaN.
            case relaxed(interval: TimeInterval)
            /// A commit is done when it is written. The system decides when it reaches the disk; the end of the process
            /// loses nothing.
            case none
        }

        /// How much of the files is checked when they are opened; the rest is checked when it is first read.
        public enum VerifyOnOpen: Sendable, Equatable {
            /// The manifest, the header of each segment of the log, and the newest segment.
            case directory
            /// Every byte, and then whether Firn could have written the newest version. Every object, value and index
            /// is examined, which takes as long as reading all of them. Use it for a store from an untrusted source: a
            /// contradiction is then thrown by opening, instead of stopping the program where it is read.
            case everything
        }

        /// What a write does if it must not begin, because more is held than `maximumNumberOfActiveVersions` or
        /// `maximumRetainedBytes` allow.
        public enum ActiveVersionPolicy: Sendable, Equatable {
            /// It throws `.tooManyActiveVersions` (`beginWrite()` stops the program), with a text that lists the
            /// holders.
            case fail
            /// It waits at most this many seconds for holders to release versions, then throws as with `fail`. Other
            /// writers may write meanwhile, if they find themselves within the limit. The waiting thread is blocked, so
            /// the versions that it holds itself stay held. Opening throws `.invalidInput` for NaN.
            case wait(TimeInterval)
            /// It continues. The oldest held versions no longer count. The memory that they need is written to scratch
            /// files in the store's folder, in the background, and returned to the system. They stay held and are read
            /// as before; the first read of memory that was written out waits for the disk.
            ///
            /// Everything that is written to the store then lies in memory that belongs to such files, from the
            /// beginning. So the system may write it to the disk at any time. The files take about as much of the disk
            /// as that memory, until it is freed or they are closed. If the disk is full, or the writing fails, the
            /// write throws as with `fail`, and says why. Versions that other processes hold can't be written out by
            /// this one. <doc:HoldingVersions> has the costs.
            ///
            /// A realm in memory has no files: opening it with this policy throws `.invalidInput`.
            case spill
        }

        /// Which past versions `Realm.asOf(version:)` and the other functions of history can open. The newest
        /// version, and each version that something holds, can always be opened.
        public enum HistoryRetention: Sendable, Equatable {
            /// No other versions. The default.
            case none
            /// This many of the newest versions, the newest included. Opening throws `.invalidInput` for less than 1.
            case versions(Int)
            /// The versions that were the newest at some moment of the last so many seconds, so that `asOf(date:)`
            /// works for each of these moments. Opening throws `.invalidInput` unless it is above 0.
            case age(TimeInterval)
            /// All versions.
            case everything
        }

        /// The store's folder, by convention `NAME.firn`; nil for a realm in memory. Setting it clears
        /// `inMemoryIdentifier`.
        public var fileURL: URL? {
            didSet { if fileURL != nil { identifier = nil } }
        }

        /// The name of a realm in memory; nil for one on disk. Setting it clears `fileURL`.
        ///
        /// Its data is gone when its last realm, object and observer is released. The release may happen in a turn of a
        /// run loop, a block of a queue (the main one included) or an actor's job. Then the data stays until that turn,
        /// block or job has ended. So `try! Realm()` in the next line has it. On the main thread the data stays also
        /// outside of these, as in a suite of tests, until the next realm in memory is released.
        public var inMemoryIdentifier: String? {
            get { identifier }
            set {
                identifier = newValue
                if newValue != nil { fileURL = nil }
            }
        }
        private var identifier: String?

        /// The key of an encrypted store: 64 random bytes. A store that is made with a key is encrypted, and can only
        /// be opened with that key. Nil for a store without encryption.
        ///
        /// ```swift
        /// var configuration = Realm.Configuration(fileURL: url)
        /// configuration.encryptionKey = try Data(contentsOf: keyFile)  // 64 bytes
        /// let realm = try Realm(configuration: configuration)
        /// ```
        ///
        /// Nobody can read the store without the key, its owner included, so keep a copy of the key. Opening throws
        /// `.invalidInput` for a key of another length. It throws `.invalidDatabase` if the key is another one, if it
        /// is missing, and if there is a key and the store is not encrypted. On Linux the package's trait `Encryption`
        /// must be on; without it, opening throws `.unsupportedFeature`. So does a realm in memory, which has no files
        /// to encrypt.
        ///
        /// See <doc:Security> for what encryption protects and what it does not, and
        /// ``Realm/changeEncryptionKey(for:to:)``.
        public var encryptionKey: Data?

        /// Whether the realm is opened for reading only: it shows what was committed when it was opened, and can't be
        /// written or observed. All realms of a store in one process must agree. See <doc:Security> for which
        /// permissions are needed.
        public var readOnly: Bool {
            didSet { checkDeleting() }
        }

        /// The version of the application's classes. Raise it when a class that the store has adds, drops or retypes
        /// a property, changes whether one is optional, or changes its primary key. New classes and changed indexes
        /// need no new version.
        ///
        /// The next opening then migrates the store. New properties have blank values, and the values of a dropped or
        /// retyped property are gone. If a property is no longer optional, nil becomes a blank value. A
        /// `migrationBlock` can do more. A migration that does more than add something needs the store for itself. As
        /// long as this process holds a realm, object, collection or observer of it, or another process has it open,
        /// opening throws `.alreadyOpen`. A version below the store's throws `.schemaMismatch`. <doc:Migrations> has
        /// examples.
        public var schemaVersion: UInt64

        /// Changes the data when the store is opened with a higher `schemaVersion` than it has.
        ///
        /// It is called once, on the opening thread, in the write transaction that changes the schema, before any realm
        /// is opened. It is not called for a new store. Opening throws `.alreadyOpen` instead as long as this process
        /// holds anything of the store. When the block returns, the primary keys and the parents of embedded objects
        /// are checked, and everything is committed at once. If opening throws, nothing was changed. Opening the store
        /// in the block throws `.alreadyOpen`.
        ///
        /// The data that the block changes, or that the change of the schema rewrites, lies in memory until it is
        /// committed. Once it is large, it lies in scratch files instead.
        public var migrationBlock: MigrationBlock?

        /// Whether opening deletes a store that would have to be migrated, and creates it anew. A store would have to
        /// be migrated if it has another schema version, or if its classes differ in more than additions. Use this for
        /// data that can be fetched again.
        ///
        /// `migrationBlock` is not called then. Opening throws `.alreadyOpen` if the store has to be deleted while this
        /// process or another has it open. It throws `.fileOperationFailed` if the store's folder also holds files that
        /// Firn did not make. In both cases nothing was deleted. Stops the program if `readOnly` is set, too.
        public var deleteRealmIfMigrationNeeded = false {
            didSet { checkDeleting() }
        }

        /// A store that is copied to `fileURL` when there is nothing there yet; nil to begin with an empty store. An
        /// application may be shipped with such a store.
        ///
        /// The copy is as `Realm.writeCopy(toFile:encryptionKey:)` makes it: the newest version of the seed, without
        /// its history, and with `fileMode`. An opening that is interrupted leaves no store, and the next one copies
        /// the seed. Opening throws `.fileNotFound` if there is no store at this URL; the seed itself is not changed.
        /// Not used for a realm in memory.
        public var seedFilePath: URL?

        /// The realm's classes; nil for all classes of the program. Classes that they link to must be among them, or
        /// opening throws `.schemaMismatch`.
        public var objectTypes: [ObjectBase.Type]?

        /// When a commit counts as done. Set by the first opener.
        public var durability: Durability = .full

        /// How much is checked at opening. Nil, the default, checks every byte of a log or a checkpoint below 1 MiB,
        /// and the directory of a larger one.
        public var verifyOnOpen: VerifyOnOpen?

        /// Whether to compact the store before it is used, when the first opener in this process opens it.
        ///
        /// It is called on the opening thread, with the bytes of the store's files and about how many of them a
        /// compacted store would have. If it returns true, opening compacts the store. Not called for a realm in memory
        /// or one that is opened read-only.
        public var shouldCompactOnLaunch: (@Sendable (_ totalBytes: Int, _ usedBytes: Int) -> Bool)?

        /// Called with damage in the files that is met when a property or collection is read, before the program stops:
        /// such an access can't throw. Functions that can throw do not call it, but throw the damage.
        ///
        /// It is called on the thread that met the damage, and must not use the realm. Set by the first opener.
        public var onDamage: (@Sendable (Realm.Error) -> Void)?

        /// The permissions of the files that Firn creates: bits as for `chmod`. Only the bits for reading and writing
        /// count, whatever the process's umask. Whoever may read a file may search its folder. The default, `0o600`, is
        /// for the owner alone, who can always read and write. A group that shares the store needs `0o660`.
        ///
        /// Existing files keep their mode, but the store goes on in new files. So all processes that write to it should
        /// ask for the same mode. See <doc:Security>. Set by the first opener.
        public var fileMode: UInt16 = 0o600

        /// Whether files are mapped into memory. If false, the parts that are needed are read into memory instead. Use
        /// that for a volume whose device may vanish while the program runs, because reading a mapping of it then stops
        /// the program. Set by the first opener.
        public var readsByMapping = true

        /// The bytes of memory for what is decrypted of an encrypted store; nil for no limit. The default is 1 GiB, the
        /// least about 1 MiB. Without an `encryptionKey` it means nothing.
        ///
        /// Up to half of it, what was read stays decrypted until the store is closed or compacted, so reading it again
        /// costs nothing more. After that, what is read is decrypted again, unless it is among what was read last. The
        /// nodes that lead to others are not counted: a small part of the data, which always stays. Opening throws
        /// `.invalidInput` for a negative number. Set by the first opener.
        public var decryptedMemoryLimit: Int? = 1 << 30

        /// Which past versions can be opened: see <doc:History>. If a store is opened with several settings, each of
        /// them holds until the process closes it. Realms in memory keep no history.
        public var historyRetention: HistoryRetention = .none

        /// The seconds that opening waits while another process opens the store and recovers it. Once the store is
        /// open, processes write one after the other, and wait as long as it takes.
        ///
        /// Less than 0 counts as 0; `.infinity` and anything above a century count as a century. Opening throws
        /// `.invalidInput` for NaN.
        public var lockTimeout: TimeInterval = 10

        /// The number of active versions above which no write begins; nil, the default, for no limit. At least 1:
        /// opening throws `.invalidInput` for 0.
        ///
        /// A version is active while something holds it: a realm, something frozen, an observer, an iteration. The
        /// newest version is always active, so there is one when a store is opened. An older version that nothing holds
        /// does not count. Versions that other processes hold count, too, except for their newest version. The realm
        /// that begins a write advances first, and does not count for the version that it showed. Releasing one holder
        /// takes effect at once. See ``Realm/activeVersions`` and <doc:HoldingVersions>. Set by the first opener.
        public var maximumNumberOfActiveVersions: UInt?

        /// The bytes of memory that held versions may retain for a write to begin, in all processes together; nil, the
        /// default, for no limit. Memory that the newest version needs does not count. Opening throws `.invalidInput`
        /// for a negative number. Set by the first opener.
        public var maximumRetainedBytes: Int?

        /// What a write does if `maximumNumberOfActiveVersions` or `maximumRetainedBytes` does not let it begin. Set by
        /// the first opener.
        public var activeVersionPolicy: ActiveVersionPolicy = .fail

        /// A configuration with default settings, except for those given.
        ///
        /// - Parameters:
        ///   - fileURL: the store's folder; ignored if there is an `inMemoryIdentifier`.
        ///   - inMemoryIdentifier: the name of a realm in memory.
        ///   - encryptionKey: see ``encryptionKey``.
        ///   - readOnly: see ``readOnly``.
        ///   - schemaVersion: see ``schemaVersion``.
        ///   - migrationBlock: see ``migrationBlock``.
        ///   - deleteRealmIfMigrationNeeded: see ``deleteRealmIfMigrationNeeded``.
        ///   - shouldCompactOnLaunch: see ``shouldCompactOnLaunch``.
        ///   - objectTypes: see ``objectTypes``.
        ///   - seedFilePath: see ``seedFilePath``.
        public init(
            fileURL: URL? = Configuration.defaultFileURL, inMemoryIdentifier: String? = nil, encryptionKey: Data? = nil,
            readOnly: Bool = false, schemaVersion: UInt64 = 0, migrationBlock: MigrationBlock? = nil,
            deleteRealmIfMigrationNeeded: Bool = false,
            shouldCompactOnLaunch: (@Sendable (_ totalBytes: Int, _ usedBytes: Int) -> Bool)? = nil,
            objectTypes: [ObjectBase.Type]? = nil, seedFilePath: URL? = nil
        ) {
            self.fileURL = inMemoryIdentifier == nil ? fileURL : nil
            identifier = inMemoryIdentifier
            self.encryptionKey = encryptionKey
            self.readOnly = readOnly
            self.schemaVersion = schemaVersion
            self.migrationBlock = migrationBlock
            self.deleteRealmIfMigrationNeeded = deleteRealmIfMigrationNeeded
            self.shouldCompactOnLaunch = shouldCompactOnLaunch
            self.objectTypes = objectTypes
            self.seedFilePath = seedFilePath
            checkDeleting()
        }

        private func checkDeleting() {
            if readOnly && deleteRealmIfMigrationNeeded {
                stopProgram(
                    "a configuration can't have both readOnly and deleteRealmIfMigrationNeeded, because what is opened read-only is not deleted. Set one of them."
                )
            }
        }

        /// The configuration that `Realm()` opens. Setting it affects realms that are opened later. May be read and
        /// set on any thread.
        public static var defaultConfiguration: Configuration {
            get { shared.withLock { $0 } }
            set {
                // The old one may be the last to hold what the application's closures capture, so it is released
                // outside the guard.
                let old = shared.exchange(newValue)
                withExtendedLifetime(old) {}
            }
        }
        // Read and set on any thread; the type guards the value.
        private static var shared: GlobalGuarded<Configuration> {
            GlobalGuarded(.defaultConfiguration) { Configuration() }
        }

        /// The folder of the default store. On Apple's platforms it is `default.firn` in the user's documents folder.
        ///
        /// Elsewhere it is `$XDG_DATA_HOME/PROGRAM/default.firn`, or `$HOME/.local/share/PROGRAM/default.firn` without
        /// that variable; `PROGRAM` is the name of the process. Opening makes the folders above it. Earlier states of
        /// Firn had the store in the documents folder or the working folder. If there is a store there and none at
        /// today's path, it is used, and a warning is logged that names both. If both exist, the store at today's path
        /// is used, and a warning says so.
        public static var defaultFileURL: URL {
            #if canImport(Darwin)
                DefaultStore.earlierURL
            #else
                DefaultStore.own.url
            #endif
        }

        /// The store, the schema version, and the settings that differ from the defaults, as text for people. An
        /// encryption key and closures are named, but not shown.
        public var description: String {
            var parts: [String] = []
            if let fileURL { parts.append("fileURL: \(fileURL.path)") }
            if let identifier { parts.append("inMemoryIdentifier: \(identifier)") }
            if encryptionKey != nil { parts.append("encryptionKey") }
            if readOnly { parts.append("readOnly") }
            parts.append("schemaVersion: \(schemaVersion)")
            if migrationBlock != nil { parts.append("migrationBlock") }
            if deleteRealmIfMigrationNeeded { parts.append("deleteRealmIfMigrationNeeded") }
            if let seedFilePath { parts.append("seedFilePath: \(seedFilePath.path)") }
            if let maximumNumberOfActiveVersions {
                parts.append("maximumNumberOfActiveVersions: \(maximumNumberOfActiveVersions)")
            }
            if let maximumRetainedBytes { parts.append("maximumRetainedBytes: \(maximumRetainedBytes)") }
            if activeVersionPolicy != .fail { parts.append("activeVersionPolicy: \(activeVersionPolicy)") }
            if durability != .full { parts.append("durability: \(durability)") }
            if let verifyOnOpen { parts.append("verifyOnOpen: \(verifyOnOpen)") }
            if lockTimeout != 10 { parts.append("lockTimeout: \(lockTimeout)") }
            if decryptedMemoryLimit != 1 << 30 {
                parts.append("decryptedMemoryLimit: \(decryptedMemoryLimit.map { "\($0)" } ?? "nil")")
            }
            if !readsByMapping { parts.append("readsByMapping: false") }
            if shouldCompactOnLaunch != nil { parts.append("shouldCompactOnLaunch") }
            if onDamage != nil { parts.append("onDamage") }
            if fileMode != 0o600 { parts.append("fileMode: 0o\(String(fileMode, radix: 8))") }
            if historyRetention != .none { parts.append("historyRetention: \(historyRetention)") }
            if let objectTypes { parts.append("objectTypes: \(objectTypes.map { $0.className() })") }
            return "Realm.Configuration(\(parts.joined(separator: ", ")))"
        }
    }
}

extension Realm.Configuration: Equatable {
    /// Whether both have the same settings. The closures `migrationBlock`, `shouldCompactOnLaunch` and `onDamage` are
    /// not compared.
    public static func == (a: Realm.Configuration, b: Realm.Configuration) -> Bool {
        a.fileURL == b.fileURL && a.identifier == b.identifier && a.encryptionKey == b.encryptionKey
            && a.readOnly == b.readOnly && a.seedFilePath == b.seedFilePath
            && a.deleteRealmIfMigrationNeeded == b.deleteRealmIfMigrationNeeded
            && a.schemaVersion == b.schemaVersion && a.durability == b.durability && a.verifyOnOpen == b.verifyOnOpen
            && a.lockTimeout == b.lockTimeout && a.readsByMapping == b.readsByMapping
            && a.decryptedMemoryLimit == b.decryptedMemoryLimit
            && a.maximumNumberOfActiveVersions == b.maximumNumberOfActiveVersions
            && a.maximumRetainedBytes == b.maximumRetainedBytes && a.activeVersionPolicy == b.activeVersionPolicy
            && a.historyRetention == b.historyRetention && a.fileMode == b.fileMode
            && a.objectTypes?.map(ObjectIdentifier.init) == b.objectTypes?.map(ObjectIdentifier.init)
    }
}

extension Realm.Configuration {
    /// The classes that a realm of this configuration has, each once.
    var classes: [ObjectBase.Type] {
        guard let objectTypes else { return ClassDiscovery.defaultTypes() }
        var known: Set<ObjectIdentifier> = []
        return objectTypes.filter { known.insert(ObjectIdentifier($0)).inserted }
    }

    /// The configuration as options of the store.
    var storeOptions: StoreOptions {
        var options = StoreOptions(log: logOptions)
        options.maximumNumberOfActiveVersions = maximumNumberOfActiveVersions.map { Int(clamping: $0) }
        options.maximumRetainedByteCount = maximumRetainedBytes
        switch activeVersionPolicy {
        case .fail: options.activeVersionPolicy = .fail
        case .wait(let seconds): options.activeVersionPolicy = .wait(seconds: seconds)
        case .spill: options.activeVersionPolicy = .spill
        }
        options.readsByMapping = readsByMapping
        options.decryptedMemoryByteCount = decryptedMemoryLimit
        if let onDamage {
            let fileURL = fileURL
            options.onDamage = { onDamage(Realm.Error(.invalidDatabase, $0.description, fileURL: fileURL)) }
        }
        return options
    }

    /// Throws if a time is NaN or a limit negative. Other times are clamped.
    func checkNumbers() throws {
        func check(_ name: String, _ seconds: TimeInterval) throws {
            guard seconds.isNaN else { return }
            throw Realm.Error(
                .invalidInput, "\(name) is NaN: give a number of seconds, or .infinity for as long as it takes.",
                fileURL: fileURL)
        }
        try check("lockTimeout", lockTimeout)
        if case .relaxed(let interval) = durability { try check("The interval of durability", interval) }
        if case .wait(let seconds) = activeVersionPolicy { try check("The time of activeVersionPolicy", seconds) }
        if let decryptedMemoryLimit, decryptedMemoryLimit < 0 {
            throw Realm.Error(
                .invalidInput, "decryptedMemoryLimit is \(decryptedMemoryLimit): give a number of bytes, or nil.",
                fileURL: fileURL)
        }
    }

    /// The history retention as the store's type. Throws if it makes no sense.
    func storeRetention() throws -> FirnCore.HistoryRetention {
        switch historyRetention {
        case .none: return .none
        case .everything: return .everything
        case .versions(let count):
            if count >= 1 { return .versions(count) }
        case .age(let seconds):
            // More than 292 years is everything.
            if seconds > 0 {
                return Int64(exactly: (seconds * 1e9).rounded(.up)).map { .age(nanoseconds: $0) } ?? .everything
            }
        }
        throw Realm.Error(
            .invalidInput,
            "historyRetention is \(historyRetention): give at least 1 version or more than 0 seconds, or .none to retain nothing.",
            fileURL: fileURL)
    }

    /// The configuration as options of the log; nil for a realm in memory.
    private var logOptions: LogOptions? {
        guard let fileURL else { return nil }
        var options = LogOptions(folder: fileURL.storePath)
        options.fileMode = FileMode(fileMode)
        options.encryptionKey = storeKey
        options.access = readOnly ? .readOnly : .readWrite(waitMilliseconds: Int(milliseconds: lockTimeout) ?? 0)
        switch durability {
        case .full: options.durability = .full
        case .relaxed(let interval):
            options.durability = .relaxed(milliseconds: max(1, Int(milliseconds: interval) ?? 1))
        case .none: options.durability = .none
        }
        switch verifyOnOpen {
        case .directory: options.verify = .directory
        case .everything: options.verify = .everything
        // Reading all of a small store costs less than finding its damage late.
        case nil: options.verify = .everythingOfSmall
        }
        return options
    }
}
