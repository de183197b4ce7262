import FirnCore
import FirnStorage
import Foundation

/// What is done with the files of a store that no realm of this process has open.
extension SharedStore {
    /// Deletes a store that this process does not have open. Returns whether there was one.
    static func remove(_ url: URL) throws -> Bool {
        let removal: StoreRemoval
        do throws(StoreError) {
            removal = try Store.remove(url.storePath, storage: PosixStorage.shared)
        } catch {
            if error.isLocked {
                throw Realm.Error(
                    .alreadyOpen,
                    "The store was not deleted, because it is open, or a version of it is held: close it in every process.",
                    fileURL: url)
            }
            throw Realm.Error(error, url)
        }
        guard removal.left.isEmpty else {
            throw Realm.Error(
                .fileOperationFailed,
                "The store was deleted. Its folder stays, because it also holds files that Firn did not make: \(removal.left.joined(separator: ", ")).",
                fileURL: url)
        }
        return removal.wasThere
    }

    /// Whether a store has to be deleted before a configuration's classes can use it: because it would have to be
    /// migrated, and the configuration says that it is deleted instead. A schema that can't be stored deletes nothing.
    static func hasToBeDeleted(_ store: Store, _ configuration: Realm.Configuration) -> Bool {
        guard configuration.deleteRealmIfMigrationNeeded, !store.schema.tables.isEmpty else { return false }
        let infos = configuration.classes.map { ClassInfo.of($0) }
        guard SchemaPlan.faults(of: infos).isEmpty else { return false }
        return SchemaPlan(infos, version: configuration.schemaVersion, on: store.schema)
            .needsMigration(to: configuration.schemaVersion)
    }

    /// Calls `body` with a store that may be open in this process or not. If it is not, it is opened for reading
    /// meanwhile, and other openers of this process wait.
    static func examining<Result>(_ url: URL, _ body: (Store) throws -> Result) throws -> Result {
        guard url.isFileURL else {
            throw Realm.Error(.invalidInput, "A store's URL must name a local folder.", fileURL: url)
        }
        while true {
            switch find(identity(url)) {
            case .store(let shared): return try body(shared.store)
            case .opening(let opening): try wait(for: opening, url)
            case .own(let opening):
                defer { endOpening(opening, identity(url)) }
                try checkExists(url)
                var configuration = Realm.Configuration(fileURL: url, readOnly: true)
                configuration.verifyOnOpen = .directory
                do {
                    let store = try Store(configuration.storeOptions, storage: PosixStorage.shared)
                    defer { ignoringError { () throws(StoreError) in try store.close() } }
                    return try body(store)
                } catch let error as StoreError {
                    throw Realm.Error(error, url)
                }
            }
        }
    }

    // MARK: The seed

    /// Copies a configuration's seed to its own URL, unless there is a store. The caller has registered the opening of
    /// that store.
    static func copySeed(_ seed: URL, to url: URL, _ configuration: Realm.Configuration) throws {
        let path = PosixStorage.shared.canonicalPath(url.storePath)
        do {
            if try Store.exists(at: path, storage: PosixStorage.shared) { return }
            try examining(seed) { store in
                // What an interrupted creation or deletion has left, or an empty folder, is no store.
                if FileManager.default.fileExists(atPath: path) {
                    _ = try Store.remove(path, storage: PosixStorage.shared)
                    ignoringError { () throws(StorageError) in try PosixStorage.shared.remove(path) }
                }
                try Store.writeCopy(
                    of: store.pin(at: CallSite(#fileID, #line)), to: path, fileMode: FileMode(configuration.fileMode),
                    storage: PosixStorage.shared)
            }
        } catch let error as StoreError {
            // Another process was faster, or is just copying it. It is opened like any other store.
            if error.isLocked || error.saysThatNameIsTaken { return }
            throw Realm.Error(error, url)
        }
    }
}

extension StoreError {
    fileprivate var isLocked: Bool {
        if case .log(let log) = code, case .locked = log.code { return true }
        return false
    }

    fileprivate var saysThatNameIsTaken: Bool {
        if case .log(let log) = code, log.code == .foreignFolder { return true }
        return false
    }
}
