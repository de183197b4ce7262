import FirnBytes

/// Reads a run of values of one column as `ColumnCoding` wrote it, from untrusted bytes.
///
/// Creating a decoder checks every length, so that no read afterwards goes beyond the bytes, whatever they contain. It
/// allocates nothing (except for collections and blobs) and copies no values. So the memory of the part and of the
/// blobs must stay valid while the decoder is used.
///
/// Values are read in order by `next…`. Values of fixed-width types can also be read in ranges, into a chunk's
/// memory, by `fill`.
struct ColumnDecoder {
    let type: ColumnType
    let collection: CollectionKind
    /// The number of rows.
    let count: Int
    private let nulls: UnsafeRawPointer?
    /// Integers, seconds, lengths, or numbers of elements.
    let integers: IntRun
    private let nanoseconds: IntRun
    /// Fixed values, a bitmap of bools, or the bytes of all values of varying length.
    private let bytes: UnsafeRawPointer
    private let boolForm: UInt8
    private let blobs: [BlobLocation]
    /// For a collection: the run of a map's keys, and the run of the elements.
    private(set) var parts: [ColumnDecoder]
    private var row = 0
    private var byteOffset = 0
    private var nextBlob = 0

    struct BlobLocation {
        let row: Int
        let bytes: UnsafeRawBufferPointer
    }

    /// How many more cells the part may hold, and the blobs that came before the block.
    struct Context {
        var cells: Int
        var blobs: BlobTable

        mutating func take(_ count: Int, at offset: Int) throws(Damage) {
            guard count <= cells else {
                throw Damage("the part has more than \(Limits.partCellCount) cells", at: offset)
            }
            cells -= count
        }
    }

    // MARK: Reading the run

    init(reader: inout ByteReader, count: Int, context: inout Context) throws(Damage) {
        try self.init(reader: &reader, count: count, context: &context, within: nil)
    }

    private init(
        reader: inout ByteReader, count: Int, context: inout Context, within outer: CollectionKind?
    ) throws(Damage) {
        let start = reader.offset
        let header = try reader.readUInt8()
        guard let type = ColumnType(rawValue: header & 15), let collection = CollectionKind(rawValue: header >> 4 & 3)
        else { throw Damage("a column of an unknown type", at: start) }
        try context.take(count, at: start)
        self.type = type
        self.collection = collection
        self.count = count
        let hasNulls = header & ChangesetFormat.nullsBit != 0
        let hasBlobs = header & ChangesetFormat.blobsBit != 0
        let anchor = reader.bytes.baseAddress.unsafelyUnwrapped
        var integers = IntRun(empty: anchor)
        var nanoseconds = integers
        var bytes = anchor
        var boolForm: UInt8 = 0
        var locations: [BlobLocation] = []
        var parts: [ColumnDecoder] = []
        guard collection == .none || !hasNulls && !hasBlobs && outer == nil, type.fixedWidth == nil || !hasBlobs,
            type != .link || !hasNulls
        else { throw Damage("a column has an invalid header \(header)", at: start) }
        nulls = hasNulls ? try ColumnDecoder.bitmap(&reader, count) : nil
        if collection != .none {
            integers = try IntRun(&reader, count)
            guard let total = integers.sum(each: Int64(Limits.partCellCount), atMost: context.cells) else {
                throw Damage("collections have too many elements", at: start)
            }
            if collection == .map {
                let keys = try ColumnDecoder(reader: &reader, count: total, context: &context, within: collection)
                guard keys.type == .string, keys.nulls == nil else {
                    throw Damage("a map's keys are not strings", at: start)
                }
                parts.append(keys)
            }
            let elements = try ColumnDecoder(reader: &reader, count: total, context: &context, within: collection)
            guard elements.type == type else {
                throw Damage("a collection's elements are not of its type", at: start)
            }
            parts.append(elements)
        } else {
            switch type {
            case .bool:
                boolForm = try reader.readUInt8()
                guard boolForm <= 2 else { throw Damage("bools of form \(boolForm)", at: start) }
                if boolForm == 2 { bytes = try ColumnDecoder.bitmap(&reader, count) }
            case .int: integers = try IntRun(&reader, count)
            case .link:
                integers = try IntRun(&reader, count)
                guard integers.fits(-1, ChangesetFormat.keyLimit) else {
                    throw Damage("a link's key is out of range", at: start)
                }
            case .float, .double, .objectID, .uuid, .decimal:
                let width = type.fixedWidth.unsafelyUnwrapped
                bytes = try reader.readBytes(count * width).baseAddress ?? anchor
            case .date:
                integers = try IntRun(&reader, count)
                nanoseconds = try IntRun(&reader, count)
                guard nanoseconds.fits(-999_999_999, 1_000_000_000) else {
                    throw Damage("a date has more than a second of nanoseconds", at: start)
                }
            case .string, .data, .mixed:
                if hasBlobs { locations = try ColumnDecoder.locations(&reader, count: count, blobs: &context.blobs) }
                integers = try IntRun(&reader, count)
                guard let total = integers.sum(each: Int64(ChangesetFormat.cellByteCount), atMost: reader.remaining)
                else {
                    throw Damage("the lengths of values add up to more than what follows", at: start)
                }
                bytes = try reader.readBytes(total).baseAddress ?? anchor
            }
        }
        self.integers = integers
        self.nanoseconds = nanoseconds
        self.bytes = bytes
        self.boolForm = boolForm
        blobs = locations
        self.parts = parts
    }

