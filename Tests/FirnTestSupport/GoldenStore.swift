import FirnStorage

/// A store that an earlier release wrote and that is kept with the tests.
public enum GoldenStore {
    /// A copy in memory, in the folder `/g`, which a test may open and change.
    public static func copy(of folder: String, files: [String]) throws -> MemoryStorage {
        let storage = MemoryStorage()
        try storage.createFolder("/g")
        for name in Set(files.compactMap { $0.contains("/") ? $0.prefix { $0 != "/" } : nil }) {
            try storage.createFolder("/g/" + name)
        }
        for name in files {
            let from = try PosixStorage.shared.open(folder + "/" + name, .read)
            var bytes = [UInt8](repeating: 0, count: try from.size())
            _ = try bytes.withUnsafeMutableBytes { try from.read(into: $0, at: 0) }
            let to = try storage.open("/g/" + name, .create)
            try bytes.withUnsafeBytes { try to.write($0, at: 0) }
        }
        return storage
    }
}
