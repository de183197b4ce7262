import ArgumentParser
import FirnStorage

/// `firn encrypt STORE --output NEW`: makes an encrypted copy.
struct EncryptCommand: MakesCopy {
    static let configuration = CommandConfiguration(
        commandName: "encrypt", abstract: "Makes an encrypted copy of a store, or of its newest version.",
        discussion: """
            The copy is as `firn copy` makes it, and encrypted with the key. The store itself stays as it is: remove it \
            when nobody needs it any more. A key is made by: head -c 64 /dev/urandom > people.key

            Example: firn encrypt people.firn --key-file people.key --output encrypted.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments

    static func run(
        _ path: String, output new: String, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status {
        guard try !StoreFiles(named: path, storage: storage).isEncrypted() else {
            throw ToolError(.usage, "\(path) is encrypted. `firn rekey` changes its key.")
        }
        // Nobody is asked for the key of a new store: a mistyped one would open it never again.
        guard let key = try StoreKeySource.current.given() else {
            throw ToolError(.usage, "Give the copy's key with --key-file FILE or in the environment variable FIRN_KEY.")
        }
        // The key is the copy's. The store itself has none.
        return try StoreKeySource.$current.withValue(StoreKeySource()) {
            try CopyCommand.run(path, output: new, json: json, storage: storage, output) { _ in key }
        }
    }
}
