import FirnStorage

/// The lines that were typed in `firn shell`, in a file that only its owner can read.
///
/// Several shells may run at once: each adds its lines to what the file has then. If two shells add a line in the same
/// instant, one of the lines may be lost.
struct ShellHistory {
    private(set) var lines: [String] = []
    /// The history's file; nil if no history is kept.
    private let path: String?
    private let storage: any Storage

    static let lineCountMax = 1_000
    /// A longer line is not kept.
    static let lineByteCountMax = 4_000
    /// A longer file was not written by a shell.
    private static let byteCountMax = 8 << 20

    /// - Parameter path: nil to keep no history. A file that can't be read, or was not written by a shell, is left
    ///   alone.
    init(path: String?, storage: any Storage) {
        self.storage = storage
        guard let path, let known = try? Self.read(path, storage) else {
            self.path = nil
            return
        }
        self.path = path
        lines = known
    }

    /// The history's file: `firn_history` in the folder that `XDG_STATE_HOME` names, or `.firn_history` in the home
    /// folder.
    static func path(_ environment: (String) -> String?) -> String? {
        if let folder = environment("XDG_STATE_HOME"), folder.hasPrefix("/") { return folder + "/firn_history" }
        return environment("HOME").flatMap { $0.hasPrefix("/") ? $0 + "/.firn_history" : nil }
    }

    /// The lines of the file, and none if there is no file. Throws if the file can't be read. Returns nil if it is no
    /// history.
    private static func read(_ path: String, _ storage: any Storage) throws -> [String]? {
        guard let status = try storage.status(path) else { return [] }
        guard status.kind == .file, status.byteCount <= byteCountMax else { return nil }
        let file = try storage.open(path, .read)
        defer { file.close() }
        var bytes = [UInt8](repeating: 0, count: status.byteCount)
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        let text = bytes[..<count]
        guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else { return nil }
        return text.split(separator: 0x0A).suffix(lineCountMax).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Adds a line and writes the file, unless the line repeats the one before it, begins with a space or is very long.
    mutating func add(_ line: String) throws {
        guard !line.trimmed.isEmpty, line.first != " ", line != lines.last, line.utf8.count <= Self.lineByteCountMax
        else { return }
        lines.append(line)
        // Other shells may have added lines.
        guard let path, var known = try Self.read(path, storage) else { return }
        known.append(line)
        let text = Array((known.suffix(Self.lineCountMax).joined(separator: "\n") + "\n").utf8)
        let folder = splitPath(path).folder
        if try storage.status(folder) == nil { try storage.createFolder(folder, permissions: .ownerOnly) }
        let new = PartialName.next(for: path)
        let file = try storage.open(new, .create, permissions: .ownerOnly)
        do {
            defer { file.close() }
            try text.withUnsafeBytes { try file.write($0, at: 0) }
            try storage.rename(new, to: path)
        } catch {
            // The first error is the one that counts.
            try? storage.remove(new)
            throw error
        }
    }
}
