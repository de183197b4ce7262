import Firn
import Foundation
import Testing

private enum Rank: Int, PersistableEnum, Comparable {
    case low = 1, middle, high
    static func < (a: Rank, b: Rank) -> Bool { a.rawValue < b.rawValue }
}
private enum Unit: String, PersistableEnum { case a, b, ab }

private struct Tag: CustomPersistable, Hashable {
    var text: String
    init(_ text: String) { self.text = text }
    init(persistedValue: String) { text = persistedValue }
    var persistableValue: String { text }
}
private struct Metres: CustomPersistable, Hashable {
    var count: Double
    init(_ count: Double) { self.count = count }
    init(persistedValue: Double) { count = persistedValue }
    var persistableValue: Double { count }
}

private class Sample: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var data: Data
    @Persisted var other: Data
    @Persisted var maybeData: Data?
    @Persisted var short: Data
    @Persisted var text: String
    @Persisted var unit: Unit
    @Persisted var second: Unit
    @Persisted var maybeUnit: Unit?
    @Persisted var tag: Tag
    @Persisted var maybeTag: Tag?
    @Persisted var rank: Rank
    @Persisted var maybeRank: Rank?
    @Persisted var width: Metres
    @Persisted var maybeWidth: Metres?
    @Persisted var ranks: List<Rank>
    @Persisted var maybeRanks: List<Rank?>
    @Persisted var maybeWidths: List<Metres?>
    @Persisted var mixed: List<AnyRealmValue>
    @Persisted var numbers: List<Int?>
    @Persisted var namedRanks: Map<String, Rank?>
    @Persisted var namedWidths: Map<String, Metres?>
    @Persisted var samples: List<Sample>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Conditions go by what is stored, also if a property is an enum or of a type of the application. Each is compared
