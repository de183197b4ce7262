/// The forms of values in dumps.
enum DumpText {
    /// The elements of a set as a store has them: NaN is there once, and so is zero, which may have a sign. Sorted.
    static func members(_ texts: [String]) -> [String] {
        let zeros = [
            "{\"f32\":\"80000000\"}": "{\"f32\":\"00000000\"}",
            "{\"f64\":\"8000000000000000\"}": "{\"f64\":\"0000000000000000\"}",
        ]
        return Set(texts.map { zeros[$0] ?? $0 }).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    static func string(_ bytes: UnsafeRawBufferPointer) -> String {
        if bytes.count > 512 { return "{\"str\":\(long(bytes))}" }
        guard let text = String(validating: bytes, as: UTF8.self) else { return "{\"badutf8\":\"\(hex(bytes))\"}" }
        return quoted(text)
    }

    static func long(_ bytes: UnsafeRawBufferPointer) -> String {
        "{\"size\":\(bytes.count),\"crc32\":\"\(hex(UInt64(crc32(bytes)), 8))\"}"
    }

    /// zlib's checksum.
    static func crc32(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xedb8_8320 : 0) }
        }
        return ~sum
    }

    static func hex(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }

    static func hex(_ bytes: UnsafeRawBufferPointer) -> String { bytes.map { hex(UInt64($0), 2) }.joined() }

    static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case _ where scalar.value < 32:
                out += "\\u00" + hex(UInt64(scalar.value), 2)
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
