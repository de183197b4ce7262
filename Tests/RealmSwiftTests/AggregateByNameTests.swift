import FirnTestSupport
import RealmSwift
import Testing

private class Sums: Object {
    @Persisted var numbers: List<Int>
    @Persisted var mixed: List<AnyRealmValue>
    @Persisted var any: AnyRealmValue
    @Persisted var uuid = UUID()
    @Persisted var name = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Aggregates by name are those of queries, in managed and in unmanaged collections.
@Suite(.timeLimit(.minutes(20))) struct AggregateByNameTests {
    private func sums(isManaged: Bool) throws -> (Realm, Sums) {
        let realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Sums.self]))
        let sums = Sums()
        if isManaged { try realm.write { realm.add(sums) } }
        return (realm, sums)
    }

    @Test(arguments: [true, false]) func theAverageIsTakenFromTheExactSum(isManaged: Bool) throws {
        let (realm, sums) = try sums(isManaged: isManaged)
        realm.beginWrite()
        defer { realm.cancelWrite() }
        sums.numbers.append(objectsIn: [.max, .max, .max])
        let largest = Double(Int.max)
        #expect(sums.numbers.average(ofProperty: "self") as Double? == largest)
        #expect(sums.numbers.average() as Double? == largest)
        #expect(sums.value(forKeyPath: "numbers.@avg.self") as? Double == largest)
    }

    @Test(arguments: [true, false]) func mixedValuesThatDoNotSuitArePassedOver(isManaged: Bool) throws {
        let (realm, sums) = try sums(isManaged: isManaged)
        realm.beginWrite()
        defer { realm.cancelWrite() }
        sums.mixed.append(objectsIn: [.int(5), .string("x"), .double(2.5), .bool(true), .none, .fromArray([.int(100)])])
        #expect(sums.mixed.min(ofProperty: "self") as Double? == 2.5 && sums.mixed.max(ofProperty: "self") as Int? == 5)
        #expect(sums.mixed.sum(ofProperty: "self") as Double == 7.5)
        #expect(sums.mixed.average(ofProperty: "self") as Double? == 3.75)
        #expect(sums.value(forKeyPath: "mixed.@sum.self") as? Double == 7.5)
        #expect(sums.dynamicList("mixed").sum(ofProperty: "self") as Double == 7.5)
        let objects = List<Sums>()
        objects.append(sums)
        #expect(objects.sum(ofProperty: "mixed") as Double == 7.5 && objects.min(ofProperty: "mixed") as Double? == 2.5)
    }

    @Test func mixedPropertiesThatDoNotSuitArePassedOver() {
        let objects = List<Sums>()
        for value in [.int(1), .string("x"), .fromArray([.int(100)]), .none, .double(0.5)] as [AnyRealmValue] {
            let sums = Sums()
            sums.any = value
            objects.append(sums)
        }
        #expect(objects.sum(ofProperty: "any") as Double == 1.5 && objects.max(ofProperty: "any") as Int? == 1)
        let mixed = List<AnyRealmValue>()
        mixed.append(objectsIn: [.int(5), .fromArray([.int(1)])])
        #expect(mixed.value(forKeyPath: "@max.self") as? Int == 5)
    }

    @Test func operatorsGiveValuesOfEachType() throws {
        let (_, sums) = try sums(isManaged: false)
        let objects = List<Sums>()
        objects.append(objectsIn: [sums, Sums(), Sums()])
        let largest = objects.map(\.uuid).max { $0.uuidString < $1.uuidString }
        #expect(objects.value(forKeyPath: "@max.uuid") as? UUID == largest)
    }

    @Test func anUnmanagedTextHasNoLargestValue() async {
        let text = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let objects = List<Sums>()
            objects.append(Sums())
            _ = objects.max(ofProperty: "name") as Int?
        }
        let message = String(decoding: text?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("@max needs numbers or dates"), "\(message)")
    }
}
