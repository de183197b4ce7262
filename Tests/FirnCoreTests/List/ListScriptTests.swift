import Testing

import FirnTestSupport

@testable import FirnCore

@Suite(
    "A list's edit script replays, can be inverted and composes to what observers are shown", .timeLimit(.minutes(20)))
struct ListScriptTests {
    /// Makes random edits and applies them to `list`.
    static func edits(_ count: Int, list: inout [Value], random: inout SeededRandom, fresh: inout Int64)
        -> [ListEdit]
    {
        var edits: [ListEdit] = []
        for _ in 0..<count {
            fresh += 1
            let edit: ListEdit
            let kind = Int.random(in: 0..<100, using: &random)
            if list.isEmpty || kind < 30 {
                edit = .insert(Int.random(in: 0...list.count, using: &random), .int(fresh))
            } else {
                let index = Int.random(in: 0..<list.count, using: &random)
                switch kind {
                case ..<55: edit = .remove(index, old: list[index])
                case ..<75:
                    edit = .set(index, new: Bool.random(using: &random) ? list[index] : .int(fresh), old: list[index])
                case ..<98: edit = .move(from: index, to: Int.random(in: 0..<list.count, using: &random))
                default: edit = .removeAll(old: list)
                }
            }
            list.apply(edit)
            edits.append(edit)
        }
        return edits
    }

    /// Applies a difference to an old list, taking new values from the new list. The result must be the new list.
    static func replay(_ difference: ListDifference, old: [Value], new: [Value]) -> [Value] {
        var list = old
        for index in difference.modifications {
            if let newIndex = difference.newIndex(ofOld: index) { list[index] = new[newIndex] }
        }
        for index in difference.deletions.reversed() { list.remove(at: index) }
        for index in difference.insertions { list.insert(new[index], at: index) }
        return list
    }

    static func isAscending(_ indices: [Int]) -> Bool { zip(indices, indices.dropFirst()).allSatisfy { $0 < $1 } }

