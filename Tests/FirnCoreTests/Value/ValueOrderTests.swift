import Testing

import FirnTestSupport

@testable import FirnCore

extension DecimalBits {
    /// coefficient · 10^exponent, in the standard's binary encoding.
    init(_ coefficient: UInt128, exponent: Int, isNegative: Bool = false) {
        let high = UInt64(isNegative ? 1 : 0) << 63 | UInt64(exponent + 6176) << 49 | UInt64(coefficient >> 64)
        self.init(high: high, low: UInt64(truncatingIfNeeded: coefficient))
    }

    static let nan = DecimalBits(high: 0x7C00_0000_0000_0000, low: 0)
    static let infinity = DecimalBits(high: 0x7800_0000_0000_0000, low: 0)
    static let minusInfinity = DecimalBits(high: 0xF800_0000_0000_0000, low: 0)
}

@Suite("All values have one total order across types (SEMANTICS 71)", .timeLimit(.minutes(20)))
struct ValueOrderTests {
    static func sign(_ a: Value, _ b: Value) -> Int { Value.order(a, b).signum() }

    @Test("types come in the documented order")
    func types() {
        let ascending: [Value] = [
            .null, .bool(false), .bool(true), .float(.nan), .double(.nan), .decimal(.nan), .decimal(.minusInfinity),
            .int(.min), .int(-1), .double(-0.5), .int(0), .float(0.5), .decimal(DecimalBits(6, exponent: -1)), .int(1),
            .int(.max), .double(.infinity), .string(""), .string("Z"), .string("a"), .string("ab"), .string("é"),
            .string("\u{FFFF}"), .string("😀"), .data([]), .data([0x7F]), .data([0x80]), .data([0x80, 0]),
            .date(Timestamp(seconds: -1, nanoseconds: -5)), .date(Timestamp(seconds: -1, nanoseconds: 0)),
            .date(Timestamp(seconds: 0, nanoseconds: 1)), .objectID(ObjectIDBytes(a: 0, b: 1, c: 0)),
            .objectID(ObjectIDBytes(a: 0x8000_0000, b: 0, c: 0)), .uuid(UUIDBytes(high: 1, low: 9)),
            .uuid(UUIDBytes(high: 2, low: 0)),
            .link(5), .typedLink(TableID(1), 9), .typedLink(TableID(2), 3), .list([]), .list([.int(1)]),
            .list([.int(1), .null]), .list([.double(1.5)]), .set([.int(0)]), .map([]),
            .map([.init(key: "a", value: .int(2))]), .map([.init(key: "a", value: .int(3))]),
            .map([.init(key: "b", value: .null)]),
        ]
        for (i, a) in ascending.enumerated() {
            for (j, b) in ascending.enumerated() {
                #expect(Self.sign(a, b) == (i - j).signum(), "\(a) against \(b)")
            }
        }
    }

    @Test("numbers compare exactly beyond 2^53")
    func exactNumbers() {
        let big: Int64 = 1 << 53
        #expect(Self.sign(.int(big + 1), .double(Double(big))) == 1)
        #expect(Self.sign(.int(big), .double(Double(big))) == 0)
        #expect(Self.sign(.int(.max), .double(0x1p63)) == -1)
        #expect(Self.sign(.int(.max), .double(0x1p63.nextDown)) == 1)
        #expect(Self.sign(.int(.min), .double(-0x1p63)) == 0)
        #expect(Self.sign(.int(.min), .double((-0x1p63).nextDown)) == 1)
        #expect(Self.sign(.int(-3), .double(-3.5)) == 1)
        #expect(Self.sign(.int(3), .double(3.5)) == -1)
        #expect(Self.sign(.int(0), .double(-0.0)) == 0)
        #expect(Self.sign(.float(-0.0), .double(0.0)) == 0)
        #expect(Self.sign(.float(0.1), .double(0.1)) == 1)
        #expect(Self.sign(.int(16_777_217), .float(16_777_216)) == 1)
        #expect(Self.sign(.decimal(DecimalBits(UInt128(big) * 10 + 1, exponent: -1)), .double(Double(big))) == 1)
        #expect(Self.sign(.decimal(DecimalBits(UInt128(Int64.max), exponent: 0)), .int(.max)) == 0)
        #expect(Self.sign(.decimal(DecimalBits(922_337_203_685_477_580_8, exponent: 0)), .double(0x1p63)) == 0)
    }

