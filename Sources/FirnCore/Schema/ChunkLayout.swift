/// The layout of a column's values in its chunks.
public struct ChunkLayout: Equatable, Sendable {
    package var form: ChunkForm
    /// Bytes per value; `slotByteCount` for variable values.
    package var width: Int
    /// The initial value of a new row's cell. It is not part of the chunk.
    package var blank: Blank

    package enum Blank: Sendable {
        /// 0, false, the empty string or collection.
        case zero
        case null
        /// The link to nothing, -1.
        case noLink
    }

    package init(form: ChunkForm, width: Int, blank: Blank = .zero) {
        self.form = form
        self.width = width
        self.blank = blank
    }

    /// The layout of values of any length.
    static func variable(blank: Blank = .zero) -> ChunkLayout {
        ChunkLayout(form: .variable, width: slotByteCount, blank: blank)
    }

    /// The number of bytes of a slot, which says where in the chunk's heap a variable value lies.
    @inlinable public static var slotByteCount: Int { @inline(__always) get { 4 } }

    /// Whether a chunk of this layout can serve a column of the other layout.
    func fits(_ other: ChunkLayout) -> Bool { form == other.form && width == other.width }
}

/// How the cells of a chunk on the heap are arranged.
package enum ChunkForm: UInt8, Sendable {
    /// `width` bytes per row.
    case fixed = 0
    /// A slot of four bytes per row, and after the slots a heap that holds the values.
    case variable = 1
    /// `width` bytes per row, and after them a null flag of one byte per row.
    case nullable = 2
}
