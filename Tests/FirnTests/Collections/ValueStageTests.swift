import Firn
import FirnTestSupport
import Foundation
import Testing

private class Values: Object {
    @Persisted var numbers: List<Int>
    @Persisted var doubles: List<Double?>
    @Persisted var decimals: List<Decimal128>
    @Persisted var texts: MutableSet<String>
    @Persisted var named: Map<String, Date>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Collections of values can be sorted and made distinct, live (R38, R39).
@Suite(.timeLimit(.minutes(20))) struct ValueStageTests {
    @Test(arguments: 1...3 as ClosedRange<UInt64>) func itAgreesWithAnArray(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let realm = try memoryRealm([Values.self])
        let object = Values()
        try realm.write { realm.add(object) }
        let (ascending, descending) = (object.numbers.sorted(), object.numbers.sorted(ascending: false))
        let (distinct, both) = (object.numbers.distinct(), object.numbers.distinct().sorted(ascending: false))
        for _ in 0..<50 {
            try realm.write {
                object.numbers.append(random.below(20))
                if random.below(3) == 0 { object.numbers.remove(at: random.below(object.numbers.count)) }
            }
            let array = Array(object.numbers)
            var seen: Set<Int> = []
            let unique = array.filter { seen.insert($0).inserted }
            #expect(Array(ascending) == array.sorted() && Array(descending) == array.sorted(by: >))
            #expect(Array(distinct) == unique && Array(both) == unique.sorted(by: >) && distinct.count == unique.count)
        }
        let frozen = both.freeze()
        let before = Array(both)
        try realm.write { object.numbers.removeAll() }
        #expect(Array(frozen) == before && both.isEmpty && ascending.first == nil)
    }

    @Test func nilAndNaNHaveTheirPlaces() throws {
        let realm = try memoryRealm([Values.self])
        let object = Values()
        object.doubles.append(objectsIn: [1, nil, .nan, -0.0, 0, nil, -.infinity, .nan])
        object.decimals.append(objectsIn: ["1.0", 1, "NaN", "1.00", 2])
        object.texts.insert(objectsIn: ["é", "z", "e"])
        object.named = ["b": Date(timeIntervalSince1970: 1), "a": Date(timeIntervalSince1970: 2)]
        try realm.write { realm.add(object) }
        let sorted = object.doubles.sorted().map { $0.map { "\($0)" } ?? "nil" }
        #expect(sorted == ["nil", "nil", "nan", "nan", "-inf", "-0.0", "0.0", "1.0"])
        #expect(object.doubles.sorted(ascending: false).last == .some(nil) && object.doubles.distinct().count == 5)
        #expect(object.decimals.distinct().map(\.stringValue) == ["1.0", "NaN", "2"])
        #expect(Array(object.texts.sorted(ascending: false)) == ["é", "z", "e"])
        #expect(object.named.sorted().map(\.timeIntervalSince1970) == [1, 2] && object.named.distinct().count == 2)
    }

    @MainActor @Test func sortedValuesAreObserved() async throws {
        let realm = try memoryRealm([Values.self])
        let object = Values()
        object.numbers.append(objectsIn: [5, 1])
        try realm.write { realm.add(object) }
        var seen: [String] = []
        let token = object.numbers.sorted().observe { (change: RealmCollectionChange<Results<Int>>) in
            switch change {
            case .initial(let values): seen.append("\(Array(values))")
            case .update(let values, let deletions, let insertions, _):
                seen.append("\(Array(values)) \(deletions) \(insertions)")
            case .error: seen.append("error")
            }
        }
        await wait { seen.count == 1 }
        try realm.write { object.numbers[0] = 0 }
        await wait { seen.count == 2 }
        #expect(seen == ["[1, 5]", "[0, 1] [1] [0]"])
        token.invalidate()
    }
}
