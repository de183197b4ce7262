import FirnTestSupport
import Testing

@testable import FirnCore

/// Lists of three levels, whose inner nodes are merged while older versions of the list are held.
@Suite("A long list that shrinks is unchanged in every held version", .timeLimit(.minutes(20)))
struct LongListTests {
    private static let layout = ElementLayout(type: .link, collection: .list)
    /// Elements of a full leaf of links.
    private static let leaf = (ListTree.leafByteCount - NodeLayout.ElementBlock.headerByteCount) / 8

    private static func make(_ count: Int) -> CollectionHistory<[Int64]> {
        let history = CollectionHistory<[Int64]>(layout, [])
        history.write { editor, model in
            model = Array(0..<Int64(count))
            model.withUnsafeBufferPointer { editor.append(int64s: $0) }
        }
        history.holdCurrent()
        return history
    }

    private static func innerNodeCount(_ history: CollectionHistory<[Int64]>) -> Int {
        var count = 0
        history.withCell(history.current) { $0.forEachNode { if $0.kind == .listInner { count += 1 } } }
        return count
    }

    private static func check(_ history: CollectionHistory<[Int64]>, _ context: String) {
        #expect(history.alive == history.reachable, "\(context)")
        for version in history.versions {
            history.checkTree(version)
            let isRight = history.withCell(version) { cell in
                cell.count == version.model.count
                    && zip(cell.values, version.model).allSatisfy { $0 == .link($1) }
            }
            #expect(isRight, "\(context), version \(version.number)")
        }
    }

    /// Elements of one byte fill a leaf by their number long before they fill its bytes.
    @Test func leavesOfSmallElementsAreNotMergedBeyondTheirCapacity() {
        let most = ListTree.leafElementCount
        let history = CollectionHistory<[Bool]>(ElementLayout(type: .bool, collection: .list), [])
        history.write { editor, model in
            model = (0..<2 * most).map { $0 % 3 == 0 }
            for value in model { editor.append(.bool(value)) }
        }
        history.holdCurrent()
        for _ in 0..<most - 100 {
            history.write(isKept: true) { editor, model in
                editor.remove(at: most)
                model.remove(at: most)
            }
            history.checkTree(history.current)
        }
        #expect(history.alive == history.reachable)
        for version in history.versions {
            #expect(history.withCell(version) { $0.values == version.model.map { .bool($0) } })
        }
    }

    enum Order: CaseIterable, Sendable { case forwards, backwards, mixed }

    /// Removes four of every five leaves, one after the other, so that every inner node falls below a quarter of its
    /// children and is merged with its neighbours.
    @Test(arguments: Order.allCases) func whileItsInnerNodesAreMerged(_ order: Order) {
        let leaves = 250
        let history = Self.make(leaves * Self.leaf)
        #expect(Self.innerNodeCount(history) == 5, "a root above four nodes")
        var going = (0..<leaves).filter { $0 % 5 != 0 }
        switch order {
        case .forwards: break
        case .backwards: going.reverse()
        case .mixed:
            var random = SeededRandom(seed: 31)
            going.shuffle(using: &random)
        }
        for (step, leaf) in going.enumerated() {
            history.write(isKept: step % 7 != 3) { editor, model in
                let first = Int64(leaf * Self.leaf)
                let start = model.firstIndex { $0 >= first }!
                for _ in 0..<Self.leaf { editor.remove(at: start) }
                model.removeSubrange(start..<start + Self.leaf)
            }
            // A change that was rolled back is made again.
            if step % 7 == 3 {
                history.write { editor, model in
                    let start = model.firstIndex { $0 >= Int64(leaf * Self.leaf) }!
                    for _ in 0..<Self.leaf { editor.remove(at: start) }
                    model.removeSubrange(start..<start + Self.leaf)
                }
            }
            if step % 40 == 39 { history.holdCurrent() }
        }
        Self.check(history, "\(order)")
        #expect(Self.innerNodeCount(history) <= 3, "50 leaves fit below two nodes and a root")
        // The list grows again from the middle, while all the other versions are still held.
        history.holdCurrent()
        history.write { editor, model in
            for number in 0..<Int64(5000) {
                let index = model.count / 2
                editor.insert(int64: 1_000_000 + number, at: index)
                model.insert(1_000_000 + number, at: index)
            }
        }
        Self.check(history, "\(order), grown again")
        while history.versions.count > 1 { history.drop(at: 0) }
        Self.check(history, "\(order), at the end")
    }

    /// Inserting into a full inner node splits it, wherever the new leaf is added; older versions still read the
    /// undivided node.
    @Test(arguments: [0, 31, 32, 33, 63]) func whileAnInnerNodeIsSplit(_ child: Int) {
        let history = Self.make(2 * ListTree.fanout * Self.leaf)
        let before = Self.innerNodeCount(history)
        history.write { editor, model in
            // Inserts into a full leaf of the first inner node: the leaf splits, and so does the node, which has all
            // its children.
            let index = child * Self.leaf + 5
            editor.insert(int64: 999_999, at: index)
            model.insert(999_999, at: index)
        }
        #expect(Self.innerNodeCount(history) == before + 1)
        Self.check(history, "\(child)")
    }
}
