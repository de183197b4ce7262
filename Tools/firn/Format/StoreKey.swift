import FirnCrypto
import FirnStorage

/// Where the key of an encrypted store comes from: a file that the user names, the environment, or the terminal. Never
/// an argument, which other users of the machine could read.
struct StoreKeySource: Sendable {
    /// A file with the key; nil if the user named none.
    var file: String?
    /// The value of the environment variable `FIRN_KEY`: 128 hexadecimal digits.
    var environment: String?
    /// Asks the user for the key; nil without a terminal.
    var ask: (@Sendable () -> String?)?

    /// The source of the command that runs.
    @TaskLocal static var current = StoreKeySource()

    /// The key that the user has given without being asked, for a store that is made; nil if there is none.
    func given(_ storage: any Storage) throws(ToolError) -> EncryptionKey? {
        if let file { return try Self.key(inFile: file, storage) }
        #if DEBUG
            // Runs of the tests with encrypted stores only: see the log's options.
            if hasEnvironmentVariable("FIRN_TEST_KEY") { return Self.key([UInt8](repeating: 0x46, count: 64)) }
        #endif
        guard let environment else { return nil }
        guard let key = Self.key(Array(environment.utf8)) else {
            throw ToolError(.usage, "FIRN_KEY is no key. A key is 128 hexadecimal digits.")
        }
        return key
    }

    /// The key of an encrypted store.
    func key(of path: String, _ storage: any Storage) throws(ToolError) -> EncryptionKey {
        if let key = try given(storage) { return key }
        guard let text = ask?() else { throw Self.missing(path) }
        guard let key = Self.key(Array(text.utf8)) else {
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

    static func key(inFile path: String, _ storage: any Storage) throws(ToolError) -> EncryptionKey {
        let file = try stored(storage.open(path, .read))
        defer { file.close() }
        guard let key = key(try stored(file.read(256, at: 0))) else {
            throw ToolError(.usage, "\(path) holds no key. A key is 64 bytes, or 128 hexadecimal digits.")
        }
        return key
    }

    /// A key from 64 bytes, or from 128 hexadecimal digits with white space around them; nil for anything else.
    static func key(_ bytes: [UInt8]) -> EncryptionKey? {
        if bytes.count == EncryptionKey.byteCount { return bytes.withUnsafeBytes { EncryptionKey($0) } }
        let digits = bytes.filter { !" \n\r\t".utf8.contains($0) }.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 2 * EncryptionKey.byteCount else { return nil }
        var key: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            key.append(UInt8(high * 16 + low))
        }
        return key.withUnsafeBytes { EncryptionKey($0) }
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
            try StoreKeySource.current.key(of: files.path, files.storage), algorithm: encryption.wrapped.algorithm,
            randomness: randomness)
    }
}

extension StoreFiles {
    /// The keys of an encrypted store.
    func keys(_ encryption: Manifest.Encryption) throws(ToolError) -> StoreKeys {
        let key = try StoreKeySource.current.key(of: path, storage)
        guard encryption.wrapped.algorithm.isAvailable else {
            throw ToolError(
                .input, "\(path) is encrypted, and this `firn` was built without the package's trait Encryption.")
        }
        guard let keys = StoreKeys(encryption.wrapped, key: key) else { throw StoreKeySource.wrong(path) }
        return keys
    }

    /// The key with which Firn itself opens the store; nil if the store is not encrypted. A key in a file that the user
    /// names is used in any case, so that one too many is noticed.
    func encryptionKey() throws(ToolError) -> EncryptionKey? {
        let source = StoreKeySource.current
        var isEncrypted = false
        if let file = try openIfPresent(manifest) {
            defer { file.close() }
            let bytes = try stored(file.read(Manifest.headerByteCount, at: 0))
            isEncrypted = bytes.withUnsafeBytes(Manifest.isEncrypted)
        }
        if isEncrypted { return try source.key(of: path, storage) }
        return source.file == nil ? nil : try source.given(storage)
    }
}
