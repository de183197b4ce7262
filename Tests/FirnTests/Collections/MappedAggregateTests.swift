import Firn
import Foundation
import Testing

private enum Grade: Int, PersistableEnum { case low = 1, middle, high }

private struct Weight: CustomPersistable, Hashable {
    var grams: Double
    init(_ grams: Double) { self.grams = grams }
    init(persistedValue: Double) { grams = persistedValue }
    var persistableValue: Double { grams }
}

private class Crate: Object {
    @Persisted var grades: List<Grade>
    @Persisted var maybes: List<Grade?>
    @Persisted var set: MutableSet<Grade>
    @Persisted var weights: List<Weight>
    @Persisted var named: Map<String, Weight>
    @Persisted var mixed: List<AnyRealmValue>
    @Persisted var numbers: List<Int>
    @Persisted var words: List<String?>
    @Persisted var grade: Grade
    @Persisted var weight: Weight
    @Persisted var maybe: Grade?
    @Persisted var crates: List<Crate>
    @Persisted var namedMaybes: Map<String, Grade?>
    @Persisted var namedWeights: Map<String, Weight?>
    @Persisted var namedMixed: Map<String, AnyRealmValue>
    @Persisted var namedCrates: Map<String, Crate?>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Aggregates, order and searches of collections of enums, of types of the application and of mixed values, managed and
/// unmanaged.
@Suite(.timeLimit(.minutes(20))) struct MappedAggregateTests {
    private func crate(managed: Bool) throws -> Crate {
        let crate = Crate()
        crate.grades.append(objectsIn: [.middle, .low, .low])
        crate.maybes.append(objectsIn: [nil, .high, .low, nil])
        crate.set.insert(objectsIn: [.low, .high])
        crate.weights.append(objectsIn: [Weight(2), Weight(0.5), Weight(2)])
        crate.named["a"] = Weight(3)
        crate.named["b"] = Weight(1)
        crate.mixed.append(objectsIn: [.string("x"), .int(3), .none, .double(2.5), .double(.nan), .object(Crate())])
        crate.numbers.append(objectsIn: [5, 1, 9])
        crate.words.append(objectsIn: ["b", nil, "a"])
        for (grade, weight) in [(Grade.high, 1.5), (.low, 4)] {
            let inner = Crate()
            inner.grade = grade
            inner.weight = Weight(weight)
            inner.maybe = grade == .low ? nil : grade
            inner.numbers.append(Int(weight))
            crate.crates.append(inner)
            crate.namedCrates["\(grade)"] = inner
        }
        crate.namedCrates["none"] = .some(nil)
        crate.namedMaybes["a"] = .some(nil)
        crate.namedMaybes["b"] = .high
        crate.namedMaybes["c"] = .middle
        crate.namedWeights["a"] = .some(nil)
        crate.namedWeights["b"] = Weight(1)
        crate.namedWeights["c"] = Weight(2)
        crate.namedMixed["a"] = .int(3)
        crate.namedMixed["b"] = AnyRealmValue.none
        crate.namedMixed["c"] = .string("x")
        if managed {
            let realm = try memoryRealm([Crate.self])
            try realm.write { realm.add(crate) }
        }
        return crate
    }

    @Test(arguments: [false, true]) func aggregatesGoByWhatIsStored(managed: Bool) throws {
        let crate = try crate(managed: managed)
        #expect(crate.grades.min() == .low && crate.grades.max() == .middle)
        #expect(crate.grades.average() as Double? == 4.0 / 3 && crate.grades.average() as Int? == 1)
        #expect(crate.grades.average() as Grade? == .low)
        #expect(crate.maybes.min() == .low && crate.maybes.max() == .high && crate.set.max() == .high)
        #expect(crate.maybes.average() as Double? == 2 && crate.maybes.average() as Grade? == .middle)
        #expect(crate.weights.sum() == Weight(4.5) && crate.weights.max() == Weight(2))
        #expect(crate.weights.average() as Weight? == Weight(1.5) && crate.weights.average() as Double? == 1.5)
        #expect(crate.named.min() == Weight(1) && crate.named.max() == Weight(3) && crate.named.sum() == Weight(4))
        #expect(crate.named.average() as Weight? == Weight(2))
        #expect(Crate().grades.min() == nil && Crate().weights.average() as Weight? == nil)
        #expect(Crate().weights.sum() == Weight(0))
        // Numbers come before texts.
        #expect(crate.mixed.min() == .double(2.5) && crate.mixed.max() == .string("x") && Crate().mixed.min() == nil)
    }

    @Test(arguments: [false, true]) func mapsOfOptionalsGoByWhatIsStored(managed: Bool) throws {
        let crate = try crate(managed: managed)
        #expect(crate.namedMaybes.min() == .middle && crate.namedMaybes.max() == .high)
        #expect(crate.namedMaybes.average() as Double? == 2.5 && crate.namedMaybes.average() as Grade? == .middle)
        #expect(crate.namedWeights.max() == Weight(2) && crate.namedWeights.min() == Weight(1))
        #expect(crate.namedWeights.sum() == Weight(3) && crate.namedWeights.average() as Weight? == Weight(1.5))
        #expect(Crate().namedMaybes.max() == nil && Crate().namedWeights.sum() == Weight(0))
        #expect(crate.namedMixed.min() == .int(3) && crate.namedMixed.max() == .string("x"))
        guard managed else { return }
        #expect(Array(crate.namedMaybes.sorted()) == [nil, .middle, .high] && crate.namedWeights.distinct().count == 3)
    }

    /// Also of an unmanaged map, whose objects are read one by one.
    @Test(arguments: [false, true]) func aPropertyIsAggregatedByNameAndByKeyPath(managed: Bool) throws {
        let crate = try crate(managed: managed)
        let (list, map) = (crate.crates, crate.namedCrates)
        let grades: [Grade?] = [
            list.min(ofProperty: "grade"), list.max(ofProperty: "grade"), map.min(ofProperty: "grade"),
            map.max(ofProperty: "grade"), list.max(of: \.maybe), map.max(of: \.maybe), map.min(of: \.grade),
            list.average(of: \.grade),
        ]
        #expect(grades == [.low, .high, .low, .high, .high, .high, .low, .middle])
        let weights: [Weight?] = [
            list.sum(ofProperty: "weight"), list.average(ofProperty: "weight"), map.sum(ofProperty: "weight"),
            map.average(ofProperty: "weight"), map.sum(of: \.weight), map.average(of: \.weight),
        ]
        #expect(weights == [5.5, 2.75, 5.5, 2.75, 5.5, 2.75].map { Weight($0) })
        let numbers: [Double?] = [
            map.max(ofProperty: "weight"), map.sum(ofProperty: "weight"), map.average(ofProperty: "weight"),
            map.min(ofProperty: "weight"),
        ]
        #expect(numbers == [4, 5.5, 2.75, 1.5])
        let none: Grade? = Crate().namedCrates.max(ofProperty: "grade")
        #expect(none == nil && Crate().namedCrates.sum(of: \.weight) == Weight(0))
    }

    /// The store holds no such value, so the message does not say so.
    @Test func aSumThatStandsForNothingSaysWhatItIs() async {
        let list = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let crate = Crate()
            crate.grades.append(objectsIn: [.high, .middle])
            _ = crate.grades.sum()
        }
        expectMessage(list, "the sum of what is stored of values of Grade is 5, which stands for no such value")
        let property = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let crate = Crate()
            for _ in 0..<2 {
                let inner = Crate()
                inner.grade = .high
                crate.crates.append(inner)
            }
            _ = crate.crates.sum(of: \.grade)
        }
        expectMessage(property, "the sum of what is stored of values of Grade is 6, which stands for no such value")
    }

    @Test func objectsAreAggregatedByTheStoredValueOfAProperty() throws {
        let crates = try crate(managed: true).crates
        #expect(crates.min(of: \.grade) == .low && crates.max(of: \.weight) == Weight(4))
        #expect(crates.sum(of: \.weight) == Weight(5.5))
        let average = crates[0].numbers.average()
        #expect(average == 1)
        let unmanaged = try crate(managed: false).crates
        #expect(unmanaged.min(of: \.grade) == .low && unmanaged.sum(of: \.weight) == Weight(5.5))
    }

    @Test func theyAreSortedByWhatIsStored() throws {
        let crate = try crate(managed: true)
        #expect(Array(crate.grades.sorted()) == [.low, .low, .middle])
        #expect(Array(crate.maybes.sorted(ascending: false)) == [.high, .low, nil, nil])
        #expect(Array(crate.weights.sorted(ascending: false)) == [Weight(2), Weight(2), Weight(0.5)])
        #expect(Array(crate.grades.distinct()) == [.middle, .low] && crate.weights.distinct().count == 2)
        #expect(Array(crate.named.sorted()) == [Weight(1), Weight(3)] && crate.maybes.distinct().count == 3)
    }

    @Test(arguments: [false, true]) func theIndexOfAValueIsFound(managed: Bool) throws {
        let crate = try crate(managed: managed)
        #expect(crate.numbers.index(matching: { $0 > 5 }) == 2 && crate.numbers.index(matching: { $0 < 0 }) == nil)
        #expect(crate.numbers.index(matching: "SELF < %@", 5) == 1)
        #expect(crate.numbers.index(matching: RealmPredicate(format: "SELF == 9")) == 2)
        #expect(crate.words.index(matching: { $0 == nil }) == 1 && crate.words.index(matching: { $0 == "a" }) == 2)
        #expect(crate.words.index(matching: { $0.starts(with: "a") }) == 2)
        #expect(crate.grades.index(matching: { $0 == .low }) == 1)
        #expect(crate.weights.index(matching: { $0 < Weight(1) }) == 1)
    }

    @Test func theIndexOfAnObjectIsFoundInAnUnmanagedList() throws {
        let crates = try crate(managed: false).crates
        #expect(
            crates.index(matching: { $0.grade == .low }) == 1
                && crates.index(matching: { $0.weight > Weight(9) }) == nil)
        #expect(crates.index(matching: "ANY numbers == 4") == 1)
        #expect(crates.index(matching: RealmPredicate(format: "numbers.@count == %@", 1)) == 0)
        #expect(crates.index(matching: { ($0.crates.grade == .low).count == 0 && $0.grade == .low }) == 1)
        // Of a managed object the link is compared.
        let managed = try crate(managed: true)
        let holder = Crate()
        holder.crates.append(managed.crates[1])
        let list = List<Crate>()
        list.append(objectsIn: [Crate(), holder])
        #expect(list.index(matching: { $0.crates.contains(managed.crates[1]) }) == 1)
        #expect(list.index(matching: { $0.crates.contains(managed.crates[0]) }) == nil)
    }
}
