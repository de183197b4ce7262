import ArgumentParser
import FirnBytes
import FirnCore
import FirnCrypto
import FirnStorage

/// `firn encrypt STORE --output NEW`: makes an encrypted copy.
struct EncryptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt", abstract: "Makes an encrypted copy of a store, or of its newest version.",
        discussion: """
            The copy is as `firn copy` makes it, and encrypted with the key. The store itself stays as it is: remove it \
            when nobody needs it any more. A key is made by: head -c 64 /dev/urandom > people.key

            Example: firn encrypt people.firn --key-file people.key --output encrypted.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments

    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            try Self.run(arguments.store, output: new.output, json: arguments.json, storage: PosixStorage.shared, out)
        }
    }

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

/// `firn decrypt STORE --output NEW`: makes a copy without encryption.
struct DecryptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt", abstract: "Makes a copy of an encrypted store that everybody can read.",
        discussion: """
            The copy is as `firn copy` makes it, and is not encrypted. The store itself stays as it is.

            Example: firn decrypt people.firn --key-file people.key --output plain.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments

    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            try Self.run(arguments.store, output: new.output, json: arguments.json, storage: PosixStorage.shared, out)
        }
    }

    static func run(
        _ path: String, output new: String, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status {
        try CopyCommand.run(path, output: new, json: json, storage: storage, output) { opened in
            guard opened.manifest.encryption != nil else {
                throw ToolError(.usage, "\(path) is not encrypted. `firn copy` copies it.")
            }
            return nil
        }
    }
}

/// `firn rekey STORE --new-key-file FILE`: changes the key of an encrypted store.
struct RekeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey", abstract: "Changes the key of an encrypted store, without rewriting its data.",
        discussion: """
            Nobody may have the store open. Afterwards only the new key opens it. A backup from before still opens with \
            the old one. If the old key has become known, make a copy with a key of its own: `firn decrypt`, then \
            `firn encrypt`.

            Example: firn rekey people.firn --key-file old.key --new-key-file new.key
            """)

    @OptionGroup var arguments: StoreArguments
    @Option(
        help: ArgumentHelp("The new key: a file with 64 bytes, or 128 hexadecimal digits.", valueName: "file"),
        completion: .file())
    var newKeyFile: String

    func run() throws {
        try finish(with: arguments.key) { out in
            let new = try StoreKeySource.key(
                Terminal.contents(of: newKeyFile, most: StoreKeySource.fileByteCount), inFile: newKeyFile)
            return try Self.run(arguments.store, newKey: new, json: arguments.json, storage: PosixStorage.shared, out)
        }
    }

    static func run(
        _ path: String, newKey new: EncryptionKey, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status {
        let files = StoreFiles(named: path, storage: storage)
        try files.checkIsStore()
        guard let old = try files.encryptionKey() else {
            throw ToolError(.usage, "\(path) is not encrypted. `firn encrypt` makes an encrypted copy.")
        }
        do throws(StoreError) { try Store.changeKey(files.path, from: old, to: new, storage: storage) } catch {
            throw ToolError(reading: error)
        }
        try output.line(
            json
                ? JSON.object([("store", .string(files.path))]).text
                : "\(DisplayText.line(files.path)) has the new key")
        return .fine
    }
}
