import FirnCore

extension Limits {
    /// How deeply brackets, NOT and SUBQUERY may be nested in a query. It bounds the stack that a hostile text can use.
    package static let queryNesting = 64
    /// The greatest number of UTF-8 bytes in a query's text.
    package static let queryTextByteCount = 1 << 20
    /// The greatest number of properties in one key path of a query.
    package static let queryPathLength = 32
    /// The greatest number of sorts, distincts and limits in a query's text, and of properties in one of them.
    package static let queryStageCount = 64
}
