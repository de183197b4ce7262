import FirnStorage
import FirnTestSupport
import Testing

/// A `LinearMap` holds what a dictionary would.
@Suite(.timeLimit(.minutes(20))) struct LinearMapTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func itAgreesWithADictionary(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var map = LinearMap<Int, String>()
        var oracle: [Int: String] = [:]
        for step in 0..<2_000 {
            let key = random.below(12)
            switch random.below(8) {
            case 0...3:
                map[key] = "\(step)"
                oracle[key] = "\(step)"
            case 4, 5:
                map[key] = nil
                oracle[key] = nil
            case 6 where random.below(10) == 0:
                let last = Character("\(random.below(10))")
                map.keepOnly { $0.last == last }
                oracle = oracle.filter { $0.value.last == last }
            default: break
            }
            #expect(map[key] == oracle[key], "seed \(seed), step \(step)")
            #expect(map.isEmpty == oracle.isEmpty)
            #expect(Set(map.keys) == Set(oracle.keys) && map.keys.count == oracle.count)
            #expect(map.values.sorted() == oracle.values.sorted())
        }
    }
}
