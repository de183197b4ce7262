/// Decimal numbers: IEEE 754 in BID encoding. Format 24 stores a leaf with the shortest width that keeps all its values
/// and their exponents.
enum Decimals {
    /// Checks the form of a leaf and returns its number of values.
    static func check(_ node: FileNode) throws(RealmFileError) -> Int {
        guard node.width == 0 || node.kind == .bytes && [4, 8, 16].contains(node.width) else {
            throw .damage("a leaf of decimals has another width", at: node.reference)
        }
        return node.count
    }

    static func value(_ node: FileNode, _ index: Int) -> RealmFileValue {
        let start = node.elements + index * node.width
        switch node.width {
        // All are zeros or all are null, as the context says.
        case 0: return node.hasContext ? .decimal(low: 0, high: 0x3040_0000_0000_0000) : .null
        case 4: return widened32(UInt32(littleEndian: start.loadUnaligned(as: UInt32.self)))
        case 8: return widened64(UInt64(littleEndian: start.loadUnaligned(as: UInt64.self)))
        default:
            return decimal128(
                low: UInt64(littleEndian: start.loadUnaligned(as: UInt64.self)),
                high: UInt64(littleEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    static func decimal128(low: UInt64, high: UInt64) -> RealmFileValue {
        low == 0xaa && high == 0x7c00_0000_0000_0000 ? .null : .decimal(low: low, high: high)
    }

    private static func widened32(_ bits: UInt32) -> RealmFileValue {
        if bits == 0x7c00_00aa { return .null }
        let sign = UInt64(bits >> 31)
        if bits & 0x7800_0000 == 0x7800_0000 { return special(sign, isInfinite: bits & 0x0400_0000 == 0) }
        let hasLongCoefficient = bits & 0x6000_0000 == 0x6000_0000
        let exponent = hasLongCoefficient ? bits >> 21 & 0xff : bits >> 23 & 0xff
        let coefficient = hasLongCoefficient ? bits & 0x1f_ffff | 0x80_0000 : bits & 0x7f_ffff
        return finite(sign, coefficient: coefficient > 9_999_999 ? 0 : UInt64(coefficient), Int(exponent) - 101)
    }

    private static func widened64(_ bits: UInt64) -> RealmFileValue {
        if bits == 0x7c00_0000_0000_00aa { return .null }
        let sign = bits >> 63
        if bits & 0x7800_0000_0000_0000 == 0x7800_0000_0000_0000 {
            return special(sign, isInfinite: bits & 0x0400_0000_0000_0000 == 0)
        }
        let hasLongCoefficient = bits & 0x6000_0000_0000_0000 == 0x6000_0000_0000_0000
        let exponent = hasLongCoefficient ? bits >> 51 & 0x3ff : bits >> 53 & 0x3ff
        let coefficient = hasLongCoefficient ? bits & (1 << 51 - 1) | 1 << 53 : bits & (1 << 53 - 1)
        return finite(sign, coefficient: coefficient > 9_999_999_999_999_999 ? 0 : coefficient, Int(exponent) - 398)
    }

    private static func special(_ sign: UInt64, isInfinite: Bool) -> RealmFileValue {
        .decimal(low: 0, high: sign << 63 | (isInfinite ? 0x7800_0000_0000_0000 : 0x7c00_0000_0000_0000))
    }

    private static func finite(_ sign: UInt64, coefficient: UInt64, _ exponent: Int) -> RealmFileValue {
        .decimal(low: coefficient, high: sign << 63 | UInt64(exponent + 6176) << 49)
    }
}
