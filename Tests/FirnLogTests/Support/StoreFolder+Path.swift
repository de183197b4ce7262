import FirnStorage
import Testing

@testable import FirnLog

extension StoreFolder {
    /// The folder at a path, as an opener finds it.
    init(path: String, storage: any Storage) throws {
        self = try #require(try StoreLocation(path: path, storage: storage).open(), "there is no folder at \(path)")
    }
}
