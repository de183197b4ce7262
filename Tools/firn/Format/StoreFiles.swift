import FirnCrypto
import FirnStorage

/// The paths of a store's files, and ways to read them.
struct StoreFiles {
    let path: String
    let storage: any Storage
    /// The keys of an encrypted store, once its manifest has been read.
    var keys: StoreKeys?
    /// The actual paths of the files whose headers call for another name, by the paths that they should have.
    private(set) var misnamed: [String: String] = [:]

    private init(path: String, storage: any Storage) {
        self.path = path
        self.storage = storage
    }

    var manifest: String { path + "/manifest" }
    var log: String { path + "/log" }
    var checkpoints: String { path + "/checkpoint" }
    var shared: String { path + "/shared" }
    var lock: String { path + "/lock" }
    var reserve: String { path + "/reserve" }

    static let names: Set<String> = ["manifest", "log", "checkpoint", "shared", "lock", "reserve"]

    func segment(_ number: UInt32) -> String { actual(log + "/" + Self.segmentName(number)) }

    static func segmentName(_ number: UInt32) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 10 - digits.count) + digits + ".segment"
    }

    /// The number in a segment's name; nil for other names.
    static func segmentNumber(of name: String) -> UInt32? {
        guard name.hasSuffix(".segment"), let number = UInt32(name.dropLast(8)), segmentName(number) == name else {
            return nil
        }
        return number
    }

    func checkpoint(_ id: UInt64) -> String { actual(checkpoints + "/" + Self.checkpointName(id)) }

    private func actual(_ path: String) -> String { misnamed[path] ?? path }

    static func checkpointName(_ id: UInt64) -> String {
        let digits = String(id)
        return String(repeating: "0", count: max(0, 10 - digits.count)) + digits + ".checkpoint"
    }

    /// The id in the name of a checkpoint's file; nil for other names.
    static func checkpointID(of name: String) -> UInt64? {
        guard name.hasSuffix(".checkpoint"), let id = UInt64(name.dropLast(11)), checkpointName(id) == name else {
            return nil
        }
        return id
    }

    /// Opens a file for reading; nil if it does not exist.
    func openIfPresent(_ path: String) throws(ToolError) -> (any StorageFile)? {
        do throws(StorageError) {
            return try storage.open(path, .read)
        } catch {
            if error.code == .notFound { return nil }
            throw ToolError(error)
        }
    }

    /// A checkpoint's file as it reads without encryption.
    ///
    /// - Parameter textByteCount: the bytes of its header and nodes, if its footer is not to be used.
    /// - Throws: a `Finding` if the store is encrypted and the file is damaged, or not encrypted with its key.
    func decrypted(_ file: any StorageFile, textByteCount: Int? = nil) throws -> any StorageFile {
        guard let keys else { return file }
        let decrypted: DecryptedFile?
        do throws(StorageError) { decrypted = try DecryptedFile(file, keys, textByteCount: textByteCount) } catch {
            throw ToolError(error)
        }
        guard let decrypted else {
            throw Finding(
                kind: .damage, file: file.path, offset: nil,
                text: "its salt or its footer is damaged, or was not written by somebody with the store's key")
        }
        return decrypted
    }

    /// Throws if the path is not a store's. The error says what to do.
    func checkIsStore() throws(ToolError) {
        guard let status = try stored(storage.status(path)) else {
            throw ToolError(.input, "\(path) does not exist. Give the folder of a store.")
        }
        guard status.kind == .folder else {
            throw ToolError(
                .input, "\(path) is not a Firn store: it is a file, and a store is a folder. Give the folder.")
        }
        let names = try stored(storage.list(path))
        if names.contains("manifest") || names.contains("log") || names.contains("checkpoint") { return }
        throw ToolError(
            .input, "\(path) is not a Firn store: the folder \(names.isEmpty ? "is empty" : "holds other things").")
    }

    /// The complete contents of a file that has at most `limit` bytes.
    func contents(of path: String, limit: Int) throws(ToolError) -> [UInt8] {
        let file = try stored(storage.open(path, .read))
        defer { file.close() }
        let size = try stored(file.size())
        guard size <= limit else {
            throw ToolError(
                Finding(
                    kind: .damage, file: path, offset: nil,
                    text: "it is \(size) bytes long, but at most \(limit) are possible"))
        }
        return try stored(file.read(size, at: 0))
    }
}

// MARK: Lists

extension StoreFiles {
    /// The numbers of the segments that there are, in order.
    func segmentNumbers() throws(ToolError) -> [UInt32] { try list(log).compactMap(Self.segmentNumber).sorted() }

    /// The numbers of the checkpoints' files that there are, in order.
    func checkpointIDs() throws(ToolError) -> [UInt64] { try list(checkpoints).compactMap(Self.checkpointID).sorted() }

    /// The right names of the files in a folder; none if there is no folder.
    private func list(_ folder: String) throws(ToolError) -> Set<String> {
        let names = try stored(storage.status(folder)?.kind == .folder ? storage.list(folder) : [])
        return Set(names).union(
            misnamed.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.utf8.count + 1)) })
    }

    /// Removes a store that was not finished, as far as that is possible.
    func removeAll() {
        let folders = [log, checkpoints, path]
        for folder in folders {
            for name in (try? storage.list(folder)) ?? []
            where (try? storage.status(folder + "/" + name))??.kind == .file {
                try? storage.remove(folder + "/" + name)
            }
        }
        for folder in folders { try? storage.remove(folder) }
    }

    /// The bytes of the store's data: the log, the checkpoints and the manifest.
    func byteCount() throws(ToolError) -> Int {
        var total = 0
        for folder in [log, checkpoints] {
            for name in try list(folder) {
                total += try stored(storage.status(folder + "/" + name)?.byteCount ?? 0)
            }
        }
        return try total + stored(storage.status(manifest)?.byteCount ?? 0)
    }

    /// Finds segments and files of checkpoints by their headers, if their names are wrong.
    mutating func findMisnamed() throws(ToolError) {
        var found: [String: String] = [:]
        for (folder, read) in [(log, Self.segmentName(in:)), (checkpoints, Self.checkpointName(in:))] {
            var names: [String: String] = [:]
            for name in try list(folder).sorted() {
                // What can't be read, or has no header, keeps its name.
                guard let file = try? openIfPresent(folder + "/" + name) else { continue }
                defer { file.close() }
                guard let bytes = try? OpenedStore.bytes(of: file, at: 0, count: 64) else { continue }
                names[name] = bytes.withUnsafeBytes(read)
            }
            for (name, right) in names.sorted(by: { $0.key < $1.key }) where name != right && names[right] != right {
                found[folder + "/" + right] = folder + "/" + name
            }
        }
        misnamed = found
    }

    private static func segmentName(in bytes: UnsafeRawBufferPointer) -> String? {
        (try? SegmentHeader.read(bytes)).map { segmentName($0.segment) }
    }

    private static func checkpointName(in bytes: UnsafeRawBufferPointer) -> String? {
        (try? CheckpointHeader.read(bytes)).map { checkpointName($0.id) }
    }
}

extension StoreFiles {
    /// The files of the store that the user names, with or without a slash at the end.
    init(named path: String, storage: any Storage) {
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.init(path: path, storage: storage)
    }

    /// The folder that the store's folder lies in.
    var parent: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
