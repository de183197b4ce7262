import FirnCrypto
import FirnStorage
import Testing

@testable import FirnLog

extension StoreFolder {
    /// The folder at a path, as an opener finds it that has the key with which all tests run, if there is one.
    init(path: String, storage: any Storage) throws {
        var location = StoreLocation(path: path, storage: storage)
        location.keyRing = EncryptionKey.ofTests.map { KeyRing($0, randomness: SystemRandomness.shared) }
        self = try #require(try location.open(), "there is no folder at \(path)")
    }
}
