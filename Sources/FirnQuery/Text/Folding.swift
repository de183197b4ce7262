import FirnCore

/// Folding of case and diacritics, code point by code point, without a locale.
///
/// * Case: Unicode's simple case folding (CaseFolding.txt, statuses C and S), which maps one code point to one. So "ß"
///   differs from "ss", but "ς" equals "Σ".
/// * Diacritics: only the ones that `DiacriticTable` covers.
/// * No other normalisation.
enum Folding {
    /// Appends the folded form of UTF-8 to `result`. ASCII takes a few instructions per byte; other code points take
    /// some tens of nanoseconds.
    static func fold(_ text: UnsafeRawBufferPointer, _ options: Comparison.Options, into result: inout [UInt8]) {
        result.reserveCapacity(result.count + text.count)
        let foldsCase = options.contains(.caseInsensitive)
        var position = 0
        while position < text.count {
            let byte = text[position]
            if byte < 0x80 {
                result.append(foldsCase && byte &- 0x41 < 26 ? byte | 0x20 : byte)
                position += 1
                continue
            }
            guard let (scalar, length) = decode(text, position) else {
                // The byte is not UTF-8, so it is kept as it is.
                result.append(byte)
                position += 1
                continue
            }
            position += length
            append(scalar, options: options, into: &result)
        }
    }

    static func folded(_ text: String, _ options: Comparison.Options) -> [UInt8] {
        var result: [UInt8] = []
        var text = text
        text.withUTF8 { fold(UnsafeRawBufferPointer($0), options, into: &result) }
        return result
    }

    private static func append(_ scalar: Unicode.Scalar, options: Comparison.Options, into result: inout [UInt8]) {
        var scalar = scalar
        if options.contains(.diacriticInsensitive) {
            if DiacriticTable.isMark(scalar.value) { return }
            scalar = Unicode.Scalar(DiacriticTable.base(of: scalar.value)) ?? scalar
        }
        if options.contains(.caseInsensitive) { scalar = caseFolded(scalar) }
        for unit in UTF8.encode(scalar).unsafelyUnwrapped { result.append(unit) }
    }

    /// The simple case folding of a code point: the table's entry, or else its lower-case form. A code point whose
    /// lower-case form is not one code point stays as it is.
    static func caseFolded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        if scalar.value &- 0x41 < 26 { return Unicode.Scalar(UInt8(scalar.value) | 0x20) }
        if let folded = lowerCaseVariants[scalar.value] { return Unicode.Scalar(folded) ?? scalar }
        let mapping = scalar.properties.lowercaseMapping.unicodeScalars
        let first = mapping.first ?? scalar
        return mapping.index(after: mapping.startIndex) == mapping.endIndex ? first : scalar
    }

    /// The lower-case letters that are folded to other lower-case letters, because both have the same upper case. They
    /// are the final sigma, the micro sign, the long s, and variants of Greek and Cyrillic letters.
    private static let lowerCaseVariants: [UInt32: UInt32] = [
        0xB5: 0x3BC, 0x17F: 0x73, 0x345: 0x3B9, 0x3C2: 0x3C3, 0x3D0: 0x3B2, 0x3D1: 0x3B8, 0x3D5: 0x3C6, 0x3D6: 0x3C0,
        0x3F0: 0x3BA, 0x3F1: 0x3C1, 0x3F5: 0x3B5, 0x1C80: 0x432, 0x1C81: 0x434, 0x1C82: 0x43E, 0x1C83: 0x441,
        0x1C84: 0x442, 0x1C85: 0x442, 0x1C86: 0x44A, 0x1C87: 0x463, 0x1C88: 0xA64B, 0x1E9B: 0x1E61, 0x1FBE: 0x3B9,
        0x1FD3: 0x390, 0x1FE3: 0x3B0, 0xFB05: 0xFB06,
    ]

    private static func decode(_ text: UnsafeRawBufferPointer, _ position: Int) -> (Unicode.Scalar, Int)? {
        let lead = text[position]
        let length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0
        guard length > 0, position + length <= text.count else { return nil }
        var value = UInt32(lead) & (0xFF >> UInt32(length + 1))
        for index in 1..<length {
            guard text[position + index] & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt32(text[position + index] & 0x3F)
        }
        return Unicode.Scalar(value).map { ($0, length) }
    }
}

/// A comparison of text with a constant by LIKE or under options. The constant is folded once.
struct TextTest: Sendable {
    enum Relation: Sendable { case equal, begins, ends, contains, like }

    let relation: Relation
    let options: Comparison.Options
    private let needle: [UInt8]

    init(relation: Relation, needle: String, options: Comparison.Options) {
        self.relation = relation
        self.options = options
        self.needle = Folding.folded(needle, options)
    }

    var explanation: String { "\(relation) '\(String(decoding: needle, as: UTF8.self))', folded row by row" }

    /// Tests a value. A loop passes the same `scratch` memory for all values.
    func holds(_ value: UnsafeRawBufferPointer, _ scratch: inout [UInt8]) -> Bool {
        if options.isEmpty { return holds(folded: value) }
        scratch.removeAll(keepingCapacity: true)
        Folding.fold(value, options, into: &scratch)
        return scratch.withUnsafeBytes { holds(folded: $0) }
    }

    private func holds(folded value: UnsafeRawBufferPointer) -> Bool {
        needle.withUnsafeBytes { needle in
            switch relation {
            case .equal: BytesRelation.equal.holds(value, needle)
            case .begins: BytesRelation.begins.holds(value, needle)
            case .ends: BytesRelation.ends.holds(value, needle)
            case .contains: BytesRelation.contains.holds(value, needle)
            case .like: ByteText.isLike(value, needle)
            }
        }
    }
}
