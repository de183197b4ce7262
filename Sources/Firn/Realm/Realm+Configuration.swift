import FirnCore
import FirnLog
import FirnStorage
public import Foundation

extension Realm {
    /// How a realm is opened.
    ///
    /// A value: changing a copy changes no realm that is open.
    public struct Configuration: CustomStringConvertible {
        /// When a commit counts as done.
        public enum Durability: Sendable, Equatable {
            /// When it is on the disk: a power cut loses nothing that was acknowledged.
            case full
            /// When it is written; it is on the disk after at most this many seconds and the time of a sync, also if the program returns from `main` or calls `exit` meanwhile. A power cut may lose the
            /// newest commits, whole ones only. Of a process that is killed nothing is lost, but the system decides when it reaches the disk.
            case relaxed(interval: TimeInterval)
            /// When it is written. The system decides when it reaches the disk; the end of the process loses nothing.
            case none
        }

        /// How much of the files is checked when they are opened; the rest is checked when it is first read.
        public enum VerifyOnOpen: Sendable, Equatable {
            /// The directory of the files and the end of the log.
            case directory
            /// Every byte, and that the newest version is one that Firn could have written: every object, value and index is looked at, which takes as long as reading all of them. What comes from a stranger is opened
            /// like this: what does not fit is thrown at opening, instead of stopping the program where it is read.
            case everything
        }

        /// What a write does that may not begin because more is held than `maximumNumberOfActiveVersions` or `maximumRetainedBytes` allow.
        public enum ActiveVersionPolicy: Sendable, Equatable {
            /// It throws `.tooManyActiveVersions` (`beginWrite()` stops the program), with a text that lists the holders.
            case fail
            /// It waits this many seconds for holders to let go, then throws so. Other writers may go on meanwhile, if what they find is within the limit; the waiting thread is
            /// blocked, so what it holds itself stays held.
            case wait(TimeInterval)
            /// It goes on. The oldest held versions count no more: what they need is written to scratch files in the store's folder, in the background, and its memory given back to the system. They stay
            /// held and read as before; the first look at what was written out waits for the disk.
            ///
            /// All that is written to the store then lies in memory that belongs to such files, from the beginning. So the system may write it to the disk at any time; the files take about as much of the disk as
            /// that memory, until it is freed or they are closed. Where the disk is full, or the writing fails, the write throws as with `fail`, and says why. What other processes hold
            /// can't be written out from here. <doc:HoldingVersions> has the costs.
            ///
            /// A realm in memory has no files: opening it with this policy throws `.invalidInput`.
            case spill
        }

        /// Which past versions `Realm.asOf` and its like can open. The newest version, and those that something holds, can be opened always.
        public enum HistoryRetention: Sendable, Equatable {
            /// No others.
            case none
            /// This many of the newest, the newest included; at least 1.
            case versions(Int)
            /// Those that were the newest at some moment of the last so many seconds: `asOf(date:)` works for each of these moments.
            case age(TimeInterval)
            /// All.
            case everything
        }

        /// The store's folder; nil for a realm in memory. Setting it clears `inMemoryIdentifier`.
        public var fileURL: URL? {
            didSet { if fileURL != nil { identifier = nil } }
        }

        /// The name of a realm in memory; nil for one on disk. Its data are gone when its last instance is. Setting it clears `fileURL`.
        public var inMemoryIdentifier: String? {
            get { identifier }
            set {
                identifier = newValue
                if newValue != nil { fileURL = nil }
            }
        }
        private var identifier: String?

        /// 64 bytes. Encryption does not exist yet: opening with a key throws `.unsupportedFeature`.
        public var encryptionKey: Data?

        /// Whether the realm is opened for reading only: nothing is written, and nothing notified.
        public var readOnly: Bool

        /// The version of the application's classes. Raise it with each change of a class that drops or retypes a property.
        ///
        /// The next opening then migrates the store. Where that drops or retypes something it throws `.alreadyOpen` as
        /// long as this process holds a realm, an object, a collection or an observer of the store, or another process
        /// has it open.
        public var schemaVersion: UInt64

