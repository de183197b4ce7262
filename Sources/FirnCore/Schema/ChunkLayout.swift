/// The layout of a column's values in its chunks.
public struct ChunkLayout: Equatable, Sendable {
    public var form: ChunkForm
    /// Bytes per value; 4 (a slot) for variable values.
    public var width: Int
    /// The initial value of a new row's cell. It is not part of the chunk.
    public var blank: Blank

    public enum Blank: Sendable {
        /// 0, false, the empty string or collection.
        case zero
        case null
        /// The link to nothing, -1.
        case noLink
    }

    public init(form: ChunkForm, width: Int, blank: Blank = .zero) {
        self.form = form
        self.width = width
        self.blank = blank
    }

    /// Whether a chunk of this layout can serve a column of the other layout.
    func fits(_ other: ChunkLayout) -> Bool { form == other.form && width == other.width }

    /// The bytes of a chunk with room for `capacity` rows, and for `heap` bytes of variable values.
    func byteCount(capacity: Int, heap: Int) -> Int {
        switch form {
        case .fixed: 64 + width * capacity
        case .nullable: 64 + (width + 1) * capacity
        case .variable: 64 + 4 * capacity + heap
        }
    }
}

/// How the cells of a chunk on the heap are arranged.
public enum ChunkForm: UInt8, Sendable {
    /// `width` bytes per row.
    case fixed = 0
    /// A slot of four bytes per row, and after the slots a heap that holds the values.
    case variable = 1
    /// `width` bytes per row, and after them a null flag of one byte per row.
    case nullable = 2
}
