import FirnBytes
import FirnStorage

extension Log {
    /// Whether there is a store at a path. False for nothing, an empty folder, and what an interrupted copy, creation
    /// or deletion has left. Throws if there is something else.
    package static func exists(at path: String, storage: any Storage) throws(LogError) -> Bool {
        try StoreFolder(path: path, storage: storage).find() == .store
    }
}

/// What exists at the path where a store is to be opened or deleted.
extension StoreFolder {
    enum Found: Equatable {
        /// Nothing exists at the path.
        case nothing
        /// An empty folder, or the files that an interrupted creation or deletion left when there was no store.
        case empty
        /// An unfinished copy: it was interrupted, or another process is still writing it. The writer lock shows which.
        case unfinishedCopy
        case store
    }

    /// Finds out what is at the path. Throws if it is neither a store nor a location for one, having changed nothing.
    func find() throws(LogError) -> Found {
        guard let status = try stored({ () throws(StorageError) in try storage.status(path) }) else { return .nothing }
        guard status.kind == .folder else {
            throw LogError(.notAStore, path: path, detail: describeFile(status))
        }
        if try hasManifest() { return .store }
        let names = try stored { () throws(StorageError) in try storage.list(path) }
        // Another process may have made it since `hasManifest` was asked.
        if names.contains("manifest") { return .store }
        var others = names.filter { !Self.isName($0) }.sorted()
        if others.isEmpty, try isUnfinishedCopy(names) { return try hasManifest() ? .store : .unfinishedCopy }
        if others.isEmpty, let remains = try remainsOfStore(names) {
            // Another process may have made the store and committed to it since the names were read.
            if try hasManifest() { return .store }
            throw LogError(
                .damage, path: manifest,
                detail: "it is missing, although there is \(remains); put it back from a copy of the store")
        }
        if others.isEmpty { others = try foreignFiles(names) }
        if !others.isEmpty {
            // As above.
            if try hasManifest() { return .store }
            let shown = others.prefix(3).joined(separator: ", ")
            throw LogError(
                .foreignFolder, path: path, detail: others.count > 3 ? "\(shown) and \(others.count - 3) more" : shown)
        }
        return .empty
    }

    private func hasManifest() throws(LogError) -> Bool {
        try stored { () throws(StorageError) in try storage.status(manifest) } != nil
    }

    /// Whether there is the mark of a copy that is being written, and nothing that a copy has not made.
    private func isUnfinishedCopy(_ names: [String]) throws(LogError) -> Bool {
        guard names.contains("copying"), try foreignFiles(names).isEmpty else { return false }
        let files = try [log, checkpoints].map { folder throws(LogError) in
            guard names.contains(String(splitPath(folder).name)), try isFolder(folder) else { return [String]() }
            return try stored { () throws(StorageError) in try storage.list(folder) }.map { folder + "/" + $0 }
        }
        return files.joined().allSatisfy { [segment(1), checkpoint(1)].contains($0) }
    }

    /// A file that shows that a manifest was here and has been removed; nil if there is none. A crash while a store
    /// is made leaves at most the first segment's header.
    private func remainsOfStore(_ names: [String]) throws(LogError) -> String? {
        if names.contains("checkpoint"), try isFolder(checkpoints),
            let id = try checkpointIDs().min()
        {
            return checkpoint(id)
        }
        guard names.contains("log"), try isFolder(log) else { return nil }
        for name in try stored({ () throws(StorageError) in try storage.list(log) }).sorted() {
            guard let number = Self.segmentNumber(of: name) else { continue }
            let status = try stored { () throws(StorageError) in try storage.status(log + "/" + name) }
            if number != 1 || (status?.byteCount ?? 0) > SegmentHeader.byteCount { return log + "/" + name }
        }
        return nil
    }

    // MARK: What an interrupted creation or deletion can leave

