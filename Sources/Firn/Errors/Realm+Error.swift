import FirnBytes
public import Foundation

extension Realm {
    /// What opening, writing, migrating and every `validating:` entry throw: what happened, where, and what to do about it.
    ///
    /// ```swift
    /// do { realm = try Realm(configuration: configuration) } catch Realm.Error.schemaMismatch { … }
    /// ```
    public struct Error: Swift.Error, CustomStringConvertible, LocalizedError, CustomNSError {
        /// The kind of error, with RealmSwift's numbers.
        public enum Code: Int, Sendable, Hashable {
            /// Anything without a code of its own.
            case fail = 1
            /// A file could not be read or written.
            case fileAccess = 2
            case filePermissionDenied = 3
            /// The destination of a copy exists.
            case fileExists = 4
            case fileNotFound = 5
            /// The file is of an older format that this version of Firn reads no more.
            case fileFormatUpgradeRequired = 6
            /// The file is being used by a version of Firn that can't share it with this one.
            case incompatibleLockFile = 8
            case addressSpaceExhausted = 9
            /// The classes differ from what the file holds, or contradict themselves.
            case schemaMismatch = 10
            /// The realm is open although it must not be.
            case alreadyOpen = 12
            /// A value, text or argument can't be used.
            case invalidInput = 13
            case outOfDiskSpace = 14
            case incompatibleSession = 15
            /// The file is of a newer format.
            case unsupportedFileFormatVersion = 16
            case fileOperationFailed = 19
            /// The file is no database, or is damaged.
            case invalidDatabase = 20
            /// What was asked for does not exist in this version of Firn.
            case unsupportedFeature = 100
            /// A write did not become durable; whether it will be there after reopening is unknown.
            case writeFailed = 101
            /// More is held than `maximumNumberOfActiveVersions` or `maximumRetainedBytes` allow; the message lists the holders.
            case tooManyActiveVersions = 102
            /// A past version was asked for that `historyRetention` did not retain.
            case versionNotRetained = 103
        }

        public let code: Code
        /// What happened, where, and what to do.
        public let message: String
        /// The store's folder, where the error is about one.
        public let fileURL: URL?

        public init(_ code: Code, fileURL: URL? = nil) {
            self.init(code, "", fileURL: fileURL)
        }

        init(_ code: Code, _ message: String, fileURL: URL? = nil) {
            self.code = code
            // Names and values that come from a store are shown harmlessly, see `DisplayText`.
            self.message = DisplayText.lines(message)
            self.fileURL = fileURL
        }

        public var description: String {
            (message.isEmpty ? "\(code)" : message) + (fileURL.map { " (\(DisplayText.line($0.path)))" } ?? "")
        }
        public var localizedDescription: String { description }
        public var errorDescription: String? { description }
        public static var errorDomain: String { "io.realm" }
        public var errorCode: Int { code.rawValue }
        public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description] }

        public static let fail = Error(.fail)
        public static let fileAccess = Error(.fileAccess)
        public static let filePermissionDenied = Error(.filePermissionDenied)
        public static let fileExists = Error(.fileExists)
        public static let fileNotFound = Error(.fileNotFound)
        public static let fileFormatUpgradeRequired = Error(.fileFormatUpgradeRequired)
        public static let incompatibleLockFile = Error(.incompatibleLockFile)
        public static let addressSpaceExhausted = Error(.addressSpaceExhausted)
        public static let schemaMismatch = Error(.schemaMismatch)
        public static let alreadyOpen = Error(.alreadyOpen)
        public static let invalidInput = Error(.invalidInput)
        public static let outOfDiskSpace = Error(.outOfDiskSpace)
        public static let incompatibleSession = Error(.incompatibleSession)
        public static let unsupportedFileFormatVersion = Error(.unsupportedFileFormatVersion)
        public static let fileOperationFailed = Error(.fileOperationFailed)
        public static let invalidDatabase = Error(.invalidDatabase)
        public static let unsupportedFeature = Error(.unsupportedFeature)
        public static let writeFailed = Error(.writeFailed)
        public static let tooManyActiveVersions = Error(.tooManyActiveVersions)
        public static let versionNotRetained = Error(.versionNotRetained)
    }
}

extension Realm.Error: Equatable {
    /// Errors are equal where their codes are, so that a test can compare with `Realm.Error(.fileNotFound)`.
    public static func == (a: Realm.Error, b: Realm.Error) -> Bool { a.code == b.code }
}

/// Lets `catch Realm.Error.fileNotFound` match by the code alone.
public func ~= (pattern: Realm.Error, error: any Error) -> Bool { (error as? Realm.Error)?.code == pattern.code }
