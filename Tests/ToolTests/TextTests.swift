import FirnStorage
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

    @Test("times are read as ISO 8601 writes them") func parsing() {
        for (text, nanoseconds) in [
            ("1970-01-01", 0), ("2024-02-29T12:00:00.123Z", 1_709_208_000_123_000_000),
            ("2024-02-29 12:00", 1_709_208_000_000_000_000), ("2024-02-29T14:00+02", 1_709_208_000_000_000_000),
            ("2024-02-29T06:30:00-05:30", 1_709_208_000_000_000_000), ("1969-12-31T23:59:59.5Z", -500_000_000),
            ("2000-03-01T00:00:00.0000000019Z", 951_868_800_000_000_001),
            ("1677-09-22T00:00:00Z", -9_223_286_400_000_000_000),
        ] as [(String, Int64)] { #expect(TimeText.nanoseconds(of: text) == nanoseconds, "\(text)") }
        for text in [
            "", "2024", "2024-13-01", "2023-02-29", "2024-02-30", "2024-02-29T24:00", "2024-02-29T12",
            "2024-02-29T12:60",
            "2024-02-29T12:00:00.", "2024-02-29T12:00x", "2024-02-29T12:00+1", "2024-02-29T12:00Zx", "9999-01-01",
            "0001-01-01",
            "２024-02-29",
        ] { #expect(TimeText.nanoseconds(of: text) == nil, "\(text)") }
        for day in stride(from: Int64(-100_000), through: 100_000, by: 37) {
            let moment = day * 86_400_000_000_000 + 3_723_004_000_000
            #expect(TimeText.nanoseconds(of: TimeText.milliseconds(moment)) == moment)
        }
    }

    @Test("progress shows the rate and the time that is left") func progress() {
        let clock = ManualClock()
        var shown: [String] = []
        let output = Output(showsProgress: true, clock: clock, out: { _ in }, error: { shown.append($0) })
        output.progress("verifying", 0, of: 10_000_000)
        clock.advance(by: 50_000_000)
        output.progress("verifying", 100, of: 10_000_000)
        #expect(shown.isEmpty)
        clock.advance(by: 150_000_000)
        output.progress("verifying", 1_000_000, of: 10_000_000)
        clock.advance(by: 1_800_000_000)
        output.progress("verifying", 4_000_000, of: 10_000_000)
        #expect(shown.first == "\rverifying 10.0 MB: 10 %, 5.0 MB/s")
        #expect(shown.last == "\rverifying 10.0 MB: 40 %, 2.0 MB/s, 0:03 left")
        #expect(Amount.time(3_723) == "1:02:03")
    }

    @Test("the first line is coloured on a terminal, behind what is escaped") func colour() throws {
        var shown = ""
        let output = Output(showsProgress: false, showsColour: true, out: { shown += $0 }, error: { _ in })
        try output.line("+ a\u{1B}[31m\n    b", .green)
        try output.line("c")
        try output.flush()
        #expect(shown == "\u{1B}[32m+ a\\u{1B}[31m\u{1B}[0m\n    b\nc\n")
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
        #expect([UInt8]("foobar!".utf8).withUnsafeBytes { Base64.text($0) } == "Zm9vYmFyIQ==")
    }

    @Test("East Asian characters and emoji take two columns") func widths() {
        for (text, width) in [
            ("", 0), ("abc", 3), ("日本", 4), ("ｱ", 1), ("한", 2), ("é", 1), ("e\u{301}", 1), ("🙂", 2), ("👨‍👩‍👧", 2),
            ("☂\u{FE0F}", 2),
        ] {
            #expect(DisplayWidth.of(text) == width, "\(text)")
        }
        #expect(DisplayWidth.prefix("日本語", 5) == "日本" && DisplayWidth.prefix("abc", 2) == "ab")
        #expect(DisplayWidth.prefix("日", 1) == "" && DisplayWidth.prefix("a", 0) == "")
    }
}
