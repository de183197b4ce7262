import FirnBytes

/// The form of a run of values of one column in a changeset.
///
/// ```
/// ┌────────┬───────────────────────┬─────────────┐   header: bits 0–3 the type, 4–5 the collection's kind,
/// │ header │ nulls: a bit each, if │ by the type │           6 some are null, 7 some are blobs
/// │   u8   │ bit 6 is set: 1 null  │             │
/// └────────┴───────────────────────┴─────────────┘
/// bool      form u8: 0 all false, 1 all true, 2 then a bit each
/// int, link an `IntRun`                date   an `IntRun` of seconds, one of nanoseconds
/// float, double, objectID, uuid, decimal      the values as they lie in a chunk
/// string, data, mixed                         blobs (if bit 7) · an `IntRun` of lengths · the bytes of all
/// collections                                 an `IntRun` of counts · a map's keys as strings · all elements as a run
/// ```
///
/// This type writes runs: straight from chunks if the rows are neighbours, and otherwise from a `StagedColumn`.
/// `ColumnDecoder` reads them.
enum ColumnCoding {
    // MARK: From chunks

    /// What one pass over the slots of rows in a variable chunk measures.
    struct Measure {
        var shortest: UInt32 = .max
        var longest: UInt32 = 0
        var total = 0
        /// Not 0 if a value does not begin where the value before it ends.
        var gaps: UInt32 = 0

        /// Whether every row's bytes lie in the chunk and none is null.
        var isPlain: Bool { longest < UInt32(Chunk.Slot.tree) }
    }

    @inline(__always)
    static func measure(_ chunk: Chunk, _ rows: Range<Int>) -> Measure {
        var measure = Measure()
        let slots = UnsafeRawPointer(chunk.data)
        var expected = UInt32(chunk.slot(rows.lowerBound).offset)
        for row in rows {
            let word = slots.load(fromByteOffset: row &* NodeLayout.Chunk.slotByteCount, as: UInt32.self)
            let length = word >> 16
            let offset = word & 0xFFFF
            measure.gaps |= offset ^ expected
            expected = offset &+ length
            measure.total &+= Int(length)
            measure.shortest = min(measure.shortest, length)
            measure.longest = max(measure.longest, length)
        }
        return measure
    }

    /// The most bytes that the rows of a plain variable chunk take.
    static func bound(_ measure: Measure, _ count: Int) -> Int { 32 &+ count &* 2 &+ measure.total }

    /// The most bytes that `count` values of a fixed width take.
    static func fixedBound(_ width: Int, _ count: Int) -> Int { 64 &+ count &* (width &+ 1) }

    /// Writes rows of a variable chunk, which must hold all their values itself (`Measure.isPlain`).
    static func encode(
        _ chunk: Chunk, rows: Range<Int>, measure: Measure, type: ColumnType, into cursor: inout RawCursor
    ) {
        cursor.byte(ChangesetFormat.header(type))
        let slots = UnsafeRawPointer(chunk.data)
        let shortest = measure.shortest
        let range = measure.longest &- shortest
        IntRun.writeHeader(UInt64(range), low: Int64(shortest), into: &cursor)
        if range > 0xFF {
            for row in rows {
                let length = slots.load(fromByteOffset: row &* NodeLayout.Chunk.slotByteCount, as: UInt32.self) >> 16
                cursor.address.storeBytes(of: UInt16(truncatingIfNeeded: length &- shortest), as: UInt16.self)
                cursor.address += 2
            }
        } else if range > 0 {
            let target = cursor.address
            let first = rows.lowerBound
            for index in 0..<rows.count {
                let length =
                    slots.load(
                        fromByteOffset: (first &+ index) &* NodeLayout.Chunk.slotByteCount, as: UInt32.self) >> 16
                target.storeBytes(
                    of: UInt8(truncatingIfNeeded: length &- shortest), toByteOffset: index, as: UInt8.self)
            }
            cursor.address += rows.count
        }
        let heap = UnsafeRawPointer(chunk.heap)
        if measure.gaps == 0 {
            cursor.bytes(heap + Int(chunk.slot(rows.lowerBound).offset), measure.total)
            return
        }
        // Values that are neighbours in the heap are copied together.
        var start = 0
        var end = 0
        for row in rows {
            let slot = chunk.slot(row)
            if slot.length == 0 { continue }
            if Int(slot.offset) != end {
                cursor.bytes(heap + start, end &- start)
                start = Int(slot.offset)
                end = start
            }
            end &+= Int(slot.length)
        }
        cursor.bytes(heap + start, end &- start)
    }

