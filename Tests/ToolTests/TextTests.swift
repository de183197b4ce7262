import Testing

@testable import FirnTool

@Suite("Values as text", .timeLimit(.minutes(20))) struct TextTests {
    @Test("times are ISO 8601, before 1970 and in leap years too") func moments() {
        #expect(TimeText.milliseconds(0) == "1970-01-01T00:00:00.000Z")
        #expect(TimeText.milliseconds(1_709_208_000_123_456_789) == "2024-02-29T12:00:00.123Z")
        #expect(TimeText.milliseconds(-1) == "1969-12-31T23:59:59.999Z")
        #expect(TimeText.exact(seconds: -1, nanoseconds: -500_000_000) == "1969-12-31T23:59:58.500Z")
        #expect(TimeText.exact(seconds: 951_782_400, nanoseconds: 0) == "2000-02-29T00:00:00Z")
        #expect(TimeText.exact(seconds: .min, nanoseconds: -999_999_999).hasSuffix("Z"))
        #expect(TimeText.exact(seconds: .max, nanoseconds: 0).hasSuffix("Z"))
        #expect(TimeText.milliseconds(.min).hasPrefix("1677-09-21"))
    }

    @Test("decimals are written as IEEE 754 says") func decimals() {
        #expect(DecimalText.text(0x3040_0000_0000_0000, 0) == "0")
        #expect(DecimalText.text(0x3040_0000_0000_0000, 12) == "12")
        #expect(DecimalText.text(0xB03C_0000_0000_0000, 1995) == "-19.95")
        #expect(DecimalText.text(0x3036_0000_0000_0000, 7) == "0.00007")
        #expect(DecimalText.text(0x3046_0000_0000_0000, 12) == "1.2E+4")
        #expect(DecimalText.text(0x3000_0000_0000_0000, 1) == "1E-32")
        #expect(DecimalText.text(0x7800_0000_0000_0000, 0) == "Infinity")
        #expect(DecimalText.text(0x7C00_0000_0000_0000, 0) == "NaN")
    }

    @Test("JSON escapes what must be") func json() {
        #expect(JSON.string("a\"\\\n\u{1}ü").text == #""a\"\\\n\u0001ü""#)
        #expect(
            JSON.object([("a", .array([.null, .bool(true), .double(.infinity)]))]).text == #"{"a":[null,true,"inf"]}"#)
        #expect([UInt8]("foobar!".utf8).withUnsafeBytes { CellText.base64($0) } == "Zm9vYmFyIQ==")
    }
}
