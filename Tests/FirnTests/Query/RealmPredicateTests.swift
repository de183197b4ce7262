import Firn
import FirnTestSupport
import Testing

private class Signs: Object {
    @Persisted var home: Int
    @Persisted var space: Int
    @Persisted var dot: Int
    @Persisted var `in`: Int
    @Persisted var parts: List<Signs>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func propertiesMapping() -> [String: String] {
        ["home": "@home", "space": "with space", "dot": "a.b"]
    }
}

/// `RealmPredicate` (S65, S71).
@Suite(.timeLimit(.minutes(20))) struct RealmPredicateTests {
    /// An object outside of a store is asked what a query would be asked.
    @Test(arguments: ["1 == 1", "age > 0 OR 'x' BEGINSWITH 'x'", "FALSEPREDICATE AND 'a' IN {'a'}"])
    func aConstantComparedWithAConstantIsRefusedForOneObject(text: String) async throws {
        let error = try #require(throws: Realm.Error.self) {
            try RealmPredicate(format: text).holds(for: Dog(1, "Rex", age: 3))
        }
        #expect(error.code == .invalidInput && error.message.contains("A constant is compared with a constant."))
        for isEmpty in [true, false] {
            let stop = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                [text = text as String, isEmpty = isEmpty as Bool] in
                let dogs = List<Dog>()
                if !isEmpty { dogs.append(Dog(1, "Rex")) }
                _ = dogs.index(matching: text)
            }
            expectMessage(stop, "A constant is compared with a constant.")
        }
        #expect(try RealmPredicate(format: "TRUEPREDICATE").holds(for: Dog(1, "Rex")))
    }

    @Test func namesThatNeedABackslashAreShownSo() throws {
        let signs = Signs(value: ["home": 1, "space": 2])
        let text = #"\@home == 1 AND with\ space == 2 AND #in == 0"#
        #expect(try RealmPredicate(format: text).holds(for: signs))
        for (text, hint) in [("@home == 1", #"\@home"#), ("with space == 2", #"written with\ space"#)] {
            let error = try #require(throws: Realm.Error.self) { try RealmPredicate(format: text).holds(for: signs) }
            #expect(error.message.contains(hint), "\(error)")
        }
    }

    @Test func aPredicateFiltersAsItsTextDoes() throws {
        let realm = try memoryRealm()
        try realm.write { realm.add([Dog(1, "Rex", age: 3), Dog(2, "Max", age: 5)]) }
        let old = RealmPredicate(format: "age > %@ AND name BEGINSWITH %@", 4, "M")
        #expect(realm.objects(Dog.self).filter(old).map(\.id) == [2])
        #expect(Dog.objects(in: realm, with: old).map(\.id) == [2] && Dog.objects(in: realm, with: nil).count == 2)
        #expect(realm.objects(Dog.self).index(matching: old) == 1)
        #expect(
            realm.objects(Dog.self).filter(RealmPredicate(format: "id IN %@", argumentArray: [[1]])).map(\.id) == [1])
        #expect(realm.objects(Dog.self).filter(RealmPredicate(value: false)).isEmpty)
        #expect(realm.objects(Dog.self).filter(RealmPredicate(value: true)).count == 2)
        #expect(old.predicateFormat == "age > %@ AND name BEGINSWITH %@" && old.arguments.count == 2)
        #expect(throws: Realm.Error.self) {
            try realm.objects(Dog.self).filter(validating: RealmPredicate(format: "size > 3"))
        }
    }

    /// Names with signs stand in filters, sorts, aggregates and key paths, and an error says how they are written.
    @Test func namesWithSignsAreQueried() throws {
        let realm = try memoryRealm([Signs.self])
        try realm.write {
            let part = Signs(value: ["home": 4, "space": 5, "dot": 6, "in": 7])
            realm.create(Signs.self, value: ["home": 1, "space": 2, "dot": 3, "parts": [part]] as [String: Any])
        }
        let all = realm.objects(Signs.self)
        for text in [
            #"\@home == 1"#, #"ANY parts.\@home == 4"#, #"parts.@max.\@home == 4"#, #"a\.b == 3"#,
            #"ANY parts.with\ space == 5"#, "ANY parts.#in == 7",
            #"SUBQUERY(parts, $p, $p.\@home == 4 AND $p.a\.b == 6).@count == 1"#,
        ] { #expect(all.filter(text).count == 1, "\(text)") }
        #expect(all.filter("%K == 1 AND ANY %K == 6", #"\@home"#, #"parts.a\.b"#).count == 1)
        let text = #"TRUEPREDICATE SORT(\@home DESC, a\.b ASC) DISTINCT(with\ space)"#
        #expect(all.filter(text).map(\.home) == [4, 1])
        for name in ["@home", #"\@home"#] {
            #expect(all.sum(ofProperty: name) == 5 && all.sorted(byKeyPath: name).first?.home == 1)
            #expect(all.distinct(by: [name]).count == 2)
        }
        #expect(all.sorted(byKeyPath: "with space").last?.home == 4 && all.max(ofProperty: #"a\.b"#) == 6)
        let parts = all[0].parts
        #expect(
            parts.value(forKeyPath: #"@sum.a\.b"#) as? Int == 6 && parts.value(forKeyPath: #"\@home"#) as? [Int] == [4])
        #expect(all[0].value(forKeyPath: #"parts.@max.@home"#) as? Int == 4)
        for (text, hint) in [
            ("@home == 1", #"written \@home in a query."#), ("ANY parts.@home == 1", #"written \@home"#),
            ("with space == 2", #"written with\ space in a query, or passed as '%K'."#),
            ("a.b == 3", #"written a\.b in a query."#),
        ] {
            let error = try #require(throws: Realm.Error.self) { try all.filter(validating: text) }
            #expect(error.message.contains(hint), "\(error)")
        }
    }
}
