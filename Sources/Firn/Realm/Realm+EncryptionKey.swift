import FirnCore
import FirnStorage
import Foundation

extension Realm {
    /// Changes the key of an encrypted store. The data are not written again, so this takes a few milliseconds,
    /// whatever the size of the store.
    ///
    /// ```swift
    /// try Realm.changeEncryptionKey(for: configuration, to: newKey)
    /// configuration.encryptionKey = newKey
    /// let realm = try Realm(configuration: configuration)
    /// ```
    ///
    /// Afterwards only the new key opens the store. A backup from before still opens with the old one. If the old key
    /// has become known, write an encrypted copy (`writeCopy(toFile:encryptionKey:)`) instead: it has keys of its own.
    /// To encrypt a store, or to decrypt it, write a copy, too.
    ///
    /// - Parameters:
    ///   - configuration: names the store and its present key.
    ///   - newKey: the new key, 64 bytes.
    /// - Throws: `Realm.Error` with one of these codes. Then the store still has its key, unless the code is
    ///   `.writeFailed` or the disk failed at the last moment. Keep both keys until you have opened it.
    ///   - `.alreadyOpen`: this or another process has the store open, or holds a version of it.
    ///   - `.invalidDatabase`: the store has another key, or is not encrypted, or is damaged.
    ///   - `.invalidInput`: one of the keys does not have 64 bytes, or the configuration names no file.
    ///   - `.writeFailed`: the store has the new key, but the old key still opens a copy of its manifest.
    ///   - `.unsupportedFeature`: this build has no cryptography.
    ///   - `.outOfDiskSpace`, `.fileNotFound` and other codes: the file system refuses.
    public static func changeEncryptionKey(
        for configuration: Configuration = .defaultConfiguration, to newKey: Data
    ) throws {
        guard let url = configuration.fileURL else {
            throw Realm.Error(.invalidInput, "A realm in memory has no key. The configuration must name a fileURL.")
        }
        let path = try url.checkedStorePath(of: "fileURL")
        guard let old = try EncryptionKey.checked(configuration.encryptionKey, url),
            let new = try EncryptionKey.checked(newKey, url)
        else {
            throw Realm.Error(
                .invalidInput, "The configuration has no encryptionKey. Give the present key in it.", fileURL: url)
        }
        try SharedStore.checkExists(url)
        try storing(url, Store.changeKey(path, from: old, to: new, storage: PosixStorage.shared))
    }
}

extension Realm.Configuration {
    /// The key for the store's files; nil if there is none, or no file.
    var storeKey: EncryptionKey? {
        guard fileURL != nil else { return nil }
        guard let encryptionKey else { return EncryptionKey.ofTests }
        return encryptionKey.withUnsafeBytes { EncryptionKey($0) }
    }

    /// Whether a store that was opened with `key` has the configuration's key.
    func hasKey(_ key: EncryptionKey?) -> Bool {
        guard let encryptionKey else { return key == storeKey }
        return encryptionKey.withUnsafeBytes { bytes in key?.isEqual(to: bytes) ?? false }
    }
}

extension EncryptionKey {
    /// A key from a program; nil if there is none.
    ///
    /// - Throws: `.invalidInput` if it does not have 64 bytes.
    static func checked(_ data: Data?, _ url: URL?) throws -> EncryptionKey? {
        try check(data, url)
        return data?.withUnsafeBytes { EncryptionKey($0) }
    }

    /// Throws `.invalidInput` for a key that does not have 64 bytes.
    static func check(_ data: Data?, _ url: URL?) throws {
        guard let data, data.count != byteCount else { return }
        throw Realm.Error(
            .invalidInput, "The encryption key has \(data.count) bytes; \(byteCount) are needed.", fileURL: url)
    }
}
