import Foundation
import Testing

@testable import Firn

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

/// Derives a part of itself from an object that it links to.
private struct Named: CustomPersistable {
    var bankName: String
    var inner: String?
    init(persistedValue: StoredNamed) {
        bankName = persistedValue.bank.map { "\($0.id) \($0.name)" } ?? persistedValue.bankName
        inner = persistedValue.inner?.bankName
    }
    var persistableValue: StoredNamed {
        let stored = StoredNamed(value: ["bankName": bankName])
        if let inner {
            let named = StoredNamed(value: ["bankName": inner])
            stored.inner = Named(persistedValue: named)
        }
        return stored
    }
}

private class StoredNamed: EmbeddedObject {
    @Persisted var bankName: String
    @Persisted var bank: MintBank?
    @Persisted var inner: Named?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class NamedPurse: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var named: Named?
    @Persisted var all: List<Named>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Stored as another type of the application.
private struct Price: CustomPersistable {
    var coin: Coin
    init(_ amount: Int) { coin = Coin(amount) }
    init(persistedValue: Coin) { coin = persistedValue }
    var persistableValue: Coin { coin }
}

private struct Website: FailableCustomPersistable {
    var text: String
    init?(persistedValue: String) {
        guard persistedValue.hasPrefix("https") else { return nil }
        text = persistedValue
    }
    var persistableValue: String { text }
}

private class Shop: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var price: Price
    @Persisted var first = Coin(7)
    @Persisted var site: Website?
    @Persisted var prices: List<Price>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private class DefaultShop: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var coin: Coin
    @Persisted var other: Coin?
    override class func defaultPropertyValues() -> [AnyHashable: Any]? {
        ["coin": ["amount": 4, "inner": ["amount": 3]] as [String: Any], "other": Coin(6)]
    }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// What a shop stores.
private class PlainShop: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var price: StoredCoin?
    @Persisted var first: StoredCoin?
    @Persisted var site: String?
    @Persisted var prices: List<StoredCoin>
    override class func _realmObjectName() -> String? { "Shop" }
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
        // `map` of a collection goes by the indices.
        func iterated(_ coins: some Sequence<DynamicObject>) -> [Int?] {
            var amounts: [Int?] = []
            for coin in coins { amounts.append(coin["amount"] as? Int) }
            return amounts
        }
        #expect(iterated(coins) == [3, 1, 2])
        #expect(iterated(coins.sorted(byKeyPath: "amount")) == [1, 2, 3])
        #expect(iterated(coins.filter("amount > 1")) == [3, 2])
    }

    @Test func aTypeReadsItsObjectWhenEverythingBehindItIsThere() throws {
        let realm = try memoryRealm([NamedPurse.self, MintBank.self, StoredNamed.self])
        let bank: [String: Any] = ["id": 1, "name": "First"]
        let value: [String: Any] = [
            "id": 1, "named": ["bank": bank, "inner": ["bank": ["id": 2, "name": "Second"]]],
            "all": [["bank": bank], ["inner": ["bank": bank]]],
        ]
        let created = try realm.write { realm.create(NamedPurse.self, value: value) }
        for purse in [created, NamedPurse(value: value)] {
            #expect(purse.named?.bankName == "1 First" && purse.named?.inner == "2 Second")
            #expect(purse.all.map(\.bankName) == ["1 First", ""] && purse.all[1].inner == "1 First")
        }
    }

    @Test func aTypeIsStoredThroughAnother() throws {
        let types: [ObjectBase.Type] = [Shop.self, StoredCoin.self, MintBank.self]
        let realm = try memoryRealm(types)
        try realm.write {
            for id in 0..<5 { realm.create(Shop.self, value: ["id": id, "price": Price(id), "prices": [Price(1)]]) }
        }
        let shops = realm.objects(Shop.self)
        #expect(shops.where { $0.price == Price(3) }.map(\.id) == [3])
        #expect(shops.where { $0.price != Price(3) }.map(\.id) == [0, 1, 2, 4])
        #expect(shops.where { $0.price.in([Price(1), Price(4)]) }.map(\.id) == [1, 4])
        #expect(shops.where { $0.prices.contains(Price(1)) }.count == 5)
        try realm.write { shops[0]["price"] = Price(9) }
        #expect(shops[0].price == Price(9) && shops[0].prices[0] == Price(1))
    }

    @Test func aGivenValueCountsBeforeTheClasssDefault() throws {
        let realm = try memoryRealm([DefaultShop.self, StoredCoin.self, MintBank.self])
        try realm.write {
            let shops = [
                realm.create(DefaultShop.self, value: ["id": 1, "coin": Coin(5)]),
                realm.create(DefaultShop.self, value: ["id": 2, "other": NSNull()]),
            ]
            #expect(shops.map(\.coin) == [Coin(5), Coin(4, inner: 3)] && shops.map(\.other) == [Coin(6), nil])
        }
    }

    @Test func aPropertyWithoutItsObjectIsReadByNameAndCopied() throws {
        let types: [ObjectBase.Type] = [Shop.self, StoredCoin.self, MintBank.self]
        let (realm, other) = (try memoryRealm(types), try memoryRealm(types))
        try realm.write {
            realm.create(Shop.self, value: ["id": 1, "price": Price(5)])
            realm.delete(realm.dynamicObjects("StoredCoin"))
        }
        let shop = try #require(realm.objects(Shop.self).first)
        #expect(shop.price == Price(0) && shop.first == Coin(0))
        #expect((shop["price"] as? StoredCoin)?.amount == 0 && shop.description.contains("price"))
        #expect((shop.freeze()["price"] as? StoredCoin)?.amount == 0)
        for copy in [Shop(value: shop), Shop(value: shop.freeze()), Shop(value: realm.dynamicObjects("Shop")[0])] {
            #expect(copy.price == Price(0))
        }
        try other.write { other.create(Shop.self, value: shop) }
        #expect(other.objects(Shop.self).first?.price == Price(0))
        // Nil is what a new stored object stands for, of a new object as of an existing one.
        try realm.write {
            for id in [1, 2] {
                let shop = try realm.create(Shop.self, validating: ["id": id, "price": NSNull()], update: .modified)
                #expect(shop.price == Price(0))
            }
        }
    }

    @Test func aStoredValueThatStandsForNothingIsCopiedAsNil() throws {
        let name = UUID().uuidString
        let plain = try memoryRealm([PlainShop.self, StoredCoin.self, MintBank.self], name)
        try plain.write { plain.create(PlainShop.self, value: ["id": 1, "site": "nowhere", "price": [1]]) }
        let realm = try memoryRealm([Shop.self, StoredCoin.self, MintBank.self], name)
        let shop = try #require(realm.objects(Shop.self).first)
        #expect(shop.site == nil && shop["site"] as? String == "nowhere")
        #expect(Shop(value: shop).site == nil && Shop(value: shop)["site"] == nil)
        try realm.write {
            let copy = realm.create(Shop.self, value: shop, update: .modified)
            #expect(copy["site"] as? String == "nowhere")
        }
        let other = try memoryRealm([Shop.self, StoredCoin.self, MintBank.self])
        try other.write { other.create(Shop.self, value: shop.freeze()) }
        #expect(other.objects(Shop.self).first?["site"] == nil)
        let new = Shop()
        try new.populate(from: ["site": "nowhere"])
        #expect(new["site"] == nil)
    }

    /// An initial value of such a type makes an object, which is not one that the class's initialiser makes.
    @Test func anInitialValueLeavesTheClassItsTemplate() throws {
        #expect(ClassInfo.of(Shop.self).template != nil && Shop().first == Coin(7))
        let realm = try memoryRealm([Shop.self, StoredCoin.self, MintBank.self])
        try realm.write { for id in 0..<3 { realm.create(Shop.self, value: ["id": id]) } }
        #expect(realm.objects(Shop.self).map(\.first) == [Coin(7), Coin(7), Coin(7)])
        #expect(ClassInfo.of(Shop.self).template != nil)
    }
}
