import CFirn

/// Reads one cell of an encoded chunk in place.
extension ChunkEncoding {
    /// The number in a row of `integers` or `bits`. O(1).
    @inline(__always)
    static func number(_ node: Node, _ row: Int) -> UInt64 {
        let data = UnsafeRawPointer(payload(node))
        guard node.form == Form.integers.rawValue else {
            return UInt64(data.load(fromByteOffset: row >> 3, as: UInt8.self) >> UInt8(row & 7) & 1)
        }
        let start =
            node.load(NodeLayout.EncodedChunk.base, as: UInt64.self)
            &+ node.load(NodeLayout.EncodedChunk.step, as: UInt64.self) &* UInt64(row)
        switch width(node) {
        case 0: return start
        case 1: return start &+ UInt64(data.load(fromByteOffset: row, as: UInt8.self))
        case 2: return start &+ UInt64(data.load(fromByteOffset: 2 &* row, as: UInt16.self))
        default: return start &+ UInt64(data.load(fromByteOffset: 4 &* row, as: UInt32.self))
        }
    }

    /// Whether a row of an encoded chunk of any form is null.
    static func isNull(_ node: Node, _ row: Int) -> Bool {
        let flags: Int
        switch Form(rawValue: node.form) {
        case .integers: flags = width(node) * node.capacity
        case .bits: flags = bitByteCount(node.capacity)
        default: return cell(node, row).isNull
        }
        return hasNulls(node) && payload(node).load(fromByteOffset: flags + row, as: UInt8.self) != 0
    }

    /// A cell of `text` (O(row), 16 rows a step), of a `dictionary` (O(1)), or of compressed text (the whole chunk is
    /// decoded).
    static func cell(_ node: Node, _ row: Int) -> VariableCell {
        let data = UnsafeRawPointer(payload(node))
        switch Form(rawValue: node.form) {
        case .text:
            let values = data + Int(firn_value_offset(data, node.load(NodeLayout.EncodedChunk.width), UInt32(row)))
            guard width(node) == 1 else {
                return VariableCell(
                    length: data.load(fromByteOffset: 2 &* row, as: UInt16.self), at: values + 2 &* node.capacity)
            }
            let length = length(ofByte: UInt16(data.load(fromByteOffset: row, as: UInt8.self)))
            return VariableCell(length: length, at: values + node.capacity)
        case .dictionary:
            let code = data.load(fromByteOffset: row, as: UInt8.self)
            return Chunk(dictionaryRef(node).node).cell(Int(code))
        default: return Chunk(decoded(node)).cell(row)
        }
    }
}
