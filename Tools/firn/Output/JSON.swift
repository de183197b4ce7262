import FirnBytes

/// A JSON value, written on one line. A character that must not be shown as it is (see `DisplayText`) is written as
/// an escape, which means the same to a program.
indirect enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    static func int<T: BinaryInteger>(_ value: T) -> JSON { .number(String(value)) }

    /// The number, or its name as a string if JSON has no such number.
    static func double(_ value: Double) -> JSON { value.isFinite ? .number("\(value)") : .string("\(value)") }

    /// Roughly how many bytes the value takes in memory.
    var byteCount: Int {
        switch self {
        case .null, .bool, .number: 32
        case .string(let text): 32 + text.utf8.count
        case .array(let elements): elements.reduce(32) { $0 + $1.byteCount }
        case .object(let members): members.reduce(32) { $0 + 32 + $1.1.byteCount }
        }
    }

    var text: String {
        var out = ""
        write(to: &out)
        return out
    }

    func write(to out: inout String) {
        switch self {
        case .null: out += "null"
        case .bool(let value): out += value ? "true" : "false"
        case .number(let text): out += text
        case .string(let text): Self.write(text, to: &out)
        case .array(let elements):
            out += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { out += "," }
                element.write(to: &out)
            }
            out += "]"
        case .object(let members):
            out += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { out += "," }
                Self.write(member.0, to: &out)
                out += ":"
                member.1.write(to: &out)
            }
            out += "}"
        }
    }

    private static func write(_ text: String, to out: inout String) {
        out += "\""
        defer { out += "\"" }
        // Most text needs no escape. A look at the bytes avoids the cost of finding characters among them.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) {
            out += text
            return
        }
        var display = DisplayText()
        for scalar in text.unicodeScalars {
            let shows = display.shows(scalar)
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case _ where shows: out.unicodeScalars.append(scalar)
            default: for unit in String(scalar).utf16 { out += "\\u" + hexadecimal(UInt64(unit), digits: 4) }
            }
        }
    }
}
