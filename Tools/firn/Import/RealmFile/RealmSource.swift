import FirnBytes
import FirnCrypto
import FirnRealmFile
import FirnStorage

/// Opens a file that Realm made, as an argument of the command.
enum RealmSource {
    /// Whether a file has Realm's header. An encrypted file has none.
    static func hasHeader(_ path: String, storage: any Storage) throws(ToolError) -> Bool {
        try begin(path, storage: storage).withUnsafeBytes(RealmFile.isHeader)
    }

    /// Whether a file begins as JSON does.
    static func isDocument(_ path: String, storage: any Storage) throws(ToolError) -> Bool {
        let bytes = try begin(path, storage: storage)
        guard let first = bytes.first(where: { $0 > 0x20 }) else { return false }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    private static func begin(_ path: String, storage: any Storage) throws(ToolError) -> [UInt8] {
        let file = try stored(storage.open(path, .read))
        defer { file.close() }
        return try stored(file.read(64, at: 0))
    }

    /// Opens a file. The key that the user gave is for the file if it is encrypted, and for the store in any case.
    static func open(_ path: String, salvages: Bool, storage: any Storage) throws -> RealmFile {
        var options = RealmFile.Options()
        options.salvages = salvages
        if try !hasHeader(path, storage: storage) {
            options.key = try StoreKeySource.current.given()?.withBytes { Array($0) }
        }
        do {
            return try RealmFile(storage, path: path, options)
        } catch let error as RealmFileError {
            throw ToolError(reading: error)
        }
    }
}

extension ToolError {
    init(reading error: RealmFileError) {
        let status: Status =
            switch error.code {
            case .notARealmFile, .wrongKey, .notEncrypted, .decryptionUnavailable, .unsupportedFormat: .usage
            case .truncated, .damage, .interruptedUpgrade: .damage
            case .storage: .input
            }
        self.init(status, DisplayText.line(error.description))
    }
}
