/// The number of columns of a terminal that a text takes. According to "East Asian Width"
/// (https://www.unicode.org/reports/tr11), most characters of East Asian scripts and emoji take two. All others take
/// one.
enum DisplayWidth {
    static func of(_ text: some StringProtocol) -> Int {
        text.utf8.count == text.count ? text.utf8.count : text.reduce(0) { $0 + of($1) }
    }

    static func of(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first, scalar.value >= 0x1100 else { return 1 }
        if scalar.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    /// The longest prefix of a text that fits into `width` columns.
    static func prefix(_ text: String, _ width: Int) -> Substring {
        var (taken, end) = (0, text.startIndex)
        while end < text.endIndex {
            taken += of(text[end])
            if taken > width { break }
            end = text.index(after: end)
        }
        return text[..<end]
    }
}
