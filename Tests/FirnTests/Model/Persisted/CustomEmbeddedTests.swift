import Firn
import FirnTestSupport
import Foundation
import Testing

private class StoredMoney: EmbeddedObject {
    @Persisted var amount: Int
    @Persisted var currency = "CHF"
    @Persisted var note: String?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private struct Money: CustomPersistable {
    var amount: Int
    var currency: String
    var note: String?

    init(_ amount: Int, _ currency: String = "CHF", note: String? = nil) {
        (self.amount, self.currency, self.note) = (amount, currency, note)
    }
    init(persistedValue: StoredMoney) {
        self.init(persistedValue.amount, persistedValue.currency, note: persistedValue.note)
    }
    var persistableValue: StoredMoney { StoredMoney(value: [amount, currency, note] as [Any?]) }
}

private class StoredRange: EmbeddedObject {
    @Persisted var low: Money
    @Persisted var high: Money?
    @Persisted var tags: List<String>
    @Persisted var words: MutableSet<String>
    @Persisted var named: Map<String, Int>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Has another one in it, and is not made from every object.
private struct PriceRange: FailableCustomPersistable {
    var low: Money
    var high: Money?
    var tags: [String] = []

    init(_ low: Money, _ high: Money?, tags: [String] = []) { (self.low, self.high, self.tags) = (low, high, tags) }
    init?(persistedValue: StoredRange) {
        if persistedValue.low.amount > persistedValue.high?.amount ?? .max { return nil }
        self.init(persistedValue.low, persistedValue.high, tags: Array(persistedValue.tags))
    }
    var persistableValue: StoredRange {
        let stored = StoredRange()
        (stored.low, stored.high) = (low, high)
        stored.tags.append(objectsIn: tags)
        stored.words.insert(objectsIn: tags.reversed())
        for (index, tag) in tags.enumerated() { stored.named[tag] = index }
        return stored
    }
}

private class Order: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var total: Money
    @Persisted var paid = Money(7, "EUR")
    @Persisted var discount: Money?
    @Persisted var parts: List<Money>
    @Persisted var named: Map<String, Money?>
    @Persisted var range: PriceRange?
    @Persisted var next: Order?
    @Persisted var others: List<Order>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class Purse: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var main: Money
    @Persisted var coins: Map<String, Money>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Types of the application that are stored as embedded objects (R64, R78).
@Suite(.timeLimit(.minutes(20))) struct CustomEmbeddedTests {
    private func realm(_ name: String = UUID().uuidString) throws -> Realm {
        try memoryRealm([Order.self, StoredMoney.self, StoredRange.self], name)
    }

    private func stored(_ realm: Realm) -> Int { realm.dynamicObjects("StoredMoney").count }

    /// A map's values need not be optional: where there is no object, they show what a new one stands for. The same
    /// goes for nil as a value of a property.
    @Test func nilIsWhatANewObjectStandsFor() throws {
        let realm = try memoryRealm([Purse.self, StoredMoney.self])
        let purse = Purse()
        purse.coins["a"] = Money(5)
        try realm.write {
            realm.add(purse)
            realm.create(Purse.self, value: ["id": 2, "coins": ["b": ["amount": 3]], "main": nil] as [String: Any?])
        }
        let second = try #require(realm.object(ofType: Purse.self, forPrimaryKey: 2))
        #expect(purse.coins["a"]?.amount == 5 && purse.coins["x"] == nil && second.coins["b"]?.amount == 3)
        #expect(second.main.amount == 0 && second.main.currency == "CHF")
        try realm.write {
            purse["main"] = ["amount": 9]
            second.coins["c"] = Money(1, "EUR")
        }
        #expect(purse.main.amount == 9 && second.coins.count == 2 && second.coins["c"]?.currency == "EUR")
        try realm.write {
            purse["main"] = nil
            realm.delete(realm.dynamicObjects("StoredMoney"))
        }
        #expect(purse.main.amount == 0 && purse.coins.count == 1 && purse.coins["a"]?.amount == 0)
        #expect(Purse(value: ["main": NSNull()]).main.currency == "CHF")
    }

    @Test func valuesAreMappedBothWays() throws {
        let realm = try realm()
        let order = Order()
        #expect(order.total == Money(0) && order.paid == Money(7, "EUR") && order.discount == nil && order.range == nil)
        for round in 0..<2 {
            func set() {
                order.total = Money(100)
                order.total.amount += 5
                order.discount = Money(-5, note: "n")
                order.parts.removeAll()
                order.parts.append(objectsIn: [Money(1), Money(2, "USD")])
                order.parts[0].currency = "GBP"
                order.named["a"] = Money(3)
                order.named["b"] = .some(nil)
                order.range = PriceRange(Money(1), Money(9), tags: ["x", "y"])
            }
            if round == 0 { set() } else { try realm.write { set() } }
            #expect(order.total == Money(105) && order.discount == Money(-5, note: "n"))
            #expect(Array(order.parts) == [Money(1, "GBP"), Money(2, "USD")])
            #expect(order.named["a"] == Money(3) && order.named["b"] == .some(nil))
            #expect(order.range?.high == Money(9) && order.range?.tags == ["x", "y"])
            if round == 0 { try realm.write { realm.add(order) } }
            // The total, paid, discount, two parts, one in the map, two in the range.
            #expect(stored(realm) == 8 && realm.dynamicObjects("StoredRange").count == 1)
        }
        #expect((order["total"] as? StoredMoney)?.amount == 105 && (order["total"] as? StoredMoney)?.realm != nil)
        #expect((order["parts"] as? List<Money>)?.count == 2)
        let frozen = order.freeze()
        try realm.write {
            order.total = Money(1)
            order.discount = nil
            order.parts.remove(at: 0)
            order.named["a"] = nil
        }
        #expect(frozen.total == Money(105) && frozen.parts.count == 2 && order.total == Money(1))
        #expect(stored(realm) == 5)
        try realm.write { realm.delete(order) }
        #expect(stored(realm) == 0 && realm.dynamicObjects("StoredRange").isEmpty)
    }

    @Test func aNewObjectIsStoredForAPropertyThatWasNotSet() throws {
        let realm = try realm()
        try realm.write {
            realm.add(Order())
            realm.create(Order.self, value: ["id": 2])
        }
        let orders = realm.objects(Order.self)
        #expect(
            orders.map(\.total) == [Money(0), Money(0)] && orders.map(\.paid) == [Money(7, "EUR"), Money(7, "EUR")])
        #expect(stored(realm) == 4)
        try realm.write { realm.delete(realm.dynamicObjects("StoredMoney")) }
        #expect(orders.map(\.total) == [Money(0), Money(0)] && stored(realm) == 0)
        #expect(orders.where { $0.total == Money(0) }.isEmpty)
    }

