import FirnStorage
import ForgedStores

@testable import FirnCore

/// The files of a closed store, by path. A test forges or damages them and opens the store again.
struct StoreFiles {
    var files: [String: [UInt8]] = [:]
    private static let folders = ["", "/log", "/checkpoint"].map { BaseStore.folder + $0 }

    /// A compacted store with the base store's schema and what `fill` adds.
    static func made(_ fill: (WriteTransaction) throws -> Void) throws -> StoreFiles {
        let storage = MemoryStorage()
        let store = try Store(BaseStore.options(), storage: storage, clock: ManualClock())
        func commit(_ body: (WriteTransaction) throws -> Void) throws {
            let transaction = try store.beginWrite()
            try body(transaction)
            _ = try transaction.commit()
        }
        try commit { try $0.changeSchema(to: BaseStore.schema) }
        try commit(fill)
        _ = try store.compact()
        try store.close()
        return try StoreFiles(storage)
    }

    /// The files of a store that nobody has open.
    init(_ storage: MemoryStorage) throws {
        for folder in Self.folders {
            for name in try storage.list(folder) where name != "lock" {
                let path = folder + "/" + name
                if try storage.status(path)?.kind == .file { files[path] = try storage.bytes(path) }
            }
        }
    }

    var checkpointPath: String { files.keys.filter { $0.hasSuffix(".checkpoint") }.max() ?? "" }

    /// Changes the checkpoint's bytes and corrects its checksums.
    mutating func forge(_ body: (inout [UInt8]) throws -> Void) rethrows {
        let (path, manifestPath) = (checkpointPath, BaseStore.folder + "/manifest")
        guard var bytes = files[path], var manifest = files[manifestPath] else {
            preconditionFailure("a store without a checkpoint")
        }
        try body(&bytes)
        Forging.sealCheckpoint(&bytes, in: &manifest)
        files[path] = bytes
        files[manifestPath] = manifest
    }

    /// Changes the checkpoint's bytes and nothing else.
    mutating func damage(_ body: (inout [UInt8]) -> Void) { body(&files[checkpointPath]!) }

    func storage() throws -> MemoryStorage {
        let storage = MemoryStorage()
        for folder in Self.folders { try storage.createFolder(folder) }
        for (path, bytes) in files {
            let file = try storage.open(path, .create)
            try bytes.withUnsafeBytes { try file.write($0, at: 0) }
            file.close()
        }
        return storage
    }

    func open(verifying everything: Bool = false, on storage: (any Storage)? = nil) throws -> Store {
        var options = BaseStore.options()
        options.log?.verify = everything ? .everything : .directory
        return try Store(options, storage: storage ?? self.storage(), clock: ManualClock())
    }

    // MARK: Nodes

    static func nodes(_ bytes: [UInt8], _ kind: Node.Kind) -> [Range<Int>] {
        Forging.nodes(of: bytes).filter { bytes[$0.lowerBound + 16] & 0x3F == kind.rawValue }
    }

    /// The offset of the node that the reference at `offset` leads to.
    static func target(_ bytes: [UInt8], _ offset: Int) -> Int {
        Int(Forging.get(bytes, offset: offset, UInt64.self)) - 1
    }
}
