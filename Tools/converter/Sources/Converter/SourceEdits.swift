/// Changes to one source file, by the offsets of its UTF-8 bytes. What is not changed stays as it is, byte by byte.
struct SourceEdits {
    private struct Edit {
        let range: Range<Int>
        let text: String
    }
    private var edits: [Edit] = []

    var isEmpty: Bool { edits.isEmpty }

    /// Replaces the bytes of a range. Ranges must not overlap, except that insertions at one offset follow each other,
    /// and that what lies within a larger range goes with it.
    mutating func replace(_ range: Range<Int>, with text: String) { edits.append(Edit(range: range, text: text)) }

    mutating func insert(_ text: String, at offset: Int) { replace(offset..<offset, with: text) }

    mutating func remove(_ range: Range<Int>) { replace(range, with: "") }

    /// Whether a change replaces or removes a whole range.
    func cover(_ range: Range<Int>) -> Bool {
        edits.contains { $0.range.lowerBound <= range.lowerBound && range.upperBound <= $0.range.upperBound }
    }

    /// The source with all changes.
    func applied(to source: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var end = 0
        // Insertions at one offset stay in the order in which they were made, before what replaces text from there.
        for (_, edit) in edits.enumerated().sorted(by: { Self.key($0) < Self.key($1) }) {
            if edit.range.lowerBound < end, edit.range.upperBound <= end { continue }
            precondition(edit.range.lowerBound >= end, "two changes of a file overlap")
            result += source[end..<edit.range.lowerBound]
            result += Array(edit.text.utf8)
            end = edit.range.upperBound
        }
        return result + source[end...]
    }

    private static func key(_ item: (offset: Int, element: Edit)) -> (Int, Int, Int, Int) {
        let range = item.element.range
        return (range.lowerBound, range.isEmpty ? 0 : 1, -range.upperBound, item.offset)
    }
}
