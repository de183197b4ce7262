import FirnBytes
import FirnCore
import FirnLog
import FirnRealmFile
import FirnStorage

/// One run of an import: makes the classes that are missing, and puts the objects of a source into a store.
struct ImportRun {
    let source: any ImportSource
    /// After how many objects a transaction is committed; nil to commit everything at once.
    let batch: Int?

    struct Result {
        var inserted = 0
        var changed = 0
        /// The version after the import.
        var version: UInt64 = 0
    }

    /// Imports everything into the store at a path, and prints what was done.
    ///
    /// A store that does not exist is made under a temporary name, and renamed when it is complete. So nobody else uses
    /// it too early, and it can be removed after a failure.
    func run(
        into path: String, json: Bool, storage: any Storage, clock: any Clock, _ output: Output
    ) throws -> ToolError.Status {
        let files = StoreFiles(named: path, storage: storage)
        let isNew = try stored(storage.status(files.path)) == nil
        if !isNew { try files.checkIsStore() }
        try NewStore.removeRemains(of: path, storage: storage, output)
        var hasCommitted = false
        let result: Result
        if isNew {
            let new = NewStore(at: path, storage: storage)
            do {
                result = try run(into: new.partial, storage: storage, clock: clock, hasCommitted: &hasCommitted)
            } catch {
                // With --batch, what is committed stays.
                if hasCommitted { try finish(new) } else { new.partial.removeAll() }
                guard let failure = error as? ToolError else { throw error }
                throw ToolError(
                    failure.status, failure.description.replacing(new.partial.path, with: new.files.path))
            }
            try finish(new)
        } else {
            result = try run(into: files, storage: storage, clock: clock, hasCommitted: &hasCommitted)
        }
        output.clearProgress()
        do {
            if json {
                try output.line(
                    JSON.object([
                        ("inserted", .int(result.inserted)), ("changed", .int(result.changed)),
                        ("version", .int(result.version)),
                    ]).text)
            } else {
                try output.line(
                    "\(DisplayText.line(files.path)) got \(Amount.of(result.inserted, one: "new object")), and \(Amount.of(result.changed, one: "object")) changed; version \(result.version)"
                )
            }
            try output.flush()
        } catch let error as ToolError {
            // The message says that the import is done, since running it again would import the objects twice.
            throw ToolError(error.status, "\(error). But everything is imported, as version \(result.version).")
        }
        return .fine
    }

    private func finish(_ new: NewStore) throws(ToolError) {
        guard try !new.finish() else { return }
        throw ToolError(
            .input,
            "\(DisplayText.line(new.files.path)): another process has made a store here meanwhile. Nothing was imported; run the import again to add to that one."
        )
    }

    private func run(
        into files: StoreFiles, storage: any Storage, clock: any Clock, hasCommitted: inout Bool
    ) throws -> Result {
        do {
            var options = LogOptions(folder: files.path)
            // A new store is encrypted if the user gives a key.
            let isThere = try stored(storage.status(files.manifest)) != nil
            options.encryptionKey = try isThere ? files.encryptionKey() : StoreKeySource.current.given()
            let store = try Store(StoreOptions(log: options), storage: storage, clock: clock)
            let result: Result
            do {
                result = try run(into: store, &hasCommitted)
            } catch {
                // The first error is the one that counts.
                try? store.close()
                throw error
            }
            try store.close()
            return result
        } catch let error as StoreError {
            throw ToolError(reading: error)
        }
    }

    private func run(into store: Store, _ hasCommitted: inout Bool) throws -> Result {
        do {
            return try put(into: store, &hasCommitted)
        } catch let fault as ObjectFault {
            let left = hasCommitted ? "Objects before the last full batch are imported." : "Nothing was imported."
            throw ToolError(.usage, "\(source.name):\(fault.place): \(fault.text). \(left)")
        } catch let missing as Importer.MissingLink {
            let left = batch == nil ? "Nothing was imported." : "Everything else is imported."
            let place = source.place(missing.line, missing.table)
            let others = missing.count == 1 ? "" : ", and so do \(missing.count - 1) more links"
            throw ToolError(.usage, "\(source.name):\(place): \(missing.text)\(others). \(left)")
        } catch let error as RealmFileError {
            let failure = ToolError(reading: error)
            throw ToolError(
                failure.status,
                failure.description
                    + (hasCommitted ? " Objects before the last full batch are imported." : " Nothing was imported."))
        } catch let error as StoreError where error.code == .schema {
            throw ToolError(.usage, "\(source.name): \(error). Nothing was imported.")
        } catch let error as StoreError where batch == nil && error.isCommitTooLarge {
            let failure = ToolError(reading: error)
            throw ToolError(
                failure.status,
                "\(failure) Nothing was imported. With --batch 100000 the import commits after each 100000 objects.")
        } catch let error as ToolError where error.status == .interrupted && hasCommitted {
            throw ToolError(.interrupted, "interrupted; the objects before the last full batch are imported.")
        } catch let error as StoreError where hasCommitted {
            let failure = ToolError(reading: error)
            throw ToolError(
                failure.status, "\(failure) That is the last batch: the objects before it are imported.")
        }
    }

    private func put(into store: Store, _ hasCommitted: inout Bool) throws -> Result {
        let (classes, version) = try source.classes(store.pin().snapshot.schema)
        var transaction = try begin(store)
        // Whether the transaction is neither committed nor cancelled.
        var isOpen = true
        defer { if isOpen { transaction.cancel() } }
        var last = store.pin().version
        func commit() throws {
            isOpen = false
            last = try transaction.commit().number
            hasCommitted = true
        }
        // Another process may have changed the schema while the source was examined.
        let stored = transaction.snapshot.schema
        let schema = try ImportSchema(stored, adding: classes, version: version).schema
        if schema != stored { try transaction.changeSchema(to: schema) }
        let importer = Importer(schema, transaction)
        var pending = 0
        func count() throws {
            pending += 1
            guard let batch, pending >= batch else { return }
            pending = 0
            importer.willCommit()
            try commit()
            transaction = try begin(store)
            isOpen = true
            guard transaction.snapshot.schema == schema else {
                throw ToolError(
                    .input, "another process has changed the classes of the store meanwhile. Import the rest again.")
            }
            importer.go(on: transaction)
        }
        try source.forEachObject(schema) { table, number, values, line in
            try importer.add(table, number: number, &values, line: line)
            try count()
        }
        let missing = try importer.finish(count)
        // With --batch, all that could be set is kept.
        if let missing, batch == nil { throw missing }
        if let damage = transaction.metDamage { throw damage }
        if transaction.hasChanges { try commit() }
        if let missing { throw missing }
        return Result(inserted: importer.inserted, changed: importer.changed, version: last)
    }

    /// Begins a transaction. While this waits for another process, nothing is half-made, so a signal ends this process
    /// at once. A store that is being made has no other processes, and is removed when a signal comes.
    private func begin(_ store: Store) throws -> WriteTransaction {
        if store.otherProcesses.isEmpty { return try store.beginWrite() }
        return try Interrupts.endingAtOnce { try store.beginWrite() }
    }
}

extension StoreError {
    /// Whether a commit has more bytes than the log takes in one commit.
    fileprivate var isCommitTooLarge: Bool { if case .log(let error) = code { error.code == .tooLarge } else { false } }
}
