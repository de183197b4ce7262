import Testing

import FirnTestSupport

@testable import FirnCore

/// ±coefficient x 10^exponent as the bits of a decimal128.
private func decimal(_ coefficient: UInt64, _ exponent: Int, negative: Bool = false) -> Value {
    .decimal(DecimalBits(high: (negative ? 1 << 63 : 0) | UInt64(exponent + 6176) << 49, low: coefficient))
}

private let decimalNaN = Value.decimal(DecimalBits(high: 31 << 58, low: 0))
private let decimalInfinity = Value.decimal(DecimalBits(high: 30 << 58, low: 0))
private let decimalMinusInfinity = Value.decimal(DecimalBits(high: 1 << 63 | 30 << 58, low: 0))

private func key(_ value: Value, _ type: ColumnType) -> ByteString {
    IndexKey.withValue(value, in: type) { ByteString($0) }
}

private func doubles() -> [Double] {
    [
        -.nan, .nan, -.infinity, -.greatestFiniteMagnitude, -1e300, -2, -1.5, -.leastNormalMagnitude,
        -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, 0.1, 1, 1.5, 1e300, .greatestFiniteMagnitude, .infinity,
    ]
}

/// Values of each type in ascending order, no two of them equal.
private let ascending: [(ColumnType, [Value])] = [
    (.bool, [.null, .bool(false), .bool(true)]),
    (.int, [.null] + [Int64.min, -1_000_000, -256, -255, -1, 0, 1, 255, 256, 1 << 40, .max].map(Value.int)),
    (
        .float,
        [.null]
            + [-.infinity, -3e38, -1, -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, 0.5, 3e38, .infinity].map {
                Value.float($0)
            }
    ),
    (.double, [.null] + doubles().dropFirst(2).map(Value.double)),
    (.string, [.null] + ["", "\0", "A", "AB", "Aa", "B", "a", "zz", "é", "日本", "🙂"].map(Value.string)),
    (.data, [.null] + [[], [0], [0, 0], [0, 1], [1], [127, 255], [128], [255], [255, 255]].map(Value.data)),
    (
        .date,
        [.null]
            + [(-5, -9), (-5, 0), (-1, 0), (0, -1), (0, 0), (0, 1), (0, 999_999_999), (1, 0), (1 << 40, 0)].map {
                Value.date(Timestamp(seconds: $0, nanoseconds: $1))
            }
    ),
    (
        .objectID,
        [.null]
            + [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (.max, 0, 0)].map {
                Value.objectID(ObjectIDBytes(a: $0, b: $1, c: $2))
            }
    ),
    (.uuid, [.null] + [(0, 0), (0, 1), (1, 0), (.max, 0)].map { Value.uuid(UUIDBytes(high: $0, low: $1)) }),
    (
        .decimal,
        [
            .null, decimalNaN, decimalMinusInfinity, decimal(1, 6000, negative: true), decimal(12, 0, negative: true),
            decimal(11, 0, negative: true), decimal(1, -6176, negative: true), decimal(0, 0), decimal(1, -6176),
            decimal(1, -1), decimal(11, 0), decimal(12, 0), decimal(120, 1), decimal(9, 6111), decimalInfinity,
        ]
    ),
    (
        .mixed,
        [
            .null, .bool(false), .bool(true), decimalNaN, .double(.nan), .float(-.infinity),
            decimal(1, 400, negative: true), .double(-.greatestFiniteMagnitude), .int(.min), .int(-(1 << 53) - 1),
            .int(-(1 << 53)), decimal(15, -1, negative: true), .int(-1), .double(-.leastNonzeroMagnitude),
            decimal(1, -400, negative: true), .int(0), decimal(1, -400), .double(.leastNonzeroMagnitude),
            decimal(1, -1),
            .double(0.1), .float(0.1), decimal(1_000_000_001, -9), .double(1.5), .int(2), .int(1 << 53),
            decimal(90_071_992_547_409_925, -1), .int(1 << 53 + 1), .double(0x1p53 + 2), .int(.max - 1), .int(.max),
            .double(0x1p63), decimal(1, 300), .double(.greatestFiniteMagnitude), decimal(1, 400), .float(.infinity),
            .string(""), .string("a"), .data([]), .data([1]), .date(Timestamp(seconds: 0, nanoseconds: 0)),
            .objectID(ObjectIDBytes(a: 0, b: 0, c: 0)), .uuid(UUIDBytes(high: 0, low: 0)), .typedLink(TableID(1), 5),
            .typedLink(TableID(2), 3), .list([]), .set([]), .map([]),
        ]
    ),
]

