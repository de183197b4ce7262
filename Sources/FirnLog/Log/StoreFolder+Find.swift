import FirnBytes
import FirnStorage

extension Log {
    /// Whether there is a store at a path. False for nothing, an empty folder, and what an interrupted copy, creation
    /// or deletion has left. Throws if there is something else.
    package static func exists(at path: String, storage: any Storage) throws(LogError) -> Bool {
        try StoreLocation(path: path, storage: storage).open()?.find() == .store
    }
}

/// What is in the folder where a store is to be opened or deleted.
extension StoreFolder {
    enum Found: Equatable {
        /// An empty folder, or the files that an interrupted creation or deletion left when there was no store.
        case empty
        /// An unfinished copy: it was interrupted, or another process is still writing it. The writer lock shows which.
        case unfinishedCopy
        case store
    }

    /// Finds out what is in the folder. Throws if it is neither a store nor a location for one, having changed nothing.
    func find() throws(LogError) -> Found {
        if try hasManifest() { return .store }
        let names = try list(.store)
        // Another process may have made it since `hasManifest` was called.
        if names.contains("manifest") { return .store }
        var others = names.filter { !Self.isName($0) }.sorted()
        if others.isEmpty, try isUnfinishedCopy(names) { return try hasManifest() ? .store : .unfinishedCopy }
        if others.isEmpty, let remains = try remainsOfStore(names) {
            // Another process may have made the store and committed to it since the names were read.
            if try hasManifest() { return .store }
            throw LogError(
                .damage, path: path(of: manifest),
                detail: "it is missing, although there is \(remains); put it back from a copy of the store")
        }
        if others.isEmpty { others = try foreignFiles(names) }
        if !others.isEmpty {
            // Another process may have made a store since the names were read.
            if try hasManifest() { return .store }
            let shown = others.prefix(3).joined(separator: ", ")
            throw LogError(
                .foreignFolder, path: path, detail: others.count > 3 ? "\(shown) and \(others.count - 3) more" : shown)
        }
        return .empty
    }

    private func hasManifest() throws(LogError) -> Bool {
        try stored(status(manifest)) != nil
    }

    /// Whether there is the mark of a copy that is being written, and nothing that a copy has not made.
    private func isUnfinishedCopy(_ names: [String]) throws(LogError) -> Bool {
        guard names.contains("copying"), try foreignFiles(names).isEmpty else { return false }
        for folder in StoreFileName.Folder.inner where names.contains(folder.name) {
            guard try isFolder(folder) else { continue }
            let own = folder == .log ? segment(1) : checkpoint(1)
            if try !list(folder).allSatisfy({ $0 == own.name }) { return false }
        }
        return true
    }

    /// A file that shows that a manifest was here and has been removed; nil if there is none. A crash while a store
    /// is made leaves at most the first segment's header.
    private func remainsOfStore(_ names: [String]) throws(LogError) -> String? {
        if names.contains("checkpoint"), try isFolder(.checkpoints), let id = try checkpointIDs().min() {
            return path(of: checkpoint(id))
        }
        guard names.contains("log"), try isFolder(.log) else { return nil }
        for name in try list(.log).sorted() {
            guard let number = Self.segmentNumber(of: name) else { continue }
            let file = StoreFileName(name, in: .log)
            let status = try stored(self.status(file))
            if number != 1 || (status?.byteCount ?? 0) > SegmentHeader.mostByteCount { return path(of: file) }
        }
        return nil
    }

    // MARK: What an interrupted creation or deletion can leave

    /// The names of files that no interrupted creation or deletion can have left in a folder without a manifest. Such
    /// files belong to somebody else, and have the names of a store's files by chance.
    private func foreignFiles(_ names: [String]) throws(LogError) -> [String] {
        var result: [String] = []
        for name in names.sorted() {
            if let folder = StoreFileName.Folder.inner.first(where: { $0.name == name }) {
                guard try isFolder(folder) else {
                    result.append(name)
                    continue
                }
                result += try list(folder).filter {
                    Self.segmentNumber(of: $0) == nil && Self.checkpointID(of: $0) == nil
                }
                .sorted().map { name + "/" + $0 }
            } else if try !isLeftover(StoreFileName(name)) {
                result.append(name)
            }
        }
        return result
    }

    private func isLeftover(_ name: StoreFileName) throws(LogError) -> Bool {
        guard try !isLink(name) else { return false }
        // Another process may have removed it since.
        guard let status = try stored(self.status(name)) else { return true }
        guard status.kind == .file else { return false }
        switch name.name {
        case "lock": return status.byteCount == 0
        case "reserve":
            return status.byteCount == reserveByteCount
                || status.byteCount <= LogLimits.reserveByteCount
                    && status.byteCount.isMultiple(of: LogReserve.stepByteCount)
        case "shared":
            guard status.byteCount <= SharedPage.byteCount else { return false }
            return try begins(name, with: SharedPage.magic)
        case "manifest.new": return try begins(name, with: Manifest.magic)
        case "copying": return try begins(name, with: Self.copyMagic)
        default: return false
        }
    }

    /// Whether a file begins with what Firn writes there, or with zeros. It begins with zeros if the power failed
    /// before the bytes were on the disk.
    private func begins(_ name: StoreFileName, with number: UInt64) throws(LogError) -> Bool {
        let magic = withUnsafeBytes(of: number.littleEndian) { Array($0) }
        let start: [UInt8]
        do throws(StorageError) {
            let file = try open(name, .read)
            defer { file.close() }
            start = try file.read(magic.count, at: 0)
        } catch {
            // As in `isLeftover`.
            if error.code == .notFound { return true }
            throw LogError(error)
        }
        return start.elementsEqual(magic[..<start.count]) || start.allSatisfy { $0 == 0 }
    }

    private func isFolder(_ folder: StoreFileName.Folder) throws(LogError) -> Bool {
        try stored(root.status(folder.name))?.kind == .folder
    }
}