    @Test("decimals compare by value: exponents, zeros, infinities, NaN, and encodings that are zero by the standard")
    func decimals() {
        func order(_ a: DecimalBits, _ b: DecimalBits) -> Int { Self.sign(.decimal(a), .decimal(b)) }
        let largest = Magnitude.power(of: 34) - 1
        #expect(order(DecimalBits(10, exponent: -1), DecimalBits(1, exponent: 0)) == 0)
        #expect(order(DecimalBits(1, exponent: 33), DecimalBits(Magnitude.power(of: 33), exponent: 0)) == 0)
        #expect(order(DecimalBits(1, exponent: 34), DecimalBits(largest, exponent: 0)) == 1)
        #expect(order(DecimalBits(largest, exponent: 6111), .infinity) == -1)
        #expect(order(DecimalBits(largest, exponent: 6111, isNegative: true), .minusInfinity) == 1)
        #expect(order(.infinity, .infinity) == 0)
        #expect(order(.nan, .minusInfinity) == -1)
        #expect(order(.nan, .nan) == 0)
        #expect(order(DecimalBits(0, exponent: 100), DecimalBits(0, exponent: -100, isNegative: true)) == 0)
        #expect(order(DecimalBits(0, exponent: 6111), DecimalBits(1, exponent: -6176)) == -1)
        #expect(
            order(DecimalBits(2, exponent: 0, isNegative: true), DecimalBits(1, exponent: 0, isNegative: true)) == -1)
        // A coefficient of more than 34 digits, and the form with the long exponent: both are zero.
        #expect(order(DecimalBits(largest + 1, exponent: 0), DecimalBits(0, exponent: 0)) == 0)
        #expect(order(DecimalBits(high: 0x6C10_0000_0000_0000, low: 5), DecimalBits(0, exponent: 0)) == 0)
        #expect(Self.sign(.decimal(.infinity), .double(.infinity)) == 0)
        #expect(Self.sign(.decimal(.infinity), .double(.greatestFiniteMagnitude)) == 1)
        #expect(Self.sign(.decimal(.minusInfinity), .int(.min)) == -1)
        #expect(Self.sign(.decimal(DecimalBits(1, exponent: 400)), .double(.infinity)) == -1)
        #expect(Self.sign(.decimal(DecimalBits(1, exponent: 400)), .double(1e308)) == 1)
        #expect(Self.sign(.decimal(DecimalBits(1, exponent: -400)), .double(.leastNonzeroMagnitude)) == -1)
        #expect(
            Self.sign(.decimal(DecimalBits(1, exponent: -400, isNegative: true)), .double(-.leastNonzeroMagnitude)) == 1
        )
        // The smallest double is 4.94065…e-324.
        #expect(Self.sign(.decimal(DecimalBits(4_940_656, exponent: -330)), .double(.leastNonzeroMagnitude)) == -1)
        #expect(Self.sign(.decimal(DecimalBits(4_940_657, exponent: -330)), .double(.leastNonzeroMagnitude)) == 1)
        // The double nearest to 0.1 is 0.1000000000000000055511151231257827…
        #expect(Self.sign(.decimal(DecimalBits(1, exponent: -1)), .double(0.1)) == -1)
        #expect(
            Self.sign(.decimal(DecimalBits(1_000_000_000_000_000_055_511_151_231_257_827, exponent: -34)), .double(0.1))
                == -1)
        #expect(
            Self.sign(.decimal(DecimalBits(1_000_000_000_000_000_055_511_151_231_257_828, exponent: -34)), .double(0.1))
                == 1)
        #expect(Self.sign(.decimal(DecimalBits(25, exponent: -2)), .double(0.25)) == 0)
        #expect(Self.sign(.decimal(DecimalBits(1, exponent: 22)), .double(1e22)) == 0)
        #expect(Self.sign(.decimal(DecimalBits(1, exponent: 23)), .double(1e23)) == 1)
    }

    /// Numbers that are close together, in all types.
    static func closeNumber(_ random: inout SeededRandom) -> Value {
        let bases: [Int64] = [0, 1, 3, 1 << 24, 1 << 53, .max, .min, 1_000_000_000_000_000]
        let base = bases.randomElement(using: &random)!
        let number = base &+ Int64.random(in: -2...2, using: &random)
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1: return .int(number)
        case 2: return .float(Float(number))
        case 3: return .double(Double(number))
        case 4: return .double(Double(number).nextUp)
        case 5:
            let zeros = Int.random(in: 0...14, using: &random)
            let coefficient =
                UInt128(number.magnitude) * Magnitude.power(of: zeros) + UInt128(Int.random(in: 0...1, using: &random))
            return .decimal(DecimalBits(coefficient, exponent: -zeros, isNegative: number < 0))
        case 6:
            return .double(
                [.nan, .infinity, -.infinity, -0.0, 0.5, 1e300, .leastNonzeroMagnitude].randomElement(using: &random)!)
        case 7:
            return .decimal(
                [.nan, .infinity, .minusInfinity, DecimalBits(5, exponent: -1)].randomElement(using: &random)!)
        default: return .float([.nan, -.nan, .infinity, 0.5].randomElement(using: &random)!)
        }
    }

    @Test("the order is antisymmetric and transitive")
    func totality() {
        let seed: UInt64 = 77
        var random = SeededRandom(seed: seed)
        for step in 0..<60_000 {
            let values = (0..<3).map { _ in
                step % 3 == 0
                    ? Value.random(.mixed, isNullable: true, &random, domain: 5) : Self.closeNumber(&random)
            }
            let (a, b, c) = (values[0], values[1], values[2])
            if Self.sign(a, b) != -Self.sign(b, a) { Issue.record("not antisymmetric: \(a) \(b)") }
            if Self.sign(a, a) != 0 { Issue.record("not reflexive: \(a)") }
            if a == b, Self.sign(a, b) != 0 { Issue.record("== but not equal in order: \(a) \(b)") }
            if Self.sign(a, b) <= 0, Self.sign(b, c) <= 0 {
                let sum = Self.sign(a, b) + Self.sign(b, c)
                if Self.sign(a, c) != max(sum, -1) { Issue.record("not transitive: \(a) \(b) \(c)") }
            }
        }
    }
}

