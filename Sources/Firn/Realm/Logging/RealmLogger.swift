import FirnStorage
import Logging

/// How much a message matters.
public enum LogLevel: UInt, Sendable, Comparable, CaseIterable {
    /// Nothing is logged. No message has this level.
    case off
    /// The program stops.
    case fatal
    /// Something failed, such as a compaction.
    case error
    /// Something that somebody should look at, such as a slow transaction, a version that is held for long, or a commit
    /// that was cut off.
    case warn
    /// Something that happens rarely, such as a migration.
    case info
    /// Something that happens now and then, such as opening or compaction.
    case detail
    /// For finding a mistake in a program.
    case debug
    /// For finding a mistake in Firn.
    case trace
    /// Everything. No message has this level.
    case all

    /// Whether one level is logged less often than another.
    public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }

    /// The level in the terms of swift-log.
    fileprivate var level: Logging.Logger.Level {
        switch self {
        case .off, .fatal: .critical
        case .error: .error
        case .warn: .warning
        case .info: .info
        case .detail, .debug: .debug
        case .trace, .all: .trace
        }
    }
}

/// Where Firn's messages go. The module `RealmSwift` calls it `Logger`.
///
/// ```swift
/// RealmLogger.shared.level = .detail                  // to swift-log, with the label "firn"
///
/// RealmLogger.shared = RealmLogger(level: .info) { level, message in
///     print("\(level): \(message)")
/// }
/// ```
///
/// Until it is replaced, `shared` passes messages with the level `.warn` and above to swift-log. Its
/// `LoggingSystem.bootstrap` says where they go: to the standard error output by default. Firn logs, each with the path
/// of the store:
///
/// | level | message |
/// | --- | --- |
/// | `.error` | a compaction has failed, and why |
/// | `.warn` | a transaction held the write lock for more than a second, and where it was begun |
/// | `.warn` | a transaction was undone, because its realm is gone or its thread has ended, and where it was begun |
/// | `.warn` | a version has been held for more than a minute, how much memory it retains, and by which calls |
/// | `.warn` | opening found a commit that was cut off or rewritten |
/// | `.warn` | opening found a class without persisted properties |
/// | `.warn` | the default store, or a store beside it, is found where earlier states of Firn had it |
/// | `.warn` | the system's clock was set forward, or is behind the newest version's date |
/// | `.info` | a migration, from which schema version to which |
/// | `.detail` | a store was opened, or compacted: what was found or written, and how long it took |
///
/// A message below the level is not made. Versions that are held for long are looked for after a commit, once in ten
/// seconds. The function is called on any thread, under no lock, and may use realms.
public final class RealmLogger: Sendable {
    // The guard is held for a few instructions.
    private let guardedLevel: Guarded<LogLevel>
    private let function: @Sendable (LogLevel, String) -> Void

    /// A logger that calls a function for each message that is important enough.
    ///
    /// - Parameters:
    ///   - level: the least important level that is logged.
    ///   - logFunction: is called with each message, on any thread.
    public init(level: LogLevel, logFunction: @escaping @Sendable (LogLevel, String) -> Void) {
        guardedLevel = Guarded(.innermost, level)
        function = logFunction
    }

    /// The least important level that is logged. May be read and set on any thread.
    public var level: LogLevel {
        get { guardedLevel.withLock { $0 } }
        set { guardedLevel.withLock { $0 = newValue } }
    }

    /// The logger that Firn's messages go to. May be read and set on any thread.
    public static var shared: RealmLogger {
        get { current.withLock { $0 } }
        set {
            // The old logger's function may own anything, so it is released outside of the lock.
            let old = current.exchange(newValue)
            withExtendedLifetime(old) {}
        }
    }

    private static var current: GlobalGuarded<RealmLogger> {
        GlobalGuarded(.logger) { .passing(to: Logging.Logger(label: "firn")) }
    }

    /// A logger that passes messages on to swift-log.
    static func passing(to logger: Logging.Logger) -> RealmLogger {
        RealmLogger(level: .warn) { level, message in logger.log(level: level.level, "\(message)") }
    }

    /// Logs a message, if its level is one that is logged.
    package func log(_ level: LogLevel, _ message: @autoclosure () -> String) {
        guard level <= self.level else { return }
        LockRank.expectNone("a message is logged")
        function(level, message())
    }
}
