import ArgumentParser
import FirnStorage

/// The option of subcommands that make a store.
struct NewStoreArguments: ParsableArguments {
    @Option(help: "The new store's folder, which must not exist yet.", completion: .directory)
    var output: String
}

/// The name under which something is made before it gets its own, so that nobody takes it for complete.
enum PartialName {
    /// Another one each time: another process may make the same thing.
    static func next(for path: String) -> String {
        "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36)).partial"
    }
}

extension Storage {
    /// Throws if a store can't be made at a path, because something has the name.
    func checkIsFree(_ path: String) throws(ToolError) {
        // A link that leads nowhere has the name, too.
        let isLink = try stored { () throws(StorageError) in try self.isLink(path) }
        guard !isLink, try stored({ () throws(StorageError) in try status(path) }) == nil else {
            throw ToolError(.usage, "\(path) exists. Give --output the path of a folder that does not exist yet.")
        }
    }
}
