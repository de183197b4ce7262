/// The relation that a value of varying length must have to a constant.
enum BytesRelation: Sendable, Hashable {
    case equal, begins, ends, contains
    /// The order of the value relative to the constant must be in this bit set: 1 for below, 2 for equal, 4 for above.
    case order(UInt32)

    func holds(_ value: UnsafeRawBufferPointer, _ needle: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .equal: return value.count == needle.count && ByteText.begins(value, with: needle)
        case .begins: return ByteText.begins(value, with: needle)
        case .ends:
            return value.count >= needle.count
                && ByteText.begins(UnsafeRawBufferPointer(rebasing: value.suffix(needle.count)), with: needle)
        case .contains: return ByteText.contains(value, needle)
        case .order(let wanted):
            let order = ByteText.order(value, needle)
            return wanted & (order < 0 ? 1 : order == 0 ? 2 : 4) != 0
        }
    }
}
