import RealmSwift
import Testing

// RealmSwift's signatures of its own value types, as requirements. The compiler checks that they are satisfied.

private protocol DecimalSurface: Hashable, Comparable, Codable, Sendable, CustomStringConvertible, Numeric, Strideable,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral
{
    init()
    init(value: Any)
    init(number: NSNumber)
    init(string: String) throws
    init(from decoder: Decoder) throws
    func encode(to encoder: Encoder) throws
    init(integerLiteral value: Int64)
    init(floatLiteral value: Double)
    init(stringLiteral value: String)
    init?<T>(exactly source: T) where T: BinaryInteger
    static var min: Self { get }
    static var max: Self { get }
    var magnitude: Self { get }
    var isNaN: Bool { get }
    var isSignaling: Bool { get }
    var isSignalingNaN: Bool { get }
    var doubleValue: Double { get }
    var stringValue: String { get }
    func distance(to other: Self) -> Self
    func advanced(by n: Self) -> Self
    static func + (lhs: Self, rhs: Self) -> Self
    static func - (lhs: Self, rhs: Self) -> Self
    static func * (lhs: Self, rhs: Self) -> Self
    static func / (lhs: Self, rhs: Self) -> Self
    static func *= (lhs: inout Self, rhs: Self)
    static func += (lhs: inout Self, rhs: Self)
    static func -= (lhs: inout Self, rhs: Self)
    static func == (lhs: Self, rhs: Self) -> Bool
    static func < (lhs: Self, rhs: Self) -> Bool
    static func <= (lhs: Self, rhs: Self) -> Bool
    static func > (lhs: Self, rhs: Self) -> Bool
    static func >= (lhs: Self, rhs: Self) -> Bool
}
extension Decimal128: DecimalSurface {}

/// The types that come with arithmetic.
private protocol DecimalTypesSurface {
    associatedtype Magnitude
    associatedtype Stride
}
extension Decimal128: DecimalTypesSurface {}

private protocol ObjectIdSurface: Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    init()
    init(string: String) throws
    init(_ str: StaticString)
    init(timestamp: Date, machineId: Int, processId: Int)
    init(from decoder: Decoder) throws
    func encode(to encoder: Encoder) throws
    static func generate() -> Self
    var stringValue: String { get }
    var timestamp: Date { get }
    static func < (lhs: Self, rhs: Self) -> Bool
    static func <= (lhs: Self, rhs: Self) -> Bool
    static func > (lhs: Self, rhs: Self) -> Bool
    static func >= (lhs: Self, rhs: Self) -> Bool
}
extension ObjectId: ObjectIdSurface {}

private protocol MixedValueSurface: Hashable {
    init()
    var intValue: Int? { get }
    var boolValue: Bool? { get }
    var floatValue: Float? { get }
    var doubleValue: Double? { get }
    var stringValue: String? { get }
    var dataValue: Data? { get }
    var dateValue: Date? { get }
    var objectIdValue: ObjectId? { get }
    var decimal128Value: Decimal128? { get }
    var uuidValue: UUID? { get }
    var dictionaryValue: Map<String, AnyRealmValue>? { get }
    var listValue: List<AnyRealmValue>? { get }
    var dynamicObject: DynamicObject? { get }
    func object<T: Object>(_ objectType: T.Type) -> T?
    static func fromArray(_ array: [AnyRealmValue]) -> AnyRealmValue
    static func fromDictionary(_ dictionary: [String: AnyRealmValue]) -> AnyRealmValue
    func hash(into hasher: inout Hasher)
    static func == (lhs: Self, rhs: Self) -> Bool
    static func int(_ value: Int) -> Self
    static func bool(_ value: Bool) -> Self
    static func float(_ value: Float) -> Self
    static func double(_ value: Double) -> Self
    static func string(_ value: String) -> Self
    static func data(_ value: Data) -> Self
    static func date(_ value: Date) -> Self
    static func object(_ value: Object) -> Self
    static func objectId(_ value: ObjectId) -> Self
    static func decimal128(_ value: Decimal128) -> Self
    static func uuid(_ value: UUID) -> Self
    static func dictionary(_ value: Map<String, AnyRealmValue>) -> Self
    static func list(_ value: List<AnyRealmValue>) -> Self
    static var none: Self { get }
}
extension AnyRealmValue: MixedValueSurface {}

