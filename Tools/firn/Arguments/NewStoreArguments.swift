import ArgumentParser
import FirnBytes
import FirnCore
import FirnStorage

/// The option of subcommands that make a store.
struct NewStoreArguments: ParsableArguments {
    @Option(help: "The new store's folder, which must not exist yet.", completion: .directory)
    var output: String
}

/// The name under which something is made before it gets its final one, so that nobody takes it for complete.
enum PartialName {
    /// Differs in each call, because another process may be making the same thing.
    static func next(for path: String) -> String {
        "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36)).partial"
    }

    /// Whether a name is one under which something with the name `final` was made.
    static func matches(_ name: String, for final: some StringProtocol) -> Bool {
        let start = "\(final).".utf8
        guard name.utf8.starts(with: start), name.hasSuffix(".partial") else { return false }
        let number = name.utf8.dropFirst(start.count).dropLast(8)
        return (1...13).contains(number.count)
            && number.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    }
}

/// A store that is made under a temporary name, and renamed to its path when it is complete. So nobody takes it for
/// complete too early. It can be removed even if others have made something at the path meanwhile.
struct NewStore {
    /// The files under the store's own path, which `finish` gives it.
    let files: StoreFiles
    /// The files under the temporary name.
    let partial: StoreFiles

    init(at path: String, storage: any Storage) {
        files = StoreFiles(named: path, storage: storage)
        partial = StoreFiles(named: PartialName.next(for: files.path), storage: storage)
    }

    /// Removes what earlier runs for a path have left because they were killed, and says so.
    static func removeRemains(of path: String, storage: any Storage, _ output: Output) throws(ToolError) {
        let files = StoreFiles(named: path, storage: storage)
        // If the folder does not exist, the code that makes the store reports that.
        guard try stored(storage.status(files.parent))?.kind == .folder else {
            return
        }
        let names = try stored(storage.list(files.parent))
        for name in names.sorted() where PartialName.matches(name, for: splitPath(files.path).name) {
            let path = files.parent == "/" ? "/" + name : files.parent + "/" + name
            guard try stored(storage.status(path))?.kind == .folder else { continue }
            do {
                let removal = try Store.remove(path, keepsOthers: false, storage: storage)
                // The run was killed before anything was in the folder.
                if !removal.wasThere { try storage.remove(path) }
                output.warn("firn: removed \(DisplayText.line(path)), which a run that was killed has left.")
            } catch {
                // A process that is still making the store has locked it.
                if case .log(let inner)? = (error as? StoreError)?.code, case .locked = inner.code { continue }
                output.warn("firn: \(DisplayText.line(path)) may have been left by a run that was killed: \(error)")
            }
        }
    }

    /// Makes a store at a path. What was made is removed if `body` throws.
    static func make<Result>(
        at path: String, storage: any Storage, _ output: Output, _ body: (_ partial: String) throws -> Result
    ) throws -> Result {
        try removeRemains(of: path, storage: storage, output)
        let new = NewStore(at: path, storage: storage)
        do {
            let result = try body(new.partial.path)
            guard try new.finish() else {
                throw ToolError(
                    .usage, "\(path) was made by another process meanwhile. Give --output another path.")
            }
            return result
        } catch {
            new.partial.removeAll()
            throw error
        }
    }

    /// Renames the store to its path. If something exists there meanwhile, removes the store and returns false.
    func finish() throws(ToolError) -> Bool {
        do throws(StorageError) {
            try files.storage.rename(partial.path, to: files.path)
            try files.storage.syncFolder(files.parent)
            return true
        } catch {
            partial.removeAll()
            guard error.code == .notEmpty || error.code == .exists || error.code == .notAFolder else {
                throw ToolError(error)
            }
            return false
        }
    }
}

extension Storage {
    /// Throws if nothing can be made at a path, because something exists there or because the path lies in the store.
    func checkIsFree(_ path: String, outside store: StoreFiles) throws(ToolError) {
        let folder = Terminal.followed(StoreFiles(named: path, storage: self).parent)
        guard !(folder + "/").hasPrefix(Terminal.followed(store.path) + "/") else {
            throw ToolError(.usage, "\(path) lies in the store \(store.path). Give --output a path elsewhere.")
        }
        // A symbolic link that leads nowhere also occupies the name.
        let isLink = try stored(self.isLink(path))
        guard !isLink, try stored(status(path)) == nil else {
            throw ToolError(.usage, "\(path) exists. Give --output a path that does not exist yet.")
        }
    }
}