    @Test func objectsAreMadeFromUntypedValues() throws {
        let realm = try realm()
        let values: [String: Any] = [
            "id": 1, "total": ["amount": 5, "currency": "EUR"], "discount": [3, "USD"],
            "parts": [Money(1), ["amount": 2], StoredMoney(value: [3])] as [Any],
            "named": ["a": Money(4), "b": ["amount": 6], "c": NSNull()] as [String: Any],
            "range": ["low": Money(1), "high": [2], "tags": ["t"]] as [String: Any],
        ]
        func check(_ order: Order) {
            #expect(order.total == Money(5, "EUR") && order.discount == Money(3, "USD"))
            #expect(Array(order.parts) == [Money(1), Money(2), Money(3)])
            #expect(order.named["a"] == Money(4) && order.named["b"] == Money(6) && order.named["c"] == .some(nil))
            #expect(order.range?.low == Money(1) && order.range?.high == Money(2) && order.range?.tags == ["t"])
        }
        let unmanaged = Order(value: values)
        check(unmanaged)
        let made = try realm.write { realm.create(Order.self, value: values) }
        check(made)
        check(Order(value: made))
        let copy = try self.realm()
        check(try copy.write { copy.create(Order.self, value: made) })
        let count = stored(realm)
        // An update in place changes what is named.
        try realm.write {
            realm.create(
                Order.self,
                value: ["id": 1, "total": ["amount": 6], "parts": [["amount": 9], ["amount": 8], Money(3)]],
                update: .modified)
        }
        #expect(made.total == Money(6, "EUR") && made.parts.map(\.amount) == [9, 8, 3] && stored(realm) == count)
        try realm.write {
            realm.create(Order.self, value: ["id": 1, "total": Money(1), "discount": NSNull()], update: .all)
        }
        #expect(made.total == Money(1) && made.discount == nil && stored(realm) == count - 1)
        try realm.write { realm.add(unmanaged, update: .modified) }
        check(made)
        try realm.write {
            made["total"] = Money(12)
            made["discount"] = ["amount": 13]
            made["parts"] = [Money(14)]
        }
        #expect(made.total == Money(12) && made.discount == Money(13) && made.parts.map(\.amount) == [14])
        unmanagedByName()
    }

