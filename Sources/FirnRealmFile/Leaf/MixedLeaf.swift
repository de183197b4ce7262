/// A leaf of mixed values.
///
/// ```
/// a value's word: | index or small number 56, signed | 3 bits: whether there is a payload | 5 bits: type + 1 |
/// ```
///
/// Beside the words there are leaves of integers, of pairs of integers, of strings and of references, to which the
/// indexes lead. A word of 0 is null.
///
/// It is a class because it has a leaf, and a leaf may be one.
final class MixedLeaf {
    private let words: FileNode
    private let integers: FileNode?
    private let pairs: FileNode?
    private let strings: Leaf?
    private let references: FileNode?

    var count: Int { words.count }

    init(_ node: FileNode, _ nodes: FileNodes) throws(RealmFileError) {
        words = try nodes.integers(node, 0)
        integers = try nodes.optionalIntegers(node, 1)
        pairs = try nodes.optionalIntegers(node, 2)
        let stringsReference = try node.referenceOrZero(3)
        strings =
            stringsReference == 0
            ? nil
            : try nodes.leaf(nodes.node(stringsReference), of: .dictionaryKey, in: LeafContext(isElement: true))
        references = try nodes.optionalIntegers(node, 4)
    }

    func value(_ index: Int, _ nodes: FileNodes) throws(RealmFileError) -> RealmFileValue {
        let word = words.signed(index)
        if word == 0 { return .null }
        let payload = word >> 5 & 7
        let number = word >> 8
        switch word & 31 - 1 {
        case 0: return .int(payload == 0 ? number : try element(of: integers, number))
        case 1: return .bool(number != 0)
        case 2: return .string(try string(number, nodes))
        case 4: return .binary(try string(number, nodes))
        case 8:
            let (seconds, nanoseconds) = try pair(number)
            return .timestamp(seconds: seconds, nanoseconds: nanoseconds)
        case 9: return .float(UInt32(truncatingIfNeeded: try element(of: integers, number)))
        case 10: return .double(UInt64(bitPattern: try element(of: integers, number)))
        case 11:
            let (low, high) = try pair(number)
            return Decimals.decimal128(low: UInt64(bitPattern: low), high: UInt64(bitPattern: high))
        case 15: return .objectID(try string(number, nodes, byteCount: 12))
        case 16:
            let (table, key) = try pair(number)
            return key < 0 ? .null : .link(table: UInt32(truncatingIfNeeded: table) & 0x7fff_ffff, key: key)
        case 17: return .uuid(try string(number, nodes, byteCount: 16))
        case 19 where payload == 4: return try collection(.list, number)
        case 20 where payload == 4: return try collection(.set, number)
        case 21 where payload == 4: return try collection(.dictionary, number)
        case let type: throw damage("a mixed value has the unknown type \(type)")
        }
    }

    private func damage(_ detail: String) -> RealmFileError { .damage(detail, at: words.reference) }

    private func element(of node: FileNode?, _ index: Int64) throws(RealmFileError) -> Int64 {
        guard let node, 0 <= index, index < node.count else { throw damage("a mixed value lacks its payload") }
        return node.signed(Int(index))
    }

    private func pair(_ index: Int64) throws(RealmFileError) -> (Int64, Int64) {
        guard let pairs, 0 <= index, index < pairs.count / 2 else { throw damage("a mixed value lacks its payload") }
        return (pairs.signed(Int(index) * 2), pairs.signed(Int(index) * 2 + 1))
    }

    /// The text or the bytes of a value. An empty one may look like null, and the type says that it is not.
    private func string(
        _ index: Int64, _ nodes: FileNodes, byteCount: Int? = nil
    ) throws(RealmFileError) -> UnsafeRawBufferPointer {
        guard let strings, 0 <= index, index < strings.count else { throw damage("a mixed value lacks its payload") }
        var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        if case .string(let found) = try strings.value(Int(index), nodes) { bytes = found }
        if let byteCount, bytes.count != byteCount { throw damage("a mixed identifier has a wrong length") }
        return bytes
    }

    private func collection(
        _ kind: RealmFileCollection.Kind, _ index: Int64
    ) throws(RealmFileError) -> RealmFileValue {
        let reference = try element(of: references, index)
        guard reference & 1 == 0 else { throw damage("a mixed collection has no reference") }
        return .collection(RealmFileCollection(kind: kind, element: .mixed, reference: Int(reference), depth: 1))
    }
}
