import Firn
import Foundation
import Testing

private class MintBank: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = "unnamed"
    @Persisted var next: MintBank?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class StoredCoin: EmbeddedObject {
    @Persisted var amount: Int
    @Persisted var bank: MintBank?
    @Persisted var inner: StoredCoin?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private struct Coin: CustomPersistable {
    var amount: Int
    var bank: MintBank?
    var inner: Int?
    init(_ amount: Int, _ bank: MintBank? = nil, inner: Int? = nil) {
        (self.amount, self.bank, self.inner) = (amount, bank, inner)
    }
    init(persistedValue: StoredCoin) {
        self.init(persistedValue.amount, persistedValue.bank, inner: persistedValue.inner?.amount)
    }
    var persistableValue: StoredCoin {
        let stored = StoredCoin(value: ["amount": amount, "bank": bank] as [String: Any?])
        if let inner { stored.inner = StoredCoin(value: [inner]) }
        return stored
    }
}

private class Purse: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var coin: Coin
    @Persisted var coins: List<Coin>
    @Persisted var named: Map<String, Coin?>
    @Persisted var next: Purse?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Copies of values of the application that are stored as embedded objects (R64, R78; SEMANTICS 23, 24, 27).
@Suite(.timeLimit(.minutes(20))) struct CustomEmbeddedCopyTests {
    private func realm() throws -> Realm { try memoryRealm([Purse.self, MintBank.self, StoredCoin.self]) }

    @Test func whatACopiedValueLinksToIsCopied() throws {
        let (source, target) = (try realm(), try realm())
        let purse = Purse()
        try source.write {
            purse.id = 1
            purse.coin = Coin(5, MintBank(value: [1, "First"]), inner: 3)
            purse.coins.append(Coin(6, MintBank(value: [2, "Second", [3, "Third"]])))
            purse.named["a"] = Coin(7, MintBank(value: [4, "Fourth"]))
            source.add(purse)
        }
        for (round, any) in [purse, purse.freeze()].enumerated() {
            for policy in [Realm.UpdatePolicy.modified, .all] {
                try target.write { target.create(Purse.self, value: any, update: policy) }
                let copy = try #require(target.objects(Purse.self).first)
                #expect(copy.coin.amount == 5 && copy.coin.inner == 3 && copy.coin.bank?.name == "First", "\(round)")
                #expect(copy.coins[0].bank?.next?.name == "Third" && copy.named["a"]??.bank?.name == "Fourth")
                #expect(target.objects(MintBank.self).map(\.id).sorted() == [1, 2, 3, 4])
                #expect(target.dynamicObjects("StoredCoin").count == 4)
            }
        }
    }

    @Test func anAbsentKeyOfALinkedObjectLeavesItsPropertyAsItIs() throws {
        let realm = try realm()
        try realm.write { realm.add(MintBank(value: [1, "First"])) }
        for policy in [Realm.UpdatePolicy.modified, .all] {
            try realm.write {
                let coin: [String: Any] = ["amount": 3, "bank": ["id": 1], "inner": ["amount": 2]]
                realm.create(Purse.self, value: ["id": 7, "coin": coin, "coins": [coin, coin]], update: policy)
            }
            let purse = try #require(realm.objects(Purse.self).first)
            #expect(purse.coin.bank?.name == "First" && purse.coin.inner == 2)
            #expect(purse.coins.map { $0.bank?.name } == ["First", "First"])
            #expect(realm.objects(MintBank.self).count == 1)
        }
    }

    @Test func whatIsCopiedStaysUnmanaged() throws {
        let realm = try realm()
        let bank = MintBank(value: [1, "First"])
        let purse = Purse()
        purse.coin = Coin(5, bank)
        purse.coins.append(Coin(6, bank))
        let copy = try realm.write { realm.create(Purse.self, value: purse) }
        #expect(bank.realm == nil && purse.realm == nil && purse.coin.bank === bank)
        #expect(copy.coin.bank?.isSameObject(as: realm.objects(MintBank.self)[0]) == true)
        #expect(realm.objects(MintBank.self).count == 1 && copy.coins[0].bank?.name == "First")
    }

    @Test func aValueThatDoesNotFitIsNamedByItsPath() throws {
        let realm = try realm()
        realm.beginWrite()
        for (value, path) in [
            (["coin": ["inner": ["amount": "x"]]], "coin.inner.amount"),
            (["coin": ["bank": ["id": "x"]]], "coin.bank.id"),
            (["coins": [["amount": 1], ["inner": ["inner": 5]]]], "coins[1].inner.inner"),
        ] as [([String: Any], String)] {
            let error = #expect(throws: Realm.Error.self) { try realm.create(Purse.self, validating: value) }
            #expect(error?.message.contains(path) == true, "\(error?.message ?? "")")
        }
        realm.cancelWrite()
    }

    /// Values that are made while an object is checked are freed, and their addresses are used again.
    @Test func checkingTakesNoNewObjectForAnEarlierOne() throws {
        let realm = try realm()
        func purse(_ id: Int) -> Purse {
            let purse = Purse()
            purse.id = id
            for amount in 0..<20 { purse.coins.append(Coin(amount, inner: amount)) }
            purse.named["a"] = Coin(9)
            return purse
        }
        let first = purse(0)
        var last = first
        for id in 1..<200 {
            last.next = purse(id)
            last = last.next ?? last
        }
        try realm.write { try realm.add(validating: first) }
        #expect(realm.objects(Purse.self).count == 200 && realm.dynamicObjects("StoredCoin").count == 200 * 42)
    }

    @Test func dynamicElementsAreIterated() throws {
        let realm = try realm()
        try realm.write {
            let purse = realm.create(Purse.self, value: ["id": 1])
            purse.coins.append(objectsIn: [3, 1, 2].map { Coin($0) })
        }
        let coins = realm.dynamicObjects("Purse")[0].dynamicList("coins")
        #expect(coins.map { $0["amount"] as? Int } == [3, 1, 2])
        #expect(coins.sorted(byKeyPath: "amount").map { $0["amount"] as? Int } == [1, 2, 3])
        #expect(coins.filter("amount > 1").map { $0["amount"] as? Int } == [3, 2])
    }
}
