import FirnCore
import FirnQuery
import FirnStorage
import Foundation

extension Realm.Error {
    /// An error of the store, with the code that the API has for it.
    init(_ error: StoreError, _ url: URL?) {
        let code: Code
        switch error.code {
        case .log(let log): code = Realm.Error.code(log)
        case .damage: code = .invalidDatabase
        case .primaryKeyTaken: code = .invalidInput
        case .schema, .schemaChangedElsewhere: code = .schemaMismatch
        case .limit: code = .invalidInput
        case .unsupported: code = .unsupportedFeature
        case .tooManyActiveVersions: code = .tooManyActiveVersions
        case .readOnly, .closed: code = .fail
        case .versionNotRetained: code = .versionNotRetained
        case .versionNotYet: code = .invalidInput
        }
        self.init(code, error.description, fileURL: url)
    }

    /// The API's code for an error of the log.
    private static func code(_ error: LogError) -> Code {
        switch error.code {
        case .notAStore, .damage: return .invalidDatabase
        case .key(.unavailable): return .unsupportedFeature
        case .key(.oldRemains): return .writeFailed
        case .key: return .invalidDatabase
        case .foreignFolder: return .invalidDatabase
        case .newerFormat: return .unsupportedFileFormatVersion
        case .locked, .tooManyProcesses: return .alreadyOpen
        case .diskFull: return .outOfDiskSpace
        case .unknownOutcome: return .writeFailed
        case .replaced: return .fileAccess
        case .readOnly, .closed, .forked, .versionNotHere: return .fail
        case .networkFileSystem: return .unsupportedFeature
        case .tooLarge: return .invalidInput
        case .storage(let storage):
            switch storage.code {
            case .notFound: return .fileNotFound
            case .permissionDenied, .readOnlyFileSystem, .notWritable: return .filePermissionDenied
            case .exists: return .fileExists
            case .noSpace: return .outOfDiskSpace
            case .notAFolder, .isAFolder, .notEmpty, .nameTooLong: return .fileOperationFailed
            case .tooManyOpenFiles, .closed, .input, .io: return .fileAccess
            case .outOfMemory: return .addressSpaceExhausted
            case .forked: return .fail
            }
        }
    }

    /// An error of a query: always `.invalidInput`.
    init(_ error: QueryError) { self.init(.invalidInput, error.description) }
}

/// Calls a store, and converts the error that it throws to a `Realm.Error`.
///
/// - Parameter url: the realm's file, which the error names.
@inline(__always)
func storing<T>(_ url: URL?, _ call: @autoclosure () throws(StoreError) -> T) throws(Realm.Error) -> T {
    do { return try call() } catch { throw Realm.Error(error, url) }
}
