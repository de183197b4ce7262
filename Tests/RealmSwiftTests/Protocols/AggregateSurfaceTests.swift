import RealmSwift
import Testing

// RealmSwift's signatures for collections of values that can be compared and added, as requirements.

private protocol NumbersSurface {
    associatedtype Element: RealmCollectionValue
    func min() -> Element?
    func max() -> Element?
    func sum() -> Element
    func average<T: AddableType>() -> T?
    func sorted(ascending: Bool) -> Results<Element>
    func distinct() -> Results<Element>
    func encode(to encoder: Encoder) throws
}
extension Results: NumbersSurface where Element == Int {}
extension List: NumbersSurface where Element == Int {}
extension MutableSet: NumbersSurface where Element == Int {}
extension AnyRealmCollection: NumbersSurface where Element == Int {}

private protocol OptionalNumbersSurface {
    associatedtype Element: RealmCollectionValue
    func min() -> Int?
    func max() -> Int?
    func sum() -> Int
    func average<T: AddableType>() -> T?
    func sorted(ascending: Bool) -> Results<Element>
    func distinct() -> Results<Element>
    func encode(to encoder: Encoder) throws
}
extension Results: OptionalNumbersSurface where Element == Int? {}
extension List: OptionalNumbersSurface where Element == Int? {}
extension MutableSet: OptionalNumbersSurface where Element == Int? {}
extension AnyRealmCollection: OptionalNumbersSurface where Element == Int? {}

/// Types of the application are sorted by what they are stored as.
private protocol RocksSurface {
    associatedtype Element: RealmCollectionValue
    func sorted(ascending: Bool) -> Results<Element>
    func distinct() -> Results<Element>
}
extension List: RocksSurface where Element == Rock {}

private protocol MetresSurface {
    associatedtype Element: RealmCollectionValue
    func min() -> Element?
    func max() -> Element?
    func sum() -> Element
    func average<T: AddableType>() -> T?
    func sorted(ascending: Bool) -> Results<Element>
    func distinct() -> Results<Element>
}
extension List: MetresSurface where Element == Metres {}

private protocol MixedSurface {
    func min() -> AnyRealmValue?
    func max() -> AnyRealmValue?
    func sum() -> AnyRealmValue
    func sorted(ascending: Bool) -> Results<AnyRealmValue>
    func distinct() -> Results<AnyRealmValue>
}
extension List: MixedSurface where Element == AnyRealmValue {}

private protocol DatesSurface {
    func min() -> Date?
    func max() -> Date?
}
extension List: DatesSurface where Element == Date {}

/// Code that knows only what RealmSwift's constraints say of the elements.
private protocol SummedSurface {
    associatedtype Element: RealmCollectionValue
    func sum() -> Element
    func average<T: AddableType>() -> T?
}
extension List: SummedSurface where Element: AddableType {}
private protocol SortedSurface {
    associatedtype Element: RealmCollectionValue
    func sorted(ascending: Bool) -> Results<Element>
    func distinct() -> Results<Element>
}
extension List: SortedSurface where Element: SortableType {}

/// RealmSwift's constraints, as names that a program uses in its own generic functions.
private func names<T: MinMaxType & AddableType & SortableType>(_: T.Type) -> String { "\(T.self)" }
private func compared<T: MinMaxType>(_: T.Type) -> String { "\(T.self)" }