@Suite("Index keys", .timeLimit(.minutes(20)))
struct IndexKeyTests {
    @Test("have the order of the values", arguments: 0..<ascending.count)
    func order(_ number: Int) {
        let (type, values) = ascending[number]
        let keys = values.map { key($0, type) }
        for index in keys.indices.dropFirst() {
            #expect(keys[index - 1] < keys[index], "\(values[index - 1]) before \(values[index])")
        }
        for (a, x) in keys.enumerated() {
            for (b, y) in keys.enumerated() {
                x.withKey { x in
                    y.withKey { y in
                        #expect(x.compare(y).signum() == (a - b).signum())
                    }
                }
            }
        }
        #expect(keys.allSatisfy { $0.bytes.count <= IndexKey.maximumByteCount })
    }

    @Test("are the same for equal numbers of different types")
    func equalNumbers() {
        #expect(key(decimal(10, -1), .decimal) == key(decimal(1, 0), .decimal))
        #expect(key(decimal(0, 5), .decimal) == key(decimal(0, -5, negative: true), .decimal))
        for one: [Value] in [
            [.int(1), .float(1), .double(1), decimal(1, 0), decimal(1000, -3)],
            [.int(0), .double(-0.0), .float(-0.0), decimal(0, 3)],
            [.double(0.5), .float(0.5), decimal(5, -1)],
            [.int(1 << 53 + 1), decimal(UInt64(1) << 53 + 1, 0)],
            [.double(.infinity), .float(.infinity), decimalInfinity],
            [.double(0x1p-3), decimal(125, -3)],
        ] {
            let keys = one.map { key($0, .mixed) }
            #expect(keys.allSatisfy { $0 == keys[0] }, "\(one)")
        }
    }

    @Test("put every NaN below all numbers, each bit pattern separately")
    func notANumber() {
        let all = doubles().map { IndexKey.orderedBits($0) }
        #expect(all[0] < all[2] && all[1] < all[2] && all[0] != all[1])
        #expect(IndexKey.orderedBits(Double(bitPattern: .max)) < IndexKey.orderedBits(-Double.infinity))
        #expect(IndexKey.orderedBits(Float(bitPattern: .max)) < IndexKey.orderedBits(-Float.infinity))
        #expect(IndexKey.orderedBits(Float.nan) < IndexKey.orderedBits(-Float.infinity))
        #expect(IndexKey.orderedBits(-0.0) == IndexKey.orderedBits(0.0))
    }

    @Test("hold complete values up to the limit, and distinguish longer ones by a hash")
    func longValues() {
        let limit = Limits.indexKeyByteCount
        #expect(IndexKey.isExact(limit) && !IndexKey.isExact(limit + 1))
        var bytes = [UInt8](repeating: 7, count: limit)
        #expect(key(.data(bytes), .data).bytes == [1] + bytes)
        bytes.append(1)
        var other = bytes
        other[limit] = 2
        let (x, y) = (key(.data(bytes), .data), key(.data(other), .data))
        #expect(x != y && x.bytes.count == limit + 1)
        #expect(x.bytes.prefix(limit - 7) == y.bytes.prefix(limit - 7))
        other[0] = 8
        #expect(x < key(.data(other), .data))
        #expect(key(.data(bytes), .mixed).bytes.count <= IndexKey.maximumByteCount)
    }

    @Test("of random doubles, ints and decimals have the order of the numbers")
    func randomNumbers() {
        let seed: UInt64 = 77
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            // An int, a double near it, and the decimal between them.
            let int = Int64(truncatingIfNeeded: random.next()) >> Int64(random.below(12))
            let double = Double(int)
            let byValue = Int64(exactly: double).map { $0 == int ? 0 : $0 < int ? -1 : 1 } ?? 1
            let (x, y) = (key(.int(int), .mixed), key(.double(double), .mixed))
            #expect((x == y ? 0 : y < x ? -1 : 1) == byValue, "seed \(seed), \(int)")
            let half = decimal(int.magnitude >> 4 * 10 + 5, -1, negative: int < 0)
            let below = Value.int((int < 0 ? -1 : 1) * Int64(int.magnitude >> 4))
            let z = key(half, .mixed)
            #expect(int < 0 ? z < key(below, .mixed) : key(below, .mixed) < z, "seed \(seed), \(int)")
        }
    }
}
