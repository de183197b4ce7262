import RealmSwift
import Testing

// RealmSwift's signatures of typed queries of values, as requirements. The compiler checks that they are satisfied.

private protocol BoolQuerySurface {
    static func && (lhs: Self, rhs: Self) -> Query<Bool>
    static func || (lhs: Self, rhs: Self) -> Query<Bool>
    static prefix func ! (query: Self) -> Query<Bool>
    var count: Query<Int> { get }
    static func == (lhs: Self, rhs: Bool) -> Query<Bool>
    static func != (lhs: Self, rhs: Bool) -> Query<Bool>
    static func == (lhs: Self, rhs: Self) -> Query<Bool>
    static func != (lhs: Self, rhs: Self) -> Query<Bool>
    func `in`<U: Sequence>(_ collection: U) -> Query<Bool> where U.Element == Bool
}
extension Query: BoolQuerySurface where T == Bool {}

private protocol NumberQuerySurface {
    static func == (lhs: Self, rhs: Int) -> Query<Bool>
    static func != (lhs: Self, rhs: Int) -> Query<Bool>
    static func > (lhs: Self, rhs: Int) -> Query<Bool>
    static func >= (lhs: Self, rhs: Int) -> Query<Bool>
    static func < (lhs: Self, rhs: Int) -> Query<Bool>
    static func <= (lhs: Self, rhs: Int) -> Query<Bool>
    static func > (lhs: Self, rhs: Self) -> Query<Bool>
    static func >= (lhs: Self, rhs: Self) -> Query<Bool>
    static func < (lhs: Self, rhs: Self) -> Query<Bool>
    static func <= (lhs: Self, rhs: Self) -> Query<Bool>
    func contains(_ range: Range<Int>) -> Query<Bool>
    func contains(_ range: ClosedRange<Int>) -> Query<Bool>
    func `in`<U: Sequence>(_ collection: U) -> Query<Bool> where U.Element == Int
    var sum: Query<Int> { get }
}
extension Query: NumberQuerySurface where T == Int {}

private protocol OptionalNumberQuerySurface {
    static func == (lhs: Self, rhs: Int?) -> Query<Bool>
    static func != (lhs: Self, rhs: Int?) -> Query<Bool>
    static func > (lhs: Self, rhs: Int?) -> Query<Bool>
    static func >= (lhs: Self, rhs: Int?) -> Query<Bool>
    static func > (lhs: Self, rhs: Self) -> Query<Bool>
    func contains(_ range: Range<Int>) -> Query<Bool>
    func contains(_ range: ClosedRange<Int>) -> Query<Bool>
    func `in`<U: Sequence>(_ collection: U) -> Query<Bool> where U.Element == Int?
    var sum: Query<Int?> { get }
}
extension Query: OptionalNumberQuerySurface where T == Int? {}

private protocol TextQuerySurface {
    static func == (lhs: Self, rhs: String) -> Query<Bool>
    static func != (lhs: Self, rhs: String) -> Query<Bool>
    func like(_ value: String, caseInsensitive: Bool) -> Query<Bool>
    func like(_ column: Query<String>, caseInsensitive: Bool) -> Query<Bool>
    func contains(_ value: String, options: StringOptions) -> Query<Bool>
    func contains(_ column: Query<String>, options: StringOptions) -> Query<Bool>
    func starts(with value: String, options: StringOptions) -> Query<Bool>
    func starts(with column: Query<String>, options: StringOptions) -> Query<Bool>
    func ends(with value: String, options: StringOptions) -> Query<Bool>
    func ends(with column: Query<String>, options: StringOptions) -> Query<Bool>
    func equals(_ value: String, options: StringOptions) -> Query<Bool>
    func equals(_ column: Query<String>, options: StringOptions) -> Query<Bool>
    func notEquals(_ value: String, options: StringOptions) -> Query<Bool>
    func notEquals(_ column: Query<String>, options: StringOptions) -> Query<Bool>
    func `in`<U: Sequence>(_ collection: U) -> Query<Bool> where U.Element == String
}
extension Query: TextQuerySurface where T == String {}

private protocol OptionalTextQuerySurface {
    func like(_ value: String?, caseInsensitive: Bool) -> Query<Bool>
    func contains(_ value: String?, options: StringOptions) -> Query<Bool>
    func starts(with value: String?, options: StringOptions) -> Query<Bool>
    func ends(with value: String?, options: StringOptions) -> Query<Bool>
    func equals(_ value: String?, options: StringOptions) -> Query<Bool>
    func notEquals(_ value: String?, options: StringOptions) -> Query<Bool>
}
extension Query: OptionalTextQuerySurface where T == String? {}

