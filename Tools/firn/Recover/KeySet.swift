/// A set of objects' numbers, which mostly follow one another: a bit for each, in pages of 4,096.
struct KeySet {
    private var pages: [Int64: [UInt64]] = [:]

    private static let pageBits: Int64 = 4096

    /// Returns whether the key is new.
    @discardableResult
    mutating func insert(_ key: Int64) -> Bool {
        let (word, bit) = (Int(key % Self.pageBits / 64), UInt64(1) << UInt64(key % 64))
        let page = key / Self.pageBits
        if pages[page] == nil { pages[page] = [UInt64](repeating: 0, count: Int(Self.pageBits / 64)) }
        guard pages[page]![word] & bit == 0 else { return false }
        pages[page]![word] |= bit
        return true
    }

    mutating func remove(_ key: Int64) {
        guard contains(key) else { return }
        pages[key / Self.pageBits]![Int(key % Self.pageBits / 64)] &= ~(1 << UInt64(key % 64))
    }

    func contains(_ key: Int64) -> Bool {
        guard key >= 0, let page = pages[key / Self.pageBits] else { return false }
        return page[Int(key % Self.pageBits / 64)] & 1 << UInt64(key % 64) != 0
    }

    /// The keys, in ascending order.
    var elements: [Int64] {
        pages.keys.sorted().flatMap { page in
            (0..<Self.pageBits).map { page * Self.pageBits + $0 }.filter(contains)
        }
    }
}