    /// Reads a bitmap of `count` bits. Throws if a spare bit of the last byte is set.
    static func bitmap(_ reader: inout ByteReader, _ count: Int) throws(Damage) -> UnsafeRawPointer {
        let start = reader.offset
        let bytes = try reader.readBytes(RawCursor.bitmapByteCount(count))
        if count & 7 != 0, bytes[bytes.count - 1] >> UInt8(count & 7) != 0 {
            throw Damage("spare bits are set", at: start)
        }
        return bytes.baseAddress ?? reader.bytes.baseAddress.unsafelyUnwrapped
    }

    private static func locations(
        _ reader: inout ByteReader, count: Int, blobs: inout BlobTable
    ) throws(Damage) -> [BlobLocation] {
        let number = try reader.readCount(limit: count)
        var locations: [BlobLocation] = []
        var next = 0
        for _ in 0..<number {
            let start = reader.offset
            let row = try reader.readCount(limit: count - 1)
            let id = try reader.readVarint()
            let length = try reader.readCount(limit: ChangesetFormat.blobByteCount)
            guard row >= next, let bytes = blobs.take(id, length) else {
                throw Damage("a value refers to blob \(id), which did not come before it", at: start)
            }
            locations.append(BlobLocation(row: row, bytes: bytes))
            next = row + 1
        }
        return locations
    }

    // MARK: By row

    @inline(__always)
    func isNull(_ row: Int) -> Bool {
        guard let nulls else { return type == .link && collection == .none && integers[row] < 0 }
        return ColumnDecoder.bit(nulls, row)
    }

    var mayHaveNulls: Bool { nulls != nil }

    @inline(__always)
    static func bit(_ bitmap: UnsafeRawPointer, _ index: Int) -> Bool {
        bitmap.load(fromByteOffset: index >> 3, as: UInt8.self) >> UInt8(index & 7) & 1 == 1
    }

    /// Whether the run has the column's type and kind of collection. Nullability is not compared: it may have changed
    /// since the commit.
    func matches(_ column: ColumnSchema) -> Bool { type == column.type && collection == column.collection }

