import ArgumentParser
import FirnStorage

/// `firn decrypt STORE --output NEW`: makes a copy without encryption.
struct DecryptCommand: MakesCopy {
    static let configuration = CommandConfiguration(
        commandName: "decrypt", abstract: "Makes a copy of an encrypted store that everybody can read.",
        discussion: """
            The copy is as `firn copy` makes it, and is not encrypted. The store itself stays as it is.

            Example: firn decrypt people.firn --key-file people.key --output plain.firn
            """)

    @OptionGroup var arguments: StoreArguments
    @OptionGroup var new: NewStoreArguments

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
