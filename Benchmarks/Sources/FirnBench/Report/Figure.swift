import Foundation

/// How figures are written: about three significant digits, with commas between thousands.
enum Figure {
    static func text(_ value: Double) -> String {
        switch abs(value) {
        case 1_000...: grouped(Int(value.rounded()))
        case 100...: String(format: "%.0f", value)
        case 10...: String(format: "%.1f", value)
        default: String(format: "%.2f", value)
        }
    }

    private static func grouped(_ value: Int) -> String {
        var text = ""
        for (index, digit) in String(abs(value)).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (value < 0 ? "-" : "") + String(text.reversed())
    }
}
