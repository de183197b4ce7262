/// The type of a property's values, or of its collection's elements.
public struct ElementType: Sendable, Equatable {
    public enum Kind: UInt8, Sendable {
        case int = 0
        case bool = 1
        case string = 2
        case binary = 4
        case mixed = 6
        case timestamp = 8
        case float = 9
        case double = 10
        case decimal = 11
        case object = 12
        case objectID = 15
        case typedLink = 16
        case uuid = 17
        /// Whole seconds: dates of the formats 2 to 4. The values are timestamps.
        case oldDate = 7
    }

    public let kind: Kind
    public let isOptional: Bool
    /// The key of the table that links lead to.
    let target: UInt32

    static let mixed = ElementType(kind: .mixed, isOptional: true, target: 0)
    static let dictionaryKey = ElementType(kind: .string, isOptional: true, target: 0)
}
