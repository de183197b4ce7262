import FirnCrypto
import FirnStorage

/// Where the key of an encrypted store comes from: a file that the user names, the environment, or the terminal. Never
/// an argument, which other users of the machine could read.
struct StoreKeySource: Sendable {
    /// The key in the file that the user names; nil if the user names none.
    var fileKey: EncryptionKey?
    /// The value of the environment variable `FIRN_KEY`: 128 hexadecimal digits.
    var environment: String?
    /// Asks the user for the key, as 128 hexadecimal digits. The same answer is given each time. Nil without a
    /// terminal.
    var ask: (@Sendable () throws(ToolError) -> String)?

    /// The source of the command that runs.
    @TaskLocal static var current = StoreKeySource()

    /// The key that the user has given without being asked; nil if there is none.
    func given() throws(ToolError) -> EncryptionKey? {
        if let key = fileKey ?? EncryptionKey.ofTests { return key }
        guard let environment else { return nil }
        guard let key = Self.key(digits: environment) else {
            throw ToolError(.usage, "FIRN_KEY is no key. A key is 128 hexadecimal digits.")
        }
        return key
    }

    /// The key of an encrypted store.
    func key(of path: String) throws(ToolError) -> EncryptionKey {
        if let key = try given() { return key }
        guard let ask else { throw Self.missing(path) }
        guard let key = Self.key(digits: try ask()) else {
            throw ToolError(
                .usage, "that is no key. A key is 128 hexadecimal digits, or the file that --key-file names.")
        }
        return key
    }

    static func missing(_ path: String) -> ToolError {
        ToolError(
            .usage, "\(path) is encrypted. Give its key with --key-file FILE or in the environment variable FIRN_KEY.")
    }

    static func wrong(_ path: String) -> ToolError {
        ToolError(.usage, "\(path) is encrypted with another key than the one that was given.")
    }

    /// The key in a file with these bytes: 64 bytes, or 128 hexadecimal digits.
    ///
    /// - Parameter path: the file, which errors name.
    static func key(_ bytes: [UInt8], inFile path: String) throws(ToolError) -> EncryptionKey {
        guard let key = key(bytes) ?? key(digits: String(decoding: bytes, as: UTF8.self)) else {
            throw ToolError(.usage, "\(path) holds no key. A key is 64 bytes, or 128 hexadecimal digits.")
        }
        return key
    }

    /// How many bytes of a file are read at most, to find a key in it.
    static let fileByteCount = 256

    private static func key(_ bytes: [UInt8]) -> EncryptionKey? { bytes.withUnsafeBytes { EncryptionKey($0) } }

    /// A key from 128 hexadecimal digits, which may have white space around them; nil for any other text.
    static func key(digits text: String) -> EncryptionKey? {
        let digits = text.filter { !$0.isWhitespace }.map(\.hexDigitValue)
        guard digits.count == 2 * EncryptionKey.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(UInt8(high * 16 + low))
        }
        return key(bytes)
    }
}

extension EncryptionKey {
    /// The key as 128 digits.
    var hexadecimal: String {
        withBytes { bytes in
            bytes.map { (byte: UInt8) in FirnTool.hexadecimal(UInt64(byte), digits: 2) }.joined()
        }
    }
}

extension OpenedStore {
    /// The keys of a store that is made from this one: nil if this one is not encrypted, and otherwise for the same
    /// user's key.
    func sealing(_ randomness: any Randomness) throws(ToolError) -> StoreSealing? {
        guard let encryption = manifest.encryption, files.keys != nil else { return nil }
        return StoreSealing(
            try StoreKeySource.current.key(of: files.path), algorithm: encryption.wrapped.algorithm,
            randomness: randomness)
    }
}

extension StoreFiles {
    /// The keys of an encrypted store.
    func keys(_ encryption: Manifest.Encryption) throws(ToolError) -> StoreKeys {
        let key = try StoreKeySource.current.key(of: path)
        guard encryption.wrapped.algorithm.isAvailable else {
            throw ToolError(
                .input, "\(path) is encrypted, and this `firn` was built without the package's trait Encryption.")
        }
        guard let keys = StoreKeys(encryption.wrapped, key: key) else { throw StoreKeySource.wrong(path) }
        return keys
    }

    /// Whether the store is encrypted. False if there is no manifest, or its header is damaged.
    func isEncrypted() throws(ToolError) -> Bool {
        guard let file = try openIfPresent(manifest) else { return false }
        defer { file.close() }
        return try stored(file.read(Manifest.headerByteCount, at: 0)).withUnsafeBytes(Manifest.isEncrypted)
    }

    /// The key with which Firn itself opens the store; nil if the store is not encrypted. A key in a file that the user
    /// names is used in any case, so that one too many is noticed.
    func encryptionKey() throws(ToolError) -> EncryptionKey? {
        let source = StoreKeySource.current
        return try isEncrypted() ? source.key(of: path) : source.fileKey
    }
}
