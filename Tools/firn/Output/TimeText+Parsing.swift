extension TimeText {
    /// The nanoseconds since 1970 of a time in the format of ISO 8601; nil if the text is no such time, or overflows.
    ///
    /// ```
    /// date [ (T | space) hh:mm [ :ss [ .fraction ] ] [ Z | ±hh[:mm] ] ]        date: yyyy-mm-dd
    /// ```
    ///
    /// Without a zone, the time is in UTC. Digits of the fraction behind the ninth are cut off.
    static func nanoseconds(of text: String) -> Int64? {
        guard let instant = instant(of: text) else { return nil }
        let (product, overflow) = instant.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLate) = product.addingReportingOverflow(instant.nanoseconds)
        return overflow || isTooLate ? nil : sum
    }

    /// The time in seconds and nanoseconds since 1970, where the nanoseconds are never negative. `unit` is the length,
    /// in nanoseconds, of the text's last unit: a day, a minute, a second, or a digit of the fraction.
    static func instant(of text: String) -> (seconds: Int64, nanoseconds: Int64, unit: Int64)? {
        var reader = Reader(Array(text.utf8))
        guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
            let day = reader.number(2), (1...12).contains(month), (1...days(in: month, of: year)).contains(day)
        else { return nil }
        var seconds = days(to: day, month, year) * 86_400
        var fraction: Int64 = 0
        var unit: Int64 = 86_400_000_000_000
        if reader.skip("T") || reader.skip("t") || reader.skip(" ") {
            guard let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2), hour < 24, minute < 60
            else { return nil }
            seconds += hour * 3_600 + minute * 60
            unit = 60_000_000_000
            if reader.skip(":") {
                guard let second = reader.number(2), second < 60 else { return nil }
                seconds += second
                unit = 1_000_000_000
                if reader.skip(".") || reader.skip(",") {
                    guard let found = reader.fraction() else { return nil }
                    (fraction, unit) = found
                }
            }
            guard let offset = reader.zone() else { return nil }
            seconds -= offset
        }
        return reader.isAtEnd ? (seconds, fraction, unit) : nil
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from 1 January 1970 to a date of the Gregorian calendar, counted as `seconds(_:)` does.
    private static func days(to day: Int64, _ month: Int64, _ year: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = (year >= 0 ? year / 400 : (year - 399) / 400, ((year % 400) + 400) % 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private struct Reader {
        private let bytes: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { offset == bytes.count }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: character) else { return false }
            offset += 1
            return true
        }

        private mutating func digit() -> Int64? {
            guard offset < bytes.count, bytes[offset] >= 0x30, bytes[offset] <= 0x39 else { return nil }
            offset += 1
            return Int64(bytes[offset - 1] - 0x30)
        }

        /// A number of exactly `digits` digits.
        mutating func number(_ digits: Int) -> Int64? {
            var number: Int64 = 0
            for _ in 0..<digits {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        /// A fraction of a second, and the unit of its last digit, in nanoseconds.
        mutating func fraction() -> (Int64, unit: Int64)? {
            guard let first = digit() else { return nil }
            var unit: Int64 = 100_000_000
            var fraction = first * unit
            while let digit = digit() {
                guard unit > 1 else { continue }
                unit /= 10
                fraction += digit * unit
            }
            return (fraction, unit)
        }

        /// The seconds by which a zone is ahead of UTC: 0 if none is given.
        mutating func zone() -> Int64? {
            if isAtEnd || skip("Z") || skip("z") { return 0 }
            let isAhead = skip("+")
            guard isAhead || skip("-"), let hours = number(2), hours <= 23 else { return nil }
            var seconds = hours * 3_600
            if skip(":") || !isAtEnd {
                guard let minutes = number(2), minutes < 60 else { return nil }
                seconds += minutes * 60
            }
            return isAhead ? seconds : -seconds
        }
    }
}
