import FirnBytes
import FirnStorage

extension LogWalk {
    /// Opens a segment and checks its header. Returns nil (and sets `isBroken`) if nothing in it can be read.
    func open(
        _ entry: Manifest.Segment, chain: UInt32?, state: inout State, _ call: (Event) throws -> Void
    ) throws -> (SegmentFile, SegmentHeader)? {
        let path = store.files.segment(entry.number)
        func damage(_ offset: Int?, _ text: String) throws {
            try call(.finding(Finding(kind: .damage, file: path, offset: offset, text: text)))
            state.isBroken = true
        }
        let file: SegmentFile
        do throws(StorageError) {
            file = try SegmentFile(path, store.files.storage)
        } catch {
            guard error.code == .notFound else { throw ToolError(error) }
            try damage(nil, "the manifest lists this segment, but it is missing")
            return nil
        }
        if file.isTooLong {
            try damage(file.fileByteCount, "the file is longer than any segment can be")
            return nil
        }
        if let seal = entry.seal {
            let size = file.fileByteCount
            if size < seal.byteCount {
                try damage(size, "the file ends here, but the manifest says that it has \(seal.byteCount) bytes")
                if !continuesAfterDamage { return nil }
            } else if size > seal.byteCount {
                let text =
                    "\(size - seal.byteCount) bytes behind the segment's end are ignored: a crash left them, and the next opening "
                    + "for writing cuts them off"
                try call(.finding(Finding(kind: .note, file: path, offset: seal.byteCount, text: text)))
            }
            file.limit(to: seal.byteCount)
        }
        let start = try file.bytes(at: 0, count: SegmentHeader.byteCount)
        let header: SegmentHeader
        do throws(Damage) { header = try SegmentHeader.read(start) } catch {
            try damage(0, error.text)
            return nil
        }
        guard header.storeHigh == store.manifest.storeHigh,
            store.isSalvaged || header.storeLow == store.manifest.storeLow
        else {
            try damage(0, "the segment belongs to another store")
            return nil
        }
        guard header.segment == entry.number, header.epoch == entry.epoch, header.firstVersion == entry.firstVersion
        else {
            try damage(
                0,
                "the segment's header (segment \(header.segment), epoch \(header.epoch), first version \(header.firstVersion)) is not the one that the manifest lists"
            )
            return nil
        }
        if let problem = try file.unlock(header, store.files.keys) {
            try damage(SegmentHeader.byteCount, problem)
            return nil
        }
        if let identity = entry.saltIdentity, header.hasSalt,
            try Fields(file.bytes(at: SegmentHeader.byteCount, count: SealedParts.saltByteCount)).u64(0) != identity
        {
            try damage(SegmentHeader.byteCount, "the segment's salt is not the one that the manifest lists")
            return nil
        }
        if let chain, !state.isBroken, chain != header.chain {
            try damage(0, "the segment does not follow the one before it")
            if !continuesAfterDamage { return nil }
        }
        return (file, header)
    }
}
