import Firn
import Foundation
import Testing

private enum Size: Int, PersistableEnum { case small = 1, medium, large }
private enum Colour: String, PersistableEnum { case red, dark = "Dark Red", blue }

private struct Metres: CustomPersistable, Hashable {
    var value: Double
    init(_ value: Double) { self.value = value }
    init(persistedValue: Double) { value = persistedValue }
    var persistableValue: Double { value }
}

private class Parcel: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var size: Size
    @Persisted var other: Size
    @Persisted var maybe: Size?
    @Persisted var colour: Colour
    @Persisted var tint: Colour?
    @Persisted var length: Metres
    @Persisted var width: Metres?
    @Persisted var text: String
    @Persisted var pattern: String?
    @Persisted var bytes: Data
    @Persisted var sizes: List<Size>
    @Persisted var lengths: List<Metres>
    @Persisted var maybes: List<Size?>
    @Persisted var numbers: List<Int>
    @Persisted var named: Map<String, Size>
    @Persisted var tints: Map<String, Colour?>
    @Persisted var parcels: List<Parcel>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Conditions on enums, on types of the application, and on two properties (R72; A of what compiles with RealmSwift).
/// Each is compared with the same condition in Swift.
@Suite(.timeLimit(.minutes(20))) struct MappedQueryTests {
    private let realm: Realm

    init() throws {
        realm = try memoryRealm([Parcel.self])
        try realm.write {
            for id in 0..<60 {
                let parcel = Parcel(value: ["id": id])
                parcel.size = Size.allCases[id % 3]
                parcel.other = Size.allCases[id / 3 % 3]
                parcel.maybe = id % 4 == 0 ? nil : Size.allCases[id % 3]
                parcel.colour = Colour.allCases[id % 3]
                parcel.tint = id % 5 == 0 ? nil : Colour.allCases[id / 2 % 3]
                parcel.length = Metres(Double(id % 7))
                parcel.width = id % 6 == 0 ? nil : Metres(Double(id % 5))
                parcel.text = ["abc", "ABC", "b", "a*"][id % 4]
                parcel.pattern = [nil, "a*", "abc", "?"][id / 4 % 4]
                parcel.bytes = Data([UInt8(id % 3)])
                parcel.sizes.append(objectsIn: (0..<id % 4).map { Size.allCases[(id + $0) % 3] })
                parcel.lengths.append(objectsIn: (0..<id % 3).map { Metres(Double(id % 5 + $0)) })
                parcel.maybes.append(objectsIn: (0..<id % 3).map { $0 == 0 ? nil : Size.allCases[(id + $0) % 3] })
                parcel.numbers.append(objectsIn: (0..<id % 5).map { id % 4 + $0 })
                parcel.named["a"] = Size.allCases[id % 3]
                if id % 2 == 0 { parcel.tints["t"] = .some(id % 4 == 0 ? nil : .blue) }
                realm.add(parcel)
            }
            for parcel in realm.objects(Parcel.self) where parcel.id > 10 {
                parcel.parcels.append(objectsIn: realm.objects(Parcel.self).where { $0.id < parcel.id % 4 })
            }
        }
    }

    private func check(
        _ condition: (Query<Parcel>) -> Query<Bool>, _ expected: (Parcel) -> Bool,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let found = realm.objects(Parcel.self).where(condition).map(\.id)
        let wanted = Array(realm.objects(Parcel.self)).filter(expected).map(\.id)
        #expect(Array(found) == wanted, sourceLocation: location)
        #expect(!wanted.isEmpty && wanted.count < 60, "the condition is no test", sourceLocation: location)
    }

    @Test func enumsAreOrderedByTheirRawValues() {
        check({ $0.size > .small }, { $0.size.rawValue > 1 })
        check({ $0.size >= .medium && $0.size < .large }, { $0.size == .medium })
        check({ $0.size <= .medium }, { $0.size.rawValue <= 2 })
        check({ $0.maybe > .small }, { ($0.maybe?.rawValue ?? 0) > 1 })
        check({ $0.maybe < .large }, { $0.maybe.map { $0.rawValue < 3 } ?? false })
        check({ $0.size > $0.other }, { $0.size.rawValue > $0.other.rawValue })
        check({ $0.size == $0.other }, { $0.size == $0.other })
        check({ $0.size != $0.other }, { $0.size != $0.other })
        check({ $0.maybe == $0.maybe && $0.size == $0.other }, { $0.size == $0.other })
        check({ $0.sizes > .medium }, { $0.sizes.contains { $0 == .large } })
        check({ $0.named.values >= .medium }, { $0.named["a"] != .small })
    }

    @Test func typesOfTheApplicationAreOrderedByWhatIsStored() {
        check({ $0.length > Metres(3) }, { $0.length.value > 3 })
        check({ $0.length <= Metres(3) && $0.length >= Metres(1) }, { (1...3).contains($0.length.value) })
        check({ $0.width < Metres(2) }, { $0.width.map { $0.value < 2 } ?? false })
        check({ $0.lengths >= Metres(5) }, { $0.lengths.contains { $0.value >= 5 } })
        check({ $0.length == $0.length && $0.length != Metres(0) }, { $0.length.value != 0 })
    }

    @Test func textOperatorsGoByTheRawValue() {
        check({ $0.colour.contains(.red, options: .caseInsensitive) }, { $0.colour != .blue })
        check({ $0.colour.contains(.red) }, { $0.colour == .red })
        check({ $0.colour.ends(with: .red, options: [.caseInsensitive]) }, { $0.colour != .blue })
        check({ $0.colour.starts(with: .dark) }, { $0.colour == .dark })
        check({ $0.colour.like(.blue) }, { $0.colour == .blue })
        check({ $0.colour.equals(.dark, options: .caseInsensitive) }, { $0.colour == .dark })
        check({ $0.colour.notEquals(.dark) }, { $0.colour != .dark })
        check({ $0.tint.contains(.red) }, { $0.tint == .red })
        check({ $0.tint.equals(nil) }, { $0.tint == nil })
        check({ $0.tint.notEquals(.blue) }, { $0.tint != .blue })
        check({ $0.tint.starts(with: .dark) }, { $0.tint == .dark })
    }

    @Test func aPropertyIsComparedWithAnother() {
        check({ $0.text > $0.pattern }, { parcel in parcel.pattern.map { $0 < parcel.text } ?? false })
        check({ $0.text <= $0.pattern }, { parcel in parcel.pattern.map { parcel.text <= $0 } ?? false })
        check({ $0.text.equals($0.pattern) }, { $0.text == $0.pattern })
        check(
            { $0.text.equals($0.pattern, options: .caseInsensitive) },
            { $0.text.lowercased() == $0.pattern?.lowercased() })
        check({ $0.text.notEquals($0.pattern) }, { $0.text != $0.pattern })
        check(
            { $0.text.like($0.pattern) },
            { parcel in
                switch parcel.pattern {
                case "a*": parcel.text.hasPrefix("a")
                case "abc": parcel.text == "abc"
                case "?": parcel.text == "b"
                default: false
                }
            })
        check(
            { $0.text.like($0.pattern, caseInsensitive: true) },
            { parcel in
                switch parcel.pattern {
                case "a*": parcel.text.lowercased().hasPrefix("a")
                case "abc": parcel.text.lowercased() == "abc"
                case "?": parcel.text == "b"
                default: false
                }
            })
        check({ $0.text.contains($0.pattern) }, { parcel in parcel.pattern.map { parcel.text.contains($0) } ?? false })
    }

    @Test func dataAreEqual() {
        check({ $0.bytes.equals(Data([1])) }, { $0.bytes == Data([1]) })
        check({ $0.bytes.notEquals(Data([1])) }, { $0.bytes != Data([1]) })
    }

    @Test func mapsAreSearched() {
        check({ $0.tints.contains(.blue) }, { $0.tints["t"] == .some(.blue) })
        check({ $0.tints.contains(nil) }, { parcel in parcel.tints.contains { $0.value == nil } })
        check({ $0.tints.containsAny(in: [.blue, nil]) }, { !$0.tints.isEmpty })
        check({ $0.named.containsAny(in: [.large]) }, { $0.named["a"] == .large })
        check({ $0.named.rawValue > 2 }, { $0.named["a"] == .large })
    }

    @Test func aggregatesAreComparedWithTheElementsType() {
        let (limit, metres) = (3, Metres(4))
        check(
            { $0.numbers.avg == limit },
            { !$0.numbers.isEmpty && Double($0.numbers.sum()) == 3 * Double($0.numbers.count) })
        check({ $0.numbers.avg > limit }, { ($0.numbers.average() as Double? ?? 0) > 3 })
        check({ $0.numbers.avg > 2.5 }, { ($0.numbers.average() as Double? ?? 0) > 2.5 })
        check({ $0.sizes.max == .large }, { $0.sizes.max() == .large })
        check({ $0.sizes.min > .small }, { ($0.sizes.min()?.rawValue ?? 0) > 1 })
        check({ $0.lengths.sum > metres }, { $0.lengths.reduce(0) { $0 + $1.value } > 4 })
        check({ $0.lengths.avg == metres }, { $0.lengths.average() == metres })
        check({ $0.lengths.max >= metres }, { ($0.lengths.max()?.value ?? 0) >= 4 })
        check({ $0.named.max == .large }, { $0.named.max() == .large })
        check({ $0.parcels.size.max == .large }, { $0.parcels.contains { $0.size == .large } })
        check({ $0.parcels.length.sum > Metres(2) }, { $0.parcels.reduce(0) { $0 + $1.length.value } > 2 })
        check({ $0.parcels.id.avg >= 1 }, { ($0.parcels.average(of: \.id) ?? -1) >= 1 })
    }

    @Test func aSubqueryCountsWhatItsElementsHave() {
        check(
            { ($0.parcels.numbers.count >= 1).count > 1 },
            { $0.parcels.filter { $0.numbers.count >= 1 }.count > 1 })
        check(
            { ($0.parcels.numbers.count >= 0 && $0.parcels.id > 0).count == 2 },
            { $0.parcels.filter { $0.id > 0 }.count == 2 })
        check(
            { ($0.parcels.numbers.max > 1).count > 0 }, { $0.parcels.contains { ($0.numbers.max() ?? 0) > 1 } })
        check(
            { ($0.parcels.parcels.id.max > 0 || $0.parcels.id == 2).count > 0 },
            { $0.parcels.contains { ($0.parcels.max(of: \.id) ?? 0) > 0 || $0.id == 2 } })
    }
}
