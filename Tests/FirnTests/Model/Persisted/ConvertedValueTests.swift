import Firn
import Foundation
import Testing

private enum Grade: Int, PersistableEnum { case low = 1, high }

private struct Grams: CustomPersistable {
    var number: Double
    init(_ number: Double) { self.number = number }
    init(persistedValue: Double) { number = persistedValue }
    var persistableValue: Double { number }
}

private struct Odd: FailableCustomPersistable {
    var number: Int
    init?(persistedValue: Int) {
        if persistedValue % 2 == 0 { return nil }
        number = persistedValue
    }
    var persistableValue: Int { number }
}

private class Sample: Object {
    @Persisted var float: Float
    @Persisted var double: Double
    @Persisted var maybeFloat: Float?
    @Persisted var int: Int
    @Persisted var maybeInt: Int?
    @Persisted var text: String
    @Persisted var grade: Grade?
    @Persisted var sure = Grade.low
    @Persisted var odd: Odd?
    @Persisted var floats: List<Float>
    @Persisted var grades: List<Grade?>
    @Persisted var ints: MutableSet<Int>
    @Persisted var named: Map<String, Odd?>
    @Persisted var required: Grade?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func requiredProperties() -> [String] { ["required"] }
}

/// Untyped values that a property takes although it can't show them exactly: numbers, enums and their raw values, types
/// of the application.
@Suite(.timeLimit(.minutes(20))) struct ConvertedValueTests {
    private static var values: [String: Any] {
        [
            "float": 16_777_217, "double": Int.max, "maybeFloat": UInt64.max, "int": Grade.high, "maybeInt": Grade.low,
            "text": Mood.wild, "grade": 99, "odd": 4, "floats": [16_777_219, 1], "grades": [1, 99],
            "ints": [Grade.high, 3] as [Any], "named": ["a": 1, "b": 2], "required": 1,
        ]
    }

    private func expectConverted(_ sample: Sample) {
        #expect(sample.float == 16_777_216 && sample.double == 0x1p63 && sample.maybeFloat == 0x1p64)
        #expect(sample.int == 2 && sample.maybeInt == 1 && sample.text == "wild")
        #expect(sample.grade == nil && sample["grade"] == nil && sample.odd == nil && sample["odd"] == nil)
        #expect(Array(sample.floats) == [16_777_220, 1] && Array(sample.grades) == [.low, nil])
        #expect(Set(sample.ints) == [2, 3] && sample.named["a"]??.number == 1 && sample.named["b"] == .some(nil))
    }

    @Test func valuesAreConvertedInEveryWay() throws {
        let realm = try memoryRealm([Sample.self])
        expectConverted(Sample(value: Self.values))
        expectConverted(try Sample(validating: Self.values))
        try realm.write {
            let update = realm.create(Sample.self, value: ["grade": 2, "odd": 3, "required": 1] as [String: Any])
            for (name, value) in Self.values { update[name] = value }
            expectConverted(update)
            let samples = [
                realm.create(Sample.self, value: Self.values), try realm.create(Sample.self, validating: Self.values),
                realm.create(Sample.self, value: ["required": Grade.low]), Sample(),
            ]
            for (name, value) in Self.values { samples[2].setValue(value, forKey: name) }
            for (name, value) in Self.values { samples[3][name] = value }
            samples.forEach(expectConverted)
            let dynamic = realm.dynamicCreate("Sample", value: ["required": 1])
            for (name, value) in Self.values { dynamic[name] = value }
            expectConverted(try #require(realm.objects(Sample.self).last))
        }
        let sample = Sample()
        sample["double"] = Grams(2.5)
        #expect(sample.double == 2.5)
    }

    /// A property that is not optional, or must not be nil, has no nil to become.
    @Test func whatCanNotBecomeNilIsRefused() throws {
        let realm = try memoryRealm([Sample.self])
        for (name, value) in [
            ("sure", 99 as Any), ("required", 99), ("int", Grams(1.5)), ("float", "1"), ("double", Mood.wild),
            ("text", Grade.low), ("floats", ["x"]), ("grades", ["x"]), ("odd", "x"),
        ] {
            let values = ["required": 1].merging([name: value]) { $1 }
            let error = #expect(throws: Realm.Error.self, "\(name)") { try Sample(validating: values) }
            #expect(error?.code == .invalidInput && error?.message.contains(name) == true)
            try realm.write {
                #expect(throws: Realm.Error.invalidInput, "\(name)") {
                    try realm.create(Sample.self, validating: values)
                }
            }
        }
        #expect(realm.objects(Sample.self).isEmpty)
    }
}
