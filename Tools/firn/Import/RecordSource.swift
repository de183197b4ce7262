import FirnStorage

/// The bytes of an import: a file, or the process's input. They are read through a window, so that memory stays the
/// same however long they are; a record may have up to `recordByteCount`.
final class RecordSource {
    /// How far the search for a record's end has come.
    struct Seen {
        var count = 0
        /// How many line feeds are among these bytes.
        var lines = 0
        /// Whether these bytes end within quotes.
        var isQuoted = false
    }

    /// The name for messages.
    let name: String
    /// How many bytes there are; nil if that is not known.
    let byteCount: Int?
    private let file: (any StorageFile)?
    private var window: [UInt8] = []
    /// The first byte of the window that belongs to no record yet.
    private var start = 0
    /// How many bytes of the source have been read into the window.
    private var loaded = 0
    private var isAtEnd = false
    /// Lines before `start`.
    private(set) var line = 1
    /// Whether the window keeps everything, so that the source can be read again.
    private var isKept = false

    static let recordByteCount = 256 << 20
    private static let pieceByteCount = 1 << 20
    /// How much of the process's input is looked at to infer types.
    static let sampleByteCount = 16 << 20

    init(_ path: String, storage: any Storage) throws(ToolError) {
        guard path != "-" else {
            (name, file, byteCount) = ("the input", nil, nil)
            return
        }
        let file = try stored { () throws(StorageError) in try storage.open(path, .read) }
        let size = try stored { () throws(StorageError) in try file.size() }
        (name, self.file, byteCount) = (path, file, size)
    }

    /// Lines that have been read, and bytes.
    var done: Int { loaded - (window.count - start) }

    /// Whether only a sample of the source may be read before it is read again.
    var isSampled: Bool { file == nil }

    /// From now on until `rewind`, what is read will be read again.
    func keep() { isKept = true }

    /// Begins from the start again.
    func rewind() {
        isKept = false
        start = 0
        line = 1
        guard file != nil else { return }
        window.removeAll(keepingCapacity: true)
        loaded = 0
        isAtEnd = false
    }

    /// Reads more into the window. Returns false at the end of the source.
    private func load() throws -> Bool {
        if isAtEnd { return false }
        try Interrupts.check()
        if !isKept || file != nil, start > 0 {
            window.removeFirst(start)
            start = 0
        }
        guard window.count - start < Self.recordByteCount else {
            throw ToolError(
                .usage, "\(name):\(line): the record that begins here has more than \(Self.recordByteCount >> 20) MB.")
        }
        let count = window.count
        window.append(contentsOf: repeatElement(0, count: Self.pieceByteCount))
        let read: Int
        if let file {
            do {
                let offset = loaded
                read = try window.withUnsafeMutableBytes {
                    try file.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]), at: offset)
                }
            } catch {
                throw ToolError(error as! StorageError)
            }
        } else {
            read = try window.withUnsafeMutableBytes {
                try Terminal.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]))
            }
        }
        window.removeLast(Self.pieceByteCount - read)
        loaded += read
        isAtEnd = read == 0
        return read > 0
    }

    /// Calls `body` with the next record. Returns false at the end of the source.
    ///
    /// - Parameter end: finds where a record ends that begins at the first byte: the offset behind it, without the line
    ///   feed; nil if it does not end in these bytes.
    func next(
        end: (UnsafeRawBufferPointer, _ isLast: Bool, _ seen: inout Seen) -> Int?,
        _ body: (_ record: UnsafeRawBufferPointer, _ line: Int) throws -> Void
    ) throws -> Bool {
        var seen = Seen()
        while true {
            let found = window.withUnsafeBytes { end(UnsafeRawBufferPointer(rebasing: $0[start...]), isAtEnd, &seen) }
            if let found {
                let first = start
                let range = first..<first + found
                // The line feed belongs to the record, but not to its text.
                start = min(range.upperBound + 1, window.count)
                let begin = line
                line += seen.lines + (start > range.upperBound ? 1 : 0)
                try window.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range]), begin) }
                return true
            }
            if isAtEnd {
                return false
            }
            if isKept, file == nil, window.count >= Self.sampleByteCount { return false }
            _ = try load()
        }
    }
}