    @Test(
        "random scripts replay on an array and on a list, their inverse undoes them, their difference replays on the old list"
    )
    func randomScripts() {
        let layout = ElementLayout(type: .int, collection: .list)
        for seed in 0..<300 {
            var random = SeededRandom(seed: UInt64(seed))
            var fresh: Int64 = 1000
            let old: [Value] = (0..<Int64.random(in: 0..<60, using: &random)).map { .int($0) }
            var new = old
            let edits = Self.edits(Int.random(in: 0..<80, using: &random), list: &new, random: &random, fresh: &fresh)
            var script = ListScript()
            for edit in edits { script.append(edit) }
            #expect(script.edits.count <= edits.count)

            var replayed = old
            script.apply(to: &replayed)
            #expect(replayed == new, "seed \(seed)")
            script.inverted().apply(to: &replayed)
            #expect(replayed == old, "seed \(seed)")

            let history = CollectionHistory<Void>(layout, ())
            history.write { editor, _ in editor.append(contentsOf: old) }
            history.write { editor, _ in script.apply(to: &editor) }
            #expect(history.withCell(history.current) { $0.values } == new, "seed \(seed)")

            for difference in [
                ListDifference(edits, oldCount: old.count), ListDifference(script.edits, oldCount: old.count),
            ] {
                #expect(Self.replay(difference, old: old, new: new) == new, "seed \(seed): \(difference)")
                #expect(
                    Self.isAscending(difference.deletions) && Self.isAscending(difference.insertions)
                        && Self.isAscending(difference.modifications))
                #expect(Set(difference.deletions).isDisjoint(with: difference.modifications))
                Self.checkIndices(difference, oldCount: old.count, newCount: new.count)
            }
        }
    }

    static func checkIndices(_ difference: ListDifference, oldCount: Int, newCount: Int) {
        let kept = (0..<oldCount).filter { !difference.deletions.contains($0) }
        let positions = (0..<newCount).filter { !difference.insertions.contains($0) }
        #expect(kept.count == positions.count)
        for (old, new) in zip(kept, positions) {
            #expect(difference.newIndex(ofOld: old) == new && difference.oldIndex(ofNew: new) == old)
        }
        for old in difference.deletions { #expect(difference.newIndex(ofOld: old) == nil) }
        for new in difference.insertions { #expect(difference.oldIndex(ofNew: new) == nil) }
    }

    @Test("trivial edits are dropped or merged into one")
    func normalisation() {
        func script(_ edits: ListEdit...) -> [ListEdit] {
            var script = ListScript()
            for edit in edits { script.append(edit) }
            return script.edits
        }
        #expect(script(.move(from: 3, to: 3)).isEmpty)
        #expect(script(.removeAll(old: [])).isEmpty)
        #expect(script(.insert(2, .int(1)), .remove(2, old: .int(1))).isEmpty)
        #expect(script(.move(from: 1, to: 4), .move(from: 4, to: 1)).isEmpty)
        #expect(script(.move(from: 1, to: 4), .move(from: 4, to: 2)) == [.move(from: 1, to: 2)])
        #expect(script(.insert(2, .int(1)), .set(2, new: .int(5), old: .int(1))) == [.insert(2, .int(5))])
        #expect(
            script(.set(2, new: .int(1), old: .int(0)), .set(2, new: .int(2), old: .int(1)))
                == [.set(2, new: .int(2), old: .int(0))])
        #expect(script(.set(2, new: .int(1), old: .int(0)), .remove(2, old: .int(1))) == [.remove(2, old: .int(0))])
        // An assignment of the same value is a change that observers see.
        #expect(script(.set(2, new: .int(1), old: .int(1))).count == 1)
    }

    @Test("deletions and modifications are old indices, insertions are new ones, a move is both (SEMANTICS 52, 53)")
    func frames() {
        func difference(_ oldCount: Int, _ edits: ListEdit...) -> ListDifference {
            ListDifference(edits, oldCount: oldCount)
        }
        #expect(difference(4).isEmpty)
        // Modifications are old indices, whatever was inserted before them.
        #expect(
            difference(4, .insert(0, .int(9)), .set(3, new: .int(7), old: .int(2)))
                == ListDifference(insertions: [0], modifications: [2]))
        // A move is a deletion and an insertion, of that element and no other.
        #expect(difference(5, .move(from: 1, to: 3)) == ListDifference(deletions: [1], insertions: [3]))
        #expect(difference(5, .move(from: 3, to: 1)) == ListDifference(deletions: [3], insertions: [1]))
        // An element that is moved back between its neighbours was not moved; if it was assigned, it is modified.
        #expect(
            difference(
                5, .move(from: 1, to: 3), .set(3, new: .int(1), old: .int(1)), .insert(4, .int(8)),
                .move(from: 3, to: 1))
                == ListDifference(insertions: [4], modifications: [1]))
        // An element that is assigned and then removed is only deleted; one that is inserted and assigned is only
        // inserted.
        #expect(
            difference(3, .set(1, new: .int(5), old: .int(1)), .remove(1, old: .int(5)))
                == ListDifference(deletions: [1]))
        #expect(
            difference(3, .insert(1, .int(5)), .set(1, new: .int(6), old: .int(5))) == ListDifference(insertions: [1]))
        #expect(difference(3, .insert(1, .int(5)), .remove(1, old: .int(5))).isEmpty)
        // The script knows which of several equal elements was meant.
        #expect(difference(3, .remove(1, old: .int(7))) == ListDifference(deletions: [1]))
        #expect(
            difference(3, .removeAll(old: [.int(1), .int(1), .int(1)]), .insert(0, .int(2)))
                == ListDifference(deletions: [0, 1, 2], insertions: [0]))
    }

    @Test("the cost of edits depends on their number, not on the length of the list")
    func longList() {
        let count = 10_000_000
        var edits: [ListEdit] = []
        for index in 0..<20_000 { edits.append(.remove(index * 3, old: .null)) }
        for index in 0..<20_000 { edits.append(.insert(count - 20_000 + index, .int(1))) }
        let difference = ListDifference(edits, oldCount: count)
        #expect(
            difference.deletions.count == 20_000 && difference.deletions[1] == 4 && difference.deletions.last == 79_996)
        #expect(difference.insertions == Array(count - 20_000..<count))
    }

    @Test("comparing two lists gives a shortest difference that replays, or replaces everything beyond the cap")
    func comparing() {
        for seed in 0..<400 {
            var random = SeededRandom(seed: UInt64(seed) + 5000)
            let alphabet = Int64.random(in: 2...40, using: &random)
            func list() -> [Value] {
                (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                    .int(Int64.random(in: 0..<alphabet, using: &random))
                }
            }
            let old = list()
            var new = list()
            if seed % 2 == 0 {
                var fresh: Int64 = 0
                new = old
                _ = Self.edits(Int.random(in: 0..<6, using: &random), list: &new, random: &random, fresh: &fresh)
            }
            let difference = ListDifference(comparing: old, to: new)
            #expect(Self.replay(difference, old: old, new: new) == new, "seed \(seed)")
            #expect(difference.modifications.isEmpty)
            Self.checkIndices(difference, oldCount: old.count, newCount: new.count)
            let common = Self.longestCommon(old, new)
            #expect(
                difference.deletions.count == old.count - common && difference.insertions.count == new.count - common,
                "seed \(seed)")
            let capped = ListDifference(comparing: old, to: new, maximumEdits: 4)
            #expect(Self.replay(capped, old: old, new: new) == new, "seed \(seed)")
            let needed = old.count + new.count - 2 * common
            if needed <= 4 { #expect(capped.deletions.count + capped.insertions.count == needed, "seed \(seed)") }
        }
        let all = ListDifference(comparing: [1, 2, 2, 4, 5, 9], to: [1, 6, 7, 8, 4, 9], maximumEdits: 3)
        #expect(all == ListDifference(deletions: [1, 2, 3, 4], insertions: [1, 2, 3, 4]))
        // If no element occurs twice, there is no cap.
        let unique = ListDifference(comparing: [1, 2, 3, 4, 5, 9], to: [1, 6, 7, 8, 4, 9], maximumEdits: 3)
        #expect(unique == ListDifference(deletions: [1, 2, 4], insertions: [1, 2, 3]))
        #expect(ListDifference(comparing: [1, 2, 3], to: [1, 2, 3]).isEmpty)
        #expect(ListDifference(comparing: [], to: [1]) == ListDifference(insertions: [0]))
        #expect(ListDifference(comparing: [1, 1, 1], to: [1, 1]).deletions.count == 1)
    }

    static func longestCommon(_ a: [Value], _ b: [Value]) -> Int {
        var row = [Int](repeating: 0, count: b.count + 1)
        for x in a {
            var diagonal = 0
            for (index, y) in b.enumerated() {
                let above = row[index + 1]
                row[index + 1] = x == y ? diagonal + 1 : max(above, row[index])
                diagonal = above
            }
        }
        return row[b.count]
    }
}
