import FirnTestSupport
import Testing

@testable import FirnCore

/// A sum of decimals by long-hand arithmetic with all digits, rounded once.
private struct LonghandSum {
    /// The digit for 10^(index - 6176). It may be any number until the digits are carried.
    private var digits = [Int](repeating: 0, count: 6176 + 6112 + 60)

    mutating func add(_ coefficient: UInt128, _ exponent: Int, isNegative: Bool) {
        var rest = coefficient
        var index = exponent + 6176
        while rest != 0 {
            digits[index] += (isNegative ? -1 : 1) * Int(rest % 10)
            rest /= 10
            index += 1
        }
    }

    /// The sum divided by `count`.
    func divided(by count: Int) -> DecimalBits {
        var natural = carried(digits)
        let isNegative = natural == nil
        if isNegative { natural = carried(digits.map { -$0 }) }
        // Long division, from the highest digit on, and 60 digits beyond the lowest.
        let below = 60
        var quotient: [Int] = []
        var rest: Int128 = 0
        for digit in (natural ?? []).reversed() + Array(repeating: 0, count: below) {
            rest = rest * 10 + Int128(digit)
            quotient.append(Int(rest / Int128(count)))
            rest %= Int128(count)
        }
        guard let first = quotient.firstIndex(where: { $0 != 0 }) else { return DecimalBits(0, exponent: 0) }
        // The last digit that is kept is the 34th, or that for 10^-6176.
        let ones = quotient.count - 1 - below
        let last = min(first + 33, ones)
        var coefficient = first > last ? 0 : quotient[first...last].reduce(UInt128(0)) { $0 * 10 + UInt128($1) }
        var exponent = ones - last - 6176
        let dropped = quotient[(last + 1)...]
        let isAboveHalf =
            dropped.first! > 5 || dropped.first! == 5 && (dropped.dropFirst().contains { $0 != 0 } || rest != 0)
        if isAboveHalf || dropped.first! == 5 && coefficient % 2 == 1 { coefficient += 1 }
        if coefficient == Magnitude.power(of: 34) { (coefficient, exponent) = (coefficient / 10, exponent + 1) }
        if exponent > 6111 { return isNegative ? .minusInfinity : .infinity }
        return DecimalBits(coefficient, exponent: exponent, isNegative: isNegative)
    }

    /// The digits, each below 10; nil if the sum is below zero.
    private func carried(_ digits: [Int]) -> [Int]? {
        var result = digits
        var carry = 0
        for index in result.indices {
            let value = result[index] + carry
            carry = value >= 0 ? value / 10 : -((9 - value) / 10)
            result[index] = value - carry * 10
        }
        return carry < 0 ? nil : result
    }
}

