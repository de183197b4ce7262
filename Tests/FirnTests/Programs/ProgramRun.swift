import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// A random program over all types, beside an oracle of dictionaries.
final class ProgramRun {
    let seed: UInt64
    private var random: SeededRandom
    private let folder: TemporaryFolder?
    private let path: String
    private var nodes: [Int: [String: Shape]] = [:]
    /// The number of each node among all that were made: one that is deleted and made again is another object.
    private var births: [Int: Int] = [:]
    private var birthCount = 0
    /// What each version held.
    private var history: [(version: UInt64, nodes: [Int: [String: Shape]], births: [Int: Int])] = []
    private var log: [String] = []
    /// Whether nothing else has the store open.
    private var isAlone = true

    private static let types: [ObjectBase.Type] = [ModelNode.self, ModelPart.self]

    /// - Parameter path: the folder of the store; nil for one of its own.
    init(seed: UInt64, path: String? = nil) {
        self.seed = seed
        folder = path == nil ? TemporaryFolder() : nil
        self.path = path ?? folder?.path ?? ""
        random = SeededRandom(seed: seed)
    }

    func configuration(_ name: String = "p.firn") -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(filePath: path + "/" + name), objectTypes: Self.types)
        configuration.durability = .none
        configuration.historyRetention = .everything
        return configuration
    }

    /// - Parameter closes: whether nothing else has the store open, so that it is closed after each session.
    /// - Parameter pause: seconds to wait after each transaction.
    func run(closes: Bool = true, pause: TimeInterval = 0) throws {
        isAlone = closes
        for _ in 0..<3 {
            try session(pause)
            if closes { #expect(waitUntilClosed(URL(filePath: path + "/p.firn"))) }
        }
    }

    private func session(_ pause: TimeInterval) throws {
        let realm = try Realm(configuration: configuration())
        var pinned: [(Realm, [Int: [String: Shape]])] = []
        check(realm, expected: nodes, what: "after opening")
        for _ in 0..<6 {
            let before = (nodes, births)
            log = []
            realm.beginWrite()
            for _ in 0..<random.below(5) + 1 { try step(realm) }
            check(realm, expected: nodes, what: "in the transaction")
            if random.below(5) == 0 {
                realm.cancelWrite()
                log.append("cancel")
                (nodes, births) = before
            } else {
                try realm.commitWrite()
                if let version = realm.versions.last?.number { history.append((version, nodes, births)) }
            }
            check(realm, expected: nodes, what: "after the transaction")
            if pause > 0 { Thread.sleep(forTimeInterval: pause) }
            for (frozen, content) in pinned { check(frozen, expected: content, what: "frozen") }
            if random.below(4) == 0 { pinned.append((realm.freeze(), nodes)) }
            if pinned.count > 2 { pinned.removeFirst() }
            if random.below(8) == 0 {
                try realm.compact()
                check(realm, expected: nodes, what: "after compacting")
            }
        }
        try checkHistory(realm)
        try checkRecovery()
        // Others release versions meanwhile, whose nodes are counted until they are freed.
        if isAlone { realm.instance.store._checkInvariants() }
        let binding = realm.instance.binding(of: ModelPart.self)
        let snapshot = realm.instance.snapshot
        let expected = nodes.values.reduce(0) { $0 + Self.countParts(.part($1)) - 1 }
        #expect(snapshot.table(binding.table).count == expected, "seed \(seed): objects without a parent")
    }

    /// A copy of the folder, as a crash would leave it: its last commits are in the log only, and are replayed.
    private func checkRecovery() throws {
        var failure: (any Error)?
        // What compacts may replace a checkpoint while the folder is copied, so a copy may be none of one moment.
        for _ in 0..<10 {
            let copy = "copy\(UUID().uuidString).firn"
            do {
                try FileManager.default.copyItem(
                    atPath: path + "/p.firn", toPath: path + "/" + copy)
                let realm = try Realm(configuration: configuration(copy))
                check(realm, expected: nodes, what: "after a recovery")
                realm.instance.store._checkInvariants()
                return
            } catch { failure = error }
        }
        if let failure { throw failure }
    }

    private static func countParts(_ shape: Shape) -> Int {
        switch shape {
        case .part(let part): part.values.reduce(1) { $0 + countParts($1) }
        case .list(let elements): elements.reduce(0) { $0 + countParts($1) }
        case .map(let entries): entries.values.reduce(0) { $0 + countParts($1) }
        default: 0
        }
    }

    private func check(_ realm: Realm, expected: [Int: [String: Shape]], what: String) {
        let found = Shape.of(realm)
        if found == expected { return }
        for id in Set(found.keys).union(expected.keys).sorted() where found[id] != expected[id] {
            for (name, _) in ModelKind.nodeProperties where found[id]?[name] != expected[id]?[name] {
                Issue.record(
                    "seed \(seed) \(what): \(id).\(name) is \(found[id]?[name] as Any), not \(expected[id]?[name] as Any); \(log)"
                )
            }
        }
    }

    /// Past versions, and what differs between two of them.
    private func checkHistory(_ realm: Realm) throws {
        guard history.count > 1 else { return }
        let (from, to) = (history[random.below(history.count)], history[random.below(history.count)])
        guard from.version != to.version else { return }
        check(try realm.asOf(version: from.version), expected: from.nodes, what: "as of \(from.version)")
        let changes = try realm.changes(from: from.version, to: to.version).filter { $0.objectType == "ModelNode" }
        for id in Set(from.nodes.keys).union(to.nodes.keys) {
            let found = changes.filter { $0.primaryKey as? Int == id }
            switch (from.nodes[id], to.nodes[id]) {
            case (nil, _?): #expect(found.contains { $0.kind == .inserted }, "seed \(seed): \(id) was inserted")
            case (_?, nil): #expect(found.contains { $0.kind == .deleted }, "seed \(seed): \(id) was deleted")
            case (let old?, let new?):
                // An object that was deleted and made again is another one.
                guard from.births[id] == to.births[id] else {
                    #expect(found.count == 2, "seed \(seed): \(id) was deleted and made again")
                    continue
                }
                let named = Set(found.first?.properties.map(\.name) ?? [])
                // An embedded object that was replaced by an equal one is another object.
                for (name, kind) in ModelKind.nodeProperties where !Self.hasParts(kind) {
                    let isOther = old[name]?.links.contains { from.births[$0] != to.births[$0] } ?? false
                    #expect(
                        named.contains(name) == (old[name] != new[name] || isOther),
                        "seed \(seed): \(id).\(name) from \(old[name] as Any) to \(new[name] as Any): \(named)")
                }
            case (nil, nil): break
            }
        }
    }

    private static func hasParts(_ kind: ModelKind) -> Bool {
        switch kind {
        case .part, .label: true
        case .list(let kind), .map(let kind), .set(let kind): hasParts(kind)
        default: false
        }
    }

    // MARK: Random values

    private static let words = ["", "a", "b", "é", "longer text", String(repeating: "x", count: 1_500)]
    private static let keys = ["k", "l", "ключ", "m n"]

    private func value(_ kind: ModelKind, depth: Int = 0) -> Shape {
        switch kind {
        case .number: return .number(random.below(6))
        case .text: return .text(Self.words[random.below(Self.words.count)])
        case .decimal: return random.below(4) == 0 ? .none : .decimal("\(random.below(100)).\(random.below(10))")
        case .link: return nodes.isEmpty || random.below(5) == 0 ? .none : someLink()
        case .mixed:
            switch random.below(depth > 2 ? 6 : 9) {
            case 0: return .none
            case 1: return .number(random.below(6))
            case 2: return value(.text)
            case 3: return .decimal("1.\(random.below(10))")
            case 4: return nodes.isEmpty ? .none : someLink()
            case 5: return value(.scalar(ModelScalar.allCases[random.below(7)]))
            case 6, 7: return .list((0..<random.below(3)).map { _ in value(.mixed, depth: depth + 1) })
            default: return .map(entries(.mixed, depth + 1))
            }
        case .scalar(let scalar):
            return scalar.isOptional && depth == 0 && random.below(4) == 0
                ? .none : .scalar(scalar, random.below(scalar.count))
        case .label:
            if depth == 0, random.below(4) == 0 { return .none }
            var part = ["name": value(.text)]
            if random.below(2) == 0 { part["node"] = value(.link) }
            return .part(part)
        case .part: return depth < 3 && random.below(5) > 0 ? .part(part(depth + 1)) : .none
        case .list(let kind):
            let values = (0..<random.below(4)).map { _ in value(kind, depth: depth + 1) }
            if case .mixed = kind { return .list(values) }
            return .list(values.filter { $0 != .none })
        case .set(let kind): return .set(Set((0..<random.below(4)).map { _ in value(kind) }.filter { $0 != .none }))
        case .map(let kind): return .map(entries(kind, depth))
        }
    }

    private func someLink() -> Shape { .link(someNode()) }
    private func someNode() -> Int { nodes.keys.sorted()[random.below(nodes.count)] }

    private func entries(_ kind: ModelKind, _ depth: Int) -> [String: Shape] {
        var result: [String: Shape] = [:]
        for _ in 0..<random.below(4) { result[Self.keys[random.below(4)]] = value(kind, depth: depth) }
        return result
    }

    /// Some properties of a part.
    private func part(_ depth: Int) -> [String: Shape] {
        var result: [String: Shape] = [:]
        for (name, kind) in ModelKind.partProperties where random.below(2) == 0 {
            result[name] = value(kind, depth: depth)
        }
        return result
    }

    /// Some properties of a node.
    private func properties() -> [String: Shape] {
        var result: [String: Shape] = [:]
        for (name, kind) in ModelKind.nodeProperties where random.below(3) == 0 { result[name] = value(kind) }
        return result
    }

    // MARK: What values become

    /// A value with complete parts: properties that are not given have their initial values.
    private static func completed(_ shape: Shape) -> Shape {
        switch shape {
        case .part(let given): .part(Shape.newPart.merging(given.mapValues(completed)) { $1 })
        case .list(let elements): .list(elements.map(completed))
        case .map(let entries): .map(entries.mapValues(completed))
        default: shape
        }
    }

    /// What an update with `.modified` makes of a value: parts are changed in place.
    private static func merged(_ old: Shape?, _ new: Shape) -> Shape {
        switch (old, new) {
        case (.part(var old)?, .part(let given)):
            for (name, value) in given { old[name] = merged(old[name], value) }
            return .part(old)
        case (.list(let old)?, .list(let elements)):
            return .list(elements.enumerated().map { merged($0 < old.count ? old[$0] : nil, $1) })
        case (.map(let old)?, .map(let entries)):
            return .map(Dictionary(uniqueKeysWithValues: entries.map { ($0, merged(old[$0], $1)) }))
        default: return completed(new)
        }
    }

    // MARK: Steps

    private func step(_ realm: Realm) throws {
        switch random.below(nodes.isEmpty ? 2 : 12) {
        case 0: try create(realm)
        case 1: try add(realm)
        case 2: delete(realm)
        case 3...6: assign(realm)
        default: edit(realm)
        }
    }

    /// Deletes one node, or several at once, of which one may occur twice.
    private func delete(_ realm: Realm) {
        let ids = (0..<(random.below(3) == 0 ? 4 : 1)).map { _ in someNode() }
        log.append("delete \(ids)")
        let objects = ids.map { realm.object(ofType: ModelNode.self, forPrimaryKey: $0)! }
        if objects.count == 1 { realm.delete(objects[0]) } else { realm.delete(objects) }
        for id in ids {
            nodes[id] = nil
            births[id] = nil
            for (other, properties) in nodes {
                nodes[other] = Shape.removing(id, from: properties, ModelKind.nodeProperties)
            }
        }
    }

    private func create(_ realm: Realm) throws {
        let id = random.below(8)
        let policy = [Realm.UpdatePolicy.error, .modified, .all][random.below(3)]
        let given = properties()
        log.append("create \(id) \(policy) \(given)")
        var value = given.mapValues { $0.any(realm) }
        value["id"] = id
        if policy == .error, nodes[id] != nil {
            #expect(throws: Realm.Error.self, "seed \(seed)") {
                try realm.create(ModelNode.self, validating: value)
            }
            return
        }
        if random.below(2) == 0 {
            realm.create(ModelNode.self, value: value, update: policy)
        } else {
            try realm.create(ModelNode.self, validating: value, update: policy)
        }
        set(given, of: id, policy)
    }

    /// Notes that a node is made, unless it is there.
    private func noteBirth(of id: Int) {
        if births[id] != nil { return }
        birthCount += 1
        births[id] = birthCount
    }

    private func set(_ given: [String: Shape], of id: Int, _ policy: Realm.UpdatePolicy) {
        let isNew = nodes[id] == nil
        noteBirth(of: id)
        var node = nodes[id] ?? Shape.newNode
        for (name, shape) in given {
            node[name] =
                !isNew && policy == .modified && Self.isPart(name)
                ? Self.merged(node[name], shape) : Self.completed(shape)
        }
        nodes[id] = node
    }

    private static func isPart(_ name: String) -> Bool { ["part", "parts", "named", "label", "labels"].contains(name) }

    /// Adds an unmanaged object: it has all properties.
    private func add(_ realm: Realm) throws {
        let id = random.below(8)
        let policy = [Realm.UpdatePolicy.error, .modified, .all][random.below(3)]
        if policy == .error, nodes[id] != nil { return }
        let given = properties()
        log.append("add \(id) \(policy) \(given)")
        var value = given.mapValues { $0.any(realm) }
        value["id"] = id
        let object = ModelNode(value: value)
        if random.below(2) == 0 {
            realm.add(object, update: policy)
        } else {
            try realm.add(validating: object, update: policy)
        }
        noteBirth(of: id)
        nodes[id] = Shape.newNode.merging(given.mapValues(Self.completed)) { $1 }
        #expect(Shape.of(object) == nodes[id], "seed \(seed): the added instance shows its row")
    }

    /// Assigns a property by name, or by its type.
    private func assign(_ realm: Realm) {
        let id = someNode()
        let object = realm.object(ofType: ModelNode.self, forPrimaryKey: id)!
        let (name, kind) = ModelKind.nodeProperties[random.below(ModelKind.nodeProperties.count)]
        let shape = name == "text" ? value(.text) : value(kind)
        log.append("assign \(id).\(name) \(shape)")
        nodes[id]?[name] = Self.completed(shape)
        if random.below(2) == 0 {
            let target = random.below(2) == 0 ? object : realm.dynamicObject(ofType: "ModelNode", forPrimaryKey: id)!
            target[name] = shape.any(realm)
            return
        }
        let other = ModelNode(value: [name: shape.any(realm)])
        switch name {
        case "number": object.number = other.number
        case "text": object.text = other.text
        case "decimal": object.decimal = other.decimal
        case "any": object.any = other.any
        case "node": object.node = other.node
        case "ints": object.ints = other.ints
        case "nodes": object.nodes = other.nodes
        case "words": object.words = other.words
        case "friends": object.friends = other.friends
        case "counts": object.counts = other.counts
        case "links": object.links = other.links
        case "mixed": object.mixed = other.mixed
        case "mixedMap": object.mixedMap = other.mixedMap
        case "part": object.part = other.part
        case "parts": object.parts = other.parts
        case "flag": object.flag = other.flag
        case "float": object.float = other.float
        case "double": object.double = other.double
        case "data": object.data = other.data
        case "date": object.date = other.date
        case "objectId": object.objectId = other.objectId
        case "uuid": object.uuid = other.uuid
        case "mood": object.mood = other.mood
        case "warmth": object.warmth = other.warmth
        case "moods": object.moods = other.moods
        case "dates": object.dates = other.dates
        case "warmths": object.warmths = other.warmths
        case "label": object.label = other.label
        case "labels": object.labels = other.labels
        default: object.named = other.named
        }
    }

    // MARK: Edits of collections

    private func edit(_ realm: Realm) {
        let id = someNode()
        let object = realm.object(ofType: ModelNode.self, forPrimaryKey: id)!
        let name = [
            "ints", "nodes", "words", "friends", "counts", "links", "mixed", "mixedMap", "parts", "named", "nested",
            "inPart", "moods", "dates", "warmths", "labels",
        ][random.below(16)]
        log.append("edit \(id).\(name)")
        switch name {
        case "ints":
            editList(object.ints, id: id, name: name, kind: .number) { realm, shape in
                guard case .number(let value) = shape else { return nil }
                return value
            }
        case "nodes":
            editList(object.nodes, id: id, name: name, kind: .link) { realm, shape in Self.node(realm, shape) }
        case "mixed":
            editList(object.mixed, id: id, name: name, kind: .mixed) { realm, shape in Self.mixed(realm, shape) }
        case "parts":
            editList(object.parts, id: id, name: name, kind: .part) { realm, shape in
                guard case .part(let part) = shape else { return nil }
                return ModelPart(value: part.mapValues { $0.any(realm) })
            }
        case "words":
            editSet(object.words, id: id, name: name, kind: .text) { _, shape in
                guard case .text(let text) = shape else { return nil }
                return text
            }
        case "friends":
            editSet(object.friends, id: id, name: name, kind: .link) { realm, shape in Self.node(realm, shape) }
        case "counts":
            editMap(object.counts, id, name, .number) { _, shape in
                guard case .number(let value) = shape else { return nil }
                return value
            }
        case "links": editMap(object.links, id, name, .link) { realm, shape in Self.node(realm, shape) }
        case "mixedMap": editMap(object.mixedMap, id, name, .mixed) { realm, shape in Self.mixed(realm, shape) }
        case "named":
            editMap(object.named, id, name, .part) { realm, shape in
                guard case .part(let part) = shape else { return nil }
                return ModelPart(value: part.mapValues { $0.any(realm) })
            }
        case "moods": editList(object.moods, id: id, name: name, kind: .scalar(.mood)) { _, shape in ModelMood(shape) }
        case "dates": editSet(object.dates, id: id, name: name, kind: .scalar(.date)) { _, shape in Date(shape) }
        case "warmths": editMap(object.warmths, id, name, .scalar(.warmth)) { _, shape in ModelWarmth(shape) }
        case "labels":
            editList(object.labels, id: id, name: name, kind: .label) { realm, shape in
                guard case .part(let part) = shape else { return nil }
                return ModelLabel(part, realm)
            }
        case "nested": editNested(object, id)
        default: editPart(object, id)
        }
    }

    private static func node(_ realm: Realm, _ shape: Shape) -> ModelNode? {
        guard case .link(let id) = shape else { return nil }
        return realm.object(ofType: ModelNode.self, forPrimaryKey: id)
    }

    private static func mixed(_ realm: Realm, _ shape: Shape) -> AnyRealmValue {
        (try? AnyRealmValue._fromAny(shape.any(realm))) ?? .string("unexpected")
    }

    private func editList<Element>(
        _ list: List<Element>, id: Int, name: String, kind: ModelKind, _ make: (Realm, Shape) -> Element?
    ) {
        guard case .list(var elements)? = nodes[id]?[name], let realm = list.realm else { return }
        defer { nodes[id]?[name] = .list(elements) }
        let shape = value(kind)
        let new = make(realm, shape)
        let index = random.below(elements.count + 1)
        switch random.below(6) {
        case 0, 1:
            guard let new else { return }
            list.insert(new, at: index)
            elements.insert(Self.completed(shape), at: index)
        case 2 where !elements.isEmpty:
            list.remove(at: index % elements.count)
            elements.remove(at: index % elements.count)
        case 3 where !elements.isEmpty:
            guard let new else { return }
            list[index % elements.count] = new
            elements[index % elements.count] = Self.completed(shape)
        case 4 where !elements.isEmpty:
            let to = random.below(elements.count)
            list.move(from: index % elements.count, to: to)
            elements.insert(elements.remove(at: index % elements.count), at: to)
        default:
            guard random.below(3) == 0 else { return }
            list.removeAll()
            elements = []
        }
    }

    private func editSet<Element>(
        _ set: MutableSet<Element>, id: Int, name: String, kind: ModelKind, _ make: (Realm, Shape) -> Element?
    ) {
        guard case .set(var elements)? = nodes[id]?[name], let realm = set.realm else { return }
        let shape = value(kind)
        guard let element = make(realm, shape) else { return }
        if random.below(2) == 0 {
            set.insert(element)
            elements.insert(shape)
        } else {
            set.remove(element)
            elements.remove(shape)
        }
        nodes[id]?[name] = .set(elements)
    }

    private func editMap<Value>(
        _ map: Map<String, Value>, _ id: Int, _ name: String, _ kind: ModelKind, _ make: (Realm, Shape) -> Value
    ) {
        guard case .map(var entries)? = nodes[id]?[name], let realm = map.realm else { return }
        let key = Self.keys[random.below(4)]
        if random.below(3) == 0 {
            map[key] = nil
            entries[key] = nil
        } else {
            let shape = value(kind)
            map.updateValue(make(realm, shape), forKey: key)
            entries[key] = Self.completed(shape)
        }
        nodes[id]?[name] = .map(entries)
    }

    /// Changes a list or dictionary in a mixed value where it is.
    private func editNested(_ object: ModelNode, _ id: Int) {
        guard let realm = object.realm else { return }
        let shape = value(.mixed, depth: 2)
        func edit(_ value: AnyRealmValue, _ old: Shape) -> Shape {
            switch (value, old) {
            case (.list(let list), .list(var elements)):
                if let last = elements.last, random.below(2) == 0 {
                    let inner = edit(list[elements.count - 1], last)
                    if inner != last {
                        elements[elements.count - 1] = inner
                        return .list(elements)
                    }
                }
                list.append(Self.mixed(realm, shape))
                elements.append(shape)
                return .list(elements)
            case (.dictionary(let map), .map(var entries)):
                map["edited"] = Self.mixed(realm, shape)
                entries["edited"] = shape
                return .map(entries)
            default: return old
            }
        }
        if random.below(2) == 0, let old = nodes[id]?["any"] {
            nodes[id]?["any"] = edit(object.any, old)
        } else if case .list(var elements)? = nodes[id]?["mixed"], !elements.isEmpty {
            let index = random.below(elements.count)
            elements[index] = edit(object.mixed[index], elements[index])
            nodes[id]?["mixed"] = .list(elements)
        } else if case .map(var entries)? = nodes[id]?["mixedMap"], let key = entries.keys.sorted().first,
            let value = object.mixedMap[key], let old = entries[key]
        {
            entries[key] = edit(value, old)
            nodes[id]?["mixedMap"] = .map(entries)
        }
    }

    /// Changes a part where it is.
    private func editPart(_ object: ModelNode, _ id: Int) {
        guard let realm = object.realm, case .part(var part)? = nodes[id]?["part"], let accessor = object.part else {
            return
        }
        let (name, kind) = ModelKind.partProperties[random.below(ModelKind.partProperties.count)]
        let shape = value(kind, depth: 2)
        part[name] = Self.completed(shape)
        nodes[id]?["part"] = .part(part)
        accessor[name] = shape.any(realm)
    }
}
