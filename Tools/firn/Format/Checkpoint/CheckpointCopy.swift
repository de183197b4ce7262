import FirnBytes
import FirnStorage

/// Copies a file of a checkpoint to another store. Nodes and footer do not name a store, so they are copied
/// unchanged, behind a header of the new store.
struct CheckpointCopy {
    private let source: OpenedCheckpoint.File
    private let storeHigh: UInt64
    private let storeLow: UInt64

    init(source: OpenedCheckpoint.File, storeHigh: UInt64, storeLow: UInt64) {
        self.source = source
        self.storeHigh = storeHigh
        self.storeLow = storeLow
    }

    /// Writes and syncs the copy; returns its length.
    func write(to files: StoreFiles) throws -> Int {
        guard let from = source.file else { throw ToolError(.damage, "\(source.path) can't be read") }
        let file = try files.storage.open(files.checkpoint(source.entry.id), .create)
        defer { file.close() }
        var header = ByteWriter(capacity: CheckpointHeader.byteCount)
        CheckpointHeader(
            storeHigh: storeHigh, storeLow: storeLow, id: source.entry.id, start: UInt64(source.entry.start)
        ).write(to: &header)
        try file.write(header.bytes, at: 0)
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var offset = CheckpointHeader.byteCount
        while offset < source.byteCount {
            try Interrupts.check()
            let count = try piece.withUnsafeMutableBytes { buffer in
                let wanted = min(buffer.count, source.byteCount - offset)
                let count = try from.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
                try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
                return count
            }
            guard count > 0 else { throw ToolError(.damage, "\(source.path) ends early, at byte \(offset)") }
            offset += count
        }
        try file.sync()
        return offset
    }
}
