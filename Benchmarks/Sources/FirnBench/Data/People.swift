/// The order of the generated people's primary keys.
enum KeyOrder: String {
    /// 0, 1, 2 …, inserted in that order.
    case ascending
    /// The same keys, inserted in random order.
    case shuffled
    /// Ascending with random gaps of 1–2,000.
    case sparse
}

/// One generated person without its texts.
struct PersonRecord {
    var id: Int
    var age: Int
    var score: Double
    var created: Int
    var active: Bool
    var nameLength: UInt8
    var emailLength: UInt8
    var cityLength: UInt8
    var bioLength: UInt8
    /// The offset of the texts in `People.bytes`: name, email, city and bio, without a gap.
    var textOffset: Int

    var textLength: Int { Int(nameLength) + Int(emailLength) + Int(cityLength) + Int(bioLength) }
    /// The offset of the bio in `People.bytes`: it is the last of the texts.
    var bioOffset: Int { textOffset + textLength - Int(bioLength) }
    /// The bytes of the values alone: four numbers of 8 bytes, a Bool, and the texts.
    var byteCount: Int { 33 + textLength }
}

/// The texts of one person as Swift strings, for engines whose interface takes those.
struct PersonTexts {
    var name: String
    var email: String
    var city: String
    var bio: String
}

/// The people of a benchmark, generated before anything is timed.
///
/// Rivals with a C interface take the texts as bytes from one flat buffer, as a C program would have them. Those with
/// a Swift interface get strings, which are made here too, so that no engine pays for making its input.
///
/// `@unchecked Sendable`: immutable once made; `bytes` is freed at the end.
final class People: @unchecked Sendable {
    let records: [PersonRecord]
    let texts: [PersonTexts]
    let keyOrder: KeyOrder
    let bytes: UnsafePointer<UInt8>
    private let owner: People?

    var count: Int { records.count }

    /// Takes ownership of `bytes`, or borrows them from `owner`.
    init(
        records: [PersonRecord], texts: [PersonTexts], keyOrder: KeyOrder, bytes: UnsafePointer<UInt8>,
        owner: People? = nil
    ) {
        self.records = records
        self.texts = texts
        self.keyOrder = keyOrder
        self.bytes = bytes
        self.owner = owner
    }

    deinit { if owner == nil { bytes.deallocate() } }

    /// The first `count` of them.
    func prefix(_ count: Int) -> People {
        People(
            records: Array(records.prefix(count)), texts: Array(texts.prefix(count)), keyOrder: keyOrder, bytes: bytes,
            owner: self)
    }

    /// What the texts of one person add to a checksum if the bio is another person's: see `fullDigest`.
    func textDigests(_ index: Int, bio: Int) -> UInt64 {
        let record = records[index]
        let lengths = [record.nameLength, record.emailLength, record.cityLength]
        var offset = record.textOffset
        var sum = textDigest(
            3, length: Int(records[bio].bioLength), firstByte: bytes[records[bio].bioOffset])
        for (position, length) in lengths.enumerated() {
            sum &+= textDigest(UInt64(position), length: Int(length), firstByte: bytes[offset])
            offset += Int(length)
        }
        return sum
    }
}

/// What reading all of one person adds to a checksum: the numbers, and the length and the first byte of each text
/// (`textDigest`).
@inline(__always)
func fullDigest(id: Int, age: Int, score: Double, created: Int, active: Bool, texts: UInt64) -> UInt64 {
    UInt64(truncatingIfNeeded: id) &+ UInt64(truncatingIfNeeded: age) &* 3 &+ score.bitPattern
        &+ UInt64(truncatingIfNeeded: created) &* 5 &+ (active ? 7 : 0) &+ texts
}

/// Name, email, city and bio have the positions 0 to 3.
@inline(__always)
func textDigest(_ position: UInt64, length: Int, firstByte: UInt8) -> UInt64 {
    (UInt64(truncatingIfNeeded: length) &* 1_000 &+ UInt64(firstByte)) &* (2 &* position &+ 11)
}

@inline(__always)
func readDigest(age: Int, nameLength: Int, firstByte: UInt8) -> UInt64 {
    UInt64(truncatingIfNeeded: age) &+ UInt64(truncatingIfNeeded: nameLength) &* 1_000 &+ UInt64(firstByte) &* 100_000
}
