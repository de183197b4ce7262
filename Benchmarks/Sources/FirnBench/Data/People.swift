/// How the primary keys of the generated people run.
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
    /// Where the texts begin in `People.bytes`: name, email, city and bio, without a gap.
    var textOffset: Int

    var textLength: Int { Int(nameLength) + Int(emailLength) + Int(cityLength) + Int(bioLength) }
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
/// Rivals with a C interface take the texts as bytes from one flat run, as a C program would have them; those with
/// a Swift interface get strings, made here too, so that no engine pays for making its input.
///
/// `@unchecked Sendable`: immutable once made; `bytes` is freed with it.
final class People: @unchecked Sendable {
    let records: [PersonRecord]
    let texts: [PersonTexts]
    let keyOrder: KeyOrder
    let bytes: UnsafePointer<UInt8>
    private let owner: People?

    var count: Int { records.count }

    /// Takes over `bytes`, or lends them from `owner`.
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

    /// What reading name and age of one person adds to a checksum: age, length of the name and its first byte.
    func digest(at index: Int) -> UInt64 {
        let record = records[index]
        return readDigest(age: record.age, nameLength: Int(record.nameLength), firstByte: bytes[record.textOffset])
    }
}

@inline(__always)
func readDigest(age: Int, nameLength: Int, firstByte: UInt8) -> UInt64 {
    UInt64(truncatingIfNeeded: age) &+ UInt64(truncatingIfNeeded: nameLength) &* 1_000 &+ UInt64(firstByte) &* 100_000
}
