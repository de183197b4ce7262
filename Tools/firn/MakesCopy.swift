import ArgumentParser
import FirnStorage

/// A subcommand that makes a copy of a store.
protocol MakesCopy: ParsableCommand {
    var arguments: StoreArguments { get }
    var new: NewStoreArguments { get }

    static func run(
        _ path: String, output new: String, json: Bool, storage: any Storage, _ output: Output
    ) throws -> ToolError.Status
}

extension MakesCopy {
    func run() throws {
        Interrupts.postpone()
        try finish(with: arguments.key) { out in
            try Self.run(arguments.store, output: new.output, json: arguments.json, storage: PosixStorage.shared, out)
        }
    }
}
