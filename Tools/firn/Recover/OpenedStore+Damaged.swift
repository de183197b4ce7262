import FirnStorage

extension OpenedStore {
    /// Opens a checkpoint as far as that is possible: with damaged headers, files that are cut off, and without its
    /// footer. Nil if it is not known which nodes it has.
    ///
    /// Damage is not reported here, but where the destroyed data are needed.
    ///
    /// - Parameter schema: the schema if the footer is lost; nil if it is not known.
    func openDamaged(_ entry: Manifest.Checkpoint, schema: DecodedSchema?) throws -> OpenedCheckpoint? {
        if let footer = try whole(entry) { return try opened(entry, footer) }
        guard let schema, var footer = try guessed(entry, schema) else { return nil }
        let draft = try opened(entry, footer)
        let start = footer.ownFile.start
        var (root, stamp) = (0, UInt64(0))
        var scan = CheckpointScan(draft)
        scan.visit = { node in
            guard node.position >= start else { return }
            if node.kind == .root { root = node.position }
            stamp = max(stamp, node.header.stamp)
        }
        try scan.run { _ in try? Interrupts.check() }
        (footer.root, footer.stamp) = (root, stamp)
        return try opened(entry, footer)
    }

    private func opened(_ entry: Manifest.Checkpoint, _ footer: CheckpointFooter) throws -> OpenedCheckpoint {
        var findings: [Finding] = []
        let opened = try footer.files.indices.map { try open($0, footer: footer, isLenient: true, findings: &findings) }
        return OpenedCheckpoint(entry: entry, footer: footer, files: opened, storage: files.storage, keys: files.keys)
    }

    /// The footer of a checkpoint, if it is whole.
    private func whole(_ entry: Manifest.Checkpoint) throws -> CheckpointFooter? {
        guard let file = try files.openIfPresent(files.checkpoint(entry.id)) else { return nil }
        defer { file.close() }
        do {
            let crc = try Self.bytes(of: file, at: max(0, file.size() - 4), count: 4)
            let whole = try files.decrypted(file)
            let footer = try Self.footer(of: whole, whole.size())
            return crc.withUnsafeBytes { $0.count == 4 && Fields($0).u32(0) == entry.crc }
                && footer.ownFile.id == entry.id ? footer : nil
        } catch is Finding {
            return nil
        }
    }

    /// The lost footer of a checkpoint, as far as it can be inferred: all but its root and its highest stamp. Nil if it
    /// is not certain.
    private func guessed(_ entry: Manifest.Checkpoint, _ schema: DecodedSchema) throws -> CheckpointFooter? {
        guard let file = try files.openIfPresent(files.checkpoint(entry.id)) else { return nil }
        defer { file.close() }
        let size = try file.size()
        guard size <= FormatNumbers.fileByteCount else { return nil }
        var start: Int?
        let bytes = try Self.bytes(of: file, at: 0, count: CheckpointHeader.byteCount)
        if let header = try? bytes.withUnsafeBytes(CheckpointHeader.read) {
            guard header.storeHigh == manifest.storeHigh, isSalvaged || header.storeLow == manifest.storeLow,
                header.id == entry.id
            else { return nil }
            start = Int(exactly: header.start)
        } else if try files.checkpointIDs() == [entry.id] {
            start = 0
        }
        guard let start, start <= FormatNumbers.mappingByteCount, start % FormatNumbers.checkpointAlignment == 0 else {
            return nil
        }
        var before: [CheckpointFooter.File] = []
        if start > 0 {
            // The files before this one are the files of the checkpoint before it.
            for older in try checkpointsThatExist() where older.id < entry.id {
                guard let footer = try whole(older), let last = footer.files.last, last.end <= start else { continue }
                before = footer.files
                break
            }
            guard !before.isEmpty else { return nil }
        }
        // Without encryption; how long the last block of an encrypted file is, only the footer says.
        let textByteCount = files.keys == nil ? size : SealedParts.wholeBlocksByteCount(size)
        let byteCount = textByteCount / FormatNumbers.alignment * FormatNumbers.alignment
        guard byteCount >= CheckpointHeader.byteCount else { return nil }
        return CheckpointFooter(
            version: entry.version, time: 0,
            files: before + [.init(id: entry.id, start: start, byteCount: byteCount)], root: 0,
            stamp: UInt64(FormatNumbers.number), garbage: start == 0 ? 0 : 1, holes: [], schema: schema,
            schemaBytes: [],
            crc: entry.crc, byteCount: 0)
    }
}
