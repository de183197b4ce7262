import FirnCore

extension Limits {
    /// How deep brackets, NOT and SUBQUERY may lie within each other in a query. It bounds the stack that a hostile text can claim.
    public static let queryNesting = 64
    /// UTF-8 bytes of a query's text.
    public static let queryTextByteCount = 1 << 20
    /// Properties in one key path of a query.
    public static let queryPathLength = 32
}
