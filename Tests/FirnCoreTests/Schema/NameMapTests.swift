import FirnTestSupport
import Testing

@testable import FirnCore

/// A `NameMap` finds what a dictionary would.
@Suite(.timeLimit(.minutes(20))) struct NameMapTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func itAgreesWithADictionary(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for count in [0, 1, 2, 3, 7, 8, 100] {
            let names = (0..<count).map { _ in "\(random.below(3 * count))" }
            let map = NameMap(names.enumerated().map { ($1, $0) })
            #expect(map.repeated.count == count - Set(names).count && Set(map.repeated).isSubset(of: names))
            for number in 0...3 * count {
                let expected = names.firstIndex(of: "\(number)")
                #expect(map["\(number)"] == expected, "seed \(seed), \(count) names, \(number)")
            }
        }
    }

    /// As everywhere in Swift, texts are equal if they look the same.
    @Test func canonicallyEqualNamesAreEqual() {
        let map = NameMap([("caf\u{E9}", 1), ("cafe", 2)])
        #expect(map["cafe\u{301}"] == 1 && map["cafe"] == 2 && map["caf"] == nil)
    }
}
