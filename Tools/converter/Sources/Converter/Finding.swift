/// Something that a person has to look at.
public struct Finding: Equatable, Sendable {
    /// The file's name.
    public let file: String
    /// The line in the file before the conversion.
    public let line: Int
    /// What stands there, and what to do.
    public let text: String
}

/// A file, and what it is to become.
public struct ConvertedFile: Sendable {
    /// The file's name.
    public let name: String
    /// Its text before.
    public let before: String
    /// Its text after.
    public let after: String

    /// Whether anything changes.
    public var isChanged: Bool { before != after }
}
