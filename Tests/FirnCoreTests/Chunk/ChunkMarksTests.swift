import FirnTestSupport
import Testing

@testable import FirnCore

@Suite(.timeLimit(.minutes(20))) struct ChunkMarksTests {
    /// Marks stay with their rows when other rows are removed, and are found by range.
    @Test func marksMoveWithTheirRows() {
        let writer = NodeWriter(stamp: 1)
        let chunk = Chunk.make(ChunkLayout(form: .fixed, width: 8), capacity: 256, writer)
        defer {
            writer.retire(chunk.node)
            writer.dispose().deallocate()
        }
        var random = SeededRandom(seed: 6)
        var marks = (0..<256).map { _ in random.below(3) == 0 }
        for (row, isMarked) in marks.enumerated() where isMarked { chunk.mark(row) }
        for row in [0, 255, 63, 64, 127, 128, 1, 191, 192] {
            if random.below(2) == 0 { marks[row] = true; chunk.mark(row) }
        }
        func found(in rows: Range<Int>) -> [Int] {
            var found: [Int] = []
            chunk.forEachMark(in: rows) { found.append($0) }
            return found
        }
        while !marks.isEmpty {
            let range = random.below(marks.count + 1)
            let start = random.below(range + 1)
            #expect(found(in: start..<range) == (start..<range).filter { marks[$0] })
            let row = [0, marks.count - 1, random.below(marks.count)][random.below(3)]
            chunk.removeRow(row, of: marks.count)
            marks.remove(at: row)
            #expect(found(in: marks.indices) == marks.indices.filter { marks[$0] })
        }
        #expect(!chunk.hasMarks)
    }
}
