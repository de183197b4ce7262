import FirnBytes

/// A run of integers: width u8 · minimum zigzag · a code of `width` bytes each. If the width is 0, all are the minimum.
/// If it is 16, each is one more than the one before.
struct IntRun {
    let count: Int
    let width: Int
    let minimum: Int64
    private let codes: UnsafeRawBufferPointer

    init(_ reader: inout ByteReader, count: Int) throws(Damage) {
        let start = reader.offset
        width = Int(try reader.readUInt8())
        minimum = try reader.readZigzag()
        self.count = count
        switch width {
        case 0, 16: codes = UnsafeRawBufferPointer(start: nil, count: 0)
        case 1, 2, 4, 8: codes = try reader.readBytes(count * width)
        default: throw Damage("a run of integers has codes of \(width) bytes", at: start)
        }
    }

    /// The first value that is not in a range; nil if all are. A run without codes has no bytes, but may have any
    /// number of values, so this takes O(1) for it.
    func first(outside range: Range<Int64>) -> Int64? {
        switch width {
        case 0: return count > 0 && !range.contains(minimum) ? minimum : nil
        case 16 where count > 0:
            // The values count up from one in the range, so only its upper bound can be passed.
            guard range.contains(minimum) else { return minimum }
            return Int64(count) > range.upperBound - minimum ? range.upperBound : nil
        default:
            for index in 0..<count where !range.contains(self[index]) { return self[index] }
            return nil
        }
    }

    subscript(index: Int) -> Int64 {
        precondition(index >= 0 && index < count, "Firn: an index lies within the run")
        let code: Int64 =
            switch width {
            case 0: 0
            case 16: Int64(index)
            case 1: Int64(codes[index])
            case 2: Int64(UInt16(littleEndian: codes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)))
            case 4: Int64(UInt32(littleEndian: codes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)))
            default: Int64(littleEndian: codes.loadUnaligned(fromByteOffset: index * 8, as: Int64.self))
            }
        return minimum &+ code
    }
}

/// A bit for each of `count` items, the lowest bit of a byte first. Spare bits are 0.
struct Bitmap {
    let count: Int
    private let bytes: UnsafeRawBufferPointer

    init(_ reader: inout ByteReader, count: Int) throws(Damage) {
        let start = reader.offset
        bytes = try reader.readBytes((count + 7) / 8)
        self.count = count
        if count % 8 != 0, bytes[bytes.count - 1] >> UInt8(count % 8) != 0 {
            throw Damage("spare bits of a bitmap are not zero", at: start)
        }
    }

    subscript(index: Int) -> Bool { bytes[index / 8] >> UInt8(index % 8) & 1 != 0 }

    var setCount: Int { bytes.reduce(0) { $0 + $1.nonzeroBitCount } }
}
