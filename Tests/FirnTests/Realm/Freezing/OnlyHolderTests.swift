import Firn
import FirnTestSupport
import Foundation
import Testing

private class Holder: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var links: List<Holder>
    @Persisted var set: MutableSet<Holder>
    @Persisted var map: Map<String, Holder?>
    @Persisted var numbers: List<Int>
    @Persisted var tags: MutableSet<String>
    @Persisted var ages: Map<String, Int>
    @Persisted var anything: AnyRealmValue
    @Persisted var home: HolderHome?
    @Persisted(originProperty: "links") var linkers: LinkingObjects<Holder>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class HolderHome: EmbeddedObject {
    @Persisted var city = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class HolderCard: Projection<Holder> {
    @Projected(\Holder.name) var name
    @Projected(\Holder.links.projectTo.name) var linked: ProjectedCollection<String>
}

/// A kind of value, and what is read of it.
private struct Kind: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// Takes a value of the kind from a frozen realm to threads that have no realm, and gives what is read there.
    let visit: @Sendable (Realm) throws -> [String]

    init<T: ThreadConfined & SendableMetatype>(
        name: String, make: @escaping @Sendable (Holder) -> T, _ read: @escaping @Sendable (T) -> String
    ) {
        testDescription = name
        visit = { realm in
            nonisolated(unsafe) let frozen = make(realm.freeze().objects(Holder.self)[0])
            nonisolated(unsafe) var seen: [String] = []
            // Each line keeps one value, and nothing else of the live realm.
            try alone { seen.append(read(frozen.thaw()!)) }
            try alone { seen.append(frozen.thaw().map { read($0) } ?? "nil") }
            try alone { seen.append(read(frozen.thaw()!.freeze().thaw()!)) }
            try alone { seen.append(read(frozen.thaw()!.thaw()!)) }
            let wrapper = ThreadSafe(wrappedValue: frozen)
            try alone { seen.append(read(wrapper.wrappedValue!)) }
            try alone {
                let live = frozen.thaw()!
                // What was freed would be written over by now.
                let others = (0..<50).map { [UInt8](repeating: 255, count: $0 * 8) }
                seen.append(withExtendedLifetime(others) { read(live) })
            }
            DispatchQueue(label: "alone").sync { seen.append(read(frozen.thaw()!)) }
            return seen + [read(frozen)]
        }
    }
}

/// Runs `body` on a thread that has no realm.
private func alone(_ body: @escaping () throws -> Void) throws {
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var failure: (any Error)?
    try systemThread {
        do { try body() } catch { failure = error }
    }
    if let failure { throw failure }
}

