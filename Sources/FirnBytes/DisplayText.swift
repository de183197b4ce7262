/// Makes text safe for a terminal and for readers of messages.
///
/// Text from a store, a file's name or a caller may contain characters that mislead a reader. Such characters move the
/// cursor, reverse the direction of the text after them, or are invisible. They are shown as escapes such as
/// `\u{202E}`:
/// - control characters;
/// - line and paragraph separators;
/// - format characters, bidirectional overrides among them;
/// - characters that are private, unassigned or invisible;
/// - combining marks that have no shown character before them, or that follow `markLimit` others in a row.
///
/// All other characters are shown as they are, so most text in any language stays readable. Zero-width joiners, which
/// Persian and some emoji use, are format characters and so are escaped.
public struct DisplayText {
    /// The number of combining marks in a row that are shown. More of them only smear the lines above and below, and no
    /// language needs that many.
    public static let markLimit = 8

    /// The number of combining marks since the last other character that was shown. If there is no such character, it
    /// is at least `markLimit`.
    private var marks = markLimit

    public init() {}

    /// The text on one line: newlines are shown as `\n`.
    public static func line(_ text: String) -> String { escaped(text, keepsNewlines: false) }

    /// A name on one line. A name of more than 256 Unicode scalars is cut: nobody reads a megabyte, and it would hide
    /// the rest of the message.
    public static func name(_ text: String) -> String {
        line(String(text.unicodeScalars.prefix(256))) + (text.unicodeScalars.dropFirst(256).isEmpty ? "" : "…")
    }

    /// The text on several lines: newlines are kept.
    public static func lines(_ text: String) -> String { escaped(text, keepsNewlines: true) }

    /// The first `count` Unicode scalars of the text, on one line and in quotation marks. Quotation marks and
    /// backslashes within the text are escaped.
    public static func quoted(_ text: String, count: Int = 60) -> String {
        var display = DisplayText()
        var out = "\""
        for scalar in text.unicodeScalars.prefix(count) {
            if scalar == "\"" || scalar == "\\" { out += "\\" }
            display.append(scalar, to: &out)
        }
        return out + (text.unicodeScalars.dropFirst(count).isEmpty ? "\"" : "…\"")
    }

    private static func escaped(_ text: String, keepsNewlines: Bool) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || keepsNewlines && $0 == 0x0A }) { return text }
        var display = DisplayText()
        var out = ""
        for scalar in text.unicodeScalars {
            if keepsNewlines, scalar == "\n" {
                out += "\n"
                display = DisplayText()
            } else {
                display.append(scalar, to: &out)
            }
        }
        return out
    }

    /// Appends a character, escaped if necessary. The character follows those of the earlier calls.
    public mutating func append(_ scalar: Unicode.Scalar, to out: inout String) {
        if shows(scalar) {
            out.unicodeScalars.append(scalar)
        } else {
            switch scalar {
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            default: out += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            }
        }
    }

    /// Whether a character is shown as it is. The character follows those of the earlier calls.
    public mutating func shows(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value >= 0x20 && scalar.value < 0x7F {
            marks = 0
            return true
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format, .surrogate, .privateUse, .unassigned:
            marks = Self.markLimit
            return false
        case .nonspacingMark, .enclosingMark, .spacingMark:
            marks += 1
            // These two select one of two forms of the character before them, mostly of an emoji.
            if scalar.value == 0xFE0E || scalar.value == 0xFE0F { return marks <= Self.markLimit }
            return marks <= Self.markLimit && !scalar.properties.isDefaultIgnorableCodePoint
        default:
            guard !scalar.properties.isDefaultIgnorableCodePoint else {
                marks = Self.markLimit
                return false
            }
            marks = 0
            return true
        }
    }
}
