import ArgumentParser
import FirnBytes
import FirnCore
import FirnLog
import FirnStorage

/// `firn compact STORE`: makes a store's files as small as they can be.
struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Makes a store's files as small as they can be.",
        discussion: """
            Writes a checkpoint of the newest version and removes the log before it. Past versions stay as far as the \
            store's configuration retains them. The store may be in use: nobody has to wait for longer than a few \
            milliseconds. If the command is interrupted, the store is as it was.

            Example: firn compact people.firn
            """)

    @OptionGroup var arguments: StoreArguments

    func run() throws {
        try finish(with: arguments.key) { out in
            try Self.run(arguments.store, json: arguments.json, storage: PosixStorage.shared, out)
        }
    }

    static func run(
        _ path: String, json: Bool, storage: any Storage, clock: any Clock = SystemClock.shared, _ output: Output
    ) throws -> ToolError.Status {
        let files = StoreFiles(named: path, storage: storage)
        // Opening would make a store where there is none.
        try files.checkIsStore()
        let before = try files.byteCount()
        var options = LogOptions(folder: files.path)
        options.encryptionKey = try files.encryptionKey()
        let version: UInt64
        do throws(StoreError) {
            let store = try Store(StoreOptions(log: options), storage: storage, clock: clock)
            var failure: StoreError?
            do throws(StoreError) { try store.compact() } catch { failure = error }
            version = store.pin().version
            // The first error is the one that counts.
            do throws(StoreError) { try store.close() } catch { failure = failure ?? error }
            if let failure { throw failure }
        } catch {
            throw ToolError(reading: error)
        }
        let after = try files.byteCount()
        if json {
            try output.line(
                JSON.object([("version", .int(version)), ("bytesBefore", .int(before)), ("bytes", .int(after))]).text)
        } else {
            try output.line(
                "\(DisplayText.line(files.path)) has \(Amount.bytes(after)), before that \(Amount.bytes(before)); version \(version)"
            )
        }
        return .fine
    }
}
