import Firn
import Foundation
import Testing

private class Cat: Object {
    @Persisted var name = "cat"
    @Persisted var mother: Cat?
    @Persisted var father: Cat?
    @Persisted var kittens: List<Cat>
    @Persisted var friends: List<Cat>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ name: String, mother: Cat? = nil, father: Cat? = nil) {
        self.init()
        self.name = name
        self.mother = mother
        self.father = father
    }
}

private class Home: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = "home"
    @Persisted var next: Home?
    @Persisted var other: Home?
    @Persisted var all: List<Home>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

private func newRealm() throws -> Realm { try memoryRealm([Cat.self, Home.self]) }

/// `create` copies objects that are unmanaged, frozen or of another realm, each once, and the objects that they link
/// to (SEMANTICS 23, 24).
@Suite(.timeLimit(.minutes(20))) struct CopyingTests {
    /// Where the object to be copied comes from.
    enum Origin: CaseIterable {
        case unmanaged, otherRealm, frozen

        /// The object as it is passed to `create`, and its realm, which must live as long.
        fileprivate func moved<T: Object>(_ object: T) throws -> (object: T, realm: Realm?) {
            if self == .unmanaged { return (object, nil) }
            let realm = try newRealm()
            try realm.write { realm.add(object) }
            return (self == .frozen ? object.freeze() : object, realm)
        }
    }

    @Test(arguments: Origin.allCases) func eachLinkKeepsItsOwnTarget(origin: Origin) throws {
        let cat = Cat("cat", mother: Cat("mother"), father: Cat("father"))
        for number in 0..<50 {
            cat.kittens.append(Cat("kitten \(number)", mother: Cat("m\(number)"), father: Cat("f\(number)")))
        }
        let source = try origin.moved(cat)
        let realm = try newRealm()
        let copy = try realm.write { realm.create(Cat.self, value: source.object) }
        #expect(copy.mother?.name == "mother" && copy.father?.name == "father")
        #expect(copy.kittens.map(\.name) == (0..<50).map { "kitten \($0)" })
        #expect(copy.kittens.map { $0.mother?.name } == (0..<50).map { "m\($0)" })
        #expect(copy.kittens.map { $0.father?.name } == (0..<50).map { "f\($0)" })
        #expect(realm.objects(Cat.self).count == 153)
    }

    @Test(arguments: Origin.allCases) func anObjectThatIsLinkedTwiceIsCopiedOnce(origin: Origin) throws {
        let shared = Cat("shared")
        let cat = Cat("cat", mother: shared, father: shared)
        cat.kittens.append(objectsIn: [shared, shared])
        let source = try origin.moved(cat)
        let realm = try newRealm()
        let copy = try realm.write { realm.create(Cat.self, value: source.object) }
        #expect(realm.objects(Cat.self).count == 2)
        for cat in [copy.mother, copy.father] + copy.kittens.map({ Optional($0) }) {
            #expect(cat?.isSameObject(as: realm.objects(Cat.self).where { $0.name == "shared" }[0]) == true)
        }
    }

    @Test(arguments: Origin.allCases, [false, true]) func cyclesAreCopied(origin: Origin, isValidating: Bool) throws {
        let one = Cat("one")
        let two = Cat("two", mother: one)
        one.mother = two
        one.father = one
        one.kittens.append(one)
        defer {
            if one.realm == nil {
                one.mother = nil
                one.father = nil
                one.kittens.removeAll()
            }
        }
        let source = try origin.moved(one)
        let realm = try newRealm()
        let copy = try realm.write {
            isValidating
                ? try realm.create(Cat.self, validating: source.object)
                : realm.create(Cat.self, value: source.object)
        }
        #expect(realm.objects(Cat.self).count == 2)
        #expect(copy.father?.isSameObject(as: copy) == true && copy.kittens[0].isSameObject(as: copy))
        #expect(copy.mother?.name == "two" && copy.mother?.mother?.isSameObject(as: copy) == true)
    }

    @Test(arguments: Origin.allCases) func copyingALongChainNeedsNoDeepStack(origin: Origin) throws {
        let last = Cat("0")
        var chain = [last]
        for number in 1..<50_000 { chain.append(Cat("\(number)", mother: chain[number - 1])) }
        let source = try origin.moved(chain[49_999])
        let realm = try newRealm()
        try realm.write { _ = realm.create(Cat.self, value: source.object) }
        #expect(realm.objects(Cat.self).count == 50_000)
        try realm.write { _ = try realm.create(Cat.self, validating: source.object) }
        #expect(realm.objects(Cat.self).count == 100_000)
        // Unmanaged objects are released one by one.
        for cat in chain where cat.realm == nil { cat.mother = nil }
    }

    /// An object that a sequence makes lives no longer than the sequence keeps it.
    @Test func temporaryObjectsOfSequencesAreDistinguished() throws {
        let realm = try newRealm()
        let copy = try realm.write {
            realm.create(
                Cat.self,
                value: [
                    "kittens": (0..<100).lazy.map { Cat("kitten \($0)") },
                    "friends": (0..<100).lazy.map { Cat("friend \($0)") },
                ])
        }
        #expect(copy.kittens.map(\.name) == (0..<100).map { "kitten \($0)" })
        #expect(copy.friends.map(\.name) == (0..<100).map { "friend \($0)" })
    }

    @Test(arguments: Origin.allCases) func anUpdateChangesTheObjectsThatItsLinksLeadTo(origin: Origin) throws {
        let home = Home(value: [
            "id": 1, "next": ["id": 2, "name": "two"], "other": ["id": 3, "name": "three"],
            "all": (4..<40).map { ["id": $0, "name": "\($0)"] as [String: Any] },
        ])
        let source = try origin.moved(home)
        let realm = try newRealm()
        try realm.write {
            for id in 1..<40 { realm.create(Home.self, value: ["id": id]) }
            realm.create(Home.self, value: source.object, update: .modified)
        }
        let homes = realm.objects(Home.self)
        #expect(homes.map(\.name) == ["home", "two", "three"] + (4..<40).map { "\($0)" })
        #expect(homes[0].next == homes[1] && homes[0].other == homes[2] && homes[0].all.map(\.id) == Array(4..<40))
    }

    /// Each nested object is created once, however often it is described (SEMANTICS 23).
    @Test func valuesWithOneNewKeyDescribeOneObject() throws {
        let realm = try newRealm()
        let home = try realm.write { realm.create(Home.self, value: ["id": 1]) }
        try realm.write {
            realm.create(
                Home.self,
                value: [
                    "id": 1, "next": ["id": 2, "name": "two"], "other": ["id": 2, "next": ["id": 3, "name": "three"]],
                    "all": [["id": 2], ["id": 3], ["id": 3]],
                ], update: .modified)
        }
        #expect(home.next?.name == "two" && home.other == home.next && home.next?.next?.name == "three")
        #expect(home.all.map(\.id) == [2, 3, 3] && realm.objects(Home.self).count == 3)
    }

    /// An instance of any class is copied by its properties' names, even in cycles.
    @Test func aCycleOfOtherClassesIsCopied() throws {
        class Plain {
            let name = "plain"
            var mother: Plain?
        }
        let plain = Plain()
        plain.mother = plain
        defer { plain.mother = nil }
        let realm = try newRealm()
        let copy = try realm.write { realm.create(Cat.self, value: plain) }
        #expect(copy.name == "plain" && copy.mother?.isSameObject(as: copy) == true)
        #expect(realm.objects(Cat.self).count == 1)
    }

    @Test(arguments: Origin.allCases) func aCopyThatWouldRepeatAPrimaryKeyThrows(origin: Origin) throws {
        let source = try origin.moved(Home(value: ["id": 1, "next": ["id": 2]]))
        let realm = try newRealm()
        try realm.write {
            realm.create(Home.self, value: ["id": 2])
            let error = #expect(throws: Realm.Error.self) {
                try realm.create(Home.self, validating: source.object)
            }
            #expect(error?.code == .invalidInput && error?.message.contains("primary key 2") == true)
        }
        #expect(realm.objects(Home.self).map(\.id) == [2])
    }

    /// A sequence may give its elements only once.
    @Test func validatingReadsASequenceOnce() throws {
        let realm = try newRealm()
        var left = 3
        let homes = AnySequence {
            AnyIterator { () -> [String: Any]? in
                left -= 1
                return left < 0 ? nil : ["name": "\(left)"]
            }
        }
        let cat = try realm.write { try realm.create(Cat.self, validating: ["kittens": homes]) }
        #expect(cat.kittens.map(\.name) == ["2", "1", "0"])
    }

    @Test func anErrorInALongChainNamesItsPath() throws {
        let realm = try newRealm()
        try realm.write {
            let value: [String: Any] = ["mother": ["kittens": [[:], ["father": ["name": 5]]]]]
            let error = #expect(throws: Realm.Error.self) { try realm.create(Cat.self, validating: value) }
            #expect(
                error?.message.contains("\"mother.kittens[1].father.name\"") == true, "\(String(describing: error))")
        }
        #expect(realm.isEmpty)
    }

    /// This works as `create` does, without a realm.
    @Test func anUnmanagedCopyOfACycleIsACycle() throws {
        class Plain {
            let name = "plain"
            var mother: Plain?
            var kittens: [Plain] = []
        }
        let (plain, kitten) = (Plain(), Plain())
        plain.mother = plain
        plain.kittens = [kitten, kitten]
        kitten.mother = plain
        defer {
            plain.mother = nil
            kitten.mother = nil
        }
        for isValidating in [false, true] {
            let cat = isValidating ? try Cat(validating: plain) : Cat(value: plain)
            #expect(cat.name == "plain" && cat.mother === cat && cat.kittens.count == 2)
            #expect(cat.kittens[0] === cat.kittens[1] && cat.kittens[0].mother === cat)
            let other = Cat("other")
            other["mother"] = plain
            #expect(other.mother?.mother === other.mother && other.mother?.kittens[0].mother === other.mother)
            for made in [cat, other.mother] {
                made?.kittens.removeAll()
                made?.mother = nil
            }
        }
        // Objects of the class itself are linked to as they are, so there is no cycle of copies.
        let one = Cat("one")
        one.mother = one
        defer { one.mother = nil }
        #expect(try Cat(validating: one).mother === one)
    }

    @Test func makingAnUnmanagedObjectOfALongChainNeedsNoDeepStack() throws {
        final class Plain {
            var mother: Plain?
            init(_ mother: Plain?) { self.mother = mother }
        }
        var chain: [Plain] = [Plain(nil)]
        for number in 1..<20_000 { chain.append(Plain(chain[number - 1])) }
        let cat = try Cat(validating: chain[19_999])
        var (count, next) = (0, Optional(cat))
        while let one = next {
            count += 1
            next = one.mother
            // Both are released one by one.
            one.mother = nil
        }
        for plain in chain { plain.mother = nil }
        #expect(count == 20_000)
    }

    /// Links between copies that nobody gets are removed, so that the copies are freed.
    @Test func anErrorInACycleNamesItsPath() throws {
        class Plain {
            let name: Any
            var mother: Plain?
            init(_ name: Any) { self.name = name }
        }
        let (plain, bad) = (Plain("plain"), Plain(5))
        plain.mother = bad
        bad.mother = plain
        defer { plain.mother = nil }
        let error = #expect(throws: Realm.Error.self) { _ = try Cat(validating: plain) }
        #expect(error?.message.contains("\"mother.name\"") == true, "\(String(describing: error))")
    }
}