    /// Writes rows of a fixed-width type in the layout of a chunk. About 0.5 ns a row.
    ///
    /// `nullFlags`, if given, gets a byte for each row, 1 for null. The value of a null becomes zeros, with or
    /// without flags.
    func fill(_ rows: Range<Int>, into target: UnsafeMutableRawPointer, nullFlags: UnsafeMutablePointer<UInt8>?) {
        precondition(
            collection == .none && rows.lowerBound >= 0 && rows.upperBound <= count,
            "Firn: rows beyond the end of a run of values"
        )
        let first = rows.lowerBound
        switch type {
        case .bool:
            let flags = target.assumingMemoryBound(to: UInt8.self)
            if boolForm == 2 {
                for index in 0..<rows.count { flags[index] = ColumnDecoder.bit(bytes, first &+ index) ? 1 : 0 }
            } else {
                flags.update(repeating: boolForm, count: rows.count)
            }
        case .int, .link: integers.expand(rows, into: target.assumingMemoryBound(to: Int64.self))
        case .date:
            for index in 0..<rows.count { storeDate(first &+ index, to: target + index &* 16) }
        case .float, .double, .objectID, .uuid, .decimal:
            let width = type.fixedWidth.unsafelyUnwrapped
            target.copyMemory(from: bytes + first &* width, byteCount: rows.count &* width)
        case .string, .data, .mixed: preconditionFailure("Firn: a \(type) has no fixed width")
        }
        nullFlags?.update(repeating: 0, count: rows.count)
        guard nulls != nil else { return }
        let width = type.fixedWidth.unsafelyUnwrapped
        for row in rows where isNull(row) {
            (target + (row &- first) &* width).initializeMemory(as: UInt8.self, repeating: 0, count: width)
            nullFlags?[row &- first] = 1
        }
    }

    private func storeDate(_ row: Int, to target: UnsafeMutableRawPointer) {
        target.storeBytes(
            of: Timestamp(seconds: integers[row], nanoseconds: Int32(truncatingIfNeeded: nanoseconds[row])),
            as: Timestamp.self)
    }

    // MARK: In order

    /// Reads the next row of a run of ints or links.
    @inline(__always)
    mutating func nextInt() -> Int64 {
        precondition(row < count, "Firn: a value beyond the end of a run")
        row &+= 1
        return integers[row &- 1]
    }

    /// Reads the next row of strings, data or mixed values. Nil for null.
    @inline(__always)
    mutating func nextBytes() -> UnsafeRawBufferPointer? {
        precondition(row < count, "Firn: a value beyond the end of a run")
        let row = row
        let length = Int(integers[row])
        let start = bytes + byteOffset
        byteOffset &+= length
        self.row = row &+ 1
        if nextBlob < blobs.count, blobs[nextBlob].row == row {
            nextBlob &+= 1
            return blobs[nextBlob &- 1].bytes
        }
        if nulls != nil, isNull(row) { return nil }
        return UnsafeRawBufferPointer(start: start, count: length)
    }

    /// Reads the bytes of the next `rows` values of varying length, one after the other. Nil, without reading anything,
    /// if the run has nulls or blobs.
    ///
    /// The lengths of the values are in `integers`, from the `position` before the call on.
    mutating func nextBytes(ofRows rows: Int) -> UnsafeRawBufferPointer? {
        precondition(row + rows <= count, "Firn: values beyond the end of a run")
        guard nulls == nil, blobs.isEmpty else { return nil }
        var length = 0
        for index in row..<row + rows { length &+= Int(integers[index]) }
        let start = bytes + byteOffset
        row += rows
        byteOffset += length
        return UnsafeRawBufferPointer(start: start, count: length)
    }

    /// Whether all remaining values are ASCII text, without blobs and nulls. About 0.03 ns a byte.
    var isASCII: Bool {
        var all = self
        return all.nextBytes(ofRows: count - row)?.isASCII ?? false
    }

    /// The number of rows that have been read.
    var position: Int { row }

    /// Reads the number of elements of the next row of collections. The elements are read from `elements`, a map's keys
    /// from `keys`.
    mutating func nextCount() -> Int { Int(nextInt()) }

    /// The elements of all rows of a run of collections, as one run.
    var elements: ColumnDecoder {
        get { parts[parts.count - 1] }
        _modify { yield &parts[parts.count - 1] }
    }

    /// The keys of all rows of a run of maps, as one run. Each key belongs to the element with the same index.
    var keys: ColumnDecoder {
        get { parts[0] }
        _modify { yield &parts[0] }
    }