private protocol SortSurface: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    var keyPath: String { get }
    var ascending: Bool { get }
    init(keyPath: String, ascending: Bool)
    init<ObjectType: ObjectBase>(keyPath: PartialKeyPath<ObjectType>, ascending: Bool)
    func reversed() -> Self
    var description: String { get }
    init(stringLiteral value: String)
    init(unicodeScalarLiteral value: String)
    init(extendedGraphemeClusterLiteral value: String)
    static func == (lhs: Self, rhs: Self) -> Bool
}
extension RealmSwift.SortDescriptor: SortSurface {}

@Suite(.timeLimit(.minutes(20))) struct ValueSurfaceTests {
    @Test func aDecimalIsMadeThroughItsRequirements() throws {
        func numbers<D: DecimalSurface>(_: D.Type) throws -> [D] {
            let (whole, half, text): (D, D, D) = (3, 1.5, "2.25")
            return [
                whole, half, text, D(), D(value: 4), D(number: NSNumber(value: 5)), try D(string: "6"),
                D(exactly: 7) ?? 0, D(integerLiteral: 8), D(floatLiteral: 9), D(stringLiteral: "10"),
            ]
        }
        #expect(try numbers(Decimal128.self).map(\.doubleValue) == [3, 1.5, 2.25, 0, 4, 5, 6, 7, 8, 9, 10])
        #expect(throws: (any Error).self) { try Decimal128(string: "many") }
    }

    @Test func decimalsAreReckonedWithThroughTheirRequirements() throws {
        func results<D: DecimalSurface>(_ a: D, _ b: D) -> [D] {
            var (sum, difference, product) = (a, a, a)
            sum += b
            difference -= b
            product *= b
            return [a + b, a - b, a * b, a / b, sum, difference, product, a.distance(to: b), a.advanced(by: b)]
        }
        func facts<D: DecimalSurface>(_ a: D, _ b: D) -> [Bool] {
            [
                a == b, a < b, a <= b, a > b, a >= b, a.isNaN, a.isSignaling, a.isSignalingNaN, D.min < a, D.max > a,
                (0 - a).magnitude == a, a.stringValue == "6",
            ]
        }
        let magnitude: Decimal128.Magnitude = Decimal128(-2).magnitude
        let step: Decimal128.Stride = 2
        #expect(results(6 as Decimal128, step) == [8, 4, 12, 3, 8, 4, 12, -4, 8] && magnitude == step)
        #expect(
            facts(6 as Decimal128, 2) == [
                false, false, false, true, true, false, false, false, true, true, true, true,
            ])
    }

    @Test func identitiesAreMadeAndComparedThroughTheirRequirements() throws {
        func identities<I: ObjectIdSurface>(_: I.Type) throws -> [I] {
            let time = Date(timeIntervalSince1970: 9)
            return [
                I("000000010000000000000000"), try I(string: "000000020000000000000000"),
                I(timestamp: time, machineId: 1, processId: 2), I(), I.generate(),
            ]
        }
        func facts<I: ObjectIdSurface>(_ a: I, _ b: I) -> [String] {
            ["\(a < b)", "\(a <= b)", "\(a > b)", "\(a >= b)", "\(a.timestamp == b.timestamp)", a.stringValue]
        }
        let found = try identities(ObjectId.self)
        #expect(facts(found[0], found[1]) == ["true", "true", "false", "false", "false", "000000010000000000000000"])
        #expect(found[2].timestamp == Date(timeIntervalSince1970: 9) && Set(found).count == 5)
        #expect(throws: (any Error).self) { try ObjectId(string: "rex") }
    }

    @Test func decimalsAndIdentitiesAreCodedThroughTheirRequirements() throws {
        let identity = ObjectId.generate()
        let (number, same) = (try again(1.25 as Decimal128), try again(identity))
        #expect(number == 1.25 && same == identity)
    }

    @Test func aMixedValueIsMadeAndReadThroughItsRequirements() throws {
        func values<M: MixedValueSurface>(_: M.Type, _ peak: Peak) -> [M] {
            [
                M(), .none, .int(1), .bool(true), .float(2), .double(3), .string("s"), .data(Data([1])),
                .date(Date(timeIntervalSince1970: 1)), .object(peak), .objectId(ObjectId("000000010000000000000000")),
                .decimal128(4), .uuid(UUID()), .dictionary(Map()), .list(List()),
            ]
        }
        func kinds<M: MixedValueSurface>(_ value: M) -> [Bool] {
            [
                value.intValue != nil, value.boolValue != nil, value.floatValue != nil, value.doubleValue != nil,
                value.stringValue != nil, value.dataValue != nil, value.dateValue != nil,
                value.object(Peak.self) != nil, value.objectIdValue != nil, value.decimal128Value != nil,
                value.uuidValue != nil, value.dictionaryValue != nil, value.listValue != nil,
            ]
        }
        let all = values(AnyRealmValue.self, Peak(1, "Eiger"))
        #expect(all[0] == all[1] && !kinds(all[0]).contains(true))
        // Each of the others is read by one accessor, in the same order.
        for (index, value) in all.dropFirst(2).enumerated() { #expect(kinds(value).firstIndex(of: true) == index) }
        func hash<M: MixedValueSurface>(_ value: M) -> Int {
            var hasher = Hasher()
            value.hash(into: &hasher)
            return hasher.finalize()
        }
        #expect(hash(AnyRealmValue.int(1)) == hash(all[2]))
    }

    @Test func aMixedValueHoldsCollectionsAndObjects() throws {
        func made<M: MixedValueSurface>(_: M.Type) -> [AnyRealmValue] {
            [M.fromArray([.int(1), .string("a")]), M.fromDictionary(["a": .int(2)])]
        }
        func dynamic<M: MixedValueSurface>(_ value: M) -> DynamicObject? { value.dynamicObject }
        let collections = made(AnyRealmValue.self)
        #expect(collections[0].listValue?[1] == .string("a") && collections[1].dictionaryValue?["a"] == .int(2))
        let realm = try peaks()
        let (high, low) = highAndLow(realm)
        try realm.write { high.note = .object(low) }
        #expect(dynamic(high.note)?["name"] as? String == "Niesen" && dynamic(AnyRealmValue.int(1)) == nil)
    }

    @Test func anOrderIsMadeThroughItsRequirements() {
        func orders<S: SortSurface>(_: S.Type) -> [S] {
            ["name", S(keyPath: "name", ascending: true), S(keyPath: \Peak.name, ascending: false)]
        }
        func facts<S: SortSurface>(_ order: S) -> [String] {
            [order.keyPath, "\(order.ascending)", "\(order.reversed().ascending)", "\(order.description.isEmpty)"]
        }
        let all = orders(RealmSwift.SortDescriptor.self)
        #expect(all[0] == all[1] && all[2].reversed() == all[0])
        #expect(facts(all[2]) == ["name", "false", "true", "false"])
    }
}

/// A value that is coded through the requirements of `Codable`.
private struct Coded<V: Codable>: Codable {
    let value: V
    init(_ value: V) { self.value = value }
    init(from decoder: any Decoder) throws { value = try V(from: decoder) }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// A value, encoded and decoded.
private func again<V: Codable>(_ value: V) throws -> V {
    let data = try JSONEncoder().encode(Coded(value))
    return try JSONDecoder().decode(Coded<V>.self, from: data).value
}
