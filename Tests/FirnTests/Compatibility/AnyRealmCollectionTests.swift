import Firn
import Foundation
import Testing

/// `AnyRealmCollection` (R44).
@Suite(.timeLimit(.minutes(20))) struct AnyRealmCollectionTests {
    private func filled() throws -> (Realm, Person) {
        let realm = try memoryRealm()
        let person = Person()
        person.numbers.append(objectsIn: [3, 1, 2])
        for id in 0..<5 { person.dogs.append(Dog(id, "Dog \(id % 2)", age: id)) }
        person.dogs[4].owner = person
        try realm.write { realm.add(person) }
        return (realm, person)
    }

    /// Each kind of collection reads the same through it.
    @Test func everyKindOfCollectionReadsTheSame() throws {
        let (realm, person) = try filled()
        func texts(_ collection: some RealmCollection) -> [String] {
            var texts = collection.indices.map { "\(collection[$0])" }
            for element in collection { texts.append("\(element)") }
            return texts
        }
        func check<C: RealmCollection>(_ base: C) {
            let any = AnyRealmCollection(base)
            #expect(any.count == base.count && texts(any) == texts(base))
            #expect("\(any.last as Any)" == "\(base.last as Any)" && any.realm == base.realm)
            #expect(any == AnyRealmCollection(base) && !any.isFrozen && !any.isInvalidated)
            #expect(any == AnyRealmCollection(any) || any != AnyRealmCollection(any))
            guard base.realm != nil else { return }
            let frozen = any.freeze()
            #expect(frozen.isFrozen && frozen.count == base.count && frozen.thaw()?.count == base.count)
            #expect(frozen != any && any.description.hasPrefix("AnyRealmCollection<"))
        }
        check(person.dogs)
        check(person.numbers)
        check(realm.objects(Dog.self))
        check(realm.objects(Dog.self).where { $0.age > 2 })
        check(person.dogs[4].keepers)
        check(person.owned)
        check(person.numbers.sorted(ascending: true))
        let set = MutableSet<Int>()
        set.insert(objectsIn: [1, 2])
        check(set)
        check(List<Int>())
        var iterator: RLMIterator<Dog> = AnyRealmCollection(person.dogs).makeIterator()
        #expect(iterator.next()?.id == 0)
    }

    @Test func itIsQueriedAndFollowsItsRealm() throws {
        let (realm, person) = try filled()
        let (list, results) = (
            AnyRealmCollection(person.dogs), AnyRealmCollection(realm.objects(Dog.self).where { $0.age > 2 })
        )
        #expect(list.where { $0.age > 1 }.map(\.id) == [2, 3, 4] && list.filter("name ENDSWITH '1'").count == 2)
        #expect(list.sorted(byKeyPath: "age", ascending: false).first?.id == 4 && list.max(of: \.age) == 4)
        #expect(list.index(of: person.dogs[3]) == 3 && AnyRealmCollection(person.numbers).sum() == 6)
        #expect(list != results && AnyRealmCollection(person.dogs) == list)
        let frozen = results.freeze()
        try realm.write {
            person.dogs[0].age = 9
            person.dogs.removeLast()
        }
        #expect(list.count == 4 && results.map(\.id).sorted() == [0, 3, 4] && frozen.count == 2)
        let encoded = try JSONEncoder().encode(AnyRealmCollection(person.numbers))
        #expect(String(decoding: encoded, as: UTF8.self) == "[3,1,2]")
        try realm.write { realm.delete(person) }
        #expect(list.isInvalidated && !results.isInvalidated && frozen.thaw()?.count == 3)
    }

    @MainActor @Test func itIsObservedAndHandedOver() async throws {
        let (realm, person) = try filled()
        let any = AnyRealmCollection(person.dogs)
        var seen: [String] = []
        let token = any.observe { (change: RealmCollectionChange<AnyRealmCollection<Dog>>) in
            switch change {
            case .initial(let dogs): seen.append("initial \(dogs.count)")
            case .update(let dogs, let deletions, let insertions, let modifications):
                let count = dogs.isInvalidated ? -1 : dogs.count
                seen.append("\(count) \(deletions) \(insertions) \(modifications)")
            case .error: seen.append("error")
            }
        }
        await wait { !seen.isEmpty }
        try realm.write {
            person.dogs.remove(at: 0)
            person.dogs[0].age = 50
        }
        await wait { seen.count == 2 }
        #expect(seen == ["initial 5", "4 [0] [] [1, 4]"])
        try realm.write { realm.delete(person) }
        await wait { seen.count == 3 }
        #expect(seen.last == "-1 [0, 1, 2, 3] [] []")
        token.invalidate()
        let reference = ThreadSafeReference(to: AnyRealmCollection(realm.objects(Dog.self)))
        #expect(realm.resolve(reference)?.count == 5)
    }
}