    /// The names of what a creation or a deletion can't have left in a folder without a manifest. Such files belong
    /// to somebody else, and have the names of a store's files by chance.
    private func foreignFiles(_ names: [String]) throws(LogError) -> [String] {
        var result: [String] = []
        for name in names.sorted() {
            let inner = path + "/" + name
            if name == "log" || name == "checkpoint" {
                guard try isFolder(inner) else {
                    result.append(name)
                    continue
                }
                let files = try stored { () throws(StorageError) in try storage.list(inner) }
                result += files.filter { Self.segmentNumber(of: $0) == nil && Self.checkpointID(of: $0) == nil }
                    .sorted().map { name + "/" + $0 }
            } else if try !isLeftover(name, inner) {
                result.append(name)
            }
        }
        return result
    }

    private func isLeftover(_ name: String, _ path: String) throws(LogError) -> Bool {
        guard try !isLink(path) else { return false }
        // Another process may have removed it since.
        guard let status = try stored({ () throws(StorageError) in try storage.status(path) }) else { return true }
        guard status.kind == .file else { return false }
        switch name {
        case "lock": return status.byteCount == 0
        case "reserve":
            return [LogLimits.reserveByteCount, reserveByteCount].contains(status.byteCount)
        case "shared":
            guard status.byteCount <= SharedPage.byteCount else { return false }
            return try begins(path, with: SharedPage.magic)
        case "manifest.new": return try begins(path, with: Manifest.magic)
        case "copying": return try begins(path, with: Self.copyMagic)
        default: return false
        }
    }

    /// Whether a file begins with what Firn writes there, or with zeros, which it does if the power failed before
    /// the bytes were on the disk.
    private func begins(_ path: String, with number: UInt64) throws(LogError) -> Bool {
        let magic = withUnsafeBytes(of: number.littleEndian) { Array($0) }
        var start = [UInt8](repeating: 0, count: magic.count)
        let count: Int
        do {
            let file = try storage.open(path, .read)
            defer { file.close() }
            count = try start.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        } catch {
            let error = error as! StorageError
            // As in `isLeftover`.
            if error.code == .notFound { return true }
            throw LogError(error)
        }
        return start[..<count].elementsEqual(magic[..<count]) || start.allSatisfy { $0 == 0 }
    }

    private func isFolder(_ path: String) throws(LogError) -> Bool {
        if try isLink(path) { return false }
        return try stored({ () throws(StorageError) in try storage.status(path) })?.kind == .folder
    }

    /// Throws if `log` or `checkpoint` is a symbolic link. The last component of a path is never followed
    /// (`O_NOFOLLOW`), but a link at one of these would be followed by the path of each file in it: Firn would
    /// read, overwrite and remove files of another folder, such as another store's. Checked whenever a store is
    /// opened, and before a process writes a checkpoint or removes files.
    func refuseLinks() throws(LogError) {
        for folder in [log, checkpoints] where try isLink(folder) {
            throw LogError(
                StorageError(
                    .input(
                        "it is a symbolic link, which Firn does not follow within a store; put the folder itself there, or make the store's own path a link"
                    ), operation: "open", path: folder))
        }
    }

    func isLink(_ path: String) throws(LogError) -> Bool {
        try stored { () throws(StorageError) in try storage.isLink(path) }
    }

    private func describeFile(_ status: FileStatus) -> String {
        guard status.kind == .file else { return "it is neither a file nor a folder" }
        // A Realm database file says "T-DB" at byte 16.
        var start = [UInt8](repeating: 0, count: 24)
        if let file = try? storage.open(path, .read),
            let count = try? start.withUnsafeMutableBytes({ try file.read(into: $0, at: 0) }), count == 24,
            start[16..<20].elementsEqual("T-DB".utf8)
        {
            return "it is a file of a Realm database, whose format Firn does not read"
        }
        if path.hasSuffix(".realm") {
            return "it is a file with the name of a Realm database, whose format Firn does not read"
        }
        return "it is a file of \(status.byteCount) bytes"
    }
}