@Suite("Mixed values survive their encoding", .timeLimit(.minutes(20)))
struct MixedCodingTests {
    @Test("random values are decoded again; a prefix of their bytes never gives the same value, and never traps")
    func roundTrip() {
        var random = SeededRandom(seed: 12)
        for _ in 0..<3000 {
            let value = Value.random(.mixed, isNullable: true, &random)
            var bytes: [UInt8] = []
            MixedCoding.encode(value, into: &bytes)
            bytes.withUnsafeBytes { buffer in
                #expect(MixedCoding.decode(buffer) == value)
                let cut = Int.random(in: 0..<buffer.count, using: &random)
                #expect(MixedCoding.decode(UnsafeRawBufferPointer(rebasing: buffer[..<cut])) != value)
            }
        }
    }

    @Test("untrusted bytes never trap")
    func garbage() {
        var random = SeededRandom(seed: 13)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<40, using: &random)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            if count > 2 {
                bytes[0] = UInt8.random(in: 0...16, using: &random)
                bytes[1] = UInt8.random(in: 0...4, using: &random)
            }
            _ = bytes.withUnsafeBytes { MixedCoding.decode($0) }
        }
    }

    @Test("collections may be nested as deeply as the limit and no deeper")
    func nesting() {
        func nested(_ depth: Int) -> Value { (0..<depth).reduce(.int(1)) { value, _ in .list([value]) } }
        for (depth, isValid) in [(Limits.nesting, true), (Limits.nesting + 1, false)] {
            var bytes: [UInt8] = []
            MixedCoding.encode(nested(depth), into: &bytes)
            let decoded = bytes.withUnsafeBytes { MixedCoding.decode($0) }
            #expect((decoded == nested(depth)) == isValid && (decoded == nil) != isValid)
        }
    }
}
