import FirnTestSupport
import Foundation
import Testing

@testable import FirnCore

/// Decimals calculate as IEEE 754-2008 says. The expected results are those of Python's `decimal` with a precision of
/// 34 digits, exponents from -6143 to 6144, clamped, half to even (R60).
@Suite(.timeLimit(.minutes(20))) struct DecimalArithmeticTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden")

    private static func lines(_ name: String) throws -> [[Substring]] {
        // Another file of the same form can be checked instead.
        let other = getenv("FIRN_DECIMALS").map { String(cString: $0) + "/" + name }
        let text = try String(contentsOfFile: other ?? folder.appending(path: name).path, encoding: .utf8)
        return text.split(separator: "\n").map { $0.split(separator: " ") }
    }

    private static func bits(_ hexadecimal: Substring) throws -> DecimalBits {
        let value = try #require(UInt128(hexadecimal, radix: 16))
        return DecimalBits(high: UInt64(value >> 64), low: UInt64(truncatingIfNeeded: value))
    }

    @Test func operationsAgreeWithPython() throws {
        let lines = try Self.lines("decimal-operations.txt")
        #expect(lines.count >= 1_500)
        for line in lines {
            let (a, b, expected) = (try Self.bits(line[0]), try Self.bits(line[2]), try Self.bits(line[3]))
            let result =
                switch line[1] {
                case "+": a + b
                case "-": a - b
                case "*": a * b
                default: a / b
                }
            #expect(
                result == expected, "\(line.joined(separator: " ")): \(a.text) \(line[1]) \(b.text) = \(result.text)")
        }
    }

    @Test func textsAgreeWithPython() throws {
        let lines = try Self.lines("decimal-texts.txt")
        #expect(lines.count >= 800)
        for line in lines {
            let result = try #require(DecimalBits(text: line[0]))
            #expect(try result == Self.bits(line[1]) && result.text == line[2], "\(line[0]): \(result.text)")
            // The text gives every bit again.
            #expect(DecimalBits(text: result.text) == result)
        }
    }

    @Test(
        arguments: [
            ("0", "0"), ("-0", "-0"), ("00.10", "0.10"), (".5", "0.5"), ("5.", "5"), ("1E0", "1"), ("1e+3", "1E+3"),
            ("inf", "Infinity"), ("-INFINITY", "-Infinity"), ("NaN", "NaN"), ("-nan", "-NaN"), ("sNaN", "sNaN"),
            ("1e99999999999999999999999", "Infinity"), ("-1e-99999999999999999999999", "-0E-6176"),
            ("0e99999999999999999999999", "0E+6111"), ("1e6144", "1.000000000000000000000000000000000E+6144"),
        ] as [(String, String)])
    func aTextIsRead(_ text: String, _ canonical: String) {
        #expect(DecimalBits(text: text)?.text == canonical)
    }

    @Test(arguments: [
        "", "+", ".", "e5", "1e", "1e+", "1 ", " 1", "1.2.3", "--1", "1e1.5", "0x10", "infinit", "nano", "１", "1\u{0}",
        "1e٣",
    ])
    func otherTextIsRefused(_ text: String) { #expect(DecimalBits(text: text) == nil) }

    @Test func equalNumbersNormalizeToEqualBits() throws {
        for texts in [["1", "1.0", "1.00E0", "10E-1"], ["0", "-0", "0E+5"], ["1E+6111", "1.000E+6111"]] {
            let numbers = try texts.map { try #require(DecimalBits(text: $0)) }
            #expect(Set(numbers.map(\.normalized)).count == 1, "\(texts)")
            #expect(numbers.allSatisfy { DecimalBits.order($0, numbers[0]) == 0 }, "\(texts)")
        }
        var random = SeededRandom(seed: 5)
        for line in try Self.lines("decimal-operations.txt") {
            let a = try Self.bits(line[0])
            #expect(DecimalBits.order(a.normalized, a) == 0)
            #expect(a.isNaN || a.normalized.normalized == a.normalized)
            guard !a.isNaN, !a.isInfinite, !a.isZero else { continue }
            // Zeros behind the last digit change the bits, not the number.
            let (coefficient, exponent) = a.parts
            let zeros = random.below(36 - Magnitude.digitCount(coefficient))
            guard zeros <= 34 - Magnitude.digitCount(coefficient), exponent - zeros >= -6176 else { continue }
            let other = DecimalBits(
                isNegative: a.isNegative, coefficient: coefficient * Magnitude.power(of: zeros),
                exponent: exponent - zeros)
            #expect(other.normalized == a.normalized, "\(a.text)")
        }
    }

    @Test(
        arguments: [
            ("12", 12), ("-12.00", -12), ("1.2E+1", 12), ("0E-5", 0), ("0E+900", 0), ("-9.99", -9), ("0.999", 0),
            ("1E-6176", 0), ("9223372036854775808", 9_223_372_036_854_775_808),
            ("-1E+20", -100_000_000_000_000_000_000),
            ("123456789E+20", 12_345_678_900_000_000_000_000_000_000), ("NaN", nil), ("Infinity", .max),
            ("-Infinity", -.max), ("2E+38", .max), ("-1E+6111", -.max), ("9E+38", .max),
        ] as [(String, Int128?)])
    func theWholePartIsExact(_ text: String, _ integer: Int128?) {
        #expect(DecimalBits(text: text)?.wholePart == integer)
    }

    @Test(arguments: [
        0, -0.0, 1, 0.1, -2.5, 1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity, .pi,
    ])
    func aDoubleComesBack(_ number: Double) {
        let decimal = DecimalBits(double: number)
        #expect(decimal.double == number && decimal.double.sign == number.sign)
    }

    @Test func aNaNIsPassedOnAndDoesNotSignal() throws {
        let signaling = DecimalBits(high: 0xFE00 << 48, low: 77)
        let one = DecimalBits(integer: 1)
        for result in [signaling + one, one + signaling, one - signaling, signaling * one, one / signaling] {
            #expect(result.high == 0xFC00 << 48 && result.low == 77 && !result.isSignalingNaN)
        }
        #expect(signaling.isSignalingNaN && signaling.isNaN && !DecimalBits.nan.isSignalingNaN)
        #expect(DecimalBits(double: .nan).isNaN && DecimalBits.nan.double.isNaN)
    }
}