        /// The realm's classes; nil for all that the program has. Classes that they link to must be among them.
        public var objectTypes: [ObjectBase.Type]?

        /// When a commit counts as done. Set by the first to open the store.
        public var durability: Durability = .full

        /// How much is checked at opening; nil for all of a small store (of a log or a checkpoint below 1 MiB) and the directory of a large one.
        public var verifyOnOpen: VerifyOnOpen?

        /// Asked by the first to open the store in this process, with the bytes of its files and about how many of them a compacted store would have; true compacts it before it is used. Not asked where the
        /// realm is opened read-only.
        public var shouldCompactOnLaunch: ((_ totalBytes: Int, _ usedBytes: Int) -> Bool)?

        /// Told of damage in the files that a property or collection meets when it is read, before the program stops: such an access can't throw. It is called on the thread that met it, and must not use the
        /// realm. What throws, throws instead. Set by the first to open the store.
        public var onDamage: (@Sendable (Realm.Error) -> Void)?

        /// Who may read and write the files that are created: permission bits as `chmod` counts them, of which those for reading and writing count, whatever the process's umask. A folder may be searched by whoever
        /// may read. At first the owner alone may: 0o600. The owner always may both. A group that is to share the store needs `0o660`.
        ///
        /// Files that are there keep the mode they have, but the store goes on in new ones, so all who write to it should ask for the same. See <doc:Security>. Set by the first to open the store.
        public var fileMode: UInt16 = 0o600

        /// False reads the parts of the files that are needed into memory instead of mapping them: for a volume whose device may vanish while the program runs, as reading a mapping of it then stops the
        /// program. Set by the first to open the store.
        public var readsByMapping = true

        /// Which past versions can be opened: see <doc:History>. Where a store is opened with several settings, each of them holds until the process closes it. Realms in
        /// memory keep no history.
        public var historyRetention: HistoryRetention = .none

        /// How long opening waits for another process that is just opening the store, too, and recovering it, in seconds. Once open, processes write by turns, and wait as long as it takes.
        /// Below 0 is 0; `.infinity` and whatever is more than a century is a century. Opening throws `.invalidInput` for what is no number.
        public var lockTimeout: TimeInterval = 10

        /// No write begins while more versions than this are active; nil, as at first, for no limit. At least 1: opening throws `.invalidInput` for 0.
        ///
        /// A version is active while something holds it: a realm, something frozen, an observer, an iteration. The newest always is, so opening a store begins
        /// with one; what nothing holds never counts. What other processes hold besides their newest version counts, too. The realm that begins a write advances before, and doesn't count for the version that it showed.
        /// Letting one holder go helps at once. See ``Realm/activeVersions`` and <doc:HoldingVersions>. Set by the first to open the store.
        public var maximumNumberOfActiveVersions: UInt?

        /// No write begins while held versions retain more bytes of memory than this beyond what the newest version needs, in all processes together; nil, as at first, for no limit.
        /// Set by the first to open the store.
        public var maximumRetainedBytes: Int?

        /// What a write does that these two don't let begin. Set by the first to open the store.
        public var activeVersionPolicy: ActiveVersionPolicy = .fail

        public init(
            fileURL: URL? = Configuration.defaultFileURL, inMemoryIdentifier: String? = nil, encryptionKey: Data? = nil,
            readOnly: Bool = false, schemaVersion: UInt64 = 0, objectTypes: [ObjectBase.Type]? = nil
        ) {
            self.fileURL = inMemoryIdentifier == nil ? fileURL : nil
            identifier = inMemoryIdentifier
            self.encryptionKey = encryptionKey
            self.readOnly = readOnly
            self.schemaVersion = schemaVersion
            self.objectTypes = objectTypes
        }

        /// What `Realm()` opens. Setting it affects realms opened later.
        public static var defaultConfiguration: Configuration {
            get { shared.withLock { $0 } }
            set {
                // The old one may be the last to hold what the application's closures capture.
                let old = shared.exchange(newValue)
                withExtendedLifetime(old) {}
            }
        }
        // Read and set on any thread; guarded by its type.
        private static var shared: GlobalGuarded<Configuration> {
            GlobalGuarded(.defaultConfiguration) { Configuration() }
        }

