import ArgumentParser
import FirnBytes
import FirnCore
import FirnCrypto
import FirnLog
import FirnStorage

/// `firn copy STORE --output NEW`: copies the newest version of a store, also while it is in use.
struct CopyCommand: MakesCopy {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copies the newest version of a store, also while a process writes to it.",
        discussion: """
            The copy is one version: that of the moment at which the command begins. It has the version's number and \
            time, an identity of its own, and no history before it. The copy of an encrypted store has the same key. \
            Nobody has to wait for it. A copy that is interrupted leaves nothing; what one that was killed has left is \
            removed by the next one to the same place.

            Example: firn copy people.firn --output backup.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments

    static func run(
        _ path: String, output new: String, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status {
        try run(path, output: new, json: json, storage: storage, output) { try $0.files.encryptionKey() }
    }

    /// Copies a store.
    ///
    /// - Parameter newKey: gives the copy's key for the store; nil for a copy without encryption.
    static func run(
        _ path: String, output new: String, json: Bool, storage: any Storage, _ output: Output,
        newKey: (OpenedStore) throws -> EncryptionKey?
    ) throws -> ToolError.Status {
        let opened = try OpenedStore.open(path, storage: storage)
        try storage.checkIsFree(new, outside: opened.files)
        let key = try newKey(opened)
        var options = LogOptions(folder: opened.files.path)
        options.access = .readOnly
        options.encryptionKey = try opened.files.encryptionKey()
        let version = try NewStore.make(at: new, storage: storage, output) { partial in
            do throws(StoreError) {
                let store = try Store(StoreOptions(log: options), storage: storage)
                let pin = store.pin()
                try Store.writeCopy(
                    of: pin, to: partial, encryptionKey: key, storage: storage, isWanted: { !Interrupts.haveCome })
                let version = pin.version
                try store.close()
                return version
            } catch {
                try Interrupts.check()
                throw ToolError(error, new)
            }
        }
        let id = try OpenedStore.storeID(new, storage: storage)
        if json {
            try output.line(
                JSON.object([("store", .string(new)), ("id", .string(id)), ("version", .int(version))]).text)
        } else {
            try output.line("\(DisplayText.line(new)) holds version \(version), store \(id)")
        }
        return .fine
    }
}
