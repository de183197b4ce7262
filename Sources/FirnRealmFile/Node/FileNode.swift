/// One node of the file: an array of integers, of fixed numbers of bytes, or the bytes of a blob.
///
/// ```
/// | ignored 4 | flags 1 | number of elements 3, big-endian | elements, padded to 8 bytes |
///
/// flags: bit 7 inner node of a tree · bit 6 elements may be references · bit 5 context · bits 4-3 kind of width
///        · bits 2-0 width code c: the width is (1 << c) >> 1
/// ```
///
/// A node is a view of the file's pages: it is valid until the pages are released.
struct FileNode {
    enum Kind: UInt8 {
        /// The width is in bits: integers.
        case bits
        /// The width is in bytes.
        case bytes
        /// One byte for each element.
        case blob
    }

    /// The offset of the node in the file.
    let reference: Int
    let count: Int
    let width: Int
    let kind: Kind
    let isInner: Bool
    let hasReferences: Bool
    /// What it means depends on where the node stands: see the leaves.
    let hasContext: Bool
    let elements: UnsafeRawPointer

    static let headerByteCount = 8

    /// The offset of the elements in the file.
    var elementsOffset: Int { reference + Self.headerByteCount }

    /// An element that was checked to exist, of a node of integers. Widths below 8 are unsigned, the others signed.
    @inline(__always)
    func signed(_ index: Int) -> Int64 {
        switch width {
        case 0: 0
        case 1: Int64(byte(index >> 3) >> UInt8(index & 7) & 1)
        case 2: Int64(byte(index >> 2) >> UInt8((index & 3) * 2) & 3)
        case 4: Int64(byte(index >> 1) >> UInt8((index & 1) * 4) & 15)
        case 8: Int64(Int8(bitPattern: byte(index)))
        case 16: Int64(Int16(littleEndian: elements.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)))
        case 32: Int64(Int32(littleEndian: elements.loadUnaligned(fromByteOffset: index * 4, as: Int32.self)))
        default: Int64(littleEndian: elements.loadUnaligned(fromByteOffset: index * 8, as: Int64.self))
        }
    }

    /// The same element with its bits read as an unsigned number: of keys and offsets of clusters.
    @inline(__always)
    func unsigned(_ index: Int) -> UInt64 {
        let value = UInt64(bitPattern: signed(index))
        return width < 64 ? value & (1 << UInt64(width) - 1) : value
    }

    @inline(__always)
    private func byte(_ index: Int) -> UInt8 { elements.load(fromByteOffset: index, as: UInt8.self) }

    /// Throws unless the elements are integers.
    @inline(__always)
    func checkIntegers() throws(RealmFileError) {
        if kind != .bits { throw .damage("a node that should have integers has bytes", at: reference) }
    }

    /// An element of a node of integers.
    func integer(_ index: Int) throws(RealmFileError) -> Int64 {
        try checkIntegers()
        guard index < count else {
            throw .damage("a node of \(count) elements is asked for element \(index)", at: reference)
        }
        return signed(index)
    }

    /// The reference in an element; 0 if there is none, or the node is shorter.
    func referenceOrZero(_ index: Int) throws(RealmFileError) -> Int {
        guard index < count else { return 0 }
        let value = try integer(index)
        guard value & 1 == 0 else {
            throw .damage("element \(index) of a node is a number and should be a reference", at: reference)
        }
        return Int(value)
    }

    /// The tagged number in an element. Nil if there is none: the element is a reference, or the node is shorter.
    func tagged(_ index: Int) throws(RealmFileError) -> UInt64? {
        guard index < count else { return nil }
        let value = try integer(index)
        return value & 1 == 1 ? UInt64(bitPattern: value) >> 1 : nil
    }
}
