import RealmSwift
import Testing

// RealmSwift's signatures of properties and of what they store, as requirements. The compiler checks them.

private protocol PersistedSurface {
    associatedtype Value: _Persistable
    init()
    init(wrappedValue value: Value)
}
extension Persisted: PersistedSurface {}

private protocol KeySurface {
    associatedtype Value: _Persistable
    init(primaryKey: Bool)
}
extension Persisted: KeySurface where Value: _PrimaryKey {}

private protocol IndexSurface {
    associatedtype Value: _Persistable
    init(indexed: Bool)
}
extension Persisted: IndexSurface where Value: _Indexable {}

private protocol OriginSurface {
    init(originProperty: String)
}
extension Persisted: OriginSurface where Value: LinkingObjectsProtocol {}

private protocol DecodablePersistedSurface {
    init(from decoder: Decoder) throws
}
extension Persisted: DecodablePersistedSurface where Value: Decodable {}

private protocol EncodablePersistedSurface {
    func encode(to encoder: Encoder) throws
}
extension Persisted: EncodablePersistedSurface where Value: Encodable {}

private protocol EnumSurface: PersistableEnum {
    init()
}
extension Rock: EnumSurface {}

private protocol CustomSurface: CustomPersistable {
    associatedtype PersistedType
    init(persistedValue: PersistedType)
    var persistableValue: PersistedType { get }
    func hash(into hasher: inout Hasher)
}
extension Metres: CustomSurface {}

private protocol FailableSurface: FailableCustomPersistable {
    associatedtype PersistedType
    init?(persistedValue: PersistedType)
    var persistableValue: PersistedType { get }
    func hash(into hasher: inout Hasher)
}
extension Climate: FailableSurface {}

@available(*, deprecated) private protocol BoxSurface: AnyObject {
    associatedtype Value: RealmPropertyType
    init()
    var value: Value { get set }
    var description: String { get }
}
@available(*, deprecated) extension RealmProperty: BoxSurface {}

@available(*, deprecated) private protocol EquatableBoxSurface: Equatable {
    static func == (lhs: Self, rhs: Self) -> Bool
}
@available(*, deprecated) extension RealmProperty: EquatableBoxSurface where Value: Equatable {}

@available(*, deprecated) private protocol DecodableBoxSurface {
    init(from decoder: Decoder) throws
}
@available(*, deprecated) extension RealmProperty: DecodableBoxSurface where Value: Decodable {}

@available(*, deprecated) private protocol EncodableBoxSurface {
    func encode(to encoder: Encoder) throws
}
@available(*, deprecated) extension RealmProperty: EncodableBoxSurface where Value: Encodable {}

/// A box of an optional number, by the name that classes of old programs have for it.
@available(*, deprecated) private protocol OptionalBoxSurface: AnyObject, Equatable, Codable {
    init(_ value: Int?)
    var value: Int? { get set }
    func encode(to encoder: Encoder) throws
    init(from decoder: Decoder) throws
    static func == (lhs: Self, rhs: Self) -> Bool
}
@available(*, deprecated) extension RealmOptional<Int>: OptionalBoxSurface {}

/// What may be in a property, by the names of RealmSwift's protocols.
private func persistable<T: RealmCollectionValue & RealmOptionalType>(_: T.Type) -> String { "\(T.self)" }
private func boxed<T: RealmPropertyType>(_: T.Type) -> String { "\(T.self)" }

