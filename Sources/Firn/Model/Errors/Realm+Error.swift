import FirnBytes
public import Foundation

extension Realm {
    /// The error that opening, writing, history and every `validating:` function throw. It says what happened, where,
    /// and what to do about it.
    ///
    /// ```swift
    /// do { realm = try Realm(configuration: configuration) } catch Realm.Error.schemaMismatch { … }
    /// ```
    ///
    /// An error may be used on any thread. Two errors are equal if their codes are equal; `catch
    /// Realm.Error.fileNotFound` matches by the code.
    public struct Error: Swift.Error, CustomStringConvertible, LocalizedError, CustomNSError {
        /// The kind of error. Numbers below 100 are RealmSwift's; those from 100 on are Firn's own.
        public enum Code: Int, Sendable, Hashable {
            /// Anything without a code of its own. For example, the store was opened read-only or has been closed, the
            /// process was forked, or the operation is not possible in a write transaction.
            case fail = 1
            /// A file could not be read or written. The device reported an error, too many files are open, or the open
            /// store's files were moved, replaced or removed.
            case fileAccess = 2
            /// The system denies access: by permissions, or because the file system is mounted read-only.
            case filePermissionDenied = 3
            /// The destination of a copy exists.
            case fileExists = 4
            /// There is no store to open read-only, or a folder in the path does not exist.
            case fileNotFound = 5
            /// The files have an older format that this version of Firn no longer reads. Not thrown at present: all
            /// formats are read.
            case fileFormatUpgradeRequired = 6
            /// The files are used by a version of Firn that can't share them with this one. Not thrown at present.
            case incompatibleLockFile = 8
            /// The system is out of memory or address space.
            case addressSpaceExhausted = 9
            /// The classes differ from what the store holds, or contradict each other; the message lists every
            /// difference.
            case schemaMismatch = 10
            /// The realm is open although the operation needs it closed, another process does not finish opening it, or
            /// 60 openers have it open.
            case alreadyOpen = 12
            /// A value, text or argument can't be used; for a value, the message names the property.
            case invalidInput = 13
            /// The disk is full. Nothing was changed, and the store can still be used.
            case outOfDiskSpace = 14
            /// RealmSwift's code for sync sessions. Never thrown.
            case incompatibleSession = 15
            /// The files have a newer format than this version of Firn reads.
            case unsupportedFileFormatVersion = 16
            /// The file system refuses the operation. A part of the path is not a folder or is too long. It is also
            /// thrown if a folder is not empty, or is found instead of a file.
            case fileOperationFailed = 19
            /// The files are not a store, or are damaged; the message names the file and the offset.
            case invalidDatabase = 20
            /// This version of Firn does not support what was requested: encryption, or a store on a network file
            /// system.
            case unsupportedFeature = 100
            /// A write or sync failed. Whether the commit is in the store is unknown until the store is opened again;
            /// until then it takes no more writes.
            case writeFailed = 101
            /// The versions that are held exceed `maximumNumberOfActiveVersions` or `maximumRetainedBytes`; the message
            /// lists the holders.
            case tooManyActiveVersions = 102
            /// `historyRetention` did not retain the requested past version. The message names the versions that can be
            /// opened.
            case versionNotRetained = 103
        }

        /// The kind of error.
        public let code: Code
        /// What happened, where, and what to do. Control characters from names and values are escaped.
        public let message: String
        /// The store's folder, if the error is about one.
        public let fileURL: URL?

        /// An error without a message, for comparison with a thrown error.
        public init(_ code: Code, fileURL: URL? = nil) {
            self.init(code, "", fileURL: fileURL)
        }

        init(_ code: Code, _ message: String, fileURL: URL? = nil) {
            self.code = code
            // Names and values that come from a store are escaped, see `DisplayText`.
            self.message = DisplayText.lines(message)
            self.fileURL = fileURL
        }

        /// The message, or the code's name if there is none, and the path of the store.
        public var description: String {
            (message.isEmpty ? "\(code)" : message) + (fileURL.map { " (\(DisplayText.line($0.path)))" } ?? "")
        }
        /// The same as `description`.
        public var localizedDescription: String { description }
        /// The same as `description`.
        public var errorDescription: String? { description }
        /// The domain of the `NSError`, as in RealmSwift.
        public static var errorDomain: String { "io.realm" }
        /// The number of the code.
        public var errorCode: Int { code.rawValue }
        /// The user info of the `NSError`: the description.
        public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }

        /// For `catch`: matches every error with the code `.fail`.
        public static let fail = Error(.fail)
        /// For `catch`: matches every error with the code `.fileAccess`.
        public static let fileAccess = Error(.fileAccess)
        /// For `catch`: matches every error with the code `.filePermissionDenied`.
        public static let filePermissionDenied = Error(.filePermissionDenied)
        /// For `catch`: matches every error with the code `.fileExists`.
        public static let fileExists = Error(.fileExists)
        /// For `catch`: matches every error with the code `.fileNotFound`.
        public static let fileNotFound = Error(.fileNotFound)
        /// For `catch`: matches every error with the code `.fileFormatUpgradeRequired`.
        public static let fileFormatUpgradeRequired = Error(.fileFormatUpgradeRequired)
        /// For `catch`: matches every error with the code `.incompatibleLockFile`.
        public static let incompatibleLockFile = Error(.incompatibleLockFile)
        /// For `catch`: matches every error with the code `.addressSpaceExhausted`.
        public static let addressSpaceExhausted = Error(.addressSpaceExhausted)
        /// For `catch`: matches every error with the code `.schemaMismatch`.
        public static let schemaMismatch = Error(.schemaMismatch)
        /// For `catch`: matches every error with the code `.alreadyOpen`.
        public static let alreadyOpen = Error(.alreadyOpen)
        /// For `catch`: matches every error with the code `.invalidInput`.
        public static let invalidInput = Error(.invalidInput)
        /// For `catch`: matches every error with the code `.outOfDiskSpace`.
        public static let outOfDiskSpace = Error(.outOfDiskSpace)
        /// For `catch`: matches every error with the code `.incompatibleSession`.
        public static let incompatibleSession = Error(.incompatibleSession)
        /// For `catch`: matches every error with the code `.unsupportedFileFormatVersion`.
        public static let unsupportedFileFormatVersion = Error(.unsupportedFileFormatVersion)
        /// For `catch`: matches every error with the code `.fileOperationFailed`.
        public static let fileOperationFailed = Error(.fileOperationFailed)
        /// For `catch`: matches every error with the code `.invalidDatabase`.
        public static let invalidDatabase = Error(.invalidDatabase)
        /// For `catch`: matches every error with the code `.unsupportedFeature`.
        public static let unsupportedFeature = Error(.unsupportedFeature)
        /// For `catch`: matches every error with the code `.writeFailed`.
        public static let writeFailed = Error(.writeFailed)
        /// For `catch`: matches every error with the code `.tooManyActiveVersions`.
        public static let tooManyActiveVersions = Error(.tooManyActiveVersions)
        /// For `catch`: matches every error with the code `.versionNotRetained`.
        public static let versionNotRetained = Error(.versionNotRetained)
    }
}

extension Realm.Error: Equatable {
    /// Whether two errors have the same code, so that a test can compare with `Realm.Error(.fileNotFound)`.
    public static func == (a: Realm.Error, b: Realm.Error) -> Bool { a.code == b.code }
}

/// Whether an error has the code of a pattern: lets `catch Realm.Error.fileNotFound` match by the code alone.
public func ~= (pattern: Realm.Error, error: any Error) -> Bool { (error as? Realm.Error)?.code == pattern.code }
