import FirnBytes
import FirnStorage

extension OpenedStore {
    /// Opens the live checkpoint and checks its headers and footers. Returns nil if there is no checkpoint, or if its
    /// footer can't be read. A file that is missing or wrong is a finding, and has no `file`.
    func openCheckpoint() throws(ToolError) -> (checkpoint: OpenedCheckpoint?, findings: [Finding]) {
        guard let entry = manifest.checkpoint else { return (nil, []) }
        return try open(entry)
    }

    /// Opens any checkpoint that the manifest lists.
    func open(
        _ entry: Manifest.Checkpoint
    ) throws(ToolError) -> (checkpoint: OpenedCheckpoint?, findings: [Finding]) {
        let path = files.checkpoint(entry.id)
        var findings: [Finding] = []
        let footer: CheckpointFooter
        do {
            guard let sealed = try files.openIfPresent(path) else {
                return (
                    nil,
                    [
                        Finding(
                            kind: .damage, file: path, offset: nil,
                            text: "the manifest names this checkpoint, but it is missing")
                    ]
                )
            }
            defer { sealed.close() }
            let fileByteCount = try stored(sealed.size())
            guard fileByteCount == Int(clamping: entry.byteCount) else {
                let text = "the file has \(fileByteCount) bytes, but the manifest says \(entry.byteCount)"
                return (
                    nil,
                    [
                        Finding(
                            kind: .damage, file: path, offset: min(fileByteCount, Int(clamping: entry.byteCount)),
                            text: text)
                    ]
                )
            }
            let crc = try Self.bytes(of: sealed, at: max(0, fileByteCount - 4), count: 4)
            let file = try files.decrypted(sealed)
            let size = try stored(file.size())
            footer = try Self.footer(of: file, size)
            let start = size - footer.byteCount
            guard crc.withUnsafeBytes({ $0.count == 4 && Fields($0).u32(0) == entry.crc }) else {
                throw Finding(
                    kind: .damage, file: path, offset: size - 4,
                    text: "the footer's checksum is not the one that the manifest names")
            }
            guard footer.ownFile.id == entry.id, footer.version == entry.version,
                footer.listedSalt == entry.salt, footer.ownFile.byteCount == start
            else {
                throw Finding(
                    kind: .damage, file: path, offset: start,
                    text: "the footer is not that of the checkpoint that the manifest names")
            }
        } catch let finding as Finding {
            return (nil, [finding])
        } catch {
            throw error as! ToolError
        }
        let opened = try footer.files.indices.map { index throws(ToolError) in
            try open(index, footer: footer, findings: &findings)
        }
        return (
            OpenedCheckpoint(entry: entry, footer: footer, files: opened, storage: files.storage, keys: files.keys),
            findings
        )
    }

    /// Opens a file of a checkpoint. Only the last file's footer is still used. The footers of the others are checked
    /// all the same, unless `isLenient`.
    ///
    /// - Parameter isLenient: whether a file whose header is damaged, or that is cut off, is used. Its nodes have
    ///   checksums of their own.
    func open(
        _ index: Int, footer: CheckpointFooter, isLenient: Bool = false, findings: inout [Finding]
    ) throws(ToolError) -> OpenedCheckpoint.File {
        let entry = footer.files[index]
        let path = files.checkpoint(entry.id)
        func damaged(_ finding: Finding, byteCount: Int) -> OpenedCheckpoint.File {
            findings.append(finding)
            return OpenedCheckpoint.File(entry: entry, path: path, byteCount: byteCount, file: nil)
        }
        guard let sealed = try files.openIfPresent(path) else {
            let text = "the checkpoint of version \(footer.version) needs this file, but it is missing"
            return damaged(Finding(kind: .damage, file: path, offset: nil, text: text), byteCount: 0)
        }
        let file: any StorageFile
        do {
            file = try files.decrypted(sealed, textByteCount: isLenient ? entry.byteCount : nil)
            guard (file as? DecryptedFile)?.salt ?? 0 == entry.salt else {
                throw Finding(
                    kind: .damage, file: path, offset: CheckpointHeader.byteCount,
                    text: "the file is not the one that the checkpoint's footer lists")
            }
        } catch let finding as Finding {
            let size = try stored(sealed.size())
            sealed.close()
            return damaged(finding, byteCount: size)
        } catch {
            throw error as! ToolError
        }
        let size = try stored(file.size())
        guard size <= FormatNumbers.fileByteCount else {
            file.close()
            return damaged(
                Finding(
                    kind: .damage, file: path, offset: nil,
                    text: "the file has \(size) bytes, more than a checkpoint's file can have"),
                byteCount: 0)
        }
        do {
            try Self.checkHeader(of: file, entry, manifest, isSalvaged: isSalvaged, isLenient: isLenient)
            guard size > entry.byteCount || isLenient else {
                throw Finding(
                    kind: .damage, file: path, offset: size,
                    text: "the file ends here, but the checkpoint needs \(entry.byteCount) bytes and a footer")
            }
        } catch let finding as Finding {
            file.close()
            return damaged(finding, byteCount: size)
        } catch {
            throw error as! ToolError
        }
        if index < footer.files.count - 1, !isLenient {
            do {
                let own = try Self.footer(of: file, size)
                // The checkpoint may have dropped files that were before this one when it was written.
                let isOwn = own.files.last == entry && footer.files[...index].allSatisfy(own.files.contains)
                if !isOwn || own.byteCount != size - entry.byteCount {
                    throw Finding(
                        kind: .damage, file: path, offset: entry.byteCount,
                        text: "the footer is not the one that this file should have")
                }
            } catch let finding as Finding {
                findings.append(finding)
            } catch {
                throw error as! ToolError
            }
        }
        return OpenedCheckpoint.File(entry: entry, path: path, byteCount: size, file: file)
    }

