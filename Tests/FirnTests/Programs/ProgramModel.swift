import Foundation

@testable import Firn

/// The classes of random programs: a property of every kind.
class ModelNode: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var number: Int?
    @Persisted(indexed: true) var text = "new"
    @Persisted var decimal: Decimal128?
    @Persisted(indexed: true) var any: AnyRealmValue
    @Persisted var node: ModelNode?
    @Persisted var ints: List<Int>
    @Persisted var nodes: List<ModelNode>
    @Persisted var words: MutableSet<String>
    @Persisted var friends: MutableSet<ModelNode>
    @Persisted var counts: Map<String, Int?>
    @Persisted var links: Map<String, ModelNode?>
    @Persisted var mixed: List<AnyRealmValue>
    @Persisted var mixedMap: Map<String, AnyRealmValue>
    @Persisted var part: ModelPart?
    @Persisted var parts: List<ModelPart>
    @Persisted var named: Map<String, ModelPart?>
    @Persisted var flag: Bool
    @Persisted var float: Float?
    @Persisted var double: Double?
    @Persisted var data: Data?
    @Persisted(indexed: true) var date: Date?
    @Persisted var objectId: ObjectId?
    @Persisted(indexed: true) var uuid: UUID?
    @Persisted(indexed: true) var mood: ModelMood
    @Persisted var warmth: ModelWarmth?
    @Persisted var moods: List<ModelMood>
    @Persisted var dates: MutableSet<Date>
    @Persisted var warmths: Map<String, ModelWarmth?>
    @Persisted var label: ModelLabel?
    @Persisted var labels: List<ModelLabel>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class ModelPart: EmbeddedObject {
    @Persisted var name = "part"
    @Persisted var node: ModelNode?
    @Persisted var any: AnyRealmValue
    @Persisted var part: ModelPart?
    @Persisted var parts: List<ModelPart>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// The kind of a property, as the oracle knows it.
indirect enum ModelKind: Sendable {
    case number, text, decimal, mixed, link, part
    case scalar(ModelScalar)
    /// A part that a type of the application is stored as.
    case label
    case list(ModelKind), set(ModelKind), map(ModelKind)

    static let nodeProperties: [(name: String, kind: ModelKind)] = [
        ("number", .number), ("text", .text), ("decimal", .decimal), ("any", .mixed), ("node", .link),
        ("ints", .list(.number)), ("nodes", .list(.link)), ("words", .set(.text)), ("friends", .set(.link)),
        ("counts", .map(.number)), ("links", .map(.link)), ("mixed", .list(.mixed)), ("mixedMap", .map(.mixed)),
        ("part", .part), ("parts", .list(.part)), ("named", .map(.part)),
        ("flag", .scalar(.flag)), ("float", .scalar(.float)), ("double", .scalar(.double)), ("data", .scalar(.data)),
        ("date", .scalar(.date)), ("objectId", .scalar(.objectId)), ("uuid", .scalar(.uuid)), ("mood", .scalar(.mood)),
        ("warmth", .scalar(.warmth)), ("moods", .list(.scalar(.mood))), ("dates", .set(.scalar(.date))),
        ("warmths", .map(.scalar(.warmth))), ("label", .label), ("labels", .list(.label)),
    ]
    static let partProperties: [(name: String, kind: ModelKind)] = [
        ("name", .text), ("node", .link), ("any", .mixed), ("part", .part), ("parts", .list(.part)),
    ]

    /// What a new object has.
    var initial: Shape {
        switch self {
        case .text: .text("new")
        case .scalar(let scalar): scalar.isOptional ? .none : .scalar(scalar, 0)
        case .list: .list([])
        case .set: .set([])
        case .map: .map([:])
        default: .none
        }
    }
}

/// A value as the oracle keeps it.
indirect enum Shape: Hashable, Sendable {
    case none
    case number(Int)
    case text(String)
    case decimal(String)
    case scalar(ModelScalar, Int)
    case link(Int)
    case list([Shape])
    case set(Set<Shape>)
    case map([String: Shape])
    case part([String: Shape])

    static let newPart: [String: Shape] = {
        var part = Dictionary(uniqueKeysWithValues: ModelKind.partProperties.map { ($0.name, $0.kind.initial) })
        part["name"] = .text("part")
        return part
    }()
    static let newNode = Dictionary(uniqueKeysWithValues: ModelKind.nodeProperties.map { ($0.name, $0.kind.initial) })

    /// The value as a program gives it. Links lead to objects of `realm`.
    func any(_ realm: Realm) -> Any {
        switch self {
        case .none: return Optional<Int>.none as Any
        case .number(let value): return value
        case .text(let value): return value
        case .decimal(let value): return Decimal128(stringLiteral: value)
        case .scalar(let scalar, let number): return scalar.any(number)
        case .link(let id): return realm.object(ofType: ModelNode.self, forPrimaryKey: id) as Any
        case .list(let elements): return elements.map { $0.any(realm) }
        case .set(let elements): return elements.map { $0.any(realm) }
        case .map(let entries), .part(let entries): return entries.mapValues { $0.any(realm) }
        }
    }

    /// The objects that the value links to.
    var links: [Int] {
        switch self {
        case .link(let id): [id]
        case .list(let elements): elements.flatMap(\.links)
        case .set(let elements): elements.flatMap(\.links)
        case .map(let entries), .part(let entries): entries.values.flatMap(\.links)
        default: []
        }
    }

    /// The value without the links to an object. `kind` says what becomes of an element.
    func removing(_ id: Int, _ kind: ModelKind) -> Shape {
        switch (self, kind) {
        case (.link(id), _): return .none
        case (.list(let elements), .list(.link)): return .list(elements.filter { $0 != .link(id) })
        case (.list(let elements), .list(let kind)): return .list(elements.map { $0.removing(id, kind) })
        case (.list(let elements), _): return .list(elements.map { $0.removing(id, .mixed) })
        case (.set(let elements), _): return .set(elements.filter { $0 != .link(id) })
        case (.map(let entries), .map(let kind)): return .map(entries.mapValues { $0.removing(id, kind) })
        case (.map(let entries), _): return .map(entries.mapValues { $0.removing(id, .mixed) })
        case (.part(let part), _):
            return .part(Shape.removing(id, from: part, ModelKind.partProperties))
        default: return self
        }
    }

    static func removing(
        _ id: Int, from properties: [String: Shape], _ kinds: [(name: String, kind: ModelKind)]
    ) -> [String: Shape] {
        var result = properties
        for (name, kind) in kinds { result[name] = result[name]?.removing(id, kind) }
        return result
    }
}

/// What a realm holds, read through typed properties.
extension Shape {
    static func of(_ realm: Realm) -> [Int: [String: Shape]] {
        var result: [Int: [String: Shape]] = [:]
        for node in realm.objects(ModelNode.self) { result[node.id] = of(node) }
        return result
    }

    static func of(_ node: ModelNode) -> [String: Shape] {
        [
            "number": of(node.number), "text": .text(node.text),
            "decimal": node.decimal.map { .decimal($0.stringValue) } ?? .none,
            "any": of(node.any), "node": of(node.node), "ints": .list(node.ints.map { .number($0) }),
            "nodes": .list(node.nodes.map { of($0) }), "words": .set(Set(node.words.map { .text($0) })),
            "friends": .set(Set(node.friends.map { of($0) })),
            "counts": .map(entries(node.counts) { of($0) }), "links": .map(entries(node.links) { of($0) }),
            "mixed": .list(node.mixed.map { of($0) }), "mixedMap": .map(entries(node.mixedMap) { of($0) }),
            "part": of(node.part), "parts": .list(node.parts.map { of($0) }),
            "named": .map(entries(node.named) { of($0) }),
            "flag": node.flag.shape, "float": of(node.float), "double": of(node.double), "data": of(node.data),
            "date": of(node.date), "objectId": of(node.objectId), "uuid": of(node.uuid), "mood": node.mood.shape,
            "warmth": of(node.warmth), "moods": .list(node.moods.map(\.shape)),
            "dates": .set(Set(node.dates.map(\.shape))),
            "warmths": .map(entries(node.warmths) { of($0) }), "label": of(node.label),
            "labels": .list(node.labels.map { of($0) }),
        ]
    }

    private static func entries<Value>(_ map: Map<String, Value>, _ shape: (Value) -> Shape) -> [String: Shape] {
        var result: [String: Shape] = [:]
        for entry in map { result[entry.key] = shape(entry.value) }
        return result
    }

    private static func of(_ value: (some Numbered)?) -> Shape { value?.shape ?? .none }
    private static func of(_ label: ModelLabel?) -> Shape {
        guard let label else { return .none }
        return .part(newPart.merging(["name": .text(label.name), "node": of(label.node)]) { $1 })
    }
    private static func of(_ number: Int?) -> Shape { number.map { .number($0) } ?? .none }
    private static func of(_ node: ModelNode?) -> Shape { node.map { .link($0.id) } ?? .none }

    private static func of(_ part: ModelPart?) -> Shape {
        guard let part else { return .none }
        return .part([
            "name": .text(part.name), "node": of(part.node), "any": of(part.any), "part": of(part.part),
            "parts": .list(part.parts.map { of($0) }),
        ])
    }

    private static func of(_ value: AnyRealmValue) -> Shape {
        switch value {
        case .none: .none
        case .int(let number): .number(number)
        case .string(let text): .text(text)
        case .decimal128(let number): .decimal(number.stringValue)
        case .bool(let value): value.shape
        case .float(let value): value.shape
        case .double(let value): value.shape
        case .data(let value): value.shape
        case .date(let value): value.shape
        case .objectId(let value): value.shape
        case .uuid(let value): value.shape
        case .object(let object): .link((object as? ModelNode)?.id ?? -1)
        case .list(let list): .list(list.map { of($0) })
        case .dictionary(let map): .map(entries(map) { of($0) })
        }
    }
}
