/// The type of a collection's elements, and how they are laid out in an `ElementBlock`.
@frozen
package struct ElementLayout: Equatable, Sendable {
    package let type: ColumnType
    package let collection: CollectionKind
    package let form: Chunk.Form
    /// The number of bytes per element; 0 if it varies.
    package let width: Int

    package init(type: ColumnType, collection: CollectionKind, isNullable: Bool = false) {
        self.type = type
        self.collection = collection
        if collection != .map, let width = type.fixedWidth {
            form = isNullable && type != .link ? .nullable : .fixed
            self.width = width
        } else {
            form = .variable
            width = 0
        }
    }

    package init(_ column: ColumnSchema) {
        self.init(type: column.type, collection: column.collection, isNullable: column.isNullable)
    }

    /// The most bytes of a key or value that are stored in the block. A longer one is a blob. A map's entry has a key
    /// and a value. One entry must fit in half a leaf, so that an overfull leaf can always be split in two.
    var partByteCount: Int { collection == .map ? Limits.inlineByteCount / 2 : Limits.inlineByteCount }
}

/// One element as a block stores it, in memory that outlives the call it is passed to.
struct EncodedElement {
    /// Fixed types: `width` bytes. Variable types: the parts with their codes.
    let bytes: UnsafeRawBufferPointer
    let isNull: Bool

    /// A number of bytes that any encoded element fits in.
    static let maximumByteCount = 1040

    /// Encodes `value` (and a map's `key`) into `area`. A part that is too long for a block becomes a blob.
    static func encode(
        _ value: Value, key: UnsafeRawBufferPointer? = nil, layout: ElementLayout,
        into area: UnsafeMutableRawPointer, writer: NodeWriter
    ) -> EncodedElement {
        guard layout.form == .variable else {
            let isNull = value == .null
            precondition(
                !isNull || layout.form == .nullable || layout.type == .link,
                "Firn: null in a collection whose elements are not optional")
            FixedCoding.store(value, as: layout.type, to: area)
            return EncodedElement(bytes: UnsafeRawBufferPointer(start: area, count: layout.width), isNull: isNull)
        }
        assert(
            (key != nil) == (layout.collection == .map),
            "Firn: only the elements of a map have keys, and all of them do")
        var end = area
        if let key { end = ElementPart.write(key, limit: layout.partByteCount, to: end, writer) }
        end = PlainCoding.withBytes(value, as: layout.type) {
            ElementPart.write($0, limit: layout.partByteCount, to: end, writer)
        }
        return EncodedElement(bytes: UnsafeRawBufferPointer(start: area, count: end - area), isNull: value == .null)
    }

    /// An element of 8 bytes: an int or a link.
    @inline(__always)
    static func encode(int64 value: Int64, into area: UnsafeMutableRawPointer) -> EncodedElement {
        area.storeBytes(of: value, as: Int64.self)
        return EncodedElement(bytes: UnsafeRawBufferPointer(start: area, count: 8), isNull: false)
    }
}

/// A value of any length within an element: a code, then bytes.
///
/// ```
///  code (varint)   0       null
///                  1       a blob: its reference follows (u64)
///                  n + 2   n bytes follow
/// ```
struct ElementPart {
    static var nullCode: UInt8 { @inline(__always) get { 0 } }
    static var blobCode: UInt8 { @inline(__always) get { 1 } }
    /// The code of an empty value. The code of n bytes is n more.
    static var emptyCode: UInt8 { @inline(__always) get { 2 } }

    /// The value's bytes, in the block or in a blob; nil for null.
    let bytes: UnsafeRawBufferPointer?
    /// The blob that holds the bytes, if one does.
    let blob: NodeRef
    /// The end of the part.
    let end: UnsafeRawPointer

    @inline(__always)
    init(at address: UnsafeRawPointer) {
        var code = Int(address.load(as: UInt8.self))
        var start = address + 1
        if code >= 0x80 {
            // No part in a block is longer than 1 KiB, so two bytes of code are enough.
            code = code & 0x7F | Int(start.load(as: UInt8.self)) << 7
            start += 1
        }
        if code >= Int(ElementPart.emptyCode) {
            let count = code &- Int(ElementPart.emptyCode)
            bytes = UnsafeRawBufferPointer(start: start, count: count)
            blob = .none
            end = start + count
        } else if code == Int(ElementPart.nullCode) {
            bytes = nil
            blob = .none
            end = start
        } else {
            blob = NodeRef(start.loadUnaligned(as: UInt64.self))
            bytes = Blob(blob.node).bytes
            end = start + NodeLayout.refByteCount
        }
    }

    /// Whether the part at `address` is a blob.
    @inline(__always)
    static func isBlob(_ address: UnsafeRawPointer) -> Bool { address.load(as: UInt8.self) == blobCode }

    /// The address of the reference in a part that is a blob.
    @inline(__always)
    static func blobRef(_ address: UnsafeRawPointer) -> UnsafeRawPointer { address + 1 }

    /// The end of the part at `address`, found without reading a blob.
    @inline(__always)
    static func skip(_ address: UnsafeRawPointer) -> UnsafeRawPointer {
        let code = Int(address.load(as: UInt8.self))
        let empty = Int(emptyCode)
        if code < 0x80 {
            return address + (code == Int(blobCode) ? 1 + NodeLayout.refByteCount : max(code &- empty &+ 1, 1))
        }
        return address + 2 + ((code & 0x7F | Int(address.load(fromByteOffset: 1, as: UInt8.self)) << 7) &- empty)
    }

    /// Writes a part and returns its end.
    static func write(
        _ bytes: UnsafeRawBufferPointer?, limit: Int, to address: UnsafeMutableRawPointer, _ writer: NodeWriter
    ) -> UnsafeMutableRawPointer {
        guard let bytes else {
            address.storeBytes(of: nullCode, as: UInt8.self)
            return address + 1
        }
        guard bytes.count <= limit else {
            if bytes.count > Limits.encodedValueByteCount {
                fatalError(
                    "Firn: a collection was given an element of \(bytes.count) bytes; at most \(Limits.valueByteCount) are possible. Keep it in a file, and store its path."
                )
            }
            address.storeBytes(of: blobCode, as: UInt8.self)
            (address + 1).storeBytes(of: NodeRef(Blob.make(bytes, writer).node).word, as: UInt64.self)
            return address + 1 + NodeLayout.refByteCount
        }
        let code = bytes.count + Int(emptyCode)
        var start = address + 1
        if code < 0x80 {
            address.storeBytes(of: UInt8(code), as: UInt8.self)
        } else {
            address.storeBytes(of: UInt8(truncatingIfNeeded: code) | 0x80, as: UInt8.self)
            start.storeBytes(of: UInt8(code >> 7), as: UInt8.self)
            start += 1
        }
        if let base = bytes.baseAddress { start.copyMemory(from: base, byteCount: bytes.count) }
        return start + bytes.count
    }
}
