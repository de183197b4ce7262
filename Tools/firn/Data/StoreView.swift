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

    /// Opens a version, or the newest one. Nobody has to wait for it.
    ///
    /// Past versions can be opened as far as the log goes back, whatever the store's configuration retains.
    static func open(_ path: String, _ choice: VersionChoice?, storage: any Storage) throws -> StoreView {
        let opened = try OpenedStore.open(path, storage: storage)
        let number = try choice?.number(in: opened)
        var options = LogOptions(folder: opened.files.path)
        options.access = .readOnly
        do throws(StoreError) {
            let store = try Store(StoreOptions(log: options), storage: storage)
            guard let number else {
                let pin = store.pin()
                return StoreView(store: store, pin: pin, schema: pin.snapshot.schema, version: pin.version)
            }
            store.retain(.everything)
            let past = try store.version(number)
            return StoreView(store: store, pin: past.pin, schema: past.schema, version: number)
        } catch {
            throw ToolError(reading: error)
        }
    }

    func close() throws {
        do throws(StoreError) { try store.close() } catch { throw ToolError(reading: error) }
    }

    /// The table of a class. Throws if there is none, or if its objects belong to others.
    func table(named name: String) throws(ToolError) -> TableID {
        guard let table = schema.table(named: name) else {
            let names = schema.tables.filter { !$0.isRemoved && !$0.isEmbedded }.map { DisplayText.line($0.name) }
            throw ToolError(
                .usage,
                "there is no class \(DisplayText.line(name)). The store has \(names.sorted().joined(separator: ", ")).")
        }
        guard !schema[table].isEmbedded else {
            throw ToolError(
                .usage, "the objects of class \(DisplayText.line(name)) are embedded in others, and come with them.")
        }
        return table
    }
}

extension ToolError {
    /// An error of Firn's own store, which was read.
    init(reading error: StoreError) {
        let status: Status =
            switch error.code {
            case .damage: .damage
            case .log(let inner) where inner.code == .damage: .damage
            case .versionNotYet, .versionNotRetained: .usage
            default: .input
            }
        self.init(status, "\(error)")
    }
}