private protocol DataQuerySurface {
    func contains(_ value: Data, options: StringOptions) -> Query<Bool>
    func starts(with value: Data, options: StringOptions) -> Query<Bool>
    func ends(with value: Data, options: StringOptions) -> Query<Bool>
    func equals(_ value: Data, options: StringOptions) -> Query<Bool>
    func notEquals(_ value: Data, options: StringOptions) -> Query<Bool>
    func contains(_ column: Query<Data>, options: StringOptions) -> Query<Bool>
    func starts(with column: Query<Data>, options: StringOptions) -> Query<Bool>
    func ends(with column: Query<Data>, options: StringOptions) -> Query<Bool>
    func equals(_ column: Query<Data>, options: StringOptions) -> Query<Bool>
    func notEquals(_ column: Query<Data>, options: StringOptions) -> Query<Bool>
}
extension Query: DataQuerySurface where T == Data {}

private protocol EnumQuerySurface {
    var rawValue: Query<String> { get }
    static func == (lhs: Self, rhs: Rock) -> Query<Bool>
    static func > (lhs: Self, rhs: Rock) -> Query<Bool>
    static func <= (lhs: Self, rhs: Self) -> Query<Bool>
    func like(_ column: Query<String>, caseInsensitive: Bool) -> Query<Bool>
    func contains(_ column: Query<Rock>, options: StringOptions) -> Query<Bool>
    func starts(with value: Rock, options: StringOptions) -> Query<Bool>
    func equals(_ column: Query<Rock>, options: StringOptions) -> Query<Bool>
    func `in`<U: Sequence>(_ collection: U) -> Query<Bool> where U.Element == Rock
}
extension Query: EnumQuerySurface where T == Rock {}

private protocol AnyEnumQuerySurface {
    associatedtype T: PersistableEnum; var rawValue: Query<T.RawValue> { get }
}
extension Query: AnyEnumQuerySurface where T: PersistableEnum {}

private protocol CustomQuerySurface {
    var persistableValue: Query<Double> { get }
    static func == (lhs: Self, rhs: Metres) -> Query<Bool>
    static func > (lhs: Self, rhs: Metres) -> Query<Bool>
}
extension Query: CustomQuerySurface where T == Metres {}

private protocol AnyCustomQuerySurface {
    associatedtype T: CustomPersistable
    var persistableValue: Query<T.PersistedType> { get }
}
extension Query: AnyCustomQuerySurface where T: CustomPersistable {}

private protocol FailableQuerySurface {
    associatedtype T: FailableCustomPersistable
    var persistableValue: Query<T.PersistedType> { get }
}
extension Query: FailableQuerySurface where T: FailableCustomPersistable {}

private protocol StringOptionsSurface: OptionSet, Sendable {
    static var caseInsensitive: Self { get }
    static var diacriticInsensitive: Self { get }
}
extension StringOptions: StringOptionsSurface {}

