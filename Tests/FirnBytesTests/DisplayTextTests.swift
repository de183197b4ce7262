import FirnBytes
import Testing

@Suite("Text that is shown", .timeLimit(.minutes(20))) struct DisplayTextTests {
    @Test("no character that moves, hides or reverses text is shown as it is") func unsafe() {
        var shown = 0
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = DisplayText.line("a\(scalar)b")
            if text == "a\(scalar)b" {
                shown += 1
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                    Issue.record("U+\(String(value, radix: 16)) is shown")
                default: break
                }
            } else if text.unicodeScalars.count < 4
                || text.unicodeScalars.contains(where: { !(0x20..<0x7F ~= $0.value) })
            {
                Issue.record("U+\(String(value, radix: 16)) is shown as \(text.unicodeScalars.map(\.value))")
            }
        }
        #expect(shown > 100_000)
    }

    @Test(
        "the characters that attacks use are escaped",
        arguments: [
            0x00, 0x07, 0x08, 0x09, 0x0A, 0x0D, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0xAD, 0x34F, 0x61C, 0x115F, 0x200B,
            0x200D, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069, 0x3164, 0xE000, 0xFEFF, 0xFFF9,
            0xFFFF, 0xE0041, 0x10FFFF,
        ] as [UInt32])
    func named(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        #expect(DisplayText.line("a\(scalar)").utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        #expect(DisplayText.quoted("a\(scalar)").utf8.allSatisfy { (0x20..<0x7F).contains($0) })
    }

    @Test("text of any language is shown as it is") func languages() {
        for text in [
            "Jürgen", "Émile", "e\u{301}", "日本語", "हिन्दी", "ภาษาไทย", "עִבְרִית", "العَرَبِيَّة", "Tiếng Việt", "བོད་ཡིག", "👍🏽", "❤️",
            "a\u{A0}b", "\\",
        ] {
            #expect(DisplayText.line(text) == text)
        }
        #expect(DisplayText.line("a\u{202E}b") == "a\\u{202E}b" && DisplayText.line("a\nb\tc") == "a\\nb\\tc")
        #expect(DisplayText.lines("a\nb\u{1B}[2J\r") == "a\nb\\u{1B}[2J\\r")
        #expect(DisplayText.quoted("a\"\\\n") == "\"a\\\"\\\\\\n\"")
        #expect(DisplayText.quoted("abcd", count: 3) == "\"abc…\"" && DisplayText.quoted("abc", count: 3) == "\"abc\"")
    }

    @Test("excess combining marks and marks without a letter are escaped") func marks() {
        let mark = "\u{301}"
        let flood = "a" + String(repeating: mark, count: 50) + "b" + mark
        let shown = DisplayText.line(flood)
        #expect(shown.unicodeScalars.count { $0 == "\u{301}" } == DisplayText.markLimit + 1)
        #expect(shown.hasSuffix("\\u{301}b" + mark))
        for text in [mark, "\n" + mark, "\u{200B}" + mark, "\u{1B}\u{20DD}"] {
            #expect(DisplayText.line(text).utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        }
        #expect(DisplayText.lines("\n" + mark) == "\n\\u{301}")
        #expect(DisplayText.quoted(mark) == "\"\\u{301}\"")
    }
}
