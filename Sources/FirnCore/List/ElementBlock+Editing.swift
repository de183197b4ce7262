/// Changes within one block. Each function takes the block's length, requires enough memory behind the block, and
/// returns the new length.
extension ElementBlock {
    /// Initialises an empty block.
    func makeEmpty() -> Int {
        count = 0
        return NodeLayout.ElementBlock.headerByteCount
    }

    func insert(_ element: EncodedElement, at index: Int, length: Int) -> Int {
        let count = count
        assert(index >= 0 && index <= count)
        let source = element.bytes.baseAddress.unsafelyUnwrapped
        let size = element.bytes.count
        switch layout.form {
        case .fixed:
            let start = content + index &* size
            (start + size).copyMemory(from: start, byteCount: (count &- index) &* size)
            start.copyMemory(from: source, byteCount: size)
        case .nullable:
            // From right to left: the values behind the new element, the values before it, then the flags behind it.
            let old = content + count
            (old + 1 + (index + 1) * size).copyMemory(from: old + index * size, byteCount: (count - index) * size)
            (old + 1).copyMemory(from: old, byteCount: index * size)
            (content + index + 1).copyMemory(from: content + index, byteCount: count - index)
            (content + index).storeBytes(of: element.isNull ? 1 : 0, as: UInt8.self)
            (old + 1 + index * size).copyMemory(from: source, byteCount: size)
        case .variable:
            let offset = index == count ? length : address(index) - UnsafeRawPointer(base)
            (base + offset + size).copyMemory(from: base + offset, byteCount: length - offset)
            (base + offset).copyMemory(from: source, byteCount: size)
        }
        self.count = count &+ 1
        return length &+ cost(element)
    }

    func remove(at index: Int, length: Int) -> Int {
        let count = count
        assert(index >= 0 && index < count)
        let size = layout.width
        switch layout.form {
        case .fixed:
            let start = content + index &* size
            start.copyMemory(from: start + size, byteCount: (count &- index &- 1) &* size)
            self.count = count &- 1
            return length &- size
        case .nullable:
            let old = content + count
            (content + index).copyMemory(from: content + index + 1, byteCount: count - index - 1)
            (old - 1).copyMemory(from: old, byteCount: index * size)
            (old - 1 + index * size).copyMemory(from: old + (index + 1) * size, byteCount: (count - index - 1) * size)
            self.count = count - 1
            return length - size - 1
        case .variable:
            let start = base + (encoded(index).bytes.baseAddress.unsafelyUnwrapped - UnsafeRawPointer(base))
            let taken = encoded(index).bytes.count
            start.copyMemory(from: start + taken, byteCount: base + length - (start + taken))
            self.count = count - 1
            return length - taken
        }
    }

    func replace(_ element: EncodedElement, at index: Int, length: Int) -> Int {
        switch layout.form {
        case .fixed, .nullable:
            if layout.form == .nullable { (content + index).storeBytes(of: element.isNull ? 1 : 0, as: UInt8.self) }
            (values + index &* layout.width).copyMemory(
                from: element.bytes.baseAddress.unsafelyUnwrapped, byteCount: layout.width)
            return length
        case .variable:
            let old = encoded(index).bytes
            let start = UnsafeMutableRawPointer(mutating: old.baseAddress.unsafelyUnwrapped)
            let behind = base + length - (start + old.count)
            (start + element.bytes.count).copyMemory(from: start + old.count, byteCount: behind)
            start.copyMemory(from: element.bytes.baseAddress.unsafelyUnwrapped, byteCount: element.bytes.count)
            return length - old.count + element.bytes.count
        }
    }

    /// Moves the elements from `index` on to `target`, an uninitialised block, and returns both lengths.
    func split(at index: Int, length: Int, to target: ElementBlock) -> (left: Int, right: Int) {
        let count = count
        let moved = count - index
        let size = layout.width
        target.count = moved
        switch layout.form {
        case .fixed:
            target.content.copyMemory(from: content + index * size, byteCount: moved * size)
        case .nullable:
            target.content.copyMemory(from: content + index, byteCount: moved)
            (target.content + moved).copyMemory(from: content + count + index * size, byteCount: moved * size)
            (content + index).copyMemory(from: content + count, byteCount: index * size)
        case .variable:
            let offset = address(index) - UnsafeRawPointer(base)
            target.content.copyMemory(from: base + offset, byteCount: length - offset)
            self.count = index
            return (offset, length - offset + NodeLayout.ElementBlock.headerByteCount)
        }
        self.count = index
        return (byteCount, target.byteCount)
    }

    /// Appends the elements of `other`.
    func append(_ other: ElementBlock, length: Int, otherLength: Int) -> Int {
        let count = count
        let more = other.count
        let size = layout.width
        switch layout.form {
        case .fixed, .variable:
            (base + length).copyMemory(
                from: other.content, byteCount: otherLength - NodeLayout.ElementBlock.headerByteCount)
        case .nullable:
            let old = content + count
            (old + more).copyMemory(from: old, byteCount: count * size)
            old.copyMemory(from: other.content, byteCount: more)
            (old + more + count * size).copyMemory(from: other.content + more, byteCount: more * size)
        }
        self.count = count + more
        return length + otherLength - NodeLayout.ElementBlock.headerByteCount
    }

    /// The index at which to split the block so that the longer half is as short as possible.
    func splitIndex(length: Int) -> Int {
        let count = count
        assert(count >= 2)
        guard layout.form == .variable else { return count / 2 }
        let half = UnsafeRawPointer(content) + (length - NodeLayout.ElementBlock.headerByteCount) / 2
        var address = UnsafeRawPointer(content)
        for index in 0..<count {
            let next = end(of: address)
            if next > half {
                // Split before or after the element that lies across the middle.
                let index = half - address < next - half ? index : index + 1
                return min(max(index, 1), count - 1)
            }
            address = next
        }
        return count - 1
    }
}