    /// Writes values of a fixed width that lie one after the other. `nullFlags` has one byte per value, and is nil if
    /// no value can be null. `scratch` has space for 2 * `count` integers.
    static func encodeFixed(
        _ type: ColumnType, values: UnsafeRawPointer, nullFlags: UnsafePointer<UInt8>?, count: Int,
        scratch: UnsafeMutablePointer<Int64>, into cursor: inout RawCursor
    ) {
        var nullFlags = nullFlags
        if let flags = nullFlags, !hasNull(flags, count) { nullFlags = nil }
        cursor.byte(ChangesetFormat.header(type) | (nullFlags == nil ? 0 : ChangesetFormat.nullsBit))
        if let nullFlags { cursor.bitmap(nullFlags, count) }
        switch type {
        case .bool: encodeBools(values.assumingMemoryBound(to: UInt8.self), count: count, into: &cursor)
        case .int, .link:
            let integers = values.assumingMemoryBound(to: Int64.self)
            guard let nullFlags else {
                IntRun.encode(integers, count: count, into: &cursor)
                return
            }
            gather(nullFlags, count: count, target: scratch) { integers[$0] }
            IntRun.encode(scratch, count: count, into: &cursor)
        case .float: cursor.bytes(values, count &* 4)
        case .double: cursor.bytes(values, count &* 8)
        case .objectID: cursor.bytes(values, count &* 12)
        case .uuid, .decimal: cursor.bytes(values, count &* 16)
        case .date:
            let nanoseconds = scratch + count
            gather(nullFlags, count: count, target: scratch) {
                values.loadUnaligned(fromByteOffset: $0 &* 16, as: Int64.self)
            }
            gather(nullFlags, count: count, target: nanoseconds) {
                Int64(values.loadUnaligned(fromByteOffset: $0 &* 16 &+ 8, as: Int32.self))
            }
            IntRun.encode(scratch, count: count, into: &cursor)
            IntRun.encode(nanoseconds, count: count, into: &cursor)
        case .string, .data, .mixed: preconditionFailure("Firn: a \(type) has no fixed width")
        }
    }

    /// Copies integers to `target`. A null gets the value of another row, so that it does not make the run wider.
    @inline(__always)
    private static func gather(
        _ nullFlags: UnsafePointer<UInt8>?, count: Int, target: UnsafeMutablePointer<Int64>, _ value: (Int) -> Int64
    ) {
        guard let nullFlags else {
            for index in 0..<count { target[index] = value(index) }
            return
        }
        var filler: Int64 = 0
        for index in 0..<count where nullFlags[index] == 0 {
            filler = value(index)
            break
        }
        for index in 0..<count { target[index] = nullFlags[index] == 0 ? value(index) : filler }
    }

    private static func hasNull(_ flags: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var any: UInt8 = 0
        for index in 0..<count { any |= flags[index] }
        return any != 0
    }

    private static func encodeBools(_ values: UnsafePointer<UInt8>, count: Int, into cursor: inout RawCursor) {
        var any: UInt8 = 0
        var all: UInt8 = 1
        for index in 0..<count {
            any |= values[index]
            all &= values[index]
        }
        if any == 0 || all != 0 {
            cursor.byte(any == 0 ? 0 : 1)
            return
        }
        cursor.byte(2)
        cursor.bitmap(values, count)
    }

    // MARK: From staged values

    /// Writes all staged values. Long values must have been written as blobs already, and have their ids.
    static func encode(_ column: StagedColumn, scratch: UnsafeMutablePointer<Int64>, into cursor: inout RawCursor) {
        if column.collection != .none {
            cursor.byte(ChangesetFormat.header(column.type, column.collection))
            IntRun.encode(column.counts.base.assumingMemoryBound(to: Int64.self), count: column.rowCount, into: &cursor)
            if column.collection == .map {
                encodePieces(column.keys, type: .string, hasNulls: false, scratch: scratch, into: &cursor)
            }
        }
        if column.type.fixedWidth != nil {
            encodeFixed(
                column.type, values: column.fixed.base,
                nullFlags: column.hasNulls ? UnsafePointer(column.flags.base.assumingMemoryBound(to: UInt8.self)) : nil,
                count: column.valueCount, scratch: scratch, into: &cursor)
        } else {
            encodePieces(column.pieces, type: column.type, hasNulls: column.hasNulls, scratch: scratch, into: &cursor)
        }
    }

    private static func encodePieces(
        _ pieces: [Piece], type: ColumnType, hasNulls: Bool, scratch: UnsafeMutablePointer<Int64>,
        into cursor: inout RawCursor
    ) {
        var header = ChangesetFormat.header(type)
        let count = pieces.count
        var blobs = 0
        for index in 0..<count {
            scratch[index] = Int64(pieces[index].inlineCount)
            if pieces[index].isLong { blobs &+= 1 }
        }
        if hasNulls { header |= ChangesetFormat.nullsBit }
        if blobs > 0 { header |= ChangesetFormat.blobsBit }
        cursor.byte(header)
        if hasNulls {
            let flags = UnsafeMutableRawPointer(scratch + count).assumingMemoryBound(to: UInt8.self)
            for index in 0..<count { flags[index] = pieces[index].count < 0 ? 1 : 0 }
            cursor.bitmap(flags, count)
        }
        if blobs > 0 {
            cursor.varint(blobs)
            for index in 0..<count where pieces[index].isLong {
                assert(pieces[index].blob >= 0, "Firn: a long value was not sent before its block")
                cursor.varint(index)
                cursor.varint(pieces[index].blob)
                cursor.varint(pieces[index].count)
            }
        }
        IntRun.encode(scratch, count: count, into: &cursor)
        for piece in pieces where piece.inlineCount > 0 { cursor.bytes(piece.address, piece.count) }
    }
}
