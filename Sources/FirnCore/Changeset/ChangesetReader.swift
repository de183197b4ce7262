import FirnBytes

/// Reads a changeset part by part and passes its blocks to a closure that applies, shows or stores them.
///
/// The bytes are not trusted. Whatever they contain, the reader either returns blocks that can be read without a check,
/// or throws a `ChangesetDamage` that names version, part and offset. It does not check whether tables, columns and
/// rows exist: see `ColumnDecoder.matches`. A reader holds only the blobs of one block at a time. It is used by one
/// thread.
final class ChangesetReader {
    enum Direction {
        /// New values only. Blocks of old values are skipped by their length.
        case forward
        /// Old values too.
        case both
    }

    let version: UInt64
    let direction: Direction
    private(set) var part = 0
    private var endOfLast = 0
    /// Whether the part that is being read has old values. Set before its first block is passed on.
    private(set) var hasOldValues = true
    private var blobs = BlobTable()
    /// Whether the blobs belong to a block that has been read.
    private var blobsAreDue = false

    init(version: UInt64, direction: Direction) {
        self.version = version
        self.direction = direction
    }

    deinit { blobs.removeAll() }

    /// Passes the blocks of the next part to `body`. A block and everything that it refers to are valid only until
    /// `body` returns. If `body` finds invalid values, it throws a `Damage` whose offset counts from the block.
    func read(_ bytes: UnsafeRawBufferPointer, _ body: (inout ChangesetBlock) throws -> Void) throws {
        guard bytes.count <= Limits.partByteCount else {
            throw damage(0, "a part of \(bytes.count) bytes is longer than \(Limits.partByteCount)")
        }
        endOfLast = bytes.count
        hasOldValues = true
        guard !bytes.isEmpty else {
            part += 1
            return
        }
        var reader = ByteReader(bytes)
        var cells = Limits.partCellCount
        while !reader.isAtEnd {
            let start = reader.offset
            var block: ChangesetBlock?
            do throws(Damage) {
                block = try next(&reader, &cells)
            } catch {
                throw self.damage(error.offset, error.text)
            }
            guard var block else { continue }
            do {
                try body(&block)
            } catch let damage as Damage {
                throw self.damage(start + damage.offset, damage.text)
            }
        }
        part += 1
    }

    /// Checks that the changeset may end here. Called when there are no more parts.
    func finish() throws {
        guard blobsAreDue || blobs.isEmpty else {
            part = max(part - 1, 0)
            throw damage(endOfLast, "the changeset ends after a blob that nothing refers to")
        }
        blobs.removeAll()
    }

    private func damage(_ offset: Int, _ reason: String) -> ChangesetDamage {
        ChangesetDamage(version: version, part: part, offset: offset, reason: reason)
    }

    // MARK: Blocks

    private struct Header {
        let kind: UInt8
        let isOld: Bool
        let isOptional: Bool
        let offset: Int
        /// The end of the body, as an offset in the part. The body begins after the header.
        let end: Int
    }

    private func header(_ reader: inout ByteReader) throws(Damage) -> Header {
        let start = reader.offset
        let kind = try reader.readUInt8()
        let flags = try reader.readUInt8()
        guard flags <= 3 else { throw Damage("a block has unknown flags \(flags)", at: start) }
        let length = Int(try reader.readUInt32())
        guard length <= reader.remaining else {
            throw Damage(.overrun(wanted: UInt64(length), available: reader.remaining), offset: start)
        }
        return Header(
            kind: kind, isOld: flags & ChangesetFormat.oldFlag != 0,
            isOptional: flags & ChangesetFormat.optionalFlag != 0,
            offset: start, end: reader.offset + length)
    }

    /// Reads the next block. Nil if it is skipped, or if it only changes the reader's state (`blob`, `withoutOld`).
    private func next(_ reader: inout ByteReader, _ cells: inout Int) throws(Damage) -> ChangesetBlock? {
        let header = try header(&reader)
        guard let kind = BlockKind(rawValue: header.kind) else {
            guard header.isOptional else {
                throw Damage("a block of unknown kind \(header.kind): a newer Firn wrote it", at: header.offset)
            }
            try reader.skip(header.end - reader.offset)
            return nil
        }
        if kind == .withoutOld {
            guard header.offset == 0, header.end == reader.offset, !header.isOld else {
                throw Damage(
                    "a block that says that a part has no old values does not stand alone before all others",
                    at: header.offset)
            }
            hasOldValues = false
            return nil
        }
        try checkMayBeOld(header)
        if header.isOld, direction == .forward {
            try reader.skip(header.end - reader.offset)
            return nil
        }
        // `body` ends with the block, so that no field can reach into the next block. Its offsets are offsets in the
        // part.
        var body = ByteReader(UnsafeRawBufferPointer(rebasing: reader.bytes[..<header.end]))
        try body.skip(reader.offset)
        try reader.skip(header.end - reader.offset)
        if kind == .blob {
            try blob(&body)
            return nil
        }
        blobsAreDue = true
        var context = ColumnDecoder.Context(cells: cells, blobs: blobs)
        defer {
            cells = context.cells
            blobs = context.blobs
        }
        // Meanwhile only `context` refers to the blobs, so that they are changed without being copied.
        blobs = BlobTable()
        var block = try ChangesetBlock(kind: kind, isOld: header.isOld, reader: &body, context: &context)
        try body.expectEnd()
        try pair(&block, reader: &reader, context: &context)
        return block
    }

    /// Reads the block of old values, which may directly follow an update or a script.
    private func pair(
        _ block: inout ChangesetBlock, reader: inout ByteReader, context: inout ColumnDecoder.Context
    ) throws(Damage) {
        let wanted: BlockKind
        switch block {
        case .update: wanted = .updateOld
        case .script: wanted = .scriptOld
        default: return
        }
        guard !reader.isAtEnd, reader.bytes[reader.offset] == wanted.rawValue else { return }
        let header = try header(&reader)
        guard header.isOld else {
            throw Damage("a block of old values is not marked as one", at: header.offset)
        }
        try checkMayBeOld(header)
        var body = ByteReader(UnsafeRawBufferPointer(rebasing: reader.bytes[..<header.end]))
        try body.skip(reader.offset)
        try reader.skip(header.end - reader.offset)
        guard direction == .both else { return }
        try block.addOld(&body, &context)
        try body.expectEnd()
    }

    private func checkMayBeOld(_ header: Header) throws(Damage) {
        guard !header.isOld || hasOldValues else {
            throw Damage("a part that says that it has no old values has some", at: header.offset)
        }
    }

    private func blob(_ reader: inout ByteReader) throws(Damage) {
        if blobsAreDue {
            blobs.removeAll()
            blobsAreDue = false
        }
        let start = reader.offset
        let id = try reader.readVarint()
        let offset = try reader.readCount(limit: ChangesetFormat.blobByteCount)
        let piece = try reader.readBytes(reader.remaining)
        guard !piece.isEmpty, blobs.append(piece, to: id, at: offset) else {
            throw Damage("a piece of blob \(id) at \(offset) does not continue it, or is too long", at: start)
        }
    }
}
