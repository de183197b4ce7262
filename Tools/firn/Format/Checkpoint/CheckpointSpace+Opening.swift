import FirnBytes
import FirnStorage

extension OpenedStore {
    /// The live checkpoint, its feet and heads checked, and what is wrong with them. Nil where there is none, or its foot can't be read; a file that is not what it should
    /// be is left out of it.
    func openCheckpoint() throws(ToolError) -> (space: CheckpointSpace?, findings: [Finding]) {
        guard let entry = manifest.checkpoint else { return (nil, []) }
        return try open(entry)
    }

    /// Any checkpoint that the manifest lists.
    func open(
        _ entry: Manifest.Checkpoint
    ) throws(ToolError) -> (space: CheckpointSpace?, findings: [Finding]) {
        let path = files.checkpoint(entry.id)
        var findings: [Finding] = []
        let foot: CheckpointFooter
        do {
            guard let file = try files.openIfPresent(path) else {
                return (nil, [Finding(.damage, path, nil, "the manifest names this checkpoint, but it is missing")])
            }
            defer { file.close() }
            let size = try stored { () throws(StorageError) in try file.size() }
            guard size == Int(clamping: entry.byteCount) else {
                let text = "the file has \(size) bytes, but the manifest says \(entry.byteCount)"
                return (nil, [Finding(.damage, path, min(size, Int(clamping: entry.byteCount)), text)])
            }
            foot = try Self.foot(of: file, size)
            let start = size - foot.byteCount
            guard foot.crc == entry.crc else {
                throw Finding(.damage, path, size - 4, "the manifest names a foot of another checksum")
            }
            guard foot.files[foot.files.count - 1].id == entry.id, foot.version == entry.version,
                foot.files[foot.files.count - 1].byteCount == start
            else {
                throw Finding(.damage, path, start, "the foot is not that of the checkpoint that the manifest names")
            }
        } catch let finding as Finding {
            return (nil, [finding])
        } catch {
            throw error as! ToolError
        }
        let opened = try foot.files.indices.map { index throws(ToolError) in
            try open(index, foot, &findings)
        }
        return (CheckpointSpace(entry: entry, foot: foot, files: opened, storage: files.storage), findings)
    }

    /// Opens a file of a checkpoint. Its own foot, if it is not the last, says nothing any more, but is checked all the same.
    private func open(
        _ index: Int, _ foot: CheckpointFooter, _ findings: inout [Finding]
    ) throws(ToolError) -> CheckpointSpace.File {
        let entry = foot.files[index]
        let path = files.checkpoint(entry.id)
        func damaged(_ finding: Finding, byteCount: Int) -> CheckpointSpace.File {
            findings.append(finding)
            return CheckpointSpace.File(entry: entry, path: path, byteCount: byteCount, file: nil)
        }
        guard let file = try files.openIfPresent(path) else {
            let text = "the checkpoint of version \(foot.version) needs this file, but it is missing"
            return damaged(Finding(.damage, path, nil, text), byteCount: 0)
        }
        let size = try stored { () throws(StorageError) in try file.size() }
        guard size <= FormatNumbers.fileByteCount else {
            file.close()
            return damaged(
                Finding(.damage, path, nil, "the file of \(size) bytes is longer than any can be"), byteCount: 0)
        }
        do {
            try Self.checkHead(of: file, entry, manifest, isSalvaged: isSalvaged)
            guard size > entry.byteCount else {
                throw Finding(
                    .damage, path, size,
                    "the file ends here, but the checkpoint needs \(entry.byteCount) bytes and a foot")
            }
        } catch let finding as Finding {
            file.close()
            return damaged(finding, byteCount: size)
        } catch {
            throw error as! ToolError
        }
        if index < foot.files.count - 1 {
            do {
                let own = try Self.foot(of: file, size)
                // Files before it may have been left out since.
                let isOwn = own.files.last == entry && foot.files[...index].allSatisfy(own.files.contains)
                if !isOwn || own.byteCount != size - entry.byteCount {
                    throw Finding(.damage, path, entry.byteCount, "the foot is not the one that this file should have")
                }
            } catch let finding as Finding {
                findings.append(finding)
            } catch {
                throw error as! ToolError
            }
        }
        return CheckpointSpace.File(entry: entry, path: path, byteCount: size, file: file)
    }

    /// Throws a `Finding` where the head is not the one that the file should have.
    private static func checkHead(
        of file: any StorageFile, _ entry: CheckpointFooter.File, _ manifest: Manifest, isSalvaged: Bool
    ) throws {
        let bytes = try bytes(of: file, at: 0, count: CheckpointHeader.byteCount)
        switch bytes.withUnsafeBytes(CheckpointHeader.read) {
        case .refused(let reason): throw Finding(.damage, file.path, 0, reason)
        case .head(let head):
            guard head.storeHigh == manifest.storeHigh, isSalvaged || head.storeLow == manifest.storeLow else {
                throw Finding(.damage, file.path, 0, "the checkpoint belongs to another store")
            }
            guard head.id == entry.id, head.start == UInt64(entry.start) else {
                throw Finding(
                    .damage, file.path, 0,
                    "the head (id \(head.id), from \(head.start) on) is not the one that the checkpoint's foot lists")
            }
        }
    }

    /// The foot of a file; throws a `Finding` where there is none.
    static func foot(of file: any StorageFile, _ size: Int) throws -> CheckpointFooter {
        let tail = try bytes(of: file, at: max(0, size - 8), count: min(8, size))
        guard let count = tail.withUnsafeBytes({ CheckpointFooter.byteCount(tail: $0, fileByteCount: size) }) else {
            throw Finding(.damage, file.path, max(0, size - 8), "the file does not end as a checkpoint does")
        }
        let bytes = try bytes(of: file, at: size - count, count: count)
        do {
            return try bytes.withUnsafeBytes(CheckpointFooter.read)
        } catch let refusal as CheckpointFooter.Refusal {
            throw Finding(.damage, file.path, size - count + refusal.offset, refusal.text)
        }
    }

    private static func bytes(of file: any StorageFile, at offset: Int, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        do {
            let done = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
            return Array(bytes.prefix(done))
        } catch {
            throw ToolError(error as! StorageError)
        }
    }

    // MARK: Without a manifest

    /// The newest checkpoint whose foot is whole, among the files that are there.
    static func newestCheckpoint(_ files: StoreFiles, storeHigh: UInt64) throws(ToolError) -> Manifest.Checkpoint? {
        let names = try stored { () throws(StorageError) in
            try files.storage.status(files.checkpoints)?.kind == .folder
                ? try files.storage.list(files.checkpoints) : []
        }
        for id in names.compactMap(StoreFiles.checkpointID).sorted(by: >) {
            guard let file = try files.openIfPresent(files.checkpoint(id)) else { continue }
            defer { file.close() }
            let size = try stored { () throws(StorageError) in try file.size() }
            // What is no checkpoint of this store can't be begun with, whatever else it is.
            guard let head = try? bytes(of: file, at: 0, count: CheckpointHeader.byteCount),
                case .head(let found) = head.withUnsafeBytes(CheckpointHeader.read), found.storeHigh == storeHigh,
                let foot = try? foot(of: file, size), foot.files[foot.files.count - 1].id == id
            else { continue }
            return Manifest.Checkpoint(id: id, version: foot.version, byteCount: UInt64(size), crc: foot.crc)
        }
        return nil
    }
}
