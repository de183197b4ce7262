import FirnStorage
import FirnTestSupport
import Foundation
import Logging
import Synchronization
import Testing

@testable import Firn
@testable import FirnCore

/// What Firn logs, and where it goes (R12).
@Suite(.serialized, .timeLimit(.minutes(20))) struct RealmLoggerTests {
    private final class Inked: Object {
        @Persisted var number = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private let folder = TemporaryFolder()
    private var url: URL { URL(fileURLWithPath: folder.path).appendingPathComponent("inked.firn") }

    private func open(_ version: UInt64 = 0) throws -> Realm {
        try Realm(
            configuration: .init(fileURL: url, schemaVersion: version, objectTypes: [Inked.self]))
    }

    /// The messages about this test's store, which `body` makes Firn log. Other tests have stores open, too.
    private func messages(_ level: LogLevel = .all, _ body: () throws -> Void) rethrows -> [String] {
        final class Messages: Sendable { let all = Mutex<[String]>([]) }
        let (messages, before) = (Messages(), RealmLogger.shared)
        defer { RealmLogger.shared = before }
        RealmLogger.shared = RealmLogger(level: level) { level, text in
            messages.all.withLock { $0.append("\(level): \(text)") }
        }
        try body()
        return messages.all.withLock { $0.filter { $0.contains(folder.path) } }
    }

    @Test func openingIsLoggedWithWhatWasFound() throws {
        let made = try messages { try open().write { _ = 0 } }
        #expect(made.count == 1 && made.allSatisfy { $0.hasPrefix("detail: ") && $0.contains("was opened in") })
        #expect(waitUntilClosed(url))
        let log = url.appendingPathComponent("log")
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: log.path).sorted().last)
        let file = try FileHandle(forWritingTo: log.appendingPathComponent(name))
        try file.seekToEnd()
        try file.write(contentsOf: Data(repeating: 0x41, count: 128))
        try file.close()
        let torn = try messages { _ = try open() }
        #expect(torn.count == 1 && torn.allSatisfy { $0.hasPrefix("warn: ") && $0.contains(name) })
    }

    @Test func aClassWithoutPropertiesIsAWarning() throws {
        final class Inkless: Object {
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let logged = try messages(.warn) {
            _ = try Realm(configuration: .init(fileURL: url, objectTypes: [Inked.self, Inkless.self]))
        }
        #expect(logged.count == 1 && logged[0].contains("the class Inkless has no @Persisted property"))
    }

    @Test func compactionIsLoggedWithItsBytes() throws {
        let realm = try open()
        try realm.write { for number in 0..<100 { realm.create(Inked.self, value: [number]) } }
        let compacted = try messages { try realm.compact() }
        #expect(compacted.count == 1)
        let message = try #require(compacted.first)
        #expect(message.hasPrefix("detail: ") && message.contains("was compacted in"))
        #expect(message.contains("version \(realm.instance.store.publishedVersion) was written"))
        let failed = messages {
            realm.instance.shared.monitor.happened(.compactionFailed(StoreError(.closed, "a test says so")))
        }
        #expect(failed.count == 1 && failed.allSatisfy { $0.hasPrefix("error: ") && $0.contains("the log grows") })
    }

    @Test func aClockThatIsSetIsLogged() throws {
        let realm = try open()
        for (change, text) in [
            (.forward(nanoseconds: 400_000_000_000), "was set forward by 400 s"),
            (.behind(nanoseconds: 90_000_000_000), "is 90 s behind the date of the newest version"),
        ] as [(ClockChange, String)] {
            let logged = messages { realm.instance.shared.monitor.happened(.clockChanged(change)) }
            #expect(logged.count == 1 && logged.allSatisfy { $0.hasPrefix("warn: ") && $0.contains(text) }, "\(logged)")
        }
    }

    @Test func aMigrationIsLoggedWithItsVersions() throws {
        try open().write {}
        #expect(waitUntilClosed(url))
        let messages = try messages { _ = try open(3) }.filter { $0.contains("migrated") }
        #expect(messages.count == 1)
        #expect(messages.first?.contains("was migrated from schema version 0 to 3 in") == true)
        #expect(messages.first?.hasPrefix("info: ") == true)
    }

    @Test func aSlowTransactionIsLoggedWithItsCallSite() throws {
        let realm = try open()
        let monitor = realm.instance.shared.monitor
        let logged = messages {
            for time in [StoreMonitor.slowTransaction - 1, StoreMonitor.slowTransaction] {
                monitor.commits(to: realm.instance.store, began: 5, now: 5 + time, at: CallSite("Shop.swift", 17))
            }
        }
        #expect(logged.count == 1)
        #expect(logged.first?.hasPrefix("warn: ") == true && logged.first?.contains("begun at Shop.swift:17") == true)
        // A real one, which is fast.
        #expect(try messages { try realm.write { _ = realm.create(Inked.self) } }.isEmpty)
    }

    // MARK: A transaction of a realm that nobody keeps

    private var configuration: Realm.Configuration { .init(fileURL: url, objectTypes: [Inked.self]) }

    /// As programs for Apple's platforms write it, where the autorelease pool keeps the realm.
    @MainActor @Test func aTransactionKeepsItsRealmUntilTheTurnEnds() throws {
        let logged = try messages(.warn) {
            try Realm(configuration: configuration).beginWrite()
            try Realm(configuration: configuration).create(Inked.self, value: [7])
            try Realm(configuration: configuration).commitWrite()
        }
        #expect(try logged.isEmpty && open().objects(Inked.self).map(\.number) == [7])
    }

    @Test func aTransactionThatTheTurnLeavesOpenIsUndoneAndLogged() throws {
        let queue = DispatchQueue(label: "unkept")
        func inTransaction() throws -> Bool {
            try Realm(configuration: configuration, queue: queue).isInWriteTransaction
        }
        let logged = try messages(.warn) {
            try queue.sync {
                try Realm(configuration: configuration, queue: queue).beginWrite()
                try Realm(configuration: configuration, queue: queue).create(Inked.self, value: [1])
                #expect(try inTransaction())
            }
            let isOpen = try queue.sync { try inTransaction() }
            #expect(!isOpen)
        }
        #expect(logged.count == 1 && logged[0].contains("begun at FirnTests/RealmLoggerTests.swift:"), "\(logged)")
        #expect(logged.allSatisfy { $0.contains("Its changes were undone") })
        // The write lock is free again, and a realm that is kept is in its transaction for longer.
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { realm.create(Inked.self, value: [2]) }
            realm.beginWrite()
            nonisolated(unsafe) let kept = realm
            queue.async { kept.cancelWrite() }
        }
        queue.sync {}
        #expect(try open().objects(Inked.self).map(\.number) == [2])
    }

    /// A pool's thread must not keep the write lock for its life.
    @Test func onAThreadWithoutTurnsATransactionEndsWithItsRealm() async throws {
        let configuration = configuration
        let logged = try messages(.warn) {
            let done = DispatchSemaphore(value: 0)
            Thread {
                try? Realm(configuration: configuration).beginWrite()
                let isOpen = try? Realm(configuration: configuration).isInWriteTransaction
                #expect(isOpen == false)
                done.signal()
            }.start()
            try #require(done.wait(timeout: .testTimeout) == .success)
        }
        #expect(logged.count == 1 && logged.allSatisfy { $0.contains("nothing keeps its realm any more") }, "\(logged)")
        try open().write {}
    }

    @MainActor @Test func anAsynchronousTransactionIsMeasuredFromItsBeginning() async throws {
        let realm = try await Realm(configuration: .init(fileURL: url, objectTypes: [Inked.self]))
        let before = try await realm.asyncWrite {
            realm.create(Inked.self, value: [1])
            return try #require(realm.instance.running).beganAt
        }
        #expect(before > 0)
        try await realm.asyncWrite { #expect((realm.instance.running?.beganAt ?? 0) > before) }
    }

    @Test func aVersionThatIsHeldForLongIsLoggedOnce() throws {
        let realm = try open()
        let monitor = realm.instance.shared.monitor
        let store = realm.instance.store
        try realm.write { realm.create(Inked.self) }
        var frozen: Realm? = realm.freeze()
        let line = #line - 1
        let number = try #require(store.activeVersions.last).number
        /// Looks a number of seconds after 1,000.
        func look(_ seconds: Int64) -> [String] {
            messages { monitor.look(at: store, now: (1_000 + seconds) * 1_000_000_000) }
        }
        // The newest version may be held for as long as it is the newest.
        #expect(look(0).isEmpty && look(100).isEmpty)
        try realm.write { realm.create(Inked.self) }
        #expect(look(200).isEmpty && look(259).isEmpty)
        let logged = look(260)
        #expect(logged.count == 1)
        #expect(logged.first?.hasPrefix("warn: ") == true)
        #expect(logged.first?.contains("version \(number) has been held for 60 s or more") == true)
        #expect(logged.first?.contains("RealmLoggerTests.swift:\(line)") == true)
        #expect(look(400).isEmpty)
        withExtendedLifetime(frozen) {}
        frozen = nil
        #expect(look(500).isEmpty)
        #expect(store.activeVersions.count == 1)
    }

    @Test func heldVersionsAreLookedAtOnceInTenSeconds() throws {
        let realm = try open()
        let monitor = realm.instance.shared.monitor
        try realm.write { realm.create(Inked.self) }
        let frozen = realm.freeze()
        try realm.write { realm.create(Inked.self) }
        /// Commits a number of seconds from now.
        func commit(_ seconds: Double) -> [String] {
            let now = SystemClock.shared.monotonic() + Int64((1_000 + seconds) * 1e9)
            return messages { monitor.commits(to: realm.instance.store, began: now, now: now, at: nil) }
        }
        #expect(commit(0).isEmpty)
        // It is looked at: the version is found for the second time, a minute later.
        #expect(commit(61).count == 1)
        withExtendedLifetime(frozen) {}
        let other = realm.freeze()
        try realm.write { realm.create(Inked.self) }
        #expect(commit(62).isEmpty && commit(70.9).isEmpty && commit(71.5).isEmpty)
        #expect(commit(125).isEmpty && commit(135).count == 1)
        withExtendedLifetime(other) {}
    }

    @Test func aMessageBelowTheLevelIsNotMade() {
        final class Levels: Sendable { let all = Mutex<[LogLevel]>([]) }
        let levels = Levels()
        let logger = RealmLogger(level: .info) { level, _ in levels.all.withLock { $0.append(level) } }
        func text(_ isMade: Bool) -> String {
            #expect(isMade)
            return ""
        }
        for level in LogLevel.allCases where level != .off && level != .all { logger.log(level, text(level <= .info)) }
        #expect(levels.all.withLock { $0 } == [.fatal, .error, .warn, .info])
        logger.level = .off
        logger.log(.fatal, text(false))
        logger.level = .all
        logger.log(.trace, text(true))
        #expect(levels.all.withLock { $0.last } == .trace && logger.level == .all)
    }

    @Test func messagesGoToSwiftLogUnlessTheLoggerIsReplaced() {
        let handler = Handler()
        let logger = RealmLogger.passing(to: Logging.Logger(label: "firn") { _ in handler })
        #expect(logger.level == .warn)
        logger.level = .all
        for level in [LogLevel.fatal, .error, .warn, .info, .detail, .debug, .trace] { logger.log(level, "\(level)") }
        #expect(
            handler.lines.all.withLock { $0 } == [
                "critical fatal", "error error", "warning warn", "info info", "debug detail", "debug debug",
                "trace trace",
            ])
    }

    private struct Handler: LogHandler {
        final class Lines: Sendable { let all = Mutex<[String]>([]) }
        let lines = Lines()
        var metadata: Logging.Logger.Metadata = [:]
        var logLevel = Logging.Logger.Level.trace

        subscript(metadataKey key: String) -> Logging.Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.all.withLock { $0.append("\(event.level) \(event.message)") } }
    }

    /// What it logs is over when the function is called: the store is open, and the write lock is free.
    @Test func theFunctionMayWriteWhenAStoreIsOpenedAndAfterASlowTransaction() throws {
        let before = RealmLogger.shared
        defer { RealmLogger.shared = before }
        let name = folder.path
        let own = Realm.Configuration(fileURL: url, objectTypes: [Inked.self])
        RealmLogger.shared = RealmLogger(level: .detail) { _, text in
            guard text.contains(name) else { return }
            #expect(throws: Never.self) {
                let realm = try Realm(configuration: own)
                try realm.write { realm.create(Inked.self) }
            }
        }
        let realm = try open()
        #expect(realm.objects(Inked.self).count == 1)
        try realm.write { Thread.sleep(forTimeInterval: Double(StoreMonitor.slowTransaction) / 1e9) }
        #expect(realm.objects(Inked.self).count == 2)
    }

    /// The function is called under no lock, so it may write.
    @Test func theFunctionMayUseRealms() throws {
        let realm = try open()
        try realm.write { realm.create(Inked.self) }
        let name = folder.path
        let before = RealmLogger.shared
        defer { RealmLogger.shared = before }
        let configuration = realm.configuration
        let own = configuration
        RealmLogger.shared = RealmLogger(level: .detail) { _, text in
            guard text.contains(name) else { return }
            #expect(throws: Never.self) {
                let realm = try Realm(configuration: own)
                try realm.write { realm.create(Inked.self) }
            }
        }
        try realm.compact()
        #expect(realm.objects(Inked.self).count == 2)
    }
}