/// with the same condition in Swift.
@Suite(.timeLimit(.minutes(20))) struct StoredFormQueryTests {
    private let realm: Realm

    init() throws {
        realm = try memoryRealm([Sample.self])
        try realm.write {
            for id in 0..<60 {
                let sample = Sample(value: ["id": id])
                sample.data = Data([1, 2, UInt8(id % 3)])
                sample.other = Data(id % 2 == 0 ? [1, 2] : [2, UInt8(id / 2 % 3)])
                sample.short = Data([UInt8(id / 3 % 3)])
                sample.maybeData = id % 4 == 0 ? nil : Data([UInt8(id % 3)])
                sample.text = ["a", "b", "AB", "*"][id % 4]
                sample.unit = Unit.allCases[id % 3]
                sample.second = Unit.allCases[id / 3 % 3]
                sample.maybeUnit = id % 5 == 0 ? nil : Unit.allCases[id / 2 % 3]
                sample.tag = Tag(["a", "hat", "h*"][id % 3])
                sample.maybeTag = id % 5 == 0 ? nil : Tag(["hat", "at", "*"][id / 2 % 3])
                sample.rank = Rank.allCases[id % 3]
                sample.maybeRank = id % 4 == 0 ? nil : Rank.allCases[id / 2 % 3]
                sample.width = Metres(Double(id % 4))
                sample.maybeWidth = id % 5 == 0 ? nil : Metres(Double(id % 3))
                sample.ranks.append(objectsIn: (0..<id % 3).map { Rank.allCases[(id / 3 + $0) % 3] })
                sample.maybeRanks.append(objectsIn: (0..<id % 3).map { $0 == 0 ? nil : Rank.allCases[id / 3 % 3] })
                sample.maybeWidths.append(objectsIn: (0..<id % 4).map { $0 == 0 ? nil : Metres(Double(id % 5)) })
                sample.mixed.append(objectsIn: [.none, .int(id % 7)])
                sample.numbers.append(objectsIn: (0..<id % 3).map { $0 == 0 ? nil : id % 5 })
                sample.namedRanks["a"] = .some(id % 3 == 0 ? nil : Rank.allCases[id / 3 % 3])
                sample.namedWidths["a"] = .some(id % 3 == 0 ? nil : Metres(Double(id % 5)))
                realm.add(sample)
            }
            for sample in realm.objects(Sample.self) where sample.id > 10 {
                sample.samples.append(objectsIn: realm.objects(Sample.self).where { $0.id < sample.id % 4 })
            }
        }
    }

    private func check(
        _ condition: (Query<Sample>) -> Query<Bool>, _ expected: (Sample) -> Bool,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let found = realm.objects(Sample.self).where(condition).map(\.id)
        let wanted = Array(realm.objects(Sample.self)).filter(expected).map(\.id)
        #expect(Array(found) == wanted, sourceLocation: location)
        #expect(!wanted.isEmpty && wanted.count < 60, "the condition is no test", sourceLocation: location)
    }

    @Test func dataAreComparedWithOtherData() {
        check({ $0.data.contains($0.other) }, { $0.data.range(of: $0.other) != nil })
        check({ $0.data.starts(with: $0.other) }, { $0.data.starts(with: $0.other) })
        check({ $0.data.ends(with: $0.other) }, { $0.data.suffix(2) == $0.other })
        check({ $0.data.ends(with: $0.maybeData) }, { $0.maybeData != nil })
        check({ $0.maybeData.notEquals($0.short) }, { $0.maybeData != $0.short })
        check({ $0.maybeData.equals($0.short) }, { $0.maybeData == $0.short })
    }

    @Test func textsOfSeveralTypesAreComparedWithEachOther() {
        func has(_ text: String, _ part: String?) -> Bool { part.map { text.contains($0) } ?? false }
        check({ $0.unit.equals($0.second) }, { $0.unit == $0.second })
        check({ $0.unit.notEquals($0.maybeUnit) }, { $0.unit != $0.maybeUnit })
        check({ $0.unit.contains($0.second) }, { has($0.unit.rawValue, $0.second.rawValue) })
        check(
            { $0.unit.starts(with: $0.maybeUnit) },
            { sample in sample.maybeUnit.map { sample.unit.rawValue.hasPrefix($0.rawValue) } ?? false })
        check({ $0.unit.ends(with: $0.second) }, { $0.unit.rawValue.hasSuffix($0.second.rawValue) })
        check({ $0.unit.like($0.text) }, { $0.text == "*" || $0.text == $0.unit.rawValue })
        check({ $0.text.contains($0.unit) }, { has($0.text, $0.unit.rawValue) })
        check({ $0.text.equals($0.unit, options: .caseInsensitive) }, { $0.text.lowercased() == $0.unit.rawValue })
        check({ $0.tag.contains($0.maybeTag) }, { has($0.tag.text, $0.maybeTag?.text) })
        check({ $0.tag.equals($0.unit) }, { $0.tag.text == $0.unit.rawValue })
        check(
            { $0.maybeTag.like($0.tag) },
            { $0.maybeTag != nil && ($0.maybeTag == $0.tag || $0.tag.text == "h*" && $0.maybeTag?.text == "hat") })
    }

    @Test func storedFormsAreOrdered() {
        check({ $0.unit > .a }, { $0.unit != .a })
        check({ $0.maybeUnit <= .ab }, { $0.maybeUnit == .a || $0.maybeUnit == .ab })
        check({ $0.maybeUnit <= nil }, { $0.maybeUnit == nil })
        check({ $0.tag > Tag("h") }, { $0.tag.text > "h" })
        check({ $0.unit < $0.second }, { $0.unit.rawValue < $0.second.rawValue })
        check({ $0.unit >= $0.text }, { $0.unit.rawValue >= $0.text })
        check({ $0.maybeRank > $0.rank }, { sample in sample.maybeRank.map { $0 > sample.rank } ?? false })
        check(
            { $0.maybeWidth < $0.width && !($0.maybeWidth > $0.maybeWidth) },
            { sample in sample.maybeWidth.map { $0.count < sample.width.count } ?? false })
        check({ $0.rank > $0.id }, { $0.rank.rawValue > $0.id })
        check({ $0.maybeRanks > .low }, { $0.maybeRanks.contains { $0 == .middle || $0 == .high } })
    }

    @Test func rangesOfEnumsAreThoseOfWhatIsStored() {
        check({ $0.rank.contains(.low ... .middle) }, { $0.rank != .high })
        check({ $0.rank.contains(.low ..< .middle) }, { $0.rank == .low })
        check({ $0.maybeRank.contains(.middle ... .high) }, { $0.maybeRank == .middle || $0.maybeRank == .high })
        check(
            { $0.ranks.contains(.low ... .middle) },
            { !$0.ranks.isEmpty && $0.ranks.allSatisfy { $0 <= .middle } })
        check(
            { $0.maybeRanks.contains(.low ..< .high) },
            { $0.maybeRanks.count > 1 && $0.maybeRanks.allSatisfy { $0 != .high } })
        check({ $0.namedRanks.contains(.middle ... .high) }, { ($0.namedRanks["a"] ?? nil) ?? .low != .low })
        check(
            { $0.samples.rank.contains(.middle ..< .high) }, { $0.samples.contains { $0.rank == .middle } })
    }

    @Test func aggregatesOfOptionalElementsAreOfTheirType() {
        func widths(_ sample: Sample) -> [Double] { sample.maybeWidths.compactMap { $0?.count } }
        check({ $0.maybeRanks.max == .high }, { $0.maybeRanks.contains { $0 == .high } })
        check({ $0.maybeRanks.min > .low }, { ($0.maybeRanks.compactMap { $0 }.min() ?? .low) > .low })
        check({ $0.maybeRanks.max == nil }, { $0.maybeRanks.allSatisfy { $0 == nil } })
        check({ $0.maybeWidths.max == Metres(1) }, { widths($0).max() == 1 })
        check({ $0.maybeWidths.avg == Metres(1) }, { !widths($0).isEmpty && widths($0)[0] == 1 })
        check({ $0.maybeWidths.sum > Metres(2) }, { widths($0).reduce(0, +) > 2 })
        check({ $0.namedRanks.max == .high }, { $0.namedRanks["a"] == .some(.high) })
        check({ $0.namedWidths.avg == Metres(2) }, { $0.namedWidths["a"] == .some(Metres(2)) })
        check({ $0.namedWidths.sum <= Metres(0) }, { ($0.namedWidths["a"] ?? nil)?.count ?? 0 <= 0 })
        check({ $0.samples.maybeRank.max == .middle }, { $0.samples.compactMap { $0.maybeRank }.max() == .middle })
        check(
            { $0.samples.maybeWidth.avg >= Metres(1) },
            { sample in
                let found = sample.samples.compactMap { $0.maybeWidth?.count }
                return !found.isEmpty && found.reduce(0, +) / Double(found.count) >= 1
            })
        check({ $0.mixed.max > .int(3) }, { $0.id % 7 > 3 })
        check({ $0.numbers.max > 2 && $0.numbers.min != nil }, { $0.numbers.contains { $0 ?? 0 > 2 } })
        check(
            { $0.numbers.max < $0.id },
            { sample in sample.numbers.contains { number in number.map { $0 < sample.id } ?? false } })
    }
}
