import Testing

import FirnTestSupport

@testable import FirnCore

@Suite("Sets and maps keep their order and hold each element once", .timeLimit(.minutes(20)))
struct SetAndMapTests {
    @Test("random changes of a set agree with a sorted array", arguments: ColumnType.allCases)
    func sets(_ type: ColumnType) {
        let isNullable = type != .link
        let layout = ElementLayout(type: type, collection: .set, isNullable: isNullable)
        let seed = UInt64(type.rawValue) + 900
        var random = SeededRandom(seed: seed)
        let history = CollectionHistory<[Value]>(layout, [])
        for step in 0..<120 {
            let grows = step < 70
            history.write { editor, model in
                for _ in 0..<30 {
                    let value =
                        !grows && !model.isEmpty
                        ? model.randomElement(using: &random)!
                        : Value.random(type, isNullable: isNullable, &random, domain: 3000)
                    let index = model.firstIndex { !Value.precedes($0, value) } ?? model.count
                    let isFound = index < model.count && Value.order(model[index], value) == 0
                    if grows ? Int.random(in: 0..<5, using: &random) > 0 : false {
                        #expect(editor.insertMember(value) == (isFound ? nil : index))
                        if !isFound { model.insert(value, at: index) }
                    } else {
                        #expect(editor.removeMember(value) == (isFound ? index : nil))
                        if isFound { model.remove(at: index) }
                    }
                }
            }
            if step % 20 == 0 { history.holdCurrent() }
            if step % 10 == 0 {
                #expect(history.alive == history.reachable)
                for version in history.versions {
                    history.checkTree(version)
                    #expect(history.withCell(version) { $0.values } == version.model, "seed \(seed) step \(step)")
                }
            }
        }
    }

    @Test("a set holds numbers that are equal by value once, and one NaN per bits")
    func equalNumbers() {
        let history = CollectionHistory<Void>(ElementLayout(type: .mixed, collection: .set), ())
        history.write { editor, _ in
            #expect(editor.insertMember(.int(3)) == 0)
            #expect(editor.insertMember(.double(3)) == nil)
            #expect(editor.insertMember(.decimal(DecimalBits(high: 0x303E_0000_0000_0000, low: 30))) == nil)
            #expect(editor.insertMember(.double(.nan)) == 0)
            #expect(editor.insertMember(.double(.nan)) == nil)
            #expect(editor.insertMember(.double(Double(bitPattern: 0x7FF8_0000_0000_0001))) == 1)
            #expect(editor.insertMember(.null) == 0)
        }
        #expect(history.withCell(history.current) { $0.contains(.float(3)) })
    }

    @Test("random changes of a map agree with a dictionary", arguments: ColumnType.allCases)
    func maps(_ type: ColumnType) {
        let layout = ElementLayout(type: type, collection: .map, isNullable: true)
        let seed = UInt64(type.rawValue) + 300
        var random = SeededRandom(seed: seed)
        let history = CollectionHistory<[String: Value]>(layout, [:])
        for step in 0..<100 {
            let grows = step < 60
            history.write { editor, model in
                for _ in 0..<25 {
                    let number = Int.random(in: 0..<1500, using: &random)
                    // Some keys have the greatest length that a key in a block may have, or are longer.
                    let key =
                        number % 40 == 0
                        ? String(repeating: "k", count: 505 + number / 40 % 16) + "\(number)" : "key\(number)"
                    if Int.random(in: 0..<10, using: &random) < (grows ? 8 : 2) {
                        let value = Value.random(type, isNullable: true, &random)
                        let result = editor.setValue(value, forKey: key)
                        #expect(result.replaced == (model[key] != nil))
                        model[key] = value
                    } else {
                        let victim = !grows ? model.keys.min() ?? key : key
                        #expect((editor.removeValue(forKey: victim) != nil) == (model[victim] != nil))
                        model[victim] = nil
                    }
                }
            }
            if step % 20 == 0 { history.holdCurrent() }
            if step % 10 == 0 {
                #expect(history.alive == history.reachable)
                for version in history.versions {
                    history.checkTree(version)
                    let expected = version.model.sorted {
                        Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8))
                    }
                    history.withCell(version) { cell in
                        #expect(
                            cell.entries == expected.map { Value.MapEntry(key: $0.key, value: $0.value) },
                            "seed \(seed) step \(step)")
                        for (index, entry) in expected.enumerated() where index % 7 == 0 {
                            #expect(cell.key(at: index) == entry.key && cell.value(at: index) == entry.value)
                            #expect(cell.value(forKey: entry.key) == entry.value)
                        }
                        #expect(cell.value(forKey: "absent") == nil)
                    }
                }
            }
        }
    }
}
