import FirnBytes
import FirnStorage

/// The functions of the tool that other programs call: the command itself, and the fuzzer.
package enum Program {
    /// Runs the command with the process's arguments, and ends the process.
    package static func run() { FirnCommand.main() }

    // MARK: Fuzzing

    /// Runs the subcommands that need no choice on a store, and recovers the store to `new`. Whatever the files are,
    /// each must end, and either succeed or throw a `ToolError`.
    package static func inspect(_ path: String, recoveringTo new: String, storage: any Storage, clock: any Clock) {
        let ways: [(Output) throws -> ToolError.Status] = [
            { try VerifyCommand.run(path, deep: true, json: true, storage: storage, $0) },
            { try InfoCommand.run(path, json: false, storage: storage, $0) },
            { try LogCommand.run(path, from: 1, to: .max, json: true, storage: storage, output: $0) },
            { try RecoverCommand.run(path, output: new, json: false, storage: storage, clock: clock, $0) },
            { try VerifyCommand.run(new, deep: true, json: false, storage: storage, $0) },
        ]
        for way in ways { attempt(way) }
    }

    /// Imports a text into a new store and exports it again.
    ///
    /// - Parameter isCSV: whether the text is CSV, and not JSON lines.
    package static func importText(
        _ text: [UInt8], isCSV: Bool, into path: String, storage: any Storage, clock: any Clock
    ) {
        let file = make("/text", bytes: text, storage: storage)
        var options = TextImport.Options(type: "T", primaryKey: nil)
        options.isCSV = isCSV
        attempt {
            try ImportCommand.run(
                path, file: file, options: options, json: false, storage: storage, clock: clock, output: $0)
        }
        exportAll(path, storage)
    }

    /// Imports what `realm2json` might write into a new store, and exports it again.
    package static func importRealm(
        _ objects: [UInt8], schema: [UInt8], into path: String, storage: any Storage, clock: any Clock
    ) {
        let (file, schemaFile) = (
            make("/objects", bytes: objects, storage: storage), make("/schema", bytes: schema, storage: storage)
        )
        attempt {
            try ImportRealmCommand.run(
                path, file: file, choice: .init(schema: schemaFile), storage: storage, clock: clock, output: $0)
        }
        exportAll(path, storage)
    }

    /// Imports what might be a file of Realm into a new store, without its damaged classes, and exports it again.
    package static func importRealmFile(
        _ bytes: [UInt8], into path: String, storage: any Storage, clock: any Clock
    ) {
        let file = make("/app.realm", bytes: bytes, storage: storage)
        attempt {
            try ImportRealmCommand.run(
                path, file: file, choice: .init(salvages: true), storage: storage, clock: clock, output: $0)
        }
        exportAll(path, storage)
    }

    private static func exportAll(_ path: String, _ storage: any Storage) {
        attempt {
            try ExportCommand.run(path, format: .ndjson, choice: .init(), output: nil, storage: storage, to: $0)
            return .fine
        }
    }

    private static func make(_ path: String, bytes: [UInt8], storage: any Storage) -> String {
        do {
            let made = try storage.open(path, .create)
            try bytes.withUnsafeBytes { try made.write($0, at: 0) }
            made.close()
        } catch {
            // This can't fail, since the storage is new.
            fatalError("Firn: \(error)")
        }
        return path
    }

    /// Reads the names of types, as `--types` has them.
    package static func readTypes(_ text: String) {
        attempt { _ in
            _ = try TypeText.properties(text)
            return .fine
        }
    }

    private static func attempt(_ body: (Output) throws -> ToolError.Status) {
        do {
            _ = try body(Output(showsProgress: false, out: { _ in }, error: { _ in }))
        } catch is ToolError {
        } catch {
            fatalError("Firn: a subcommand threw \(error), and no ToolError")
        }
    }
}