    private func unmanagedByName() {
        let order = Order()
        order["total"] = Money(2)
        order["discount"] = StoredMoney(value: [3])
        order["parts"] = [["amount": 4]]
        #expect(order.total == Money(2) && order.discount == Money(3) && order.parts.map(\.amount) == [4])
    }

    @Test func wrongValuesAreRefused() throws {
        let realm = try realm()
        let wrong: [[String: Any]] = [
            ["total": 5], ["parts": [NSNull()]], ["total": ["amount": "x"]],
            ["range": ["low": ["amount": 5], "high": ["amount": 4]]],
        ]
        for values in wrong {
            #expect(throws: Realm.Error.self, "\(values)") { try Order(validating: values) }
            try realm.write {
                #expect(throws: Realm.Error.self, "\(values)") { try realm.create(Order.self, validating: values) }
            }
        }
        #expect(stored(realm) == 0 && realm.objects(Order.self).isEmpty)
    }

    @Test func queriesCompareMembers() throws {
        let realm = try realm()
        try realm.write {
            for id in 0..<6 {
                let order = Order()
                order.id = id
                order.total = Money(id, id % 2 == 0 ? "CHF" : "EUR")
                order.discount = id < 3 ? nil : Money(id, note: "n\(id)")
                order.parts.append(objectsIn: [Money(id), Money(10, "EUR")])
                order.next = realm.objects(Order.self).last
                order.others.append(objectsIn: realm.objects(Order.self))
                realm.add(order)
            }
        }
        let all = realm.objects(Order.self)
        func ids(_ condition: (Query<Order>) -> Query<Bool>) -> [Int] { all.where(condition).map(\.id) }
        #expect(ids { $0.total == Money(3, "EUR") } == [3] && ids { $0.total == Money(3) } == [])
        #expect(ids { $0.total != Money(3, "EUR") } == [0, 1, 2, 4, 5])
        #expect(ids { $0.discount == Money(4, note: "n4") } == [4] && ids { $0.discount == nil } == [0, 1, 2])
        #expect(
            ids { $0.discount != nil } == [3, 4, 5] && ids { $0.discount != Money(4, note: "n4") } == [0, 1, 2, 3, 5])
        #expect(ids { $0.total.in([Money(2), Money(5, "EUR"), Money(1)]) } == [2, 5])
        #expect(ids { $0.discount.in([Money(4, note: "n4"), nil]) } == [0, 1, 2, 4])
        #expect(ids { $0.discount.in([Money(4, note: "n4"), Money(5)]) } == [4] && ids { $0.total.in([]) } == [])
        #expect(ids { $0.total.persistableValue.amount > 3 } == [4, 5])
        #expect(ids { $0.total.persistableValue.currency == "EUR" && $0.id > 1 } == [3, 5])
        #expect(ids { $0.discount.persistableValue.note.starts(with: "n") } == [3, 4, 5])
        #expect(ids { $0.next.total == Money(2) } == [3])
        // One element must have all members: 4 has the amount of one and the currency of another.
        #expect(ids { $0.others.total == Money(2) } == [3, 4, 5] && ids { $0.others.total == Money(1) } == [])
        #expect(ids { $0.others.total != Money(0) } == [2, 3, 4, 5])
        #expect(ids { $0.parts.contains(Money(4)) } == [4] && ids { $0.parts.contains(Money(10)) } == [])
        #expect(all.filter("total.amount > 4").map(\.id) == [5])
        #expect(all.sorted(byKeyPath: "total.amount", ascending: false).map(\.id) == [5, 4, 3, 2, 1, 0])
        #expect(
            all.where { $0.total == Money(3, "EUR") }.first?.objectSchema["total"]?.objectClassName == "StoredMoney")
    }

    @MainActor @Test func observersSeeThem() async throws {
        let realm = try realm()
        let order = try realm.write { realm.create(Order.self, value: ["id": 1, "total": Money(1)]) }
        var seen: [String] = []
        var isReady = false
        let token = order.observe { (change: ObjectChange<Order>) in
            guard case .change(_, let properties) = change else { return }
            seen += properties.map { "\($0.name) \(($0.newValue as? StoredMoney)?.amount ?? -1)" }
        }
        let list = order.parts.observe { (change: RealmCollectionChange<List<Money>>) in
            if case .initial = change { isReady = true }
            if case .update(let parts, _, let insertions, _) = change {
                seen.append("\(parts.map(\.amount)) \(insertions)")
            }
        }
        await wait { isReady }
        try realm.write {
            order.total = Money(2)
            order.parts.append(Money(3))
        }
        await wait { seen.count >= 3 }
        #expect(Set(seen) == ["total 2", "parts -1", "[3] [0]"])
        for token in [token, list] { token.invalidate() }
    }

    @Test func membersDecideEquality() {
        #expect(Money(1) == Money(1) && Money(1) != Money(2) && Money(1, note: "a") != Money(1))
        #expect(Set([Money(1), Money(1), Money(2)]).count == 2)
        let range = PriceRange(Money(1), Money(2), tags: ["a", "b"])
        #expect(range == PriceRange(Money(1), Money(2), tags: ["a", "b"]) && range.hashValue == range.hashValue)
        #expect(
            range != PriceRange(Money(1), nil, tags: ["a", "b"]) && range != PriceRange(Money(1), Money(2), tags: ["b"])
        )
        #expect(range != PriceRange(Money(1), Money(2), tags: ["b", "a"]))
    }

    /// Mixed members are equal if the mixed values are: a number is no Boolean.
    @Test func mixedMembersDecideEquality() throws {
        let equal: [[AnyRealmValue]] = [
            [.int(1), .double(1), .decimal128("1.0")], [.bool(true)], [.int(2)], [.none], [.string("1")],
            [.fromArray([.int(1)])], [.fromArray([.bool(true)])], [.fromDictionary(["a": .int(1)])],
        ]
        let realm = try memoryRealm([Tagged.self, StoredTag.self, Person.self, Dog.self])
        let all = equal.enumerated().flatMap { index, values in values.map { (index, $0) } }
        for (a, x) in all {
            for (b, y) in all {
                let isSame = a == b && (x == y)
                #expect((Tag(any: x) == Tag(any: y)) == isSame, "\(x) \(y)")
                #expect((Tag(named: ["k": x]) == Tag(named: ["k": y])) == isSame, "\(x) \(y)")
            }
        }
        #expect(Tag(any: .int(1)) != Tag(named: ["k": .int(1)]) && Tag(named: [:]) != Tag(named: ["k": .none]))
        // What is read equals what was given, and a query finds it.
        for (_, x) in all {
            let tagged = Tagged()
            var tag = Tag(any: x, named: ["k": x])
            tag.all = [x, x]
            tagged.tag = tag
            try realm.write {
                realm.deleteAll()
                realm.add(tagged)
            }
            #expect(tagged.tag == tag)
        }
        // Each reading makes its own accessor of a linked object.
        try realm.write {
            let (person, other) = (realm.create(Person.self), realm.create(Person.self))
            let tagged = realm.create(Tagged.self)
            tagged.tag.all = [.int(1), .object(person)]
            #expect(tagged.tag == tagged.tag && Set([tagged.tag, tagged.tag]).count == 1)
            var changed = tagged.tag
            changed.all = [.int(1), .object(other)]
            #expect(tagged.tag != changed)
        }
    }

    private class StoredTag: EmbeddedObject {
        @Persisted var any: AnyRealmValue
        @Persisted var named: Map<String, AnyRealmValue>
        @Persisted var list: List<AnyRealmValue>
        @Persisted var set: MutableSet<AnyRealmValue>
        @Persisted var people: MutableSet<Person>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private struct Tag: CustomPersistable {
        var any = AnyRealmValue.none
        var named: [String: AnyRealmValue] = [:]
        var all: [AnyRealmValue] = []
        init(any: AnyRealmValue = .none, named: [String: AnyRealmValue] = [:]) { (self.any, self.named) = (any, named) }
        init(persistedValue: StoredTag) {
            any = persistedValue.any
            for entry in persistedValue.named { named[entry.key] = entry.value }
            all = Array(persistedValue.list)
        }
        var persistableValue: StoredTag {
            calls += 1
            let stored = StoredTag()
            stored.any = any
            for (key, value) in named { stored.named[key] = value }
            stored.list.append(objectsIn: all)
            for value in all {
                switch value {
                case .list, .dictionary: break
                case .object(let object): stored.people.insert(object as! Person)
                default: stored.set.insert(value)
                }
            }
            return stored
        }
    }
    private final class Counter: @unchecked Sendable {
        // Used by one test's task.
        var calls = 0
    }
    /// Of the test that counts. Others, which run at the same time, use the same classes.
    @TaskLocal private static var counter: Counter?
    private static var calls: Int {
        get { counter?.calls ?? 0 }
        set { counter?.calls = newValue }
    }

    private class Tagged: Object {
        @Persisted var tag: Tag
        @Persisted var other: Tag?
        @Persisted var number: Counted
        @Persisted(indexed: true) var indexed: Counted
        @Persisted var counted: Counted?
        @Persisted var text: CountedText?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private struct Counted: CustomPersistable {
        var number = 0
        init(persistedValue: Int) { number = persistedValue }
        var persistableValue: Int {
            calls += 1
            return number
        }
    }

    private struct CountedText: CustomPersistable {
        var text = ""
        init(persistedValue: String) { text = persistedValue }
        var persistableValue: String {
            calls += 1
            return text
        }
    }

    /// One that counts, or logs, does so once.
    @Test func aSetPropertyAsksOnceForWhatIsStored() throws {
        try Self.$counter.withValue(Counter()) { try setEachProperty() }
    }

    private func setEachProperty() throws {
        let realm = try memoryRealm([Tagged.self, StoredTag.self, Person.self, Dog.self])
        let tagged = Tagged()
        for isManaged in [false, true] {
            if isManaged {
                realm.beginWrite()
                realm.add(tagged)
            }
            for round in 1...2 {
                Self.calls = 0
                tagged.tag = Tag(any: .int(round))
                #expect(Self.calls == 1)
                tagged.other = Tag(any: .int(round))
                #expect(Self.calls == 2)
                tagged.number = Counted(persistedValue: round)
                #expect(Self.calls == 3)
                tagged.text = CountedText(persistedValue: "\(round)")
                #expect(Self.calls == 4)
                tagged.indexed = Counted(persistedValue: round)
                #expect(Self.calls == 5)
                tagged.counted = Counted(persistedValue: round)
                #expect(Self.calls == 6)
                tagged.counted = nil
                tagged.other = nil
                tagged.text = nil
                #expect(Self.calls == 6)
            }
        }
        try realm.commitWrite()
    }

    /// What an unmanaged object holds is the embedded object, so the type's code runs when the property is set.
    @Test func valuesCanBeReopenedAndReplayed() throws {
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: folder.path + "/custom.firn"),
            objectTypes: [Order.self, StoredMoney.self, StoredRange.self])
        do {
            let realm = try Realm(configuration: configuration)
            try realm.write {
                realm.create(Order.self, value: ["id": 1, "total": Money(1), "parts": [Money(2), Money(3)]])
            }
            try realm.write { realm.objects(Order.self)[0].total.amount = 9 }
        }
        let realm = try Realm(configuration: configuration)
        let order = try #require(realm.objects(Order.self).first)
        #expect(order.total == Money(9) && Array(order.parts) == [Money(2), Money(3)] && stored(realm) == 4)
    }
}