@Suite(.timeLimit(.minutes(20))) struct AggregateSurfaceTests {
    private let realm: Realm
    private let high: Peak

    init() throws {
        realm = try peaks()
        high = highAndLow(realm).0
    }

    @Test func numbersAreAggregatedThroughTheirRequirements() {
        func aggregates<C: NumbersSurface>(_ collection: C) -> [Double?] where C.Element == Int {
            [
                collection.min().map(Double.init), collection.max().map(Double.init), Double(collection.sum()),
                collection.average(), Double(collection.sorted(ascending: false)[0]),
                Double(collection.distinct().count),
            ]
        }
        let all = high.depths.sorted(ascending: true)
        #expect(aggregates(high.depths) == [1, 3, 6, 2, 3, 3])
        #expect(aggregates(all) == aggregates(high.depths) && aggregates(AnyRealmCollection(all)) == aggregates(all))
    }

    @Test func optionalNumbersAreAggregatedThroughTheirRequirements() {
        func aggregates<C: OptionalNumbersSurface>(_ collection: C) -> [Double?] where C.Element == Int? {
            let average: Double? = collection.average()
            return [
                collection.min().map(Double.init), collection.max().map(Double.init), Double(collection.sum()), average,
                collection.sorted(ascending: false)[0].map(Double.init), Double(collection.distinct().count),
            ]
        }
        #expect(aggregates(high.readings) == [4, 4, 4, 4, 4, 2])
    }

    @Test func typesOfTheApplicationAreAggregatedThroughTheirRequirements() throws {
        func metres<C: MetresSurface>(_ collection: C) -> [Double?] where C.Element == Metres {
            let average: Metres? = collection.sorted(ascending: true).first
            return [collection.min()?.count, collection.max()?.count, collection.sum().count, average?.count]
        }
        func rocks<C: RocksSurface>(_ collection: C) -> [Rock] where C.Element == Rock {
            collection.sorted(ascending: true) + Array(collection.distinct())
        }
        let store = try Quarry.opened()
        let quarry = try #require(store.objects(Quarry.self).first)
        #expect(metres(quarry.steps) == [1.5, 4, 5.5, 1.5])
        #expect(rocks(quarry.rocks) == [.granite, .lime, .lime, .lime, .granite])
    }

    @Test func datesAndMixedValuesAreAggregatedThroughTheirRequirements() throws {
        func range<C: DatesSurface>(_ dates: C) -> [Date?] { [dates.min(), dates.max()] }
        func mixed<C: MixedSurface>(_ values: C) -> [AnyRealmValue?] {
            [
                values.min(), values.max(), values.sum(), values.sorted(ascending: true).first,
                values.distinct().last,
            ]
        }
        let store = try Quarry.opened()
        let quarry = try #require(store.objects(Quarry.self).first)
        #expect(range(quarry.days) == [Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2)])
        #expect(mixed(quarry.notes).map { $0 == nil } == [false, false, false, false, false])
    }

    @Test func genericCodeNeedsRealmSwiftsConstraintsOnly() {
        func total<C: SummedSurface>(_ collection: C) -> C.Element { collection.sum() }
        func least<C: SortedSurface>(_ collection: C) -> C.Element? { collection.sorted(ascending: true).first }
        #expect(total(high.depths) == 6 && least(high.depths) == 1 && least(high.readings) == .some(nil))
    }

    @Test func theTypesThatCanBeComparedAndAddedAreRealmSwifts() {
        let numbers = [
            names(Int.self), names(Int8.self), names(Int16.self), names(Int32.self), names(Int64.self),
            names(Float.self), names(Double.self), names(Decimal128.self),
        ]
        #expect(numbers == ["Int", "Int8", "Int16", "Int32", "Int64", "Float", "Double", "Decimal128"])
        #expect(compared(Date.self) == "Date" && compared(AnyRealmValue.self) == "AnyRealmValue")
    }
}

class Quarry: Object {
    @Persisted var steps: List<Metres>
    @Persisted var rocks: List<Rock>
    @Persisted var days: List<Date>
    @Persisted var notes: List<AnyRealmValue>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    /// A realm with one quarry.
    static func opened() throws -> Realm {
        let realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Quarry.self]))
        try realm.write {
            let quarry = realm.create(Quarry.self)
            quarry.steps.append(objectsIn: [Metres(4), Metres(1.5)])
            quarry.rocks.append(objectsIn: [.lime, .granite, .lime])
            quarry.days.append(objectsIn: [2, 1].map { Date(timeIntervalSince1970: $0) })
            quarry.notes.append(objectsIn: [.int(2), .int(1)])
        }
        return realm
    }
}