        /// `default.firn` in the user's documents folder, or in the working folder where there is none.
        public static var defaultFileURL: URL {
            let folder =
                FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first
                .flatMap { FileManager.default.fileExists(atPath: $0.path) ? $0 : nil }
                ?? URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
            return folder.appendingPathComponent("default.firn")
        }

        public var description: String {
            var parts: [String] = []
            if let fileURL { parts.append("fileURL: \(fileURL.path)") }
            if let identifier { parts.append("inMemoryIdentifier: \(identifier)") }
            if readOnly { parts.append("readOnly") }
            parts.append("schemaVersion: \(schemaVersion)")
            if let maximumNumberOfActiveVersions {
                parts.append("maximumNumberOfActiveVersions: \(maximumNumberOfActiveVersions)")
            }
            if let maximumRetainedBytes { parts.append("maximumRetainedBytes: \(maximumRetainedBytes)") }
            if fileMode != 0o600 { parts.append("fileMode: 0o\(String(fileMode, radix: 8))") }
            if historyRetention != .none { parts.append("historyRetention: \(historyRetention)") }
            if let objectTypes { parts.append("objectTypes: \(objectTypes.map { $0.className() })") }
            return "Realm.Configuration(\(parts.joined(separator: ", ")))"
        }
    }
}

extension Realm.Configuration: Equatable {
    public static func == (a: Realm.Configuration, b: Realm.Configuration) -> Bool {
        a.fileURL == b.fileURL && a.identifier == b.identifier && a.encryptionKey == b.encryptionKey
            && a.readOnly == b.readOnly
            && a.schemaVersion == b.schemaVersion && a.durability == b.durability && a.verifyOnOpen == b.verifyOnOpen
            && a.lockTimeout == b.lockTimeout && a.readsByMapping == b.readsByMapping
            && a.maximumNumberOfActiveVersions == b.maximumNumberOfActiveVersions
            && a.maximumRetainedBytes == b.maximumRetainedBytes && a.activeVersionPolicy == b.activeVersionPolicy
            && a.historyRetention == b.historyRetention && a.fileMode == b.fileMode
            && a.objectTypes?.map(ObjectIdentifier.init) == b.objectTypes?.map(ObjectIdentifier.init)
    }
}

extension Realm.Configuration {
    /// The classes that a realm of this configuration has.
    var classes: [ObjectBase.Type] { objectTypes ?? ClassDiscovery.defaultTypes() }

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
        if let onDamage {
            let fileURL = fileURL
            options.onDamage = { onDamage(Realm.Error(.invalidDatabase, $0.description, fileURL: fileURL)) }
        }
        return options
    }

    /// Throws where a time is no number. Others are taken as near as they can be.
    func checkTimes() throws {
        func check(_ name: String, _ seconds: TimeInterval) throws {
            guard seconds.isNaN else { return }
            throw Realm.Error(
                .invalidInput, "\(name) is no number: give seconds, .infinity for as long as it takes.",
                fileURL: fileURL)
        }
        try check("lockTimeout", lockTimeout)
        if case .relaxed(let interval) = durability { try check("The interval of durability", interval) }
        if case .wait(let seconds) = activeVersionPolicy { try check("The time of activeVersionPolicy", seconds) }
    }

    /// The retention as the store takes it. Throws where it makes no sense.
    func storeRetention() throws -> FirnLog.HistoryRetention {
        switch historyRetention {
        case .none: return .none
        case .everything: return .everything
        case .versions(let count):
            if count >= 1 { return .versions(count) }
        case .age(let seconds):
            // More than 292 years are all.
            if seconds > 0 {
                return Int64(exactly: (seconds * 1e9).rounded(.up)).map { .age(nanoseconds: $0) } ?? .everything
            }
        }
        throw Realm.Error(
            .invalidInput,
            "historyRetention is \(historyRetention): give at least 1 version or more than 0 seconds, or .none to retain nothing.",
            fileURL: fileURL)
    }

    private var logOptions: LogOptions? {
        guard let fileURL else { return nil }
        var options = LogOptions(folder: fileURL.storePath)
        options.fileMode = FileMode(fileMode)
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
