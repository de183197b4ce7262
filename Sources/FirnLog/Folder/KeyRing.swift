import FirnBytes
import FirnCrypto
import FirnStorage

/// The keys with which an opener reads and writes an encrypted store. The store's keys are there once the user's key
/// has been proved right.
///
/// Reading the manifest proves the key, and every opener reads the manifest before anything else. So nothing of a store
/// is recovered, cut or written with a wrong key.
final class KeyRing: Sendable {
    private let key: EncryptionKey
    /// The algorithm of a new store.
    private let algorithm: EncryptionAlgorithm?
    private let randomness: any Randomness
    /// The wrapped keys that the user's key has unwrapped.
    private let proven = Guarded(.innermost, [Proven]())

    /// The sealed segments whose ends have been checked: see `SegmentReader.checkEnd`. They are few, and looking one up
    /// costs less than reading a part of it.
    private let checkedEnds = Guarded(.innermost, [Manifest.Segment]())

    private struct Proven {
        let storeID: StoreID
        let wrapped: WrappedKey
        let keys: StoreKeys
    }

    init(
        _ key: EncryptionKey, _ algorithm: EncryptionAlgorithm? = .preferred, randomness: any Randomness
    ) {
        self.key = key
        self.algorithm = algorithm
        self.randomness = randomness
    }

    /// Makes the keys of a new store, and returns what its manifest says of them.
    func make(for storeID: StoreID, path: String) throws(LogError) -> WrappedKey {
        guard let algorithm else { throw LogError(.key(.unavailable), path: path) }
        let dataKey = SecretBytes(count: 32) { randomness.fill($0) }
        let keys = StoreKeys(algorithm: algorithm, dataKey: dataKey)
        let wrapped = keys.wrap(for: key, salt: randomness.bytes(WrappedKey.saltByteCount))
        adopt(keys, wrapped, of: storeID)
        return wrapped
    }

    /// Remembers that `wrapped` holds a store's keys.
    func adopt(_ keys: StoreKeys, _ wrapped: WrappedKey, of storeID: StoreID) {
        proven.withLock { $0.append(Proven(storeID: storeID, wrapped: wrapped, keys: keys)) }
    }

    /// The keys of the store with this manifest.
    ///
    /// - Throws: `.key(.wrong)`, or `.key(.unavailable)` if this build can't read the store.
    func keys(_ manifest: Manifest, _ wrapped: WrappedKey, path: String) throws(LogError) -> StoreKeys {
        // Another process may have changed the store's key since this one read the manifest.
        let known = proven.withLock { $0.first { $0.storeID == manifest.storeID && $0.wrapped == wrapped } }
        if let known { return known.keys }
        guard wrapped.algorithm.isAvailable else { throw LogError(.key(.unavailable), path: path) }
        guard let keys = StoreKeys(wrapped, key: key) else { throw LogError(.key(.wrong), path: path) }
        adopt(keys, wrapped, of: manifest.storeID)
        return keys
    }

    /// The cipher of a file with this salt and header; nil if the file belongs to another store.
    func cipher(_ salt: FileSalt, header: UnsafeRawBufferPointer, of storeID: StoreID) -> SealingCipher? {
        guard let keys = proven.withLock({ $0.last { $0.storeID == storeID }?.keys }) else { return nil }
        return SealingCipher(
            cipher: keys.cipher(salt: salt.bytes, header: header), nonces: NoncePool(randomness, for: keys.algorithm))
    }

    func makeSalt() -> FileSalt { FileSalt(randomness) }

    func hasCheckedEnd(of segment: Manifest.Segment) -> Bool { checkedEnds.withLock { $0.contains(segment) } }

    func setEndChecked(of segment: Manifest.Segment) {
        checkedEnds.withLock { checked in
            // A segment of this number is not read any more if its entry was another one.
            checked.removeAll { $0.segment == segment.segment }
            checked.append(segment)
        }
    }
}

extension StoreFolder {
    /// Whether the store is encrypted, or is to be.
    var isEncrypted: Bool { keyRing != nil }

    /// Whether the end of a segment is still to be checked before a part of it is read: see `SegmentReader.checkEnd`.
    func needsEndCheck(of segment: Manifest.Segment) -> Bool {
        guard segment.isSealed, let keyRing else { return false }
        return !keyRing.hasCheckedEnd(of: segment)
    }

    /// The keys with which a manifest is authenticated; nil if the store is not encrypted.
    ///
    /// - Throws: `.key`, if the store needs a key and there is none, or another one, or has no encryption and there is
    ///   a key.
    func keys(_ manifest: Manifest) throws(LogError) -> StoreKeys? {
        switch (manifest.encryption, keyRing) {
        case (nil, nil): return nil
        case (nil, _?): throw LogError(.key(.notEncrypted), path: path)
        case (_?, nil): throw LogError(.key(.missing), path: path)
        case (let wrapped?, let ring?): return try ring.keys(manifest, wrapped, path: path)
        }
    }

    /// Makes the keys of a new store, if it is to be encrypted, and returns what its manifest says of them.
    func makeKeys(for storeID: StoreID) throws(LogError) -> WrappedKey? {
        try keyRing?.make(for: storeID, path: path)
    }

    /// A salt for a new file; nil if the store is not encrypted.
    func makeSalt() -> FileSalt? { keyRing?.makeSalt() }

    /// The cipher of a segment; nil if the store is not encrypted.
    func cipher(_ header: SegmentHeader) -> SealingCipher? {
        header.salt.flatMap { salt in
            var bytes = ByteWriter(capacity: SegmentHeader.mostByteCount)
            header.encode(into: &bytes)
            return keyRing?.cipher(salt, header: bytes.bytes, of: header.storeID)
        }
    }

    /// The cipher of the open segment that a manifest lists, whose file this is; nil if the store is not encrypted.
    func cipher(of file: any StorageFile, _ manifest: Manifest) throws(LogError) -> SealingCipher? {
        guard isEncrypted else { return nil }
        let found = try stored(file.read(SegmentHeader.mostByteCount, at: 0)).withUnsafeBytes(SegmentHeader.decode)
        guard let header = found?.header, header.storeID == manifest.storeID,
            manifest.openSegment.beginsWith(header), let cipher = cipher(header)
        else { throw LogError(.damage, path: file.path, offset: 0, detail: "the segment's header is damaged") }
        return cipher
    }

    /// The cipher of a checkpoint file; nil if the store is not encrypted.
    func cipher(_ header: CheckpointHeader) -> SealingCipher? {
        header.salt.flatMap { salt in
            header.encode().withUnsafeBytes { keyRing?.cipher(salt, header: $0, of: header.storeID) }
        }
    }
}
