import FirnTestSupport
import Testing

@testable import FirnQuery

@Suite(.timeLimit(.minutes(20))) struct OrderedKeysTests {
    @Test(arguments: [0, 1, 5, 384, 385, 3000]) func itIsAnArray(_ start: Int) {
        var random = SeededRandom(seed: UInt64(start) + 1)
        var array = (0..<start).map { Int64($0 * 2) }
        var keys = OrderedKeys(array)
        #expect(keys.array == array && Array(keys) == array)
        for round in 0..<6000 {
            let copy = keys
            let before = array
            // It grows, shrinks to nothing, and grows again.
            let shrinks = (round / 2000) % 2 == 1
            if array.isEmpty || random.below(10) >= (shrinks ? 9 : 3) {
                let position = random.below(array.count + 1)
                keys.insert(Int64(round), at: position)
                array.insert(Int64(round), at: position)
            } else {
                let position = random.below(array.count)
                keys.remove(at: position)
                array.remove(at: position)
            }
            #expect(keys.count == array.count)
            if !array.isEmpty {
                let position = random.below(array.count)
                #expect(keys[position] == array[position])
            }
            if round % 500 == 0 {
                #expect(Array(keys) == array && keys.array == array && keys.indices.map { keys[$0] } == array)
                #expect(Array(copy) == before, "a copy changed")
            }
        }
    }

    /// Runs of keys go, so that whole chunks become small and empty, and each key is still found.
    @Test(arguments: 0..<40) func itIsSearchedWhileRunsGoAndCome(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var array = (0..<2000).map { Int64($0 * 10) }
        var keys = OrderedKeys(array)
        func check() {
            for _ in 0..<20 {
                let value = Int64(random.below(20_010)) - 5
                let position = keys.firstIndex(notPreceding: { $0 < value })
                #expect(position == array.firstIndex { $0 >= value } ?? array.count)
            }
        }
        for _ in 0..<30 {
            if random.below(3) == 0 {
                var value = Int64(random.below(20_000))
                for _ in 0..<random.below(400) {
                    value += 1
                    let position = keys.firstIndex(notPreceding: { $0 < value })
                    if position < array.count, array[position] == value { continue }
                    keys.insert(value, at: position)
                    array.insert(value, at: position)
                }
            } else {
                let start = random.below(array.count + 1)
                for _ in 0..<min(random.below(700), array.count - start) {
                    keys.remove(at: start)
                    array.remove(at: start)
                    if random.below(50) == 0 { check() }
                }
            }
            check()
            #expect(keys.array == array)
        }
    }

    /// A chunk between two full ones goes.
    @Test func aChunkBetweenFullOnesGoes() {
        var array = (0..<1152).map { Int64($0 * 10) }
        var keys = OrderedKeys(array)
        for number in Array(0..<120) + Array(768..<888) {
            let key = Int64(number * 10 + 5)
            let position = array.firstIndex { $0 > key } ?? array.count
            keys.insert(key, at: position)
            array.insert(key, at: position)
        }
        for _ in 0..<384 {
            keys.remove(at: 504)
            array.remove(at: 504)
            for value in [Int64(100), 2000, 5500, 9000] {
                #expect(keys.firstIndex(notPreceding: { $0 < value }) == array.firstIndex { $0 >= value })
            }
        }
        #expect(keys.array == array)
    }

    @Test(arguments: [0, 1, 3, 500, 2000]) func itIsSearchedInOrder(_ count: Int) {
        var keys = OrderedKeys()
        for key in stride(from: count - 1, through: 0, by: -1) { keys.insert(Int64(key * 2), at: 0) }
        for value in stride(from: -1, through: count * 2 + 1, by: max(1, count / 50)) {
            let position = keys.firstIndex(notPreceding: { $0 < value })
            #expect(position == Array(keys).firstIndex { $0 >= value } ?? count)
        }
        let undivided = OrderedKeys((0..<count).map { Int64($0 * 2) })
        #expect(undivided.firstIndex(notPreceding: { $0 < count }) == keys.firstIndex(notPreceding: { $0 < count }))
    }
}
