import Testing

import FirnTestSupport

@testable import FirnCore

@Suite("A list behaves like an array whose old versions are kept", .timeLimit(.minutes(20)))
struct ListModelTests {
    static let layouts: [ElementLayout] = ColumnType.allCases.flatMap { type in
        [
            ElementLayout(type: type, collection: .list),
            ElementLayout(type: type, collection: .list, isNullable: true),
        ]
    }

    /// Whether elements of the layout may be null in a test.
    static func nulls(_ layout: ElementLayout) -> Bool { layout.form == .nullable || layout.form == .variable }

    @Test("random edits agree with an array at every pinned version, and no node is lost", arguments: layouts)
    func randomEdits(_ layout: ElementLayout) throws {
        let seed = UInt64(layout.type.rawValue) * 2 + (layout.form == .nullable ? 1 : 0)
        var random = SeededRandom(seed: seed)
        let history = CollectionHistory<[Value]>(layout, [])
        var wasTree = false
        var wasInlineAgain = false
        for step in 0..<250 {
            // Phases of growth and of shrinking, so that every size is passed through in both directions.
            let grows = (step / 50) % 2 == 0
            let edits = Int.random(in: 0...(layout.width == 1 ? 250 : 40), using: &random)
            history.write(isKept: step % 17 != 5) { editor, model in
                for _ in 0..<edits {
                    Self.edit(&editor, model: &model, layout: layout, grows: grows, random: &random)
                }
                #expect(editor.count == model.count)
            }
            if case .tree = history.current.stored { wasTree = true } else if wasTree { wasInlineAgain = true }
            if step % 7 == 0 { history.holdCurrent() }
            if history.versions.count > 6 {
                history.drop(at: Int.random(in: 0..<history.versions.count - 1, using: &random))
            }
            history.checkTree(history.current)
            #expect(
                history.withCell(history.current) { $0.values } == history.current.model, "seed \(seed) step \(step)")
            if step % 10 == 0 {
                #expect(history.alive == history.reachable, "seed \(seed) step \(step)")
                for version in history.versions {
                    history.checkTree(version)
                    #expect(
                        history.withCell(version) { $0.values } == version.model,
                        "seed \(seed) step \(step) version \(version.number)")
                }
            }
        }
        #expect(wasTree && wasInlineAgain, "the test did not cross the boundary between inline and tree")
        history.write { editor, model in
            editor.removeAll()
            model = []
        }
        #expect(history.withCell(history.current) { $0.isEmpty })
        while history.versions.count > 1 { history.drop(at: 0) }
        #expect(history.alive.isEmpty)
    }

    static func edit(
        _ editor: inout ListEditor, model: inout [Value], layout: ElementLayout, grows: Bool,
        random: inout SeededRandom
    ) {
        let value = Value.random(layout.type, isNullable: nulls(layout), &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0...2:
            editor.append(value)
            model.append(value)
        case 3...5 where !model.isEmpty:
            let index = Int.random(in: 0..<model.count, using: &random)
            editor.set(value, at: index)
            model[index] = value
        case 6...7 where !model.isEmpty:
            let from = Int.random(in: 0..<model.count, using: &random)
            let to = Int.random(in: 0..<model.count, using: &random)
            editor.move(from: from, to: to)
            model.insert(model.remove(at: from), at: to)
        case (grows ? 17 : 11)... where !model.isEmpty:
            let index = Int.random(in: 0..<model.count, using: &random)
            editor.remove(at: index)
            model.remove(at: index)
            if !grows && model.count > 40 {
                editor.remove(at: model.count - 1)
                model.removeLast()
            }
        default:
            let index = Int.random(in: 0...model.count, using: &random)
            editor.insert(value, at: index)
            model.insert(value, at: index)
        }
    }

    @Test("100,000 random edits of a list of links agree with an array")
    func manyEdits() {
        let layout = ElementLayout(type: .link, collection: .list)
        let seed: UInt64 = 4711
        var random = SeededRandom(seed: seed)
        let history = CollectionHistory<[Int64]>(layout, [])
        for step in 0..<200 {
            let grows = step < 110
            history.write { editor, model in
                for _ in 0..<500 {
                    let key = Int64.random(in: 0..<1000, using: &random)
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0:
                        editor.insert(int64: key, at: model.count)
                        model.append(key)
                    case 1 where !model.isEmpty:
                        let index = Int.random(in: 0..<model.count, using: &random)
                        editor.set(int64: key, at: index)
                        model[index] = key
                    case (grows ? 8 : 3)... where !model.isEmpty:
                        let index = Int.random(in: 0..<model.count, using: &random)
                        editor.remove(at: index)
                        model.remove(at: index)
                    default:
                        let index = Int.random(in: 0...model.count, using: &random)
                        editor.insert(int64: key, at: index)
                        model.insert(key, at: index)
                    }
                }
            }
            if step % 40 == 0 { history.holdCurrent() }
            if step % 10 == 0 {
                for version in history.versions {
                    history.checkTree(version)
                    let keys = history.withCell(version) { cell in (0..<cell.count).map { cell.int64(at: $0) } }
                    #expect(keys == version.model, "seed \(seed) step \(step)")
                }
                #expect(history.alive == history.reachable, "seed \(seed) step \(step)")
            }
        }
    }

    @Test("a list becomes a tree with the first byte beyond 1 KiB and inline again below half of that")
    func promotion() {
        let layout = ElementLayout(type: .link, collection: .list)
        let history = CollectionHistory<Void>(layout, ())
        func isTree() -> Bool { if case .tree = history.current.stored { true } else { false } }
        // 2 bytes of count and 127 links are 1018 bytes.
        history.write { editor, _ in for key in 0..<127 { editor.append(.link(Int64(key))) } }
        #expect(!isTree())
        history.write { editor, _ in editor.append(.link(127)) }
        #expect(isTree())
        history.write { editor, _ in while editor.count > 64 { editor.remove(at: 0) } }
        #expect(isTree())
        history.write { editor, _ in editor.remove(at: 0) }
        #expect(!isTree())
        #expect(history.withCell(history.current) { $0.values } == (65..<128).map { .link($0) })
        #expect(history.alive == history.reachable && history.alive.isEmpty)
        history.write { editor, _ in while editor.count > 0 { editor.remove(at: editor.count - 1) } }
        guard case .inline(let bytes) = history.current.stored else { return #expect(Bool(false)) }
        #expect(bytes.isEmpty)
    }

    @Test("blocks at their limits: 1022 bools inline, elements of 1024 bytes inline and of 1025 in blobs")
    func edges() {
        let bools = CollectionHistory<Void>(ElementLayout(type: .bool, collection: .list), ())
        bools.write { editor, _ in for index in 0..<1022 { editor.append(.bool(index % 3 == 0)) } }
        #expect(bools.alive.isEmpty)
        bools.write { editor, _ in for index in 1022..<5000 { editor.append(.bool(index % 3 == 0)) } }
        bools.checkTree(bools.current)
        #expect(bools.withCell(bools.current) { $0.values } == (0..<5000).map { .bool($0 % 3 == 0) })

        let data = CollectionHistory<Void>(ElementLayout(type: .data, collection: .list), ())
        let values: [Value] = [
            .data([UInt8](repeating: 1, count: 1024)), .data([UInt8](repeating: 2, count: 1025)), .data([]),
            .data([UInt8](repeating: 3, count: 1020)),
        ]
        for value in values {
            data.write { editor, _ in for _ in 0..<9 { editor.insert(value, at: editor.count / 2) } }
            data.checkTree(data.current)
        }
        #expect(data.withCell(data.current) { $0.count } == 36)
        #expect(data.alive == data.reachable)
        data.write { editor, _ in while editor.count > 0 { editor.remove(at: editor.count / 2) } }
        #expect(data.alive.isEmpty)
    }

    @Test("a sub-version is not changed by what follows it in the same transaction")
    func subversion() {
        let layout = ElementLayout(type: .int, collection: .list)
        let writer = NodeWriter(stamp: 5)
        let scratch = UnsafeMutableRawPointer.allocate(byteCount: ListEditor.scratchByteCount, alignment: 16)
        var editor = ListEditor(ListCell(inline: .init(start: nil, count: 0), layout), writer, scratch: scratch)
        for index in 0..<5000 { editor.insert(int64: Int64(index), at: index) }
        guard case .tree(let first) = editor.finish() else { return #expect(Bool(false)) }
        writer.beginSnapshot(stamp: 6, base: 5)
        for index in 0..<2000 { editor.remove(at: (index * 7) % editor.count) }
        guard case .tree(let second) = editor.finish() else { return #expect(Bool(false)) }
        ListTree.checkInvariants(first, layout)
        ListTree.checkInvariants(second, layout)
        #expect(ListCell(root: first, layout).values == (0..<5000).map { .int($0) })
        #expect(ListCell(root: second, layout).count == 3000)
        var nodes: Set<UInt> = []
        for root in [first, second] {
            ListTree.forEachNode(root, layout: layout) { nodes.insert(UInt(bitPattern: $0.address)) }
        }
        for address in nodes { NodeHeap.free(Node(UnsafeMutableRawPointer(bitPattern: address)!)) }
        scratch.deallocate()
        writer.dispose().deallocate()
    }

    @Test("runs, searches and single elements agree with the values")
    func reading() {
        let layout = ElementLayout(type: .int, collection: .list, isNullable: true)
        let history = CollectionHistory<Void>(layout, ())
        let values: [Value] = (0..<3000).map { $0 % 10 == 3 ? .null : .int($0 % 1000) }
        history.write { editor, _ in editor.append(contentsOf: values) }
        history.withCell(history.current) { cell in
            var seen: [Value] = []
            cell.forEachRun(100..<2900) { start, flags, count in
                for index in 0..<count {
                    let isNull = flags![index] != 0
                    seen.append(isNull ? .null : .int(start.loadUnaligned(fromByteOffset: 8 * index, as: Int64.self)))
                }
                return true
            }
            #expect(seen == Array(values[100..<2900]))
            #expect(cell.firstIndex(of: 999) == 999)
            #expect(cell.firstIndex(of: 999, from: 1000) == 1999)
            // The bytes of a null are zeros, which must not be mistaken for the number 0.
            #expect(cell.firstIndex(of: 0, from: 1) == 1000)
            #expect(cell.firstIndex(of: .null) == 3)
            #expect(cell.firstIndex(of: .int(5000)) == nil)
            #expect(cell.isNull(at: 2993) && !cell.isNull(at: 2994))
            #expect(cell.contiguousElements == nil)
        }
    }

    @Test("a short list of links is read as one raw run")
    func contiguousRun() {
        let layout = ElementLayout(type: .link, collection: .list)
        for count in [0, 1, 10, 127, 128, 256] {
            let history = CollectionHistory<Void>(layout, ())
            history.write { editor, _ in for key in 0..<count { editor.insert(int64: Int64(key), at: key) } }
            history.withCell(history.current) { cell in
                guard let run = cell.contiguousElements else { return #expect(count == 0) }
                #expect(run.count == count)
                for index in 0..<count {
                    #expect(run.start.loadUnaligned(fromByteOffset: 8 * index, as: Int64.self) == Int64(index))
                }
            }
        }
    }

    @Test("runs of links are appended completely", arguments: [0, 1, 126, 127, 128, 257, 258, 1000, 40_000])
    func appendedRuns(_ count: Int) {
        let layout = ElementLayout(type: .link, collection: .list)
        let history = CollectionHistory<Void>(layout, ())
        let keys = (0..<Int64(count)).map { $0 * 3 }
        for _ in 0..<3 {
            history.write { editor, _ in
                editor.insert(int64: -5 & .max, at: 0)
                keys.withUnsafeBufferPointer { editor.append(int64s: $0) }
            }
            history.holdCurrent()
            history.checkTree(history.current)
        }
        let first = Value.link(-5 & .max)
        let values = keys.map { Value.link($0) }
        for (index, version) in history.versions.enumerated() {
            let expected = [Value](repeating: first, count: index + 1) + (0...index).flatMap { _ in values }
            #expect(history.withCell(version) { $0.values } == expected)
            if index == 2 { break }
        }
        #expect(history.alive == history.reachable)
    }

    @Test("removing the last element of an inner node removes all nodes that lead only to it")
    func onlyChild() {
        let history = CollectionHistory<Void>(ElementLayout(type: .link, collection: .list), ())
        let full = 257 * ListTree.fanout
        history.write { editor, _ in for key in 0...full { editor.insert(int64: Int64(key), at: key) } }
        // The root, a full inner node with its leaves, and one with a single leaf of a single element.
        #expect(history.alive.count == 1 + 1 + ListTree.fanout + 2)
        history.holdCurrent()
        history.write { editor, _ in editor.remove(at: full) }
        history.checkTree(history.current)
        #expect(history.alive == history.reachable)
        history.drop(at: 0)
        #expect(history.alive == history.reachable && history.alive.count == 1 + ListTree.fanout)
    }

    @Test("appended lists keep full leaves")
    func appendedLeavesAreFull() {
        let layout = ElementLayout(type: .link, collection: .list)
        let history = CollectionHistory<Void>(layout, ())
        history.write { editor, _ in for key in 0..<25_700 { editor.insert(int64: Int64(key), at: key) } }
        // 257 values fill a block of 2058 bytes; there are two levels of inner nodes above 100 leaves.
        #expect(history.alive.count == 100 + 2 + 1)
    }

    @Test("an index out of range stops the program")
    func outOfRange() async {
        await #expect(processExitsWith: .failure) {
            let history = CollectionHistory<Void>(ElementLayout(type: .int, collection: .list), ())
            history.write { editor, _ in editor.remove(at: 0) }
        }
        await #expect(processExitsWith: .failure) {
            let history = CollectionHistory<Void>(ElementLayout(type: .int, collection: .list), ())
            history.write { editor, _ in editor.insert(.int(1), at: 1) }
        }
    }
}
