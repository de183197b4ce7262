/// Times in the format of ISO 8601, in UTC.
enum TimeText {
    /// A time to the millisecond: `2026-11-21T09:20:11.123Z`.
    static func milliseconds(_ nanosecondsSince1970: Int64) -> String {
        let (second, rest) = floorDivided(nanosecondsSince1970, 1_000_000_000)
        return seconds(second) + "." + padded(rest / 1_000_000, 3) + "Z"
    }

    /// A time with all digits of its fraction: none, three or nine.
    static func exact(seconds: Int64, nanoseconds: Int64) -> String {
        // Seconds and nanoseconds have the same sign, but a written fraction always counts forwards. The least number
        // of seconds has none before it.
        let second = nanoseconds < 0 && seconds > .min ? seconds - 1 : seconds
        let fraction = nanoseconds < 0 ? nanoseconds + 1_000_000_000 : nanoseconds
        let text = self.seconds(second)
        if fraction == 0 { return text + "Z" }
        if fraction % 1_000_000 == 0 { return text + "." + padded(fraction / 1_000_000, 3) + "Z" }
        return text + "." + padded(fraction, 9) + "Z"
    }

    /// Whether a time is written with a year of four digits, which `instant(of:)` reads again.
    static func isWritable(_ seconds: Int64) -> Bool { (-62_135_596_800..<253_402_300_800).contains(seconds) }

    private static func seconds(_ seconds: Int64) -> String {
        let (days, second) = floorDivided(seconds, 86_400)
        // Days are counted from 1 March of year 0 in eras of 400 years. So a leap day is the last day of its year.
        let (era, dayOfEra) = floorDivided(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let monthOfYear = month < 10 ? month + 3 : month - 9
        let year = yearOfEra + era * 400 + (monthOfYear <= 2 ? 1 : 0)
        let yearText = year < 0 ? "-" + padded(-year, 4) : padded(year, 4)
        return "\(yearText)-\(padded(monthOfYear, 2))-\(padded(day, 2))T\(padded(second / 3_600, 2)):"
            + "\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    }

    private static func floorDivided(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ value: Int64, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// Amounts as people write them.
enum Amount {
    /// `1 version`, `2 versions`.
    static func of<T: BinaryInteger>(_ count: T, one: String, many: String? = nil) -> String {
        "\(count) \(count == 1 ? one : many ?? one + "s")"
    }

    /// `512 B`, `1.2 KB`, `64.0 MB`: a unit is a thousand of the one before.
    static func bytes(_ count: Int) -> String {
        if count < 1_000 { return "\(count) B" }
        var value = Double(count)
        var unit = 0
        while value >= 999.95, unit < 4 {
            value /= 1_000
            unit += 1
        }
        return "\(fixed(value)) \(["B", "KB", "MB", "GB", "TB"][unit])"
    }

    /// `0:07`, `12:30`, `3:05:00`: minutes and seconds, and hours if there are any.
    static func time(_ seconds: Double) -> String {
        let whole = Int(min(seconds.rounded(.up), 360_000_000))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (whole / 3_600, whole / 60 % 60)
        return (hours > 0 ? "\(hours):\(two(minutes))" : "\(minutes)") + ":\(two(whole % 60))"
    }

    /// A number with one decimal.
    static func fixed(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
