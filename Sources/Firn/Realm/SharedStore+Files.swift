import FirnCore
import FirnStorage
import Foundation

/// Deletes, examines and seeds stores without opening a realm.
extension SharedStore {
    /// Deletes a store that this process does not have open. Returns whether there was one.
    ///
    /// - Parameters:
    ///   - keepsOthers: if true, files that Firn did not make stay in the folder, and an error names them. If false,
    ///     they prevent the store from being deleted.
    ///   - seen: the only store that may be deleted. If another store is at the URL by now, or if this one was written
    ///     to since, nothing is deleted.
    static func remove(
        _ url: URL, keepsOthers: Bool = true, ifStill seen: SeenStore? = nil, storage: any Storage = PosixStorage.shared
    ) throws -> Bool {
        let removal: StoreRemoval
        let path = try url.checkedStorePath(of: "A store's URL")
        do throws(StoreError) {
            removal = try Store.remove(
                path, keepsOthers: keepsOthers, ifStill: seen, storage: storage)
        } catch {
            if error.isLocked {
                throw Realm.Error(
                    .alreadyOpen,
                    "The store was not deleted, because it is open, or a version of it is held: close it in every process.",
                    fileURL: url)
            }
            if !keepsOthers, case .log(let log) = error.code, log.code == .foreignFolder {
                throw Realm.Error(
                    .fileOperationFailed,
                    "The store was not deleted, because its folder also holds a file that Firn did not make: \(log.detail). Move it elsewhere.",
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

    /// Whether a store has to be deleted before a configuration's classes can use it. That is so if it would have to be
    /// migrated, and the configuration says that it is deleted instead. For classes that can't be stored, nothing is
    /// deleted.
    static func hasToBeDeleted(_ store: Store, _ configuration: Realm.Configuration) -> Bool {
        guard configuration.deleteRealmIfMigrationNeeded, !store.schema.tables.isEmpty else { return false }
        let infos = configuration.classes.map { ClassInfo.of($0) }
        guard SchemaPlan.faults(of: infos).isEmpty, SchemaPlan.limitFault(of: infos) == nil else { return false }
        return SchemaPlan(infos, version: configuration.schemaVersion, on: store.schema)
            .needsMigration(to: configuration.schemaVersion)
    }

    /// Calls `body` with a store. If this process does not have the store open, it is opened for reading meanwhile, and
    /// other openers of this process wait.
    static func examining<Result>(
        _ url: URL, encryptionKey: Data?, _ body: (Store) throws -> Result
    ) throws -> Result {
        _ = try url.checkedStorePath(of: "A store's URL")
        try EncryptionKey.check(encryptionKey, url)
        var configuration = Realm.Configuration(fileURL: url, encryptionKey: encryptionKey, readOnly: true)
        configuration.verifyOnOpen = .directory
        // Computed once: the path may lead elsewhere by the end, and the opening must end under the name that it began
        // with.
        let name = name(url)
        while true {
            switch find(name) {
            case .store(let shared):
                try shared.checkKey(of: configuration)
                return try body(shared.store)
            case .opening(let opening): try wait(for: opening, url)
            case .own(let opening):
                defer { endOpening(opening, name) }
                try checkExists(url)
                let store = try storing(url, Store(configuration.storeOptions, storage: PosixStorage.shared))
                defer { ignoringError { () throws(StoreError) in try store.close() } }
                return try body(store)
            }
        }
    }

    // MARK: The seed

    /// Copies a configuration's seed to its own URL, unless there is a store. The caller has registered the opening of
    /// that store.
    ///
    /// Waits while another process is just making a store there. Afterwards there is that store, or none.
    static func copySeed(_ seed: URL, to url: URL, _ configuration: Realm.Configuration) throws {
        try checkFolder(above: url)
        let storage = PosixStorage.shared
        let path = storage.canonicalPath(url.storePath)
        let deadline = Date(timeIntervalSinceNow: configuration.lockTimeout)
        while true {
            do {
                if try Store.exists(at: path, storage: storage) { return }
                // Checked first. Otherwise, if two missing stores are each other's seed, their openings would wait for
                // each other.
                guard try Store.exists(at: seed.checkedStorePath(of: "seedFilePath"), storage: storage) else {
                    throw Realm.Error(.fileNotFound, "There is no store at seedFilePath to be copied.", fileURL: seed)
                }
                // The seed has the key of the configuration, and so does its copy.
                return try examining(seed, encryptionKey: configuration.encryptionKey) { store in
                    try Store.writeCopy(
                        of: store.pin(at: CallSite(#fileID, #line)), to: path,
                        fileMode: FileMode(configuration.fileMode), encryptionKey: store.encryptionKey,
                        replacesRemains: true, storage: storage)
                }
            } catch let error as StoreError {
                guard error.isLocked || error.saysThatNameIsTaken, Date() < deadline else {
                    throw Realm.Error(error, url)
                }
                sleepThread(nanoseconds: 5_000_000)
            }
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
