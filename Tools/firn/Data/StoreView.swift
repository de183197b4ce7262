import FirnBytes
import FirnCore
import FirnLog
import FirnStorage

/// One version of a store, opened for reading through Firn itself: for subcommands that need queries.
struct StoreView {
    private let store: Store
    private let pin: Pin
    /// The schema as it was in that version.
    let schema: StoreSchema
    let version: UInt64

    var snapshot: Snapshot { pin.snapshot }

    /// Opens a version, or the newest one, for `body`. No other user of the store waits for this. Throws the damage
    /// that `body` meets.
    ///
    /// Past versions can be opened as far as the log goes back, whatever the store's configuration retains.
    static func reading<Result>(
        _ path: String, choice: VersionChoice?, storage: any Storage, _ body: (StoreView) throws -> Result
    ) throws -> Result {
        let opened = try OpenedStore.open(path, storage: storage)
        let number = try choice?.number(in: opened)
        do {
            return try Store.throwingDamage {
                let view = try open(opened, number, storage: storage)
                let result = try body(view)
                try view.store.close()
                return result
            }
        } catch let error as StoreError {
            throw ToolError(reading: error)
        }
    }

    private static func open(_ opened: OpenedStore, _ number: UInt64?, storage: any Storage) throws -> StoreView {
        var options = LogOptions(folder: opened.files.path)
        options.access = .readOnly
        options.encryptionKey = try opened.files.encryptionKey()
        let store = try Store(StoreOptions(log: options), storage: storage)
        guard let number else {
            let pin = store.pin()
            return StoreView(store: store, pin: pin, schema: pin.snapshot.schema, version: pin.version)
        }
        store.retain(.everything)
        let past = try store.version(number)
        return StoreView(store: store, pin: past.pin, schema: past.schema, version: number)
    }

    /// Throws if damage was met. What was read since the last call must then not be shown.
    func checkDamage() throws { try Store.checkDamage() }

    /// How many classes a message lists.
    private static let namedClasses = 50

    /// The table of a class. Throws if there is none, or if the class is embedded.
    func table(named name: String) throws(ToolError) -> TableID {
        guard let table = schema.table(named: name) else {
            let names = schema.tables.filter { !$0.isRemoved && !$0.isEmbedded }.map { DisplayText.line($0.name) }
            let others = names.count > Self.namedClasses ? " and others: `firn info` lists them" : ""
            throw ToolError(
                .usage,
                "there is no class \(DisplayText.line(name)). The store has \(names.sorted().prefix(Self.namedClasses).joined(separator: ", "))\(others)."
            )
        }
        guard !schema[table].isEmbedded else {
            throw ToolError(
                .usage, "the objects of class \(DisplayText.line(name)) are embedded in others, and come with them.")
        }
        return table
    }
}
