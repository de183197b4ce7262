import FirnStorage

/// The lines that were typed in `firn shell`, in a file that only its owner can read.
///
/// Several shells may run at once: each adds its lines to what the file has then.
struct ShellHistory {
    private(set) var lines: [String]
    private let path: String?
    private let storage: any Storage

    static let lineCountMax = 1_000
    /// A file that is longer is none of this shell's.
    private static let byteCountMax = 4 << 20

    /// - Parameter path: nil to keep no history.
    init(path: String?, storage: any Storage) {
        self.path = path
        self.storage = storage
        lines = path.map { Self.read($0, storage) } ?? []
    }

    /// The history's file: in the folder that XDG's base directories name for the state of programs, or at home.
    static func path(_ environment: (String) -> String?) -> String? {
        if let folder = environment("XDG_STATE_HOME"), folder.hasPrefix("/") { return folder + "/firn_history" }
        return environment("HOME").flatMap { $0.hasPrefix("/") ? $0 + "/.firn_history" : nil }
    }

    /// A history that can't be read is as good as none.
    private static func read(_ path: String, _ storage: any Storage) -> [String] {
        do {
            guard try storage.status(path) != nil else { return [] }
            let file = try storage.open(path, .read)
            defer { file.close() }
            let count = try file.size()
            guard count <= byteCountMax else { return [] }
            var bytes = [UInt8](repeating: 0, count: count)
            let read = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            return bytes[..<read].split(separator: 0x0A).suffix(lineCountMax).map {
                String(decoding: $0, as: UTF8.self)
            }
        } catch {
            return []
        }
    }

    /// Adds a line, unless it is the one before or begins with a space, and writes the file.
    mutating func add(_ line: String) throws {
        guard !line.trimmed.isEmpty, line.first != " ", line != lines.last else { return }
        lines.append(line)
        guard let path else { return }
        // Other shells may have added lines.
        var known = Self.read(path, storage)
        known.append(line)
        let text = known.suffix(Self.lineCountMax).joined(separator: "\n") + "\n"
        let new = path + ".new"
        if try storage.status(new) != nil { try storage.remove(new) }
        let file = try storage.open(new, .create, permissions: .ownerOnly)
        do {
            let bytes = Array(text.utf8)
            try bytes.withUnsafeBytes { try file.write($0, at: 0) }
            file.close()
            try storage.rename(new, to: path)
        } catch {
            file.close()
            throw error
        }
    }
}
