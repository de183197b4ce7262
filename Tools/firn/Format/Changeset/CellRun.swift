import FirnBytes

/// The blobs that precede a block, by their ids.
final class BlobStore {
    final class Blob {
        var bytes: ByteWriter
        let isOld: Bool
        var isUsed = false

        init(isOld: Bool) {
            bytes = ByteWriter(capacity: 16)
            self.isOld = isOld
        }
    }

    private(set) var blobs: [UInt64: Blob] = [:]
    private(set) var byteCount = 0
    /// Ids count up within the changeset. Nil if the id of the next blob is not known, since parts are missing.
    private var nextID: UInt64? = 0

    var isEmpty: Bool { blobs.isEmpty }

    func add(_ id: UInt64, offset: UInt64, isOld: Bool, _ piece: UnsafeRawBufferPointer) throws(Damage) {
        let blob: Blob
        if let known = blobs[id] {
            blob = known
        } else {
            if let nextID, id != nextID {
                throw Damage("blob \(id) comes where blob \(nextID) should", at: 0)
            }
            guard blobs.count < FormatNumbers.blobCount else {
                throw Damage("there are more than \(FormatNumbers.blobCount) blobs before one block", at: 0)
            }
            nextID = id &+ 1
            blob = Blob(isOld: isOld)
            blobs[id] = blob
        }
        guard id &+ 1 == nextID, blob.isOld == isOld, offset == UInt64(blob.bytes.count), !piece.isEmpty else {
            throw Damage("a piece of blob \(id) does not follow the one before it", at: 0)
        }
        byteCount += piece.count
        guard byteCount <= FormatNumbers.blobsByteCount, blob.bytes.count + piece.count <= FormatNumbers.blobByteCount
        else { throw Damage("the blobs before one block are longer than allowed", at: 0) }
        blob.bytes.append(piece)
    }

    /// A blob's bytes. Throws if there is no such blob, or if it was used before: each blob is referred to once.
    func use(_ id: UInt64, count: UInt64, isOld: Bool, at offset: Int) throws(Damage) -> UnsafeRawBufferPointer {
        guard let blob = blobs[id], !blob.isUsed, blob.isOld == isOld, UInt64(blob.bytes.count) == count else {
            throw Damage("there is no unused blob \(id) of \(count) bytes", at: offset)
        }
        blob.isUsed = true
        return blob.bytes.bytes
    }

    /// Forgets the blobs, because their block can't be read, or because parts of the changeset are missing.
    func giveUp() {
        blobs = [:]
        byteCount = 0
        nextID = nil
    }

    /// Forgets the blobs, after the block that they belong to. All must have been referred to.
    func forget() throws(Damage) {
        if let unused = blobs.first(where: { !$0.value.isUsed }) {
            throw Damage("blob \(unused.key) belongs to no value", at: 0)
        }
        blobs = [:]
        byteCount = 0
    }
}

/// The values of one column for `count` rows. They are checked together and decoded one by one.
struct CellRun {
    /// What reading a run needs besides its bytes.
    struct Context {
        let blobs: BlobStore
        /// Whether the block holds values of the version before.
        var isOld: Bool
        /// How many more keys, values and elements the part may have.
        var cellsLeft: Int

        mutating func take(_ count: Int, at offset: Int) throws(Damage) {
            cellsLeft -= count
            if cellsLeft < 0 {
                throw Damage("the part has more than \(FormatNumbers.partCellCount) values", at: offset)
            }
        }
    }

    private indirect enum Content {
        case bools(Bool, Bitmap?)
        case ints(IntRun)
        case dates(IntRun, IntRun)
        case fixed(UnsafeRawBufferPointer, width: Int)
        case variable(UnsafeRawBufferPointer, starts: [Int32], blobs: [Int: UnsafeRawBufferPointer])
        case collections(starts: [Int32], keys: CellRun?, elements: CellRun)
    }

    let type: CellType
    let collection: CellCollection
    let count: Int
    private let nulls: Bitmap?
    private let content: Content

    /// The number of elements in all rows together; 0 if the column is not a collection.
    var elementCount: Int {
        if case .collections(_, _, let elements) = content { elements.count } else { 0 }
    }

    init(_ reader: inout ByteReader, count: Int, _ context: inout Context) throws(Damage) {
        try self.init(&reader, count: count, &context, isWithinCollection: false)
    }

    private init(
        _ reader: inout ByteReader, count: Int, _ context: inout Context, isWithinCollection: Bool
    ) throws(Damage) {
        let start = reader.offset
        try context.take(count, at: start)
        let header = try reader.readUInt8()
        guard let type = CellType(rawValue: header & 15), let collection = CellCollection(rawValue: header >> 4 & 3)
        else {
            throw Damage("a run of values has the unknown type \(header & 15)", at: start)
        }
        let hasNulls = header & 0x40 != 0
        let hasBlobs = header & 0x80 != 0
        // Only mixed values may have collections within collections. Nested runs could be as deep as the part is long.
        guard collection == .none || !hasNulls && !hasBlobs && !isWithinCollection, !hasBlobs || type.isVariable,
            !hasNulls || type != .link
        else {
            throw Damage("a run of values has the impossible header \(header)", at: start)
        }
        self.type = type
        self.collection = collection
        self.count = count
        nulls = hasNulls ? try Bitmap(&reader, count: count) : nil
        guard collection == .none else {
            content = try Self.collections(&reader, type: type, collection: collection, count: count, context: &context)
            return
        }
        switch type {
        case .bool:
            let form = try reader.readUInt8()
            guard form <= 2 else { throw Damage("a run of bools has form \(form)", at: start) }
            content = .bools(form == 1, form == 2 ? try Bitmap(&reader, count: count) : nil)
        case .int: content = .ints(try IntRun(&reader, count: count))
        case .link:
            let keys = try IntRun(&reader, count: count)
            if let key = keys.first(outside: -1..<FormatNumbers.keyLimit) {
                throw Damage("a link leads to the impossible key \(key)", at: start)
            }
            content = .ints(keys)
        case .date:
            let seconds = try IntRun(&reader, count: count)
            let nanoseconds = try IntRun(&reader, count: count)
            for index in 0..<count where !(nulls?[index] ?? false) {
                _ = try Cell.date(seconds[index], nanoseconds[index], at: start)
            }
            content = .dates(seconds, nanoseconds)
        case .float, .double, .objectID, .uuid, .decimal:
            let width = type == .float ? 4 : type == .double ? 8 : type == .objectID ? 12 : 16
            content = .fixed(try reader.readBytes(count * width), width: width)
        case .string, .data, .mixed:
            content = try Self.variable(
                &reader, type: type, count: count, hasBlobs: hasBlobs, nulls: nulls, context: &context)
        }
    }

