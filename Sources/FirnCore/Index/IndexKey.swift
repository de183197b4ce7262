/// A key of a `BytesIndexTree`: up to 136 bytes, whose order is the order of the values that they encode.
///
/// ```
///   0    1                                        up to 129
/// ┌─────┬───────────────────────────────────────┐
/// │ tag │ bytes of the value                    │   tag 0: null, and nothing follows; 1: a value
/// └─────┴───────────────────────────────────────┘
///   bool, link, int, float, double    big-endian, sign bit flipped (floats: see `orderedBits`)
///   string, data                      UTF-8, or as it is; above 128 bytes the first 120 and a hash of the whole (u64)
///   date                              seconds (8), nanoseconds (4), each like an int
///   object id, UUID                   their 12 or 16 bytes
///   decimal                           19 bytes, see `IndexKey+Decimal`
///   mixed                             see `IndexKey+Mixed`
/// ```
///
/// In memory the bytes are held in words of eight, as **numbers** (the first byte is the highest). The last word is
/// filled up with zeros. So two keys are compared word by word, and by length if all words are equal.
///
/// A key is a view of memory that is valid only during the call it is passed to.
struct IndexKey {
    let words: UnsafePointer<UInt64>
    let byteCount: Int

    @inline(__always)
    init(words: UnsafePointer<UInt64>, byteCount: Int) {
        self.words = words
        self.byteCount = byteCount
    }

    var wordCount: Int { @inline(__always) get { (byteCount &+ 7) &>> 3 } }

    static let maximumByteCount = Limits.indexKeyByteCount + 8
    /// The number of words that hold any key.
    static let maximumWordCount = maximumByteCount / 8

    /// Whether keys of strings or data of this length are equal only if the values are equal. The key of a longer value
    /// holds a hash: a lookup finds such a value as a candidate, which the caller compares with the row.
    @inline(__always)
    static func isExact(_ byteCount: Int) -> Bool { byteCount <= Limits.indexKeyByteCount }

    @inline(__always)
    subscript(byte index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: words[index &>> 3] &>> UInt64(56 &- (index & 7) &* 8))
    }

    /// Negative, zero or positive if this key is below, equal to or above `other`. The first `equalWords` words of both
    /// must be equal.
    @inline(__always)
    func compare(_ other: IndexKey, from equalWords: Int = 0) -> Int {
        let common = min(wordCount, other.wordCount)
        var index = equalWords
        while index < common {
            let (a, b) = (words[index], other.words[index])
            if a != b { return a < b ? -1 : 1 }
            index &+= 1
        }
        return byteCount &- other.byteCount
    }

    /// The number of bytes at the beginning that both keys have in common.
    func commonPrefix(_ other: IndexKey) -> Int {
        let limit = min(byteCount, other.byteCount)
        var index = 0
        while index &* 8 < limit {
            let difference = words[index] ^ other.words[index]
            if difference != 0 { return min(limit, index &* 8 &+ difference.leadingZeroBitCount &>> 3) }
            index &+= 1
        }
        return limit
    }

    /// The four bytes from `offset` on as a number, with zeros behind the end.
    @inline(__always)
    func head(_ offset: Int) -> UInt32 { UInt32(truncatingIfNeeded: eightBytes(offset) &>> 32) }

    /// The eight bytes from `offset` on as a number, with zeros behind the end.
    @inline(__always)
    func eightBytes(_ offset: Int) -> UInt64 {
        let wordIndex = offset &>> 3
        let shift = UInt64(truncatingIfNeeded: offset & 7) &* 8
        let high = wordIndex < wordCount ? words[wordIndex] : 0
        if shift == 0 { return high }
        let low = wordIndex &+ 1 < wordCount ? words[wordIndex &+ 1] : 0
        return high &<< shift | low &>> (64 &- shift)
    }
}

extension IndexKey {
    /// Writes a key's bytes, then returns the key.
    struct Encoder {
        private let base: UnsafeMutableRawPointer
        private var count = 0

        @inline(__always)
        fileprivate init(_ base: UnsafeMutableRawPointer) { self.base = base }

        @inline(__always)
        mutating func append(_ byte: UInt8) {
            base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
            count &+= 1
        }

        @inline(__always)
        mutating func append<T: FixedWidthInteger & BitwiseCopyable>(bigEndian number: T) {
            base.storeBytes(of: number.bigEndian, toByteOffset: count, as: T.self)
            count &+= MemoryLayout<T>.size
        }

        @inline(__always)
        mutating func append(_ number: Int64) { append(bigEndian: UInt64(bitPattern: number) ^ 1 &<< 63) }

        /// Appends the bytes of a string or data. Of a long value, appends the beginning and a hash.
        @inline(__always)
        mutating func append(_ bytes: UnsafeRawBufferPointer) {
            guard let start = bytes.baseAddress else { return }
            if bytes.count <= Limits.indexKeyByteCount {
                (base + count).copyMemory(from: start, byteCount: bytes.count)
                count &+= bytes.count
            } else {
                let kept = Limits.indexKeyByteCount - 8
                (base + count).copyMemory(from: start, byteCount: kept)
                count &+= kept
                append(bigEndian: IndexKey.hash(bytes))
            }
        }

