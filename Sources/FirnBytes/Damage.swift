/// Bytes that are wrong, with a description and an offset.
public struct Damage: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// The bytes ended before the value did.
        case overrun(wanted: UInt64, available: Int)
        /// An integer of more than 64 bits, or with redundant bytes at its end.
        case malformedVarint
        /// Text that is not UTF-8.
        case malformedText
        /// Compressed bytes that do not decompress to the length they should have.
        case malformedCompression
        /// Bytes were left over behind the end of the value.
        case trailing(Int)
        /// A value that is not allowed in its field.
        case invalid(String)
    }

    public var code: Code
    /// The offset of the wrong bytes from the start of the bytes that were read; 0 if all of them are wrong.
    public var offset: Int

    public init(_ code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }

    /// Damage of a value that is not allowed in its field.
    public init(_ text: String, at offset: Int = 0) { self.init(.invalid(text), offset: offset) }

    /// Throws unless a condition holds.
    @inlinable
    @inline(__always)
    public static func check(_ condition: Bool, _ text: @autoclosure () -> String) throws(Damage) {
        if !condition { throw Damage(text()) }
    }

    /// What is wrong, without the offset.
    public var text: String {
        switch code {
        case .overrun(let wanted, let available): "\(wanted) bytes were expected, but only \(available) are left"
        case .malformedVarint: "an integer is longer than 64 bits or not in its shortest form"
        case .malformedText: "text is not UTF-8"
        case .malformedCompression: "compressed bytes do not decompress to the length that they should have"
        case .trailing(let count): "\(count) bytes are left over"
        case .invalid(let text): text
        }
    }

    public var description: String { "at byte \(offset): \(text)" }

    /// The same damage, with its offset in the enclosing bytes. The bytes that were read begin there at `distance`.
    public func moved(by distance: Int) -> Damage { Damage(code, offset: offset + distance) }
}
