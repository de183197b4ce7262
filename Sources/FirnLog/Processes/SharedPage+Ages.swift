import FirnBytes
import FirnStorage

/// The words of the shared page that hold the log's `AgeRecord`, from byte 128 on.
///
/// ```
/// byte   0                       8                       16
///        ┌───────────────────────┬───────────────────────┐
///    128 │ check                 │ id of the boot        │
///    144 ├───────────────────────┼───────────────────────┤
///        │ boot time             │ wall time             │
///    160 ├───────────────────────┼───────────────────────┤
///        │ time of a frame       │ slack                 │
///    176 ├───────────────────────┼───────────────────────┤
///        │ points (see below)    │ gap                   │
///    192 ├───────────────────────┼───────────────────────┤
///        │ time of point 0       │ its age               │
///        ├───────────────────────┼───────────────────────┤
///        │ … up to point 2       │                       │
///    240 └───────────────────────┴───────────────────────┘
/// ```
///
/// Times, ages, the slack and the gap are nanoseconds. **gap** is 0 if there is none. **points** has these fields:
/// - bits 0 ..< 8: the number of points;
/// - bits 8 ..< 16: how many of them lie before the gap;
/// - bits 16 ..< 24: a bit for each point that is merged;
/// - bits 32 ..< 64: the boot clock's time, in seconds, since which the wall clock was not set.
///
/// **check** is the CRC of the store id's high word and of the other words, with bit 32 set. The process that writes to
/// the log sets the check to 0 while it changes them. So a record is invalid if its writer did not finish it, or if
/// another store has left it. Zeros that an earlier release has written are no record either. Without a valid record,
/// nothing is known of the frames' ages. The words stay valid when the page is made again, and after the system was
/// started again.
extension SharedPage {
    static let agesRange = 128..<identityOffset
    private static let firstPoint = 192

    /// The record; nil if there is none. Any process may call this.
    var ages: AgeRecord? {
        // If another process is changing the record, reading is tried again.
        for _ in 0..<3 {
            let check = load(Self.agesRange.lowerBound)
            let words = agesWords.map { load($0) }
            if check != 0, check == self.check(of: words), check == load(Self.agesRange.lowerBound) {
                return AgeRecord(words)
            }
        }
        return nil
    }

    /// Called by the process that writes to the log.
    func setAges(_ ages: AgeRecord) {
        let words = ages.words
        store(0, Self.agesRange.lowerBound)
        for (offset, word) in zip(agesWords, words) { store(word, offset) }
        store(check(of: words), Self.agesRange.lowerBound)
    }

    private var agesWords: StrideTo<Int> {
        stride(from: Self.agesRange.lowerBound + 8, to: Self.agesRange.upperBound, by: 8)
    }

    private func check(of words: [UInt64]) -> UInt64 {
        var bytes = ByteWriter(capacity: Self.agesRange.count)
        bytes.append(storeHigh)
        for word in words { bytes.append(word) }
        return UInt64(CRC32C.checksum(bytes.bytes)) | 1 << 32
    }
}

extension AgeRecord {
    private static let second: Int64 = 1_000_000_000

    fileprivate var words: [UInt64] {
        var shape = UInt64(points.count)
        for (index, point) in points.enumerated() where point.isMerged { shape |= 1 << UInt64(16 + index) }
        if let gap {
            // Rounded up, so that the gap is confirmed up to a second later, never earlier.
            shape |= UInt64(gap.pointCount) << 8
            shape |= UInt64(min(max(gap.since / Self.second + 1, 0), Int64(UInt32.max))) << 32
        }
        var words = [
            reading.bootID, UInt64(bitPattern: reading.boot), UInt64(bitPattern: reading.wall),
            UInt64(bitPattern: time), UInt64(bitPattern: slack), shape, UInt64(bitPattern: gap?.nanoseconds ?? 0),
        ]
        for point in points { words += [UInt64(bitPattern: point.time), UInt64(bitPattern: point.age)] }
        words += [UInt64](repeating: 0, count: 2 * (Self.pointCount - points.count))
        return words
    }

    /// The record in words whose check is right; nil if they make no sense.
    fileprivate init?(_ words: [UInt64]) {
        let shape = words[5]
        let count = Int(shape & 0xFF)
        let gap = Gap(
            nanoseconds: Int64(bitPattern: words[6]), pointCount: Int(shape >> 8 & 0xFF),
            since: Int64(shape >> 32) * Self.second)
        guard count <= Self.pointCount, gap.pointCount <= count, gap.nanoseconds >= 0 else { return nil }
        var points: [Point] = []
        for index in 0..<count {
            let isMerged = shape >> UInt64(16 + index) & 1 == 1
            let time = Int64(bitPattern: words[7 + 2 * index])
            points.append(Point(time: time, age: Int64(bitPattern: words[8 + 2 * index]), isMerged: isMerged))
        }
        self.init(
            reading: ClockReading(
                wall: Int64(bitPattern: words[2]), boot: Int64(bitPattern: words[1]), bootID: words[0]),
            time: Int64(bitPattern: words[3]), slack: Int64(bitPattern: words[4]), points: points,
            gap: gap.nanoseconds > 0 ? gap : nil)
        guard isPossible else { return nil }
    }
}