@Suite(.timeLimit(.minutes(20))) struct QuerySurfaceTests {
    private let realm: Realm

    init() throws {
        realm = try peaks()
        let (high, low) = highAndLow(realm)
        try realm.write {
            (high.year, high.rock, high.prominence) = (1858, .lime, Metres(362))
            (low.rock, low.prominence, low.climate) = (.granite, Metres(407), Climate(persistedValue: "a"))
        }
    }

    /// For each of several conditions, the identities of the peaks that it finds.
    private func found(_ count: Int, _ conditions: (Query<Peak>) -> [Query<Bool>]) -> [String] {
        (0..<count).map { index in
            realm.objects(Peak.self).where { conditions($0)[index] }.map { "\($0.id)" }.sorted().joined()
        }
    }

    @Test func conditionsAreCombinedThroughTheirRequirements() {
        func combined<Q: BoolQuerySurface>(_ a: Q, _ b: Q) -> [Query<Bool>] { [a && b, a || b, !a] }
        func compared<Q: BoolQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [a == true, a != true, a == a, a != a, a.in([true])]
        }
        #expect(found(3) { combined($0.id == 1, $0.isSteep) } == ["1", "1", "2"])
        #expect(found(5) { compared($0.isSteep) } == ["1", "2", "12", "", "1"])
    }

    @Test func numbersAreComparedThroughTheirRequirements() {
        func numbers<Q: NumberQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [
                a == 1, a != 1, a > 1, a >= 1, a < 2, a <= 2, a > a, a >= a, a < a, a <= a, a.contains(1..<2),
                a.contains(1...2), a.in([2]),
            ]
        }
        #expect(
            found(13) { numbers($0.id) } == [
                "1", "2", "2", "12", "1", "12", "", "12", "", "12", "1", "12", "2",
            ])
        func optional<Q: OptionalNumberQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [
                a == 1858, a != nil, a > 1000, a >= 2000, a > a, a.contains(1000..<2000), a.contains(1858...1858),
                a.in([nil]),
            ]
        }
        #expect(found(8) { optional($0.year) } == ["1", "1", "1", "", "", "1", "1", "2"])
    }

    @Test func textsAreComparedThroughTheirRequirements() {
        func texts<Q: TextQuerySurface>(_ a: Q, _ b: Query<String>) -> [Query<Bool>] {
            [
                a == "Eiger", a != "Eiger", a.like("E*", caseInsensitive: false), a.like(b, caseInsensitive: true),
                a.contains("IE", options: .caseInsensitive), a.contains(b, options: []),
                a.starts(with: "e", options: [.caseInsensitive, .diacriticInsensitive]),
                a.starts(with: b, options: []), a.ends(with: "n", options: []), a.ends(with: b, options: []),
                a.equals("eiger", options: .caseInsensitive), a.equals(b, options: []),
                a.notEquals("eiger", options: .caseInsensitive), a.notEquals(b, options: []), a.in(["Niesen"]),
            ]
        }
        #expect(
            found(15) { texts($0.name, $0.name) } == [
                "1", "2", "1", "12", "2", "12", "1", "12", "2", "12", "1", "12", "2", "", "2",
            ])
        func optional<Q: OptionalTextQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [
                a.like("a*", caseInsensitive: false), a.contains("a", options: []), a.starts(with: "a", options: []),
                a.ends(with: "b", options: []), a.equals(nil, options: []), a.notEquals("a", options: []),
            ]
        }
        #expect(found(6) { optional($0.climate.persistableValue) } == ["2", "2", "2", "", "1", "1"])
    }

    @Test func dataAreComparedThroughTheirRequirements() throws {
        func data<Q: DataQuerySurface>(_ a: Q, _ b: Query<Data>) -> [Query<Bool>] {
            [
                a.contains(Data([2]), options: []), a.starts(with: Data([1]), options: []),
                a.ends(with: Data([3]), options: []), a.equals(Data([1, 2]), options: []),
                a.notEquals(Data([1, 2]), options: []), a.contains(b, options: []), a.starts(with: b, options: []),
                a.ends(with: b, options: []), a.equals(b, options: []), a.notEquals(b, options: []),
            ]
        }
        try realm.write {
            for peak in realm.objects(Peak.self) { peak.picture = peak.id == 1 ? Data([1, 2]) : Data([2, 3]) }
        }
        #expect(
            found(10) { data($0.picture, $0.picture) } == ["12", "1", "2", "1", "2", "12", "12", "12", "12", ""])
    }

    @Test func storedFormsAreComparedThroughTheirRequirements() {
        func rocks<Q: EnumQuerySurface>(_ a: Q, _ rock: Query<Rock>, _ name: Query<String>) -> [Query<Bool>] {
            [
                a == .lime, a.in([.granite]), a.rawValue == "lime", a > .granite, a <= a,
                a.like(name, caseInsensitive: true), a.contains(rock, options: []),
                a.starts(with: .lime, options: []), a.equals(rock, options: .caseInsensitive),
            ]
        }
        func anyRock<Q: AnyEnumQuerySurface>(_ a: Q) -> Query<Q.T.RawValue> { a.rawValue }
        #expect(
            found(9) { rocks($0.rock, $0.rock, $0.name) } == ["1", "2", "1", "1", "12", "", "12", "1", "12"])
        #expect(found(1) { [anyRock($0.rock) == "lime"] } == ["1"])
        func metres<Q: CustomQuerySurface>(_ a: Q) -> [Query<Bool>] {
            [a == Metres(362), a > Metres(400), a.persistableValue < 400]
        }
        func stored<Q: AnyCustomQuerySurface>(_ a: Q) -> Query<Q.T.PersistedType> { a.persistableValue }
        #expect(found(3) { metres($0.prominence) } == ["1", "2", "1"])
        #expect(found(1) { [stored($0.prominence) < 400] } == ["1"])
        func failable<Q: FailableQuerySurface>(_: Q.Type) -> String { "\(Q.T.PersistedType.self)" }
        #expect(failable(Query<Climate>.self) == "String")
    }

    @Test func theOptionsOfTextsAreASet() {
        func both<S: StringOptionsSurface>(_: S.Type) -> [S] { [.caseInsensitive, .diacriticInsensitive] }
        let all = both(StringOptions.self)
        let made = StringOptions(rawValue: 3)
        #expect(all.map(\.rawValue) == [1, 2] && made == [.caseInsensitive, .diacriticInsensitive])
    }
}
