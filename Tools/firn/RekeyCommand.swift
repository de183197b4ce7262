import ArgumentParser
import FirnBytes
import FirnCore
import FirnCrypto
import FirnStorage

/// `firn rekey STORE --new-key-file FILE`: changes the key of an encrypted store.
struct RekeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey", abstract: "Changes the key of an encrypted store, without rewriting its data.",
        discussion: """
            Nobody may have the store open. Afterwards only the new key opens it. A backup from before still opens with \
            the old one, and who has both can read the store as it is now, too. If the old key has become known, make \
            a copy: `firn encrypt --new-key-file FILE`.

            Example: firn rekey people.firn --key-file old.key --new-key-file new.key
            """)

    @OptionGroup var arguments: StoreArguments
    @Option(
        help: ArgumentHelp("The new key: a file with 64 bytes, or 128 hexadecimal digits.", valueName: "file"),
        completion: .file())
    var newKeyFile: String

    func run() throws {
        try finish(with: arguments.key) { out in
            let new = try StoreKeySource.key(inFile: newKeyFile)
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
