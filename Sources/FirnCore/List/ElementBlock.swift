/// The elements of a short collection, or of one leaf of a long one. The bytes are the same in a row's cell and in a
/// leaf.
///
/// ```
///                0       2
///               ┌───────┬─────────────────────────────────────────────────────────┐
/// fixed         │ count │ value 0 · value 1 · …                (width bytes each) │
///               ├───────┼──────────────────────────────┬──────────────────────────┤
/// nullable      │ count │ null flags, a byte each      │ value 0 · value 1 · …    │   a null's value bytes are 0
///               ├───────┼──────────────────────────────┴──────────────────────────┤
/// variable      │ count │ code, bytes · code, bytes · …        (see `ElementPart`) │
///               ├───────┼─────────────────────────────────────────────────────────┤
/// map           │ count │ key code, bytes, value code, bytes · …  ascending by key │
///               └───────┴─────────────────────────────────────────────────────────┘
///                  u16
/// ```
///
/// In a cell the block is not aligned. A set's elements are in ascending order (`Value.order`). The block does not
/// contain its own length. The caller that holds it knows the length (from the cell, or the leaf's `capacity`), and
/// each change returns the new length.
struct ElementBlock {
    let base: UnsafeMutableRawPointer
    let layout: ElementLayout

    @inline(__always)
    init(_ base: UnsafeMutableRawPointer, _ layout: ElementLayout) {
        self.base = base
        self.layout = layout
    }

    @inline(__always)
    init(_ base: UnsafeRawPointer, _ layout: ElementLayout) {
        self.init(UnsafeMutableRawPointer(mutating: base), layout)
    }

    var count: Int {
        @inline(__always) get { Int(base.loadUnaligned(as: UInt16.self)) }
        nonmutating set { base.storeBytes(of: UInt16(newValue), as: UInt16.self) }
    }

    /// The start of the bytes behind the count. These bytes are the values of a fixed block, the null flags of a
    /// nullable block, or the elements of a variable block.
    @inline(__always)
    var content: UnsafeMutableRawPointer { base + NodeLayout.ElementBlock.headerByteCount }

    /// The start of the values of a fixed or nullable block.
    @inline(__always)
    var values: UnsafeMutableRawPointer { content + (layout.form == .nullable ? count : 0) }

    // MARK: Reading

    @inline(__always)
    func isNull(_ index: Int) -> Bool {
        assert(index >= 0 && index < count)
        switch layout.form {
        case .fixed:
            return layout.type == .link
                && values.loadUnaligned(fromByteOffset: index &* layout.width, as: Int64.self) < 0
        case .nullable: return content.load(fromByteOffset: index, as: UInt8.self) != 0
        case .variable: return valuePart(index).bytes == nil
        }
    }

    /// The start of element `index` of a variable block. O(index).
    func address(_ index: Int) -> UnsafeRawPointer {
        assert(layout.form == .variable && index <= count)
        var address = UnsafeRawPointer(content)
        for _ in 0..<(layout.collection == .map ? 2 * index : index) { address = ElementPart.skip(address) }
        return address
    }

    /// The part of an element of a variable block that holds its value.
    func valuePart(_ index: Int) -> ElementPart {
        let address = address(index)
        return ElementPart(at: layout.collection == .map ? ElementPart.skip(address) : address)
    }

    /// The key of a map's entry.
    func key(_ index: Int) -> UnsafeRawBufferPointer {
        assert(layout.collection == .map)
        return ElementPart(at: address(index)).bytes.unsafelyUnwrapped
    }

    /// The plain bytes of an element's value; nil for null.
    func bytes(_ index: Int) -> UnsafeRawBufferPointer? {
        if layout.form == .variable { return valuePart(index).bytes }
        return isNull(index)
            ? nil : UnsafeRawBufferPointer(start: values + index &* layout.width, count: layout.width)
    }

    func value(_ index: Int) -> Value {
        switch layout.form {
        case .nullable where isNull(index): return .null
        case .fixed, .nullable: return FixedCoding.load(values + index &* layout.width, as: layout.type)
        case .variable: return valuePart(index).bytes.map { PlainCoding.load($0, as: layout.type) } ?? .null
        }
    }

    /// The element as it is encoded in the block.
    func encoded(_ index: Int) -> EncodedElement {
        guard layout.form == .variable else {
            return EncodedElement(
                bytes: UnsafeRawBufferPointer(start: values + index &* layout.width, count: layout.width),
                isNull: layout.form == .nullable && isNull(index))
        }
        let start = address(index)
        return EncodedElement(bytes: UnsafeRawBufferPointer(start: start, count: end(of: start) - start), isNull: false)
    }

    /// The end of the element that starts at `address` in a variable block.
    func end(of address: UnsafeRawPointer) -> UnsafeRawPointer {
        let end = ElementPart.skip(address)
        return layout.collection == .map ? ElementPart.skip(end) : end
    }

    /// The block's length, computed by walking over the elements.
    var byteCount: Int {
        let count = count
        switch layout.form {
        case .fixed: return NodeLayout.ElementBlock.headerByteCount + count * layout.width
        case .nullable: return NodeLayout.ElementBlock.headerByteCount + count * (layout.width + 1)
        case .variable: return address(count) - UnsafeRawPointer(base)
        }
    }

    /// The number of bytes that `element` adds to the block.
    func cost(_ element: EncodedElement) -> Int {
        element.bytes.count + (layout.form == .nullable ? 1 : 0)
    }

    /// Calls `body` with each blob that elements of the range refer to.
    func forEachBlob(_ range: Range<Int>, _ body: (Node) -> Void) {
        guard layout.form == .variable, !range.isEmpty else { return }
        var address = address(range.lowerBound)
        for _ in 0..<range.count * (layout.collection == .map ? 2 : 1) {
            if ElementPart.isBlob(address) {
                body(NodeRef(ElementPart.blobRef(address).loadUnaligned(as: UInt64.self)).node)
            }
            address = ElementPart.skip(address)
        }
    }
}
