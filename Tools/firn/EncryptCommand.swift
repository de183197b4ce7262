import ArgumentParser
import FirnCrypto
import FirnStorage

/// `firn encrypt STORE --output NEW`: makes an encrypted copy.
struct EncryptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt", abstract: "Makes an encrypted copy of a store, or of its newest version.",
        discussion: """
            The copy is as `firn copy` makes it, and encrypted with the key. The store itself stays as it is: remove it \
            when nobody needs it any more. A key is made by: head -c 64 /dev/urandom > people.key

            The copy of an encrypted store gets another key with --new-key-file, and all its data is encrypted anew. So \
            somebody who knows the old key can't read it.

            Example: firn encrypt people.firn --key-file people.key --output encrypted.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments
    @Option(
        help: ArgumentHelp(
            "The copy's key, if the store is encrypted: a file with 64 bytes, or 128 hexadecimal digits.",
            valueName: "file"),
        completion: .file())
    var newKeyFile: String?

    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            try Self.run(
                arguments.store, newKey: newKeyFile.map { try StoreKeySource.key(inFile: $0) }, output: new.output,
                json: arguments.json, storage: PosixStorage.shared,
                out)
        }
    }

    /// - Parameter newKey: the copy's key if the store is encrypted, nil otherwise.
    static func run(
        _ path: String, newKey: EncryptionKey? = nil, output new: String, json: Bool, storage: any Storage,
        _ output: Output
    ) throws -> ToolError.Status {
        let isEncrypted = try StoreFiles(named: path, storage: storage).isEncrypted()
        if let newKey {
            guard isEncrypted else {
                throw ToolError(.usage, "\(path) is not encrypted. Give the copy's key with --key-file FILE.")
            }
            return try CopyCommand.run(path, output: new, json: json, storage: storage, output) { _ in newKey }
        }
        guard !isEncrypted else {
            throw ToolError(
                .usage,
                "\(path) is encrypted. Give the copy's key with --new-key-file FILE, or change the store's with `firn rekey`."
            )
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
