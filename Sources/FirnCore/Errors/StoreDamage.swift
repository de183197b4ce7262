/// Damage met while a store is read: what was found, and where.
public struct StoreDamage: Sendable, CustomStringConvertible {
    /// The file.
    public let path: String
    /// Where in it, in bytes.
    public let offset: Int
    public let detail: String

    public var description: String {
        "\(path) is damaged at byte \(offset): \(detail). Nothing was changed; close the store and run `firn verify` on its folder, which shows all that is damaged."
    }
}
