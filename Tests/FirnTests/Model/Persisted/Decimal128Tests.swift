import Firn
import FirnTestSupport
import Foundation
import Testing

private class Item: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var price: Decimal128
    @Persisted var discount: Decimal128?
    @Persisted var parts: List<Decimal128>
    @Persisted var gaps: List<Decimal128?>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ id: Int, _ price: Decimal128, discount: Decimal128? = nil) {
        self.init()
        (self.id, self.price, self.discount) = (id, price, discount)
    }
}

/// `Decimal128`: a number of 34 decimal digits, on its own and as a property (R60, SEMANTICS 32, 71, 73, 79).
/// DecimalArithmeticTests compares its operations with those of another implementation.
@Suite(.timeLimit(.minutes(20))) struct Decimal128Tests {
    // MARK: The number

    @Test func literalsAreExact() throws {
        let sum: Decimal128 = 0.1 + 0.2
        #expect(sum == 0.3 && sum.stringValue == "0.3")
        #expect(("19.90" as Decimal128).stringValue == "19.90" && (7 as Decimal128).description == "7")
        #expect((-9_223_372_036_854_775_808 as Decimal128).stringValue == "-9223372036854775808")
        #expect(try Decimal128(string: "1e3").stringValue == "1E3")
        #expect(
            Decimal128() == 0 && Decimal128(value: "2.5") == 2.5
                && Decimal128(value: UInt64.max) == "18446744073709551615")
        #expect(Decimal128(number: 2.5) == 2.5 && Decimal128(number: NSNumber(value: 7)) == 7)
        #expect(Decimal128(value: Float(0.1)) == 0.1 && Decimal128(value: Decimal(string: "1.25")!) == "1.25")
        #expect(Decimal128(number: NSDecimalNumber(string: "3.14")) == "3.14")
    }

    @Test(arguments: ["", "one", "1,5", "1.5 €", String(repeating: "x", count: 1 << 20)])
    func otherTextIsRefused(_ text: String) {
        #expect {
            try Decimal128(string: text)
        } throws: {
            ($0 as? Realm.Error)?.code == .invalidInput && "\($0)".utf8.count < 300
        }
    }

    @Test func aWrongLiteralStops() async {
        let literal = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let number: Decimal128 = "1,5"
            print(number)
        }
        expectMessage(literal, "is not a decimal number")
        let value = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            print(Decimal128(value: [1]))
        }
        expectMessage(value, "is not a decimal number")
    }

    /// Two NaNs with the same bits are equal, and the order is total (SEMANTICS 79).
    @Test func equalityIsThatOfValues() throws {
        let nan = Decimal128(value: "NaN")
        #expect(nan == nan && nan.isNaN && nan < Decimal128.min && !(nan > 0) && Set([nan, nan]).count == 1)
        #expect(Decimal128(value: "sNaN").isSignaling && !nan.isSignalingNaN && Decimal128(value: "sNaN") != nan)
        for same in [["1", "1.0", "10E-1"], ["0", "-0.00"], ["Infinity", "inf"]] {
            let numbers = same.map { Decimal128(value: $0) }
            #expect(Set(numbers).count == 1 && Set(numbers.map(\.hashValue)).count == 1)
        }
        let ascending = [
            "NaN", "-Infinity", "-9E+6000", "-1", "-0.5", "0", "1E-6176", "0.5", "1.0000001", "1E+30", "inf",
        ]
        let numbers = ascending.map { Decimal128(value: $0) }
        #expect(numbers.shuffled().sorted() == numbers)
        #expect(
            Decimal128.min < -1e300 && Decimal128.max > 1e300
                && Decimal128.max.stringValue == "9.999999999999999999999999999999999E6144")
    }

    @Test func theProtocolsOfNumbersWork() {
        var number: Decimal128 = 5
        number += 1
        number -= 0.5
        number *= 4
        number /= 8
        #expect(number == 2.75)
        number.negate()
        #expect(number == -2.75 && number.magnitude == 2.75 && abs(number) == 2.75)
        #expect(Array(stride(from: 0 as Decimal128, to: 0.3, by: 0.1)) == [0, 0.1, 0.2])
        #expect((1 as Decimal128).distance(to: 3.5) == 2.5 && (1 as Decimal128).advanced(by: 2) == 3)
        #expect([0.1, 0.2, 0.3].map { Decimal128(value: $0) }.reduce(0, +) == 0.6)
        #expect(1 / (0 as Decimal128) == Decimal128(value: "inf") && ((0 as Decimal128) / 0).isNaN)
        #expect((1 / (0 as Decimal128)).isInfinite && !number.isInfinite)
        #expect(Decimal128(exactly: Int128.max) == nil && Decimal128(exactly: 7 as UInt8) == 7)
        #expect(Decimal128(exactly: Int128(10_000_000_000_000_000_000) * 10_000_000_000_000_000) == "1E+35")
        #expect((2.5 as Decimal128).doubleValue == 2.5 && Decimal128(value: "NaN").doubleValue.isNaN)
    }

    /// An exponent has a sign, unlike in Realm (SEMANTICS 100).
    @Test func itIsCodedAsText() throws {
        struct Order: Codable, Equatable {
            var amounts: [Decimal128]
        }
        let order = Order(amounts: ["19.90", -3, 1e40])
        let data = try JSONEncoder().encode(order)
        #expect(String(decoding: data, as: UTF8.self) == #"{"amounts":["19.90","-3","1E40"]}"#)
        #expect(try JSONDecoder().decode(Order.self, from: data) == order)
        let numbers = try JSONDecoder().decode(Order.self, from: Data(#"{"amounts":[1, 2.5, "0.1"]}"#.utf8))
        #expect(numbers.amounts == [1, 2.5, 0.1])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Order.self, from: Data(#"{"amounts":["x"]}"#.utf8))
        }
    }

    /// SEMANTICS 100.
    @Test(arguments: [
        ("150E1", "1.5E3"), ("1.50", "1.50"), ("1500", "1500"), ("1.23456789E+132", "1.23456789E132"),
        ("100E10", "1E12"), ("-1.0E-9", "-1E-9"), ("0E+7", "0E7"), ("0E-9", "0E-9"),
    ])
    func anExponentHasNoPlusAndNoZerosBeforeIt(_ text: String, _ expected: String) throws {
        let number = try Decimal128(string: text)
        #expect(number.stringValue == expected && number.description == expected)
        #expect(try Decimal128(string: expected) == number)
        let json = try JSONEncoder().encode([number])
        #expect(String(decoding: json, as: UTF8.self) == "[\"\(expected)\"]")
    }

    /// On Linux a number object also passes for a Float.
    @Test func numberObjectsKeepTheirTexts() {
        for (number, text) in [
            (NSNumber(value: 100), "100"), (NSNumber(value: true), "1"), (NSNumber(value: 20_000_000), "20000000"),
            (NSNumber(value: Double(Float(0.1))), "0.10000000149011612"), (NSNumber(value: Float(0.1)), "0.1"),
            (NSNumber(value: UInt64.max), "18446744073709551615"), (NSDecimalNumber(string: "1.25"), "1.25"),
        ] {
            #expect(Decimal128(number: number).stringValue == text && Decimal128(value: number).stringValue == text)
        }
    }
    // MARK: The property

    private func realm() throws -> Realm {
        try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Item.self]))
    }

    /// Zeros stay in the text, also beside an exponent, unlike in Realm (SEMANTICS 100).
    @Test func aPropertyKeepsEveryBit() throws {
        let folder = TemporaryFolder()
        let configuration = Realm.Configuration(
            fileURL: URL(filePath: folder.path + "/d.firn"), objectTypes: [Item.self])
        let texts = ["0", "-0", "1.50", "1.5", "NaN", "-NaN", "sNaN", "-Infinity", "9E6144", "1E-6176"]
        do {
            let realm = try Realm(configuration: configuration)
            try realm.write {
                for (id, text) in texts.enumerated() {
                    let item = Item(id, Decimal128(value: text), discount: id % 2 == 0 ? nil : Decimal128(value: text))
                    item.parts.append(Decimal128(value: text))
                    item.gaps.append(objectsIn: [nil, Decimal128(value: text)])
                    realm.add(item)
                }
            }
        }
        let realm = try Realm(configuration: configuration)
        try realm.compact()
        for (id, text) in texts.enumerated() {
            for item in [
                realm.object(ofType: Item.self, forPrimaryKey: id),
                realm.object(ofType: Item.self, forPrimaryKey: id)?.freeze(),
            ] {
                let item = try #require(item)
                #expect(
                    item.price.stringValue == text
                )
                #expect(item.discount?.stringValue == (id % 2 == 0 ? nil : item.price.stringValue))
                #expect(item.parts.map(\.stringValue) == [item.price.stringValue])
                #expect(item.gaps.map { $0?.stringValue } == [nil, item.price.stringValue])
            }
        }
    }

    @Test func itIsSetInAndOutsideOfTransactionsAndByName() throws {
        let realm = try realm()
        let item = Item(1, 1)
        for _ in 0..<2 {
            func set() {
                item.price = "2.5"
                item.discount = 3
                item["discount"] = 0.25
                item["price"] = "1.10"
            }
            if item.realm == nil { set() } else { try realm.write { set() } }
            #expect(item.price.stringValue == "1.10" && item.discount == 0.25 && item["price"] as? Decimal128 == 1.1)
            if item.realm == nil {
                try realm.write { realm.add(item) }
            } else {
                try realm.write { item["discount"] = nil }
            }
        }
        #expect(item.discount == nil && item["discount"] == nil)
        #expect(item.objectSchema["price"]?.type == .decimal128 && item.objectSchema["discount"]?.isOptional == true)
        #expect(throws: Realm.Error.self) { try Item(validating: ["price": "much"]) }
        #expect(Item(value: ["price": Int8(3), "discount": "1E+2"] as [String: Any]).discount == 100)
        #expect("\(item)".contains("price = 1.10;"))
    }

    @Test func queriesCompareByValue() throws {
        let realm = try realm()
        let prices: [Decimal128] = ["1.50", "1.5", 2, "NaN", "inf", -3, "0.1"]
        try realm.write {
            for (id, price) in prices.enumerated() { realm.add(Item(id, price, discount: id < 3 ? price : nil)) }
        }
        let items = realm.objects(Item.self)
        func ids(_ results: Results<Item>) -> [Int] { results.map(\.id) }
        #expect(ids(items.where { $0.price == 1.5 }) == [0, 1] && ids(items.filter("price = 1.5")) == [0, 1])
        #expect(
            ids(items.where { $0.price > 1.5 }) == [2, 4]
                && ids(items.filter("price > %@", 1.5 as Decimal128)) == [2, 4])
        #expect(ids(items.where { $0.discount == nil }) == [3, 4, 5, 6])
        #expect(ids(items.where { $0.price.in(["2.0", -3]) }) == [2, 5])
        #expect(ids(items.where { $0.price == Decimal128(value: "NaN") }) == [3])
        #expect(ids(items.filter("price = 0.1")) == [6], "a literal is exact")
        #expect(ids(items.where { $0.price.contains(1...2) }) == [0, 1, 2])
        #expect(ids(items.sorted(by: \.price)) == [3, 5, 6, 0, 1, 2, 4])
        #expect(
            items.where { $0.id < 3 }.sum(of: \.price) == 5
                && items.where { $0.id < 3 }.average(of: \.price) as Decimal128?
                    == "1.666666666666666666666666666666667"
        )
        #expect(items.max(of: \.price) == Decimal128(value: "inf") && items.min(of: \.price) == -3)
        #expect(items.sum(of: \.discount) == 5 && items.where { $0.id < 3 }.sum(ofProperty: "price") as Int == 5)
        #expect(items.where { $0.id == 9 }.sum(of: \.price) == 0)
        #expect(ids(items.distinct(by: ["price"])) == [0, 2, 3, 4, 5, 6])
        #expect(ids(items.distinct(by: ["discount"])) == [0, 2, 3])
    }

    @Test func aListOfDecimalsHasAggregates() throws {
        let realm = try realm()
        let item = Item(1, 0)
        item.parts.append(objectsIn: [1.5, 2, "0.25"])
        for _ in 0..<2 {
            #expect(item.parts.sum() == 3.75 && item.parts.min() == 0.25 && item.parts.max() == 2)
            #expect(item.parts.average() == 1.25 && item.parts.firstIndex(of: "2.00") == 1)
            try realm.write { realm.add(item, update: .modified) }
        }
        #expect(realm.objects(Item.self).where { $0.parts.sum > 3 }.count == 1)
        #expect(realm.objects(Item.self).where { $0.parts.contains(2) }.count == 1)
    }

    /// What a writer changes itself has no old values (SEMANTICS 45); the history has them.
    @MainActor @Test func aChangeIsReported() async throws {
        let realm = try realm()
        let item = Item(1, "1.0")
        try realm.write { realm.add(item) }
        var changes: [PropertyChange] = []
        let token = item.observe { (change: ObjectChange<Item>) in
            if case .change(_, let properties) = change { changes += properties }
        }
        defer { token.invalidate() }
        try realm.write { item.price = "1.25" }
        await wait { !changes.isEmpty }
        #expect(changes.map(\.name) == ["price"] && changes.first?.newValue as? Decimal128 == 1.25)
    }

    /// RealmSwift indexes no decimals either.
    @Test func itCannotBeIndexed() {
        class Indexed: Object {
            @Persisted var price: Decimal128
            override class func indexedProperties() -> [String] { ["price"] }
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        #expect(throws: Realm.Error.self) {
            try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Indexed.self]))
        }
    }
}
