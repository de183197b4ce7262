public import Foundation
import FirnCore

extension Realm {
    /// Migrates a store without using it: opens it with a configuration, and closes it again.
    ///
    /// ```swift
    /// try await Task.detached { try Realm.performMigration(for: configuration) }.value
    /// ```
    ///
    /// Opening it for the first time does the same. With this function the application chooses the moment, and a thread
    /// that may be blocked while the application shows that it is busy. May be called on any thread. Costs what opening
    /// and the `migrationBlock` cost.
    ///
    /// - Throws: `Realm.Error`: `.alreadyOpen` if this process has the store open, and the errors of
    ///   `init(configuration:queue:file:line:)`.
    public static func performMigration(
        for configuration: Configuration = .defaultConfiguration, file: StaticString = #fileID, line: UInt = #line
    ) throws {
        if let url = configuration.fileURL, SharedStore.isOpen(url) {
            throw Error(
                .alreadyOpen,
                "The realm is open in this process; migrate it first, or release everything that belongs to it.",
                fileURL: url)
        }
        _ = try SharedStore.open(configuration, at: CallSite(file, line))
    }
}

/// The schema version of a store: `Realm.Configuration.schemaVersion` of the opener that last migrated it.
///
/// ```swift
/// if try schemaVersionAtURL(url) < 3 { showThatThisTakesAWhile() }
/// ```
///
/// May be called on any thread, also while the store is open, here or in another process. Costs what opening it for
/// reading costs.
///
/// - Parameter fileURL: the store's folder.
/// - Parameter encryptionKey: the key of an encrypted store.
/// - Throws: `Realm.Error` with one of these codes:
/// - `.invalidDatabase`: there is no store, it is damaged, the path leads to something else, or the key is not the
///   store's.
/// - `.unsupportedFeature`: the store is encrypted, and this build has no cryptography.
/// - `.invalidInput`: the URL is not a file URL, or the key does not have 64 bytes.
///   - `.filePermissionDenied` and other codes: the file system refuses.
public func schemaVersionAtURL(_ fileURL: URL, encryptionKey: Data? = nil) throws -> UInt64 {
    do { return try SharedStore.examining(fileURL, encryptionKey: encryptionKey) { $0.schema.version } } catch let error
        as Realm.Error
        where error.code == .fileNotFound
    {
        // RealmSwift throws this code for a missing file in this function alone.
        throw Realm.Error(.invalidDatabase, error.message, fileURL: fileURL)
    }
}
