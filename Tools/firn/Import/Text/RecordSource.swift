import FirnStorage

/// The bytes of an import: a file, or the process's input. They are read through a window, so memory stays the same
/// however long the source is. A record may have up to `recordByteCount` bytes.
final class RecordSource {
    /// The state of the search for a record's end behind the record's first `count` bytes.
    struct Seen {
        var count = 0
        /// How many line feeds are among these `count` bytes.
        var lines = 0
        /// Whether these `count` bytes end within quotes.
        var isQuoted = false
        /// How many brackets are open at the end of these `count` bytes.
        var depth = 0
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
    /// The number of records read. A record that is read again counts again.
    private var recordCount = 0
    /// The line of `start`, from 1 on, and the number of bytes before `start` in that line.
    private(set) var line = 1
    private var column = 0
    /// The byte behind the record that was found last; nil at the end of the source.
    private(set) var terminator: UInt8?
    /// Whether the window keeps all of the process's input, so that it can be read again. A file needs no such memory.
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
        let file: any StorageFile
        do throws(StorageError) {
            file = try storage.open(Terminal.followed(path), .read)
        } catch {
            let isInput = try stored(storage.status(path)?.kind) == .other
            throw ToolError(.input, "\(error)\(isInput ? " Give - to read the process's input." : "")")
        }
        let size = try stored(file.size())
        (name, self.file, byteCount) = (path, file, size)
    }

    /// The number of the source's bytes before `start`.
    var done: Int { loaded - (window.count - start) }

    /// Must be called after each record. Shows the progress from time to time, and throws if a signal has arrived.
    func didRead(_ output: Output) throws {
        recordCount += 1
        guard recordCount & 0xFF == 0 else { return }
        try Interrupts.check()
        if let byteCount { output.progress("reading", done, of: byteCount) }
    }

    /// Makes it possible to read the following records again after `rewind`.
    func keep() { isKept = true }

    /// Begins from the start again.
    func rewind() {
        isKept = false
        start = 0
        line = 1
        column = 0
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
            let offset = loaded
            read = try stored(
                window.withUnsafeMutableBufferPointer { (window) throws(StorageError) in
                    let free = UnsafeMutableBufferPointer(rebasing: window[count...])
                    return try file.read(into: UnsafeMutableRawBufferPointer(free), at: offset)
                })
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
    /// - Parameter end: finds the end of the record that begins at the first byte. It returns the offset of the byte
    ///   behind the record, such as a line feed, which belongs to no record. It returns nil if the record does not end
    ///   in these bytes.
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
                terminator = range.upperBound < window.count ? window[range.upperBound] : nil
                start = min(range.upperBound + 1, window.count)
                try window.withUnsafeBytes { bytes in
                    let record = UnsafeRawBufferPointer(rebasing: bytes[range])
                    try body(record, line)
                    goBehind(record, lines: seen.lines)
                }
                return true
            }
            if isAtEnd {
                return false
            }
            if isKept, file == nil, window.count >= Self.sampleByteCount { return false }
            _ = try load()
        }
    }

    private func goBehind(_ record: UnsafeRawBufferPointer, lines: Int) {
        if lines > 0, let last = record.lastIndex(of: 0x0A) {
            column = record.count - last - 1
        } else {
            column += record.count
        }
        line += lines
        if terminator == 0x0A {
            line += 1
            column = 0
        } else {
            column += 1
        }
    }

    /// The line and column at which the source ends.
    var end: String { "\(line):\(column + 1)" }

    /// The line and column of a byte in the record that is being read: `12:3`.
    func place(_ offset: Int, in record: UnsafeRawBufferPointer) -> String {
        let before = record[..<min(offset, record.count)]
        let lines = before.count { $0 == 0x0A }
        let column = before.lastIndex(of: 0x0A).map { before.count - $0 - 1 } ?? column + before.count
        return "\(line + lines):\(column + 1)"
    }
}