/// A value may be the only one that keeps its realm, in whatever way it came there.
@Suite(.timeLimit(.minutes(20))) struct OnlyHolderTests {
    private static let kinds: [Kind] = [
        Kind(name: "object", make: { $0 }, { "\($0.name) \($0.links.count)" }),
        Kind(name: "embedded object", make: { $0.home! }, { $0.city }),
        Kind(name: "list", make: { $0.links }, { "\($0.count) \($0.map(\.name))" }),
        Kind(name: "list of values", make: { $0.numbers }, { "\($0.count) \(Array($0))" }),
        Kind(name: "set", make: { $0.set }, { "\($0.count) \($0.map(\.name))" }),
        Kind(name: "set of values", make: { $0.tags }, { "\($0.count) \($0.contains("b"))" }),
        Kind(name: "map", make: { $0.map }, { "\($0.count) \($0["x"]??.name ?? "")" }),
        Kind(name: "map of values", make: { $0.ages }, { "\($0.count) \($0.keys) \($0.values)" }),
        Kind(
            name: "list in a mixed value", make: { $0.anything.dictionaryValue!["list"]!.listValue! },
            { "\($0.count) \($0[0])" }),
        Kind(name: "map in a mixed value", make: { $0.anything.dictionaryValue! }, { "\($0.count) \($0.keys)" }),
        Kind(name: "results", make: { $0.realm!.objects(Holder.self) }, { "\($0.count) \($0.map(\.name))" }),
        Kind(
            name: "query", make: { $0.realm!.objects(Holder.self).where { $0.name == "b" } },
            { "\($0.count) \($0[0].name)" }),
        Kind(name: "query over a list", make: { $0.links.where { $0.id > 0 } }, { "\($0.count) \($0[0].name)" }),
        Kind(name: "sorted values", make: { $0.numbers.sorted(ascending: false) }, { "\(Array($0))" }),
        Kind(name: "backlinks", make: { $0.links[0].linkers }, { "\($0.count) \($0[0].name)" }),
        Kind(
            name: "query over backlinks", make: { $0.links[0].linkers.where { $0.id == 0 } },
            { "\($0.count) \($0[0].name)" }),
        Kind(name: "any collection", make: { AnyRealmCollection($0.links) }, { "\($0.count) \($0[0].name)" }),
        Kind(name: "projection", make: { HolderCard(projecting: $0) }, { "\($0.name) \($0.linked.count)" }),
        Kind(name: "projections", make: { $0.realm!.objects(HolderCard.self) }, { "\($0.count) \($0[0].name)" }),
        Kind(name: "projected collection", make: { HolderCard(projecting: $0).linked }, { "\($0.count) \(Array($0))" }),
        Kind(
            name: "sections", make: { $0.links.sectioned(by: \.name) }, { "\($0.count) \($0[0].key) \($0[0][0].name)" }),
        Kind(name: "section", make: { $0.links.sectioned(by: \.name)[0] }, { "\($0.key) \($0.count) \($0[0].name)" }),
    ]

    private func realm() throws -> Realm {
        let realm = try memoryRealm([Holder.self, HolderHome.self])
        try realm.write {
            let (a, b) = (Holder(value: ["id": 0, "name": "a"]), Holder(value: ["id": 1, "name": "b"]))
            realm.add([a, b])
            a.links.append(objectsIn: [b, b])
            a.set.insert(b)
            a.map["x"] = b
            a.numbers.append(objectsIn: [1, 2, 3])
            a.tags.insert(objectsIn: ["a", "b"])
            a.ages["one"] = 1
            a.home = HolderHome(value: ["city": "Bern"])
            a.anything = .fromDictionary(["list": .fromArray([.int(7)]), "text": .string("t")])
        }
        return realm
    }

    @Test(arguments: kinds) fileprivate func aThawedValueKeepsItsRealmAloneWhereThereIsNoOther(_ kind: Kind) throws {
        let seen = try kind.visit(try realm())
        #expect(Set(seen).count == 1 && seen.count == 8 && seen[0] != "nil", "\(seen)")
    }

    /// The realm's last holders go one after the other, and the value is read again after each.
    @Test func aValueOfAThreadThatKeepsNothingElseIsWhole() throws {
        let name = UUID().uuidString
        let kept = try memoryRealm([Holder.self, HolderHome.self], name)
        try kept.write {
            kept.create(Holder.self, value: ["id": 0, "name": "a", "numbers": [1, 2], "ages": ["x": 1]])
        }
        try alone {
            var object: Holder? = try memoryRealm([Holder.self, HolderHome.self], name).objects(Holder.self)[0]
            let (numbers, ages) = (object!.numbers, object!.ages)
            object = nil
            #expect(Array(numbers) == [1, 2] && ages["x"] == 1)
            let frozen = numbers.freeze()
            #expect(Array(frozen.thaw()!) == [1, 2] && Array(frozen) == [1, 2])
        }
        var card: HolderCard? = HolderCard(projecting: kept.objects(Holder.self)[0].freeze())
        nonisolated(unsafe) let linked = card!.linked
        card = nil
        try alone { #expect(linked.isEmpty && linked.thaw()!.isEmpty) }
    }

    /// A value whose object is gone in the live realm is nil, and the realm that was opened to find that is released.
    @Test func thawingWhatIsGoneIsNil() throws {
        let realm = try realm()
        let a = realm.objects(Holder.self)[0]
        nonisolated(unsafe) let frozen = (a.links.freeze(), a.tags.freeze(), a.ages.freeze(), a.freeze())
        try realm.write { realm.delete(a) }
        for _ in 0..<5 {
            try alone {
                #expect(frozen.0.thaw() == nil && frozen.1.thaw() == nil && frozen.2.thaw() == nil)
                #expect(frozen.3.thaw() == nil && frozen.0.count == 2)
            }
        }
    }
}
