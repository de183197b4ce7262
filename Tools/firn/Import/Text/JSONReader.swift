/// Reads one JSON text (RFC 8259) piece by piece, without building a tree of it.
///
/// Whatever the bytes are, a read returns a value or throws an `InputFault`. Values may be nested up to `depthMax`
/// deep.
struct JSONReader {
    enum Kind {
        case object, array, string, number, bool, null
    }

    /// A number: an integer if it is written as one and fits into 64 bits.
    enum Number {
        case int(Int64)
        case double(Double)
    }

    static let depthMax = 256

    private let bytes: UnsafeRawBufferPointer
    private(set) var offset: Int
    /// The number of objects and arrays that the reader is within.
    private(set) var depth = 0

    /// - Parameter bytes: must stay valid while the reader is used.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    private func fault(_ text: String) -> InputFault { InputFault(text, at: offset) }

    // MARK: Structure

    private mutating func skipSpace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x0A, 0x0D, 0x09: offset += 1
            default: return
            }
        }
    }

    /// The kind of the value that comes next.
    mutating func kind() throws(InputFault) -> Kind {
        skipSpace()
        guard offset < bytes.count else { throw fault("the text ends where a value should be") }
        switch bytes[offset] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw fault("a value should begin here")
        }
    }

    /// Throws unless nothing but space is left.
    mutating func end() throws(InputFault) {
        skipSpace()
        if offset < bytes.count { throw fault("the text should end here") }
    }

    /// Reads one character that stands between values, whatever it is.
    mutating func separator() throws(InputFault) -> UInt8 {
        skipSpace()
        guard offset < bytes.count else { throw fault("the text ends here") }
        offset += 1
        return bytes[offset - 1]
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar, _ what: String) throws(InputFault) {
        guard take(character) else { throw fault("\(what) should be here") }
    }

    private mutating func enter() throws(InputFault) {
        depth += 1
        if depth > Self.depthMax { throw fault("values are nested more than \(Self.depthMax) deep") }
    }

    /// Reads an object. `member` is called with each name, and reads the value.
    ///
    /// - Parameter member: the name's bytes are valid during the call, and have no escapes left in them.
    mutating func object(
        _ member: (_ name: UnsafeRawBufferPointer, _ at: Int, inout JSONReader) throws(InputFault) -> Void
    ) throws(InputFault) {
        try expect("{", "an object")
        try enter()
        if take("}") {
            depth -= 1
            return
        }
        repeat {
            skipSpace()
            let start = offset
            if let plain = try plainString() {
                try expect(":", "a colon")
                try member(plain, start, &self)
            } else {
                var name = try string()
                try expect(":", "a colon")
                var failure: InputFault?
                var reader = self
                name.withUTF8 { bytes in
                    do throws(InputFault) { try member(UnsafeRawBufferPointer(bytes), start, &reader) } catch {
                        failure = error
                    }
                }
                self = reader
                if let failure { throw failure }
            }
        } while take(",")
        try expect("}", "a comma or }")
        depth -= 1
    }

    /// Reads an array. `element` is called for each element, and reads it.
    mutating func array(_ element: (inout JSONReader) throws(InputFault) -> Void) throws(InputFault) {
        try expect("[", "an array")
        try enter()
        if take("]") {
            depth -= 1
            return
        }
        repeat { try element(&self) } while take(",")
        try expect("]", "a comma or ]")
        depth -= 1
    }

    /// Reads any value, and forgets it.
    mutating func skip() throws(InputFault) {
        switch try kind() {
        case .object: try object { (_, _, reader) throws(InputFault) in try reader.skip() }
        case .array: try array { (reader) throws(InputFault) in try reader.skip() }
        case .string: if try plainString() == nil { _ = try string() }
        case .number: _ = try numberText()
        case .bool: _ = try bool()
        case .null: try null()
        }
    }

    // MARK: Single values

    mutating func null() throws(InputFault) { try literal("null") }

    mutating func bool() throws(InputFault) -> Bool {
        skipSpace()
        let value = offset < bytes.count && bytes[offset] == UInt8(ascii: "t")
        try literal(value ? "true" : "false")
        return value
    }

    private mutating func literal(_ text: StaticString) throws(InputFault) {
        skipSpace()
        let count = text.utf8CodeUnitCount
        guard bytes.count - offset >= count,
            (0..<count).allSatisfy({ bytes[offset + $0] == text.utf8Start[$0] })
        else { throw fault("\(text) should be here") }
        offset += count
    }

    mutating func number() throws(InputFault) -> Number {
        let start = offset
        return try Self.number(try numberText(), at: start)
    }

    /// The number in a text that begins at offset `start` of the input.
    static func number(_ text: UnsafeRawBufferPointer, at start: Int) throws(InputFault) -> Number {
        if let small = integer(text) { return .int(small) }
        guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else {
            throw InputFault("the number is too large", at: start)
        }
        return .double(value)
    }

    /// Whether a text is a number as JSON writes it. So neither `007` nor `+49 30` is one.
    static func isNumber(_ text: [UInt8]) -> Bool {
        text.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do throws(InputFault) {
                guard try reader.kind() == .number else { return false }
                _ = try reader.number()
                try reader.end()
                return true
            } catch {
                return false
            }
        }
    }

    /// The integer in a text; nil if the text is no integer, or if the integer does not fit into 64 bits.
    static func integer(_ text: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = text[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in text.dropFirst(isNegative ? 1 : 0) {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte - 0x30)
            let (sum, isTooLarge) = product.addingReportingOverflow(isNegative ? -digit : digit)
            if overflow || isTooLarge { return nil }
            value = sum
        }
        // -0 is a double.
        return isNegative && value == 0 ? nil : value
    }

    /// The digits of an integer that does not fit into 64 bits, without its sign; nil for other numbers.
    static func longInteger(_ text: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
        let digits = text.dropFirst(text.first == UInt8(ascii: "-") ? 1 : 0)
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), digits.count > 18,
            integer(text) == nil
        else { return nil }
        return digits
    }

    /// Reads a number, and returns its text.
    mutating func numberText() throws(InputFault) -> UnsafeRawBufferPointer {
        skipSpace()
        let start = offset
        func digits(_ offset: inout Int) -> Bool {
            let first = offset
            while offset < bytes.count, bytes[offset] >= 0x30, bytes[offset] <= 0x39 { offset += 1 }
            return offset > first
        }
        func at(_ character: Unicode.Scalar, _ offset: Int) -> Bool {
            offset < bytes.count && bytes[offset] == UInt8(ascii: character)
        }
        if at("-", offset) { offset += 1 }
        if at("0", offset) {
            offset += 1
        } else if !digits(&offset) {
            throw fault("a digit should be here")
        }
        if at(".", offset) {
            offset += 1
            if !digits(&offset) { throw fault("a digit should be here") }
        }
        if at("e", offset) || at("E", offset) {
            offset += 1
            if at("+", offset) || at("-", offset) { offset += 1 }
            if !digits(&offset) { throw fault("a digit should be here") }
        }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
    }

    // MARK: Strings

    /// Reads a string without escapes. If the string has some, returns nil and reads nothing. The bytes are UTF-8.
    private mutating func plainString() throws(InputFault) -> UnsafeRawBufferPointer? {
        skipSpace()
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else { throw fault("a string should be here") }
        var end = offset + 1
        var isASCII = true
        while end < bytes.count {
            let byte = bytes[end]
            if byte == UInt8(ascii: "\"") {
                let plain = UnsafeRawBufferPointer(rebasing: bytes[offset + 1..<end])
                if !isASCII { try checkUTF8(plain) }
                offset = end + 1
                return plain
            }
            if byte == UInt8(ascii: "\\") { return nil }
            if byte < 0x20 { throw InputFault("a control character must be escaped", at: end) }
            if byte >= 0x80 { isASCII = false }
            end += 1
        }
        throw InputFault("the string that begins here does not end", at: offset)
    }

    private func checkUTF8(_ bytes: UnsafeRawBufferPointer) throws(InputFault) {
        if String(validating: bytes, as: UTF8.self) == nil { throw fault("the string that begins here is not UTF-8") }
    }

    mutating func string() throws(InputFault) -> String {
        if let plain = try plainString() { return String(decoding: plain, as: UTF8.self) }
        let start = offset
        var text: [UInt8] = []
        offset += 1
        while offset < bytes.count {
            let byte = bytes[offset]
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                guard let valid = String(validating: text, as: UTF8.self) else {
                    throw InputFault("the string that begins here is not UTF-8", at: start)
                }
                return valid
            case UInt8(ascii: "\\"): try escape(&text)
            case ..<0x20: throw fault("a control character must be escaped")
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw InputFault("the string that begins here does not end", at: start)
    }

    private mutating func escape(_ text: inout [UInt8]) throws(InputFault) {
        offset += 1
        guard offset < bytes.count else { throw fault("the text ends within an escape") }
        let code = bytes[offset]
        offset += 1
        switch code {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(code)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            let start = offset - 2
            var scalar = UInt32(try hexadecimal())
            if scalar & 0xFC00 == 0xD800 {
                guard offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
                    bytes[offset + 1] == UInt8(ascii: "u")
                else { throw InputFault("half of a surrogate pair", at: start) }
                offset += 2
                let low = UInt32(try hexadecimal())
                guard low & 0xFC00 == 0xDC00 else { throw InputFault("half of a surrogate pair", at: start) }
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + low & 0x3FF
            }
            guard let unicode = Unicode.Scalar(scalar) else { throw InputFault("half of a surrogate pair", at: start) }
            text += UTF8.encode(unicode)!
        default:
            offset -= 1
            throw fault("this is not an escape")
        }
    }

    private mutating func hexadecimal() throws(InputFault) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard offset < bytes.count, let digit = Self.digit(bytes[offset]) else {
                throw fault("four hexadecimal digits should be here")
            }
            value = value << 4 | UInt16(digit)
            offset += 1
        }
        return value
    }

    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
