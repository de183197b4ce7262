import FirnCore

extension Limits {
    /// How deep brackets, NOT and SUBQUERY may be nested in a query. It bounds the stack that a hostile text can use.
    package static let queryNesting = 64
    /// The most UTF-8 bytes of a query's text.
    package static let queryTextByteCount = 1 << 20
    /// The most properties in one key path of a query.
    package static let queryPathLength = 32
    /// The most sorts, distincts and limits in a query's text, and the most properties in one of them.
    package static let queryStageCount = 64
}
