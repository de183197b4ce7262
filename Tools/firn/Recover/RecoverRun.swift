import FirnBytes
import FirnStorage

/// One run of `firn recover`. Its steps form a line: each uses those before it and knows none after it, and returns
/// what it has done.
///
/// 1. `RecoverSources` is what can be read of a store: a `DamagedLog`, over the `LogFrames` that are whole, and each
///    `DamagedCheckpoint`. They change nothing, and keep what is wrong with what was read of them.
/// 2. `MergedRows` walks the sources, a `TableMerge` for each table, and gives complete rows in order. The walk returns
///    `RowLosses`: what a row should have and no source has.
/// 3. `RowWriter` walks the merged rows twice, for the objects and then for their links, and writes a store. It returns
///    what it has written and left out.
/// 4. `RecoverReport` is put together from what the others have returned. The subcommand prints it.
///
/// A row (`RecoveredRow`) owns its values. The only closures between two steps are the visitors of walks.
///
/// Memory: what `MergedRows` needs, and one transaction that inserts all objects.
struct RecoverRun {
    let path: String
    /// The path of the new store.
    let new: String
    /// The path of another store, whose schema is used if this store's is lost or lacks something.
    let schemaStore: String?
    /// How much of what the log has changed is held in memory.
    let byteMax: Int
    let storage: any Storage
    let clock: any Clock

    /// Makes the new store.
    func run(_ output: Output) throws -> RecoverReport {
        let store = try OpenedStore.openDamaged(path, storage: storage)
        try storage.checkIsFree(new, outside: store.files)
        let sources = try RecoverSources(store)
        let rows = MergedRows(sources, schema: try schema(sources), byteMax: byteMax)
        // What is saved of an encrypted store has the same key.
        let key = store.files.keys == nil ? nil : try StoreKeySource.current.key(of: path)
        let written = try RowWriter.write(
            rows, to: new, encryptionKey: key, storage: storage, clock: clock, output)
        return RecoverReport(written, from: sources, schema: rows.schema)
    }

    /// The newest schema that is known.
    private func schema(_ sources: RecoverSources) throws -> DecodedSchema {
        var known = sources.schema
        if let schemaStore {
            guard let given = try OpenedStore.openDamaged(schemaStore, storage: storage).newestSchema() else {
                throw ToolError(.usage, "\(schemaStore) has no schema that can be read, which --schema-from needs.")
            }
            guard given.extends(known ?? given) || known?.extends(given) == true else {
                throw ToolError(
                    .usage,
                    "\(schemaStore) has other classes or properties than what is left of the schema of \(path). Give --schema-from another copy of the store, or a store of the same release of the application."
                )
            }
            known = [known, given].compactMap { $0 }.max { $0.size < $1.size }
        }
        guard let known else {
            throw ToolError(
                .damage,
                "\(path): no schema can be read, neither in the log nor in a checkpoint. \(new) was not made. If there is another store of the same application, such as an older copy, give it as --schema-from STORE."
            )
        }
        return known
    }
}
