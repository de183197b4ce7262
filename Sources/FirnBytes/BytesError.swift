/// Bytes that are not valid: what is wrong, and where it begins.
public struct BytesError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// The bytes ended before the value did.
        case overrun(wanted: UInt64, available: Int)
        /// An integer of more than 64 bits, or with redundant bytes at its end.
        case malformedVarint
        /// Text that is not UTF-8.
        case malformedText
        /// Compressed bytes that do not decompress to the length they should have.
        case malformedCompression
        /// Bytes were left over where the value should have ended.
        case trailing(Int)
        /// A value that is not allowed in its field.
        case invalid(String)
    }

    public var code: Code
    /// Where the value begins, in bytes from the start of the input.
    public var offset: Int

    public init(_ code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }

    public var description: String {
        let reason =
            switch code {
            case .overrun(let wanted, let available):
                "\(wanted) bytes were expected, but only \(available) are left"
            case .malformedVarint: "an integer is longer than 64 bits or not in its shortest form"
            case .malformedText: "text is not UTF-8"
            case .malformedCompression: "compressed bytes do not decompress to the length that they should have"
            case .trailing(let count): "\(count) bytes are left over"
            case .invalid(let text): text
            }
        return "at byte \(offset): \(reason)"
    }
}
