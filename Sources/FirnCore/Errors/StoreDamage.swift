import FirnBytes

/// Damage that was met while a store was read: what was found, and where.
package struct StoreDamage: Sendable, CustomStringConvertible {
    /// The path of the damaged file.
    package let path: String
    /// The offset of the damage in the file, in bytes.
    package let offset: Int
    /// A description of the damage.
    package let detail: String

    package var description: String {
        "\(path) is damaged at byte \(offset): \(detail). Nothing was changed; close the store and run `firn verify STORE`, which shows all that is damaged, and `firn recover STORE --output NEW`, which saves the rest."
    }
}

extension StoreDamage {
    /// Damage that begins at `offset` of the file at `path`; `damage` does not know its position in the file.
    init(_ damage: Damage, path: String, offset: Int) { self.init(path: path, offset: offset, detail: damage.text) }
}