    /// Throws a `Finding` if the header is not the one that the file should have.
    private static func checkHeader(
        of file: any StorageFile, _ entry: CheckpointFooter.File, _ manifest: Manifest, isSalvaged: Bool,
        isLenient: Bool
    ) throws {
        let bytes = try bytes(of: file, at: 0, count: CheckpointHeader.byteCount)
        let header: CheckpointHeader
        do {
            header = try bytes.withUnsafeBytes(CheckpointHeader.read)
        } catch let damage as Damage {
            if isLenient { return }
            throw Finding(kind: .damage, file: file.path, offset: 0, text: damage.text)
        }
        guard header.storeHigh == manifest.storeHigh, isSalvaged || header.storeLow == manifest.storeLow else {
            throw Finding(kind: .damage, file: file.path, offset: 0, text: "the checkpoint belongs to another store")
        }
        guard header.id == entry.id, header.start == UInt64(entry.start) else {
            throw Finding(
                kind: .damage, file: file.path, offset: 0,
                text:
                    "the header (id \(header.id), from \(header.start) on) is not the one that the checkpoint's footer lists"
            )
        }
    }

    /// Reads the footer of a file. Throws a `Finding` if there is none.
    static func footer(of file: any StorageFile, _ size: Int) throws -> CheckpointFooter {
        let tail = try bytes(of: file, at: max(0, size - 8), count: min(8, size))
        guard let count = tail.withUnsafeBytes({ CheckpointFooter.byteCount(tail: $0, fileByteCount: size) }) else {
            throw Finding(
                kind: .damage, file: file.path, offset: max(0, size - 8),
                text: "the file does not end with a checkpoint's footer")
        }
        let bytes = try bytes(of: file, at: size - count, count: count)
        do {
            return try bytes.withUnsafeBytes { try CheckpointFooter.read($0, isEncrypted: file is DecryptedFile) }
        } catch let damage as Damage {
            throw Finding(kind: .damage, file: file.path, offset: size - count + damage.offset, text: damage.text)
        }
    }

    static func bytes(of file: any StorageFile, at offset: Int, count: Int) throws(ToolError) -> [UInt8] {
        try stored(file.read(count, at: offset))
    }

    // MARK: Without a manifest

    /// The newest checkpoint with an intact footer among the files that exist.
    static func newestCheckpoint(_ files: StoreFiles, storeHigh: UInt64) throws(ToolError) -> Manifest.Checkpoint? {
        try checkpoints(files).first { $0.header.storeHigh == storeHigh }?.entry
    }

    /// The checkpoints of this store whose files exist with intact footers, newest first, whether the manifest lists
    /// them or not.
    func checkpointsThatExist() throws(ToolError) -> [Manifest.Checkpoint] {
        try Self.checkpoints(files).filter {
            $0.header.storeHigh == manifest.storeHigh && (isSalvaged || $0.header.storeLow == manifest.storeLow)
        }.map(\.entry)
    }

    /// The files of checkpoints with intact headers and footers, newest first.
    static func checkpoints(
        _ files: StoreFiles
    ) throws(ToolError) -> [(header: CheckpointHeader, entry: Manifest.Checkpoint)] {
        var found: [(header: CheckpointHeader, entry: Manifest.Checkpoint)] = []
        for id in try files.checkpointIDs().reversed() {
            // A file that is not a checkpoint, or can't be read, is skipped, whatever is wrong with it.
            guard let sealed = try? files.openIfPresent(files.checkpoint(id)) else { continue }
            defer { sealed.close() }
            guard let file = try? files.decrypted(sealed), let fileByteCount = try? sealed.size(),
                let crc = try? bytes(of: sealed, at: max(0, fileByteCount - 4), count: 4), crc.count == 4,
                let size = try? file.size(),
                let bytes = try? bytes(of: file, at: 0, count: CheckpointHeader.byteCount),
                let header = try? bytes.withUnsafeBytes(CheckpointHeader.read),
                let footer = try? footer(of: file, size), footer.ownFile.id == id
            else { continue }
            let entry = Manifest.Checkpoint(
                id: id, version: footer.version, byteCount: UInt64(fileByteCount),
                crc: crc.withUnsafeBytes { Fields($0).u32(0) }, salt: footer.listedSalt)
            found.append((header, entry))
        }
        return found
    }
}