    private static func variable(
        _ reader: inout ByteReader, type: CellType, count: Int, hasBlobs: Bool, nulls: Bitmap?,
        context: inout Context
    ) throws(Damage) -> Content {
        let start = reader.offset
        var blobs: [Int: UnsafeRawBufferPointer] = [:]
        if hasBlobs {
            var previous = -1
            for _ in 0..<(try reader.readCount(limit: count)) {
                let row = try reader.readCount(limit: count - 1)
                guard row > previous else {
                    throw Damage("the rows of blobs do not ascend", at: start)
                }
                previous = row
                let id = try reader.readVarint()
                blobs[row] = try context.blobs.use(id, count: try reader.readVarint(), isOld: context.isOld, at: start)
            }
        }
        let lengths = try IntRun(&reader, count: count)
        var starts: [Int32] = [0]
        starts.reserveCapacity(count + 1)
        var total: Int32 = 0
        for index in 0..<count {
            let length = lengths[index]
            guard length >= 0, length <= Int64(FormatNumbers.cellByteCount), length == 0 || blobs[index] == nil,
                Int(total) + Int(length) <= reader.remaining
            else { throw Damage("a value can't have \(length) bytes", at: start) }
            total += Int32(length)
            starts.append(total)
        }
        let bytes = try reader.readBytes(Int(total))
        switch type {
        case .string:
            guard Text.areUTF8(bytes, starts: starts), blobs.values.allSatisfy(\.isUTF8) else {
                throw Damage(.malformedText, offset: start)
            }
        case .mixed:
            for index in 0..<count where !(nulls?[index] ?? false) {
                let value =
                    blobs[index] ?? UnsafeRawBufferPointer(rebasing: bytes[Int(starts[index])..<Int(starts[index + 1])])
                do {
                    _ = try Cell.mixed(value)
                } catch {
                    throw Damage(error.code, offset: start)
                }
            }
        default: break
        }
        return .variable(bytes, starts: starts, blobs: blobs)
    }

    private static func collections(
        _ reader: inout ByteReader, type: CellType, collection: CellCollection, count: Int,
        context: inout Context
    ) throws(Damage) -> Content {
        let start = reader.offset
        let counts = try IntRun(&reader, count: count)
        var starts: [Int32] = [0]
        starts.reserveCapacity(count + 1)
        var total: Int64 = 0
        for index in 0..<count {
            guard counts[index] >= 0, counts[index] <= Int64(context.cellsLeft) - total else {
                throw Damage("a collection can't have \(counts[index]) elements", at: start)
            }
            total += counts[index]
            starts.append(Int32(total))
        }
        var keys: CellRun?
        if collection == .map {
            let read = try CellRun(&reader, count: Int(total), &context, isWithinCollection: true)
            guard read.type == .string, read.nulls == nil else {
                throw Damage("a map's keys are not strings", at: start)
            }
            keys = read
        }
        let elements = try CellRun(&reader, count: Int(total), &context, isWithinCollection: true)
        guard elements.type == type else {
            throw Damage("a collection's elements are not of the collection's type", at: start)
        }
        return .collections(starts: starts, keys: keys, elements: elements)
    }

    /// The value of a row. Every part of it was checked when the run was read.
    func cell(_ row: Int) -> Cell {
        precondition(row >= 0 && row < count, "Firn: a row lies within the run")
        if let nulls, nulls[row] { return .null }
        switch content {
        case .bools(let all, let bits): return .bool(bits?[row] ?? all)
        case .ints(let run):
            if type == .link { return run[row] < 0 ? .null : .link(run[row]) }
            return .int(run[row])
        case .dates(let seconds, let nanoseconds): return .date(seconds: seconds[row], nanoseconds: nanoseconds[row])
        case .fixed(let bytes, let width):
            var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[row * width..<(row + 1) * width]))
            return (try? Cell.fixed(type, &reader)) ?? .null
        case .variable(let bytes, let starts, let blobs):
            let value = blobs[row] ?? UnsafeRawBufferPointer(rebasing: bytes[Int(starts[row])..<Int(starts[row + 1])])
            switch type {
            case .string: return .string(value)
            case .data: return .data(value)
            default: return (try? Cell.mixed(value)) ?? .null
            }
        case .collections(let starts, let keys, let elements):
            let range = Int(starts[row])..<Int(starts[row + 1])
            switch collection {
            case .set: return .set(range.map(elements.cell))
            case .map:
                return .map(
                    range.map { index in
                        guard let keys, case .string(let key) = keys.cell(index) else {
                            return (UnsafeRawBufferPointer(start: nil, count: 0), .null)
                        }
                        return (key, elements.cell(index))
                    })
            default: return .list(range.map(elements.cell))
            }
        }
    }
}