class Cairn: Object, Codable {
    @Persisted(primaryKey: true) var id = 7
    @Persisted(indexed: true) var name = "stone"
    @Persisted var height = 1.5
    @Persisted var width: Double?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite(.timeLimit(.minutes(20))) struct PersistedSurfaceTests {
    @Test func aPropertysWrapperIsMadeThroughItsRequirements() {
        func plain<P: PersistedSurface>(_: P.Type, _ value: P.Value) -> [P] { [P(), P(wrappedValue: value)] }
        func key<P: KeySurface>(_: P.Type) -> P { P(primaryKey: true) }
        func index<P: IndexSurface>(_: P.Type) -> P { P(indexed: true) }
        func origin<P: OriginSurface>(_: P.Type) -> P { P(originProperty: "neighbours") }
        #expect(plain(Persisted<Int>.self, 1).count == 2)
        func start<E: EnumSurface>(_: E.Type) -> E { E() }
        #expect(start(Rock.self) == .granite)
        let made: [Any] = [
            key(Persisted<Int>.self), index(Persisted<String>.self), origin(Persisted<LinkingObjects<Peak>>.self),
        ]
        #expect(made.map { "\(type(of: $0))".prefix(9) } == Array(repeating: "Persisted", count: 3))
        let cairn = Cairn()
        #expect(cairn.id == 7 && cairn.name == "stone" && cairn.height == 1.5 && cairn.width == nil)
        cairn.name = "slate"
        let schema = cairn.objectSchema
        #expect(cairn.name == "slate" && schema.primaryKeyProperty?.name == "id" && schema["name"]?.isIndexed == true)
    }

    @Test func aPropertysWrapperIsCodedThroughItsRequirements() throws {
        struct Coded<P: DecodablePersistedSurface & EncodablePersistedSurface>: Codable {
            let wrapper: P
            init(from decoder: any Decoder) throws { wrapper = try P(from: decoder) }
            func encode(to encoder: any Encoder) throws { try wrapper.encode(to: encoder) }
        }
        let text = Data("[1,2]".utf8)
        let wrapper = try JSONDecoder().decode(Coded<Persisted<List<Int>>>.self, from: text)
        #expect(try JSONEncoder().encode(wrapper) == text)
        let cairn = try JSONDecoder().decode(Cairn.self, from: Data(#"{"id":1,"name":"n","height":2}"#.utf8))
        #expect(cairn.id == 1 && cairn.name == "n" && cairn.height == 2 && cairn.width == nil)
    }

    @Test func typesOfTheApplicationAreStoredThroughTheirRequirements() throws {
        func again<C: CustomSurface>(_ value: C) -> [C] {
            let stored: C.PersistedType = value.persistableValue
            return [C(persistedValue: stored), value]
        }
        func again<F: FailableSurface>(_ value: F) -> F? { F(persistedValue: value.persistableValue) }
        func hash<H: Hashable>(_ value: H) -> Int {
            var hasher = Hasher()
            value.hash(into: &hasher)
            return hasher.finalize()
        }
        let (two, climate) = (Metres(2), try #require(Climate(persistedValue: "alpine")))
        #expect(again(two).map(\.count) == [2, 2] && hash(two) == hash(Metres(2)) && two == Metres(2))
        #expect(again(climate)?.letter == "a" && hash(climate) == hash(climate) && Climate(persistedValue: "") == nil)
        func names<E: PersistableEnum>(_: E.Type) -> [E] { Array(E.allCases) }
        #expect(names(Rock.self) == [.granite, .lime] && persistable(Rock.self) == "Rock")
        #expect(persistable(Int.self) == "Int" && boxed(Int?.self) == "Optional<Int>")
    }

    @available(*, deprecated)
    @Test func theBoxesOfOldClassesAnswerThroughTheirRequirements() throws {
        func box<B: BoxSurface>(_: B.Type, _ value: B.Value) -> B {
            let box = B()
            box.value = value
            return box
        }
        let (one, two) = (box(RealmProperty<Int?>.self, 1), box(RealmProperty<Int?>.self, 2))
        func areEqual<B: EquatableBoxSurface>(_ a: B, _ b: B) -> Bool { a == b }
        #expect(!areEqual(one, two) && areEqual(one, one) && one.value == 1 && one.description == "Optional(1)")
        func optional<B: OptionalBoxSurface>(_: B.Type) -> B {
            let box = B(3)
            box.value = box.value.map { $0 + 1 }
            return box
        }
        #expect(optional(RealmOptional<Int>.self).value == 4 && optional(RealmOptional<Int>.self) != one)
        struct Coded<B: DecodableBoxSurface & EncodableBoxSurface>: Codable {
            let box: B
            init(from decoder: any Decoder) throws { box = try B(from: decoder) }
            func encode(to encoder: any Encoder) throws { try box.encode(to: encoder) }
        }
        let coded = try JSONDecoder().decode([Coded<RealmProperty<Int?>>].self, from: Data("[5,null]".utf8))
        #expect(coded.map(\.box.value) == [5, nil])
        #expect(try JSONEncoder().encode(coded) == Data("[5,null]".utf8))
    }

    @available(*, deprecated)
    @Test func oldEnumsConformByTheOldName() {
        func cases<E: RealmEnum>(_: E.Type) -> Int { E.allCases.count }
        #expect(cases(Rock.self) == 2)
    }
}
