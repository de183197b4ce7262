import FirnStorage

/// Where an export goes: the process's output, or a file, which gets its name when it is complete.
final class ByteSink {
    private enum Target {
        case output(Output)
        case file(any StorageFile, made: String, path: String)
    }

    private let target: Target
    private let storage: any Storage
    private var pending: [UInt8] = []
    private(set) var byteCount = 0

    private static let pieceByteCount = 1 << 18

    /// - Parameter path: the file, which must not exist; nil for the process's output.
    init(_ path: String?, _ output: Output, outside store: StoreFiles, storage: any Storage) throws(ToolError) {
        self.storage = storage
        guard let path else {
            target = .output(output)
            return
        }
        try storage.checkIsFree(path, outside: store)
        let made = PartialName.next(for: path)
        let file = try stored(storage.open(made, .create))
        target = .file(file, made: made, path: path)
    }

    func write(_ bytes: inout [UInt8]) throws {
        pending += bytes
        bytes.removeAll(keepingCapacity: true)
        if pending.count >= Self.pieceByteCount { try flush() }
    }

    private func flush() throws {
        guard !pending.isEmpty else { return }
        switch target {
        case .output(let output): try output.raw(String(decoding: pending, as: UTF8.self))
        case .file(let file, _, _): try stored(file.write(pending, at: byteCount))
        }
        byteCount += pending.count
        pending.removeAll(keepingCapacity: true)
    }

    /// Ends the export. A file is durable when this returns.
    func finish() throws {
        try flush()
        guard case .file(let file, let made, let path) = target else { return }
        try stored { () throws(StorageError) in
            try file.sync()
            file.close()
            try storage.rename(made, to: path)
            try storage.syncFolder(StoreFiles(named: path, storage: storage).parent)
        }
    }

    /// Removes the file that was not finished.
    func cancel() {
        guard case .file(let file, let made, _) = target else { return }
        file.close()
        try? storage.remove(made)
    }
}
