import FirnBytes
import FirnCrypto
import FirnStorage

/// What can be seen of an encrypted store without its key.
struct SealedStore {
    let files: StoreFiles
    let manifest: Manifest
    let algorithm: EncryptionAlgorithm
    let byteCount: Int

    /// Looks at the store at `path`. Nil if it is not encrypted, or there is a key.
    static func at(_ path: String, storage: any Storage) throws(ToolError) -> SealedStore? {
        let source = StoreKeySource.current
        guard try source.given() == nil else { return nil }
        let files = StoreFiles(named: path, storage: storage)
        try files.checkIsStore()
        // At the terminal, an empty answer says that there is no key.
        if let ask = source.ask, try files.isEncrypted(), try !ask().isEmpty { return nil }
        // A missing or damaged manifest is reported by those who need more of it.
        guard let bytes = try? files.contents(of: files.manifest, limit: 2 * Manifest.byteCountMax),
            let block = try? bytes.withUnsafeBytes({ try Manifest.read($0).block }),
            let encryption = block.encryption
        else { return nil }
        return SealedStore(
            files: files, manifest: block, algorithm: encryption.wrapped.algorithm, byteCount: try files.byteCount())
    }

    private static let advice = "no key was given: see --key-file"

    var text: String {
        var lines = [
            "store         \(DisplayText.line(files.path))", "id            \(manifest.storeID)",
            "format        \(FormatNumbers.format)", "created       \(TimeText.milliseconds(manifest.created))",
            "epoch         \(manifest.epoch), generation \(manifest.generation) of the manifest",
            "encrypted     with \(algorithm.name); \(Self.advice)",
            "files         \(Amount.bytes(byteCount))",
        ]
        if let checkpoint = manifest.checkpoint { lines.append("checkpoint    version \(checkpoint.version)") }
        for segment in manifest.segments {
            let end = segment.seal.map { " to \($0.lastVersion), \(Amount.bytes($0.byteCount))" } ?? " on"
            lines.append("  \(StoreFiles.segmentName(segment.number))  from version \(segment.firstVersion)\(end)")
        }
        return lines.joined(separator: "\n")
    }

    var json: JSON {
        .object([
            ("store", .string(files.path)), ("id", .string(manifest.storeID)),
            ("created", .string(TimeText.milliseconds(manifest.created))), ("epoch", .int(Int(manifest.epoch))),
            ("encryption", .string(algorithm.name)), ("bytes", .int(byteCount)),
            ("checkpointVersion", manifest.checkpoint.map { .int($0.version) } ?? .null),
            ("segments", .int(manifest.segments.count)),
        ])
    }
}