        @inline(__always)
        fileprivate func finish() -> IndexKey {
            let words = base.assumingMemoryBound(to: UInt64.self)
            let wordCount = (count &+ 7) &>> 3
            // The rest of the last word was never written.
            let tail = count & 7
            if tail != 0 {
                words[wordCount &- 1] = words[wordCount &- 1] & (1 &<< UInt64(truncatingIfNeeded: tail &* 8) &- 1)
            }
            for index in 0..<wordCount { words[index] = words[index].byteSwapped }
            return IndexKey(words: words, byteCount: count)
        }
    }

    /// Calls `body` with the key that `encode` writes.
    @inline(__always)
    static func withKey<Result>(_ encode: (inout Encoder) -> Void, _ body: (IndexKey) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: maximumWordCount) { buffer in
            let base = buffer.baseAddress.unsafelyUnwrapped
            var encoder = Encoder(UnsafeMutableRawPointer(base))
            encode(&encoder)
            return body(encoder.finish())
        }
    }

    /// Calls `body` with the key of null.
    @inline(__always)
    static func withNull<Result>(_ body: (IndexKey) -> Result) -> Result { withKey({ $0.append(UInt8(0)) }, body) }

    @inline(__always)
    static func withInt<Result>(_ value: Int64, _ body: (IndexKey) -> Result) -> Result {
        withKey(
            {
                $0.append(UInt8(1))
                $0.append(value)
            }, body)
    }

    /// Calls `body` with the key of a string's UTF-8 bytes, or of data.
    @inline(__always)
    static func withBytes<Result>(_ bytes: UnsafeRawBufferPointer, _ body: (IndexKey) -> Result) -> Result {
        withKey(
            {
                $0.append(UInt8(1))
                $0.append(bytes)
            }, body)
    }

    /// Calls `body` with the key of any value in a column of `type`. Stops the program if the value has another type,
    /// except in a mixed column.
    static func withValue<Result>(_ value: Value, in type: ColumnType, _ body: (IndexKey) -> Result) -> Result {
        withKey(
            { encoder in
                if type == .mixed {
                    encoder.appendMixed(value)
                } else if case .null = value {
                    encoder.append(UInt8(0))
                } else {
                    encoder.append(UInt8(1))
                    precondition(encoder.append(value, of: type), "Firn: an index of type \(type) can't hold \(value)")
                }
            }, body)
    }

    /// A hash of the bytes that never changes, because it is part of the file format.
    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
        func mix(_ word: UInt64) {
            let product = (hash ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
            hash = (product.high ^ product.low) &+ 0xA076_1D64_78BD_642F
        }
        var offset = 0
        while offset + 8 <= bytes.count {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var last: UInt64 = 0
        for index in offset..<bytes.count { last = last << 8 | UInt64(bytes[index]) }
        mix(last)
        return hash
    }
}

extension IndexKey.Encoder {
    /// Appends the value's bytes. Returns false if the value is not of the type.
    mutating func append(_ value: Value, of type: ColumnType) -> Bool {
        switch (type, value) {
        case (.bool, .bool(let x)): append(UInt8(x ? 1 : 0))
        case (.int, .int(let x)), (.link, .link(let x)): append(x)
        case (.float, .float(let x)): append(bigEndian: IndexKey.orderedBits(x))
        case (.double, .double(let x)): append(bigEndian: IndexKey.orderedBits(x))
        case (.string, .string(let x)): append(string: x)
        case (.data, .data(let x)): x.withUnsafeBytes { append($0) }
        case (.date, .date(let x)): append(x)
        case (.objectID, .objectID(let x)): append(x)
        case (.uuid, .uuid(let x)): append(x)
        case (.decimal, .decimal(let x)): append(decimal: x)
        default: return false
        }
        return true
    }

    mutating func append(string: String) {
        var string = string
        string.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    mutating func append(_ date: Timestamp) {
        append(date.seconds)
        append(bigEndian: UInt32(bitPattern: date.nanoseconds) ^ 1 << 31)
    }

    mutating func append(_ id: ObjectIDBytes) {
        append(bigEndian: id.words.0)
        append(bigEndian: id.words.1)
        append(bigEndian: id.words.2)
    }

    mutating func append(_ uuid: UUIDBytes) {
        append(bigEndian: uuid.high)
        append(bigEndian: uuid.low)
    }
}

extension IndexKey {
    /// A number whose unsigned order is the order of doubles: every NaN (each by its bits), -infinity, …, -0.0 and 0.0
    /// alike, …, infinity.
    ///
    /// The usual flip leaves the positive NaNs above infinity. Adding 2^52 - 1 wraps them around to the bottom.
    @inline(__always)
    static func orderedBits(_ value: Double) -> UInt64 {
        let bits = value == 0 ? 0 : value.bitPattern
        let flipped = bits &>> 63 == 1 ? ~bits : bits | 1 &<< 63
        return flipped &+ (1 &<< 52 &- 1)
    }

    /// A number whose unsigned order is the order of floats, made like the number for a double.
    @inline(__always)
    static func orderedBits(_ value: Float) -> UInt32 {
        let bits = value == 0 ? 0 : value.bitPattern
        let flipped = bits &>> 31 == 1 ? ~bits : bits | 1 &<< 31
        return flipped &+ (1 &<< 23 &- 1)
    }

    /// The key of an int in an `IntegerIndexTree`.
    @inline(__always)
    static func ordered(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 &<< 63 }
}