/// Sums and averages of decimals are those of IEEE 754-2008 for decimal128, with one rounding of the exact result.
@Suite(.timeLimit(.minutes(20))) struct DecimalSumTests {
    private func sum(_ values: [DecimalBits]) -> DecimalSum {
        var sum = DecimalSum()
        for value in values { sum.add(value) }
        return sum
    }

    private static let largest = Magnitude.power(of: 34) - 1
    private static let first = Magnitude.power(of: 33)

    @Test func digitsThatDoNotFitDecideTheRounding() {
        func check(_ coefficient: UInt128, _ exponent: Int, gives expected: UInt128, behind start: UInt128 = Self.first)
        {
            let bits = sum([DecimalBits(start, exponent: 0), DecimalBits(coefficient, exponent: exponent)]).bits
            #expect(bits == DecimalBits(expected, exponent: 0), "\(start) + \(coefficient)e\(exponent)")
        }
        check(5001, -4, gives: Self.first + 1)
        check(4999, -4, gives: Self.first)
        // A half is rounded to even, and the smallest digit beyond it decides otherwise.
        check(5, -1, gives: Self.first)
        check(5, -1, gives: Self.first + 2, behind: Self.first + 1)
        check(Self.first * 5 + 1, -34, gives: Self.first + 1)
        check(Self.first * 5 - 1, -34, gives: Self.first + 1, behind: Self.first + 1)
    }

    @Test func smallValuesAreAddedBeforeTheyAreRounded() {
        var values = [DecimalBits(Self.first, exponent: 0)]
        for _ in 0..<4 { values.append(DecimalBits(3, exponent: -1)) }
        #expect(sum(values).bits == DecimalBits(Self.first + 1, exponent: 0))
        // Large values that cancel out leave the small one.
        let apart = [
            DecimalBits(1, exponent: 6111), DecimalBits(7, exponent: -6176),
            DecimalBits(1, exponent: 6111, isNegative: true),
        ]
        #expect(sum(apart).bits == DecimalBits(7, exponent: -6176))
        #expect(sum(apart.reversed()).bits == DecimalBits(7, exponent: -6176))
        // An infinite intermediate result is none.
        let huge = DecimalBits(Self.largest, exponent: 6111)
        let minus = DecimalBits(Self.largest, exponent: 6111, isNegative: true)
        #expect(sum([huge, huge]).bits == .infinity && sum([minus, minus]).bits == .minusInfinity)
        #expect(sum([huge, huge, minus]).bits == huge)
        #expect(sum([huge, huge]).divided(by: 2) == huge)
    }

    @Test func averagesAreRoundedOnce() {
        func average(_ coefficient: UInt128, _ exponent: Int, _ count: Int) -> DecimalBits {
            sum([DecimalBits(coefficient, exponent: exponent)]).divided(by: count)
        }
        var expected = LonghandSum()
        expected.add(250_247, 0, isNegative: false)
        #expect(average(250_247, 0, 320_458) == expected.divided(by: 320_458))
        #expect(average(1, 0, 3) == DecimalBits(Self.largest / 3, exponent: -34))
        #expect(average(2, 0, 3) == DecimalBits(Self.largest / 3 * 2 + 1, exponent: -34))
        // The remainder behind all computed digits of the quotient also decides.
        for (last, expected) in [(5000, Self.first), (5001, Self.first + 1)] as [(UInt128, UInt128)] {
            let sum = sum([DecimalBits(1, exponent: 37), DecimalBits(last, exponent: 0)])
            #expect(sum.divided(by: 1000) == DecimalBits(expected, exponent: 1))
        }
        // At the least exponent a quotient has fewer digits, and they are rounded once too.
        #expect(average(1, -6176, 2) == DecimalBits(0, exponent: -6176))
        #expect(average(3, -6176, 2) == DecimalBits(2, exponent: -6176))
        #expect(average(15, -6176, 10) == DecimalBits(2, exponent: -6176))
        #expect(average(149, -6176, 100) == DecimalBits(1, exponent: -6176))
        #expect(average(1, -6176, .max) == DecimalBits(0, exponent: -6176))
    }

    /// An exact result keeps the exponent that the standard prefers, if its digits fit: the lowest of the values, for
    /// an average as well.
    @Test func exactResultsKeepTheirExponent() {
        func dollars(_ cents: UInt128) -> DecimalBits { DecimalBits(cents, exponent: -2) }
        #expect(sum([dollars(150), dollars(250)]).bits == dollars(400))
        #expect(sum([DecimalBits(1, exponent: 3), dollars(250)]).bits == dollars(100_250))
        #expect(sum([DecimalBits(1, exponent: 40), dollars(0)]).bits == DecimalBits(1, exponent: 40))
        #expect(sum([dollars(150), DecimalBits(150, exponent: -2, isNegative: true)]).bits == dollars(0))
        #expect(sum([dollars(400)]).divided(by: 2) == dollars(200))
        #expect(sum([dollars(100)]).divided(by: 8) == DecimalBits(125, exponent: -3))
        // This is as near to it as 34 digits allow.
        let large = sum([DecimalBits(Self.largest, exponent: 0), DecimalBits(1, exponent: 0), dollars(0)])
        #expect(large.bits == DecimalBits(Self.first, exponent: 1))
        #expect(DecimalSum().bits == DecimalBits(0, exponent: 0))
    }

    @Test func integersAndDoublesAreAddedExactly() {
        var sum = DecimalSum()
        sum.add(Int128(Self.first) * 10 + 1)
        sum.add(Int128.max)
        sum.add(-Int128.max)
        sum.add(Int128(Self.first) * -10)
        #expect(sum.bits == DecimalBits(1, exponent: 0))
        sum.add(-0.5)
        sum.add(1e300)
        sum.add(Double.nan)
        sum.add(-1e300)
        sum.add(Double.leastNonzeroMagnitude)
        sum.add(-Double.leastNonzeroMagnitude)
        #expect(Value.order(.decimal(sum.bits), .decimal(DecimalBits(5, exponent: -1))) == 0)
        sum.add(Double.infinity)
        #expect(sum.bits == .infinity && sum.divided(by: 3) == .infinity)
        sum.add(-Double.infinity)
        #expect(sum.bits == .nan)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>) func sumsAndAveragesAgreeWithLonghandArithmetic(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<60 {
            var values: [DecimalBits] = []
            var expected = LonghandSum()
            // Exponents that are close, so that the digits overlap, or any, or those at one of the ends.
            let (lowest, range) = [(-40, 70), (-6176, 12_288), (-6176, 70), (6041, 71)][random.below(4)]
            for _ in 0..<(1 + random.below(round % 10 == 0 ? 400 : 6)) {
                let digits = 1 + random.below(34)
                let coefficient =
                    switch random.below(4) {
                    case 0: Magnitude.power(of: digits) - 1
                    case 1: Magnitude.power(of: digits - 1) * 5
                    default: (UInt128(random.next()) << 64 | UInt128(random.next())) % Magnitude.power(of: digits)
                    }
                let exponent = lowest + random.below(range)
                let isNegative = random.below(3) == 0
                values.append(DecimalBits(coefficient, exponent: exponent, isNegative: isNegative))
                expected.add(coefficient, exponent, isNegative: isNegative)
            }
            let sum = sum(values)
            func check(_ bits: DecimalBits, _ expected: DecimalBits, _ what: String) {
                #expect(
                    Value.order(.decimal(bits), .decimal(expected)) == 0,
                    "\(what) of \(values), seed \(seed), round \(round): \(bits), not \(expected)")
            }
            check(sum.bits, expected.divided(by: 1), "the sum")
            for count in [2, 3, 7, 1 + random.below(1_000_000), Int.max - random.below(1000)] {
                check(sum.divided(by: count), expected.divided(by: count), "1/\(count)")
            }
            values.reverse()
            #expect(self.sum(values).bits == sum.bits, "the order of the values matters")
        }
    }
}