    /// Reads the next row as a value. Nil if its bytes are invalid: text that is not UTF-8, or an undefined mixed
    /// value.
    mutating func nextValue() -> Value? {
        switch collection {
        case .none: return nextScalar()
        case .list, .set:
            guard let elements = nextElements(nextCount()) else { return nil }
            return collection == .list ? .list(elements) : .set(elements)
        case .map:
            let count = nextCount()
            var entries: [Value.MapEntry] = []
            entries.reserveCapacity(count)
            for _ in 0..<count {
                guard let entry = nextEntry() else { return nil }
                entries.append(entry)
            }
            return .map(entries)
        }
    }

    /// Reads the next `count` elements of a run of collections. A map's elements are maps of one entry.
    mutating func nextElements(_ count: Int) -> [Value]? {
        var result: [Value] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            if collection == .map {
                guard let entry = nextEntry() else { return nil }
                result.append(.map([entry]))
            } else {
                guard let value = elements.nextScalar() else { return nil }
                result.append(value)
            }
        }
        return result
    }

    private mutating func nextEntry() -> Value.MapEntry? {
        guard let bytes = keys.nextBytes(), let key = String(validating: bytes, as: UTF8.self),
            let value = elements.nextScalar()
        else { return nil }
        return Value.MapEntry(key: key, value: value)
    }

    private mutating func nextScalar() -> Value? {
        guard let width = type.fixedWidth else {
            guard let bytes = nextBytes() else { return .null }
            switch type {
            case .string: return String(validating: bytes, as: UTF8.self).map(Value.string)
            case .data: return .data([UInt8](bytes))
            default: return MixedCoding.decode(bytes)
            }
        }
        precondition(row < count, "Firn: a value beyond the end of a run")
        let row = row
        self.row = row &+ 1
        if isNull(row) { return .null }
        switch type {
        case .bool: return .bool(boolForm == 2 ? ColumnDecoder.bit(bytes, row) : boolForm == 1)
        case .int: return .int(integers[row])
        case .link: return .link(integers[row])
        case .date:
            return .date(
                Timestamp(seconds: integers[row], nanoseconds: Int32(truncatingIfNeeded: nanoseconds[row])))
        default: return FixedCoding.load(bytes + row &* width, as: type)
        }
    }
}

extension IntRun {
    /// Whether all values are at least `low` and below `end`.
    func fits(_ low: Int64, _ end: Int64) -> Bool {
        guard let bounds else { return true }
        return bounds.lowerBound >= low && bounds.upperBound < end
    }
}

/// The blobs that came before the block that refers to them.
struct BlobTable {
    private var blobs: [UInt64: UnsafeMutableRawBufferPointer] = [:]
    private var lengths: [UInt64: Int] = [:]
    private(set) var byteCount = 0

    var isEmpty: Bool { blobs.isEmpty }

    /// Appends a piece to a blob. Returns false if the piece does not begin where the last piece ended, or if there are
    /// too many blobs or bytes.
    mutating func append(_ piece: UnsafeRawBufferPointer, to id: UInt64, at offset: Int) -> Bool {
        let length = lengths[id] ?? 0
        guard offset == length, lengths[id] != nil || blobs.count < ChangesetFormat.blobCount,
            byteCount + piece.count <= ChangesetFormat.blobsByteCount,
            length + piece.count <= ChangesetFormat.blobByteCount
        else { return false }
        var memory = blobs[id] ?? .allocate(byteCount: max(piece.count, 16), alignment: 16)
        if memory.count < length + piece.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(length + piece.count, 2 * memory.count), alignment: 16)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<length]))
            memory.deallocate()
            memory = larger
        }
        UnsafeMutableRawBufferPointer(rebasing: memory[length..<length + piece.count]).copyMemory(from: piece)
        blobs[id] = memory
        lengths[id] = length + piece.count
        byteCount += piece.count
        return true
    }

    /// Returns a blob, whose memory stays valid until `removeAll`. Nil if the blob is not complete or was returned
    /// before.
    mutating func take(_ id: UInt64, _ length: Int) -> UnsafeRawBufferPointer? {
        guard let memory = blobs[id], lengths[id] == length else { return nil }
        lengths[id] = -1
        return UnsafeRawBufferPointer(rebasing: memory[..<length])
    }

    mutating func removeAll() {
        for memory in blobs.values { memory.deallocate() }
        blobs.removeAll()
        lengths.removeAll()
        byteCount = 0
    }
}
