import FirnBytes

/// Integers, stored as their minimum and a code for each. All codes have as few bytes as the widest one needs.
///
/// ```
/// ┌──────────┬─────────────────┬──────────────────────────┐   value i = minimum + code i, modulo 2^64
/// │ width u8 │ minimum, zigzag │ n codes of `width` bytes │   width: 0 (all equal the minimum), 1, 2, 4, 8,
/// └──────────┴─────────────────┴──────────────────────────┘   or 16: no codes, value i = minimum + i
/// ```
///
/// This type reads a run in memory; `encode` writes one.
struct IntRun {
    let count: Int
    let width: Int
    let minimum: Int64
    let codes: UnsafeRawPointer

    static let ascending = 16

    /// The most bytes that a run takes.
    static func bound(_ count: Int) -> Int { 11 &+ 8 &* count }

    // MARK: Writing

    /// Writes `count` values. About 1 ns a value.
    static func encode(_ values: UnsafePointer<Int64>, count: Int, into cursor: inout RawCursor) {
        guard count > 0 else {
            cursor.byte(0)
            cursor.byte(0)
            return
        }
        var low = values[0]
        var high = low
        for index in 1..<max(count, 1) {
            let value = values[index]
            low = value < low ? value : low
            high = value > high ? value : high
        }
        let range = UInt64(bitPattern: high &- low)
        if range == UInt64(count &- 1), count > 1, isAscending(values, count) {
            cursor.byte(UInt8(ascending))
            cursor.zigzag(low)
            return
        }
        writeHeader(range, low: low, into: &cursor)
        let target = cursor.address
        if range == 0 { return }
        if range <= 0xFF {
            for index in 0..<count {
                let code = UInt8(truncatingIfNeeded: values[index] &- low)
                target.storeBytes(of: code, toByteOffset: index, as: UInt8.self)
            }
            cursor.address += count
        } else if range <= 0xFFFF {
            for index in 0..<count {
                let code = UInt16(truncatingIfNeeded: values[index] &- low)
                target.storeBytes(of: code, toByteOffset: index &* 2, as: UInt16.self)
            }
            cursor.address += count &* 2
        } else if range <= 0xFFFF_FFFF {
            for index in 0..<count {
                let code = UInt32(truncatingIfNeeded: values[index] &- low)
                target.storeBytes(of: code, toByteOffset: index &* 4, as: UInt32.self)
            }
            cursor.address += count &* 4
        } else {
            cursor.bytes(values, count &* 8)
        }
    }

    /// Writes `count` keys: `first` and its successors.
    static func encodeAscending(from first: Int64, _ count: Int, _ cursor: inout RawCursor) {
        cursor.byte(count > 1 ? UInt8(ascending) : 0)
        cursor.zigzag(count > 0 ? first : 0)
    }

    /// Writes width and minimum. For codes of 8 bytes the minimum is written as 0, so that the codes are the values
    /// themselves.
    static func writeHeader(_ range: UInt64, low: Int64, into cursor: inout RawCursor) {
        cursor.byte(range == 0 ? 0 : range <= 0xFF ? 1 : range <= 0xFFFF ? 2 : range <= 0xFFFF_FFFF ? 4 : 8)
        cursor.zigzag(range > 0xFFFF_FFFF ? 0 : low)
    }

    private static func isAscending(_ values: UnsafePointer<Int64>, _ count: Int) -> Bool {
        let first = values[0]
        for index in 1..<count where values[index] != first &+ Int64(index) { return false }
        return true
    }

    // MARK: Reading

    init(_ reader: inout ByteReader, _ count: Int) throws(Damage) {
        let start = reader.offset
        let width = Int(try reader.readUInt8())
        minimum = try reader.readZigzag()
        switch width {
        case 0, 1, 2, 4, 8:
            guard count <= Limits.partCellCount else {
                throw Damage("a run of \(count) values is too long", at: start)
            }
            let codes = try reader.readBytes(count * width)
            self.codes = codes.baseAddress ?? UnsafeRawPointer(reader.bytes.baseAddress.unsafelyUnwrapped)
        case IntRun.ascending:
            codes = UnsafeRawPointer(reader.bytes.baseAddress.unsafelyUnwrapped)
        default:
            throw Damage("integers of \(width) bytes", at: start)
        }
        self.count = count
        self.width = width
    }

    /// An empty run. `codes` is never read.
    init(empty anchor: UnsafeRawPointer) {
        count = 0
        width = 0
        minimum = 0
        codes = anchor
    }

    @inline(__always)
    subscript(_ index: Int) -> Int64 {
        assert(index >= 0 && index < count)
        switch width {
        case 0: return minimum
        case 1: return minimum &+ Int64(codes.load(fromByteOffset: index, as: UInt8.self))
        case 2: return minimum &+ Int64(codes.loadUnaligned(fromByteOffset: index &* 2, as: UInt16.self))
        case 4: return minimum &+ Int64(codes.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self))
        case 8: return minimum &+ codes.loadUnaligned(fromByteOffset: index &* 8, as: Int64.self)
        default: return minimum &+ Int64(index)
        }
    }

    /// Writes the values of a range, one after the other, to `target`. About 0.5 ns a value.
    func expand(_ range: Range<Int>, into target: UnsafeMutablePointer<Int64>) {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count, "Firn: a range beyond the end of a run of values")
        let first = range.lowerBound
        switch width {
        case 0: target.update(repeating: minimum, count: range.count)
        case 1:
            for index in 0..<range.count {
                target[index] = minimum &+ Int64(codes.load(fromByteOffset: first &+ index, as: UInt8.self))
            }
        case 2:
            for index in 0..<range.count {
                target[index] =
                    minimum &+ Int64(codes.loadUnaligned(fromByteOffset: (first &+ index) &* 2, as: UInt16.self))
            }
        case 4:
            for index in 0..<range.count {
                target[index] =
                    minimum &+ Int64(codes.loadUnaligned(fromByteOffset: (first &+ index) &* 4, as: UInt32.self))
            }
        case 8:
            for index in 0..<range.count {
                target[index] =
                    minimum &+ codes.loadUnaligned(fromByteOffset: (first &+ index) &* 8, as: Int64.self)
            }
        default:
            for index in 0..<range.count { target[index] = minimum &+ Int64(first &+ index) }
        }
    }

    /// The least and the greatest value, nil if there is no value.
    var bounds: ClosedRange<Int64>? {
        guard count > 0 else { return nil }
        var low = self[0]
        var high = low
        if width == 0 { return low...low }
        for index in 1..<max(count, 1) {
            let value = self[index]
            low = min(low, value)
            high = max(high, value)
        }
        return low...high
    }

    /// The sum of the values. Nil if a value is not within 0 ... limit, or if the sum is above `total`.
    func sum(each limit: Int64, atMost total: Int) -> Int? {
        guard count > 0 else { return 0 }
        guard let bounds, bounds.lowerBound >= 0, bounds.upperBound <= limit else { return nil }
        // There are at most 2^20 values of at most 2^31 each.
        var sum = 0
        if width == 0 {
            sum = Int(minimum) * count
        } else {
            for index in 0..<count { sum &+= Int(self[index]) }
        }
        return sum <= total ? sum : nil
    }
}
