import FirnTestSupport
import Foundation
import Testing

@testable import Firn

/// A realm and a cursor remember the leaf of the last object. What happens in between must not make them show another
/// row for it.
@Suite("The leaf of the last object is forgotten when it may be another one", .timeLimit(.minutes(20)))
struct LastLeafTests {
    private func realm() throws -> Realm {
        let realm = try memoryRealm()
        try realm.write {
            for id in 0..<600 {
                realm.add(Dog(id, "dog \(id)", age: id))
                realm.add(Person(value: ["name": "person \(id)", "age": id]))
            }
        }
        return realm
    }

    private func dog(_ id: Int, _ realm: Realm) -> Dog? { realm.object(ofType: Dog.self, forPrimaryKey: id) }

    @Test("when an object was deleted, added again, and the transaction cancelled") func deletion() throws {
        let realm = try realm()
        #expect(dog(7, realm)?.name == "dog 7")
        realm.beginWrite()
        realm.delete(try #require(dog(7, realm)))
        #expect(dog(7, realm) == nil && dog(8, realm)?.name == "dog 8" && dog(6, realm)?.name == "dog 6")
        realm.add(Dog(7, "again", age: 70))
        #expect(dog(7, realm)?.name == "again" && dog(8, realm)?.age == 8)
        realm.cancelWrite()
        #expect(dog(7, realm)?.name == "dog 7" && dog(8, realm)?.age == 8)
        try realm.write {
            realm.delete(try #require(dog(300, realm)))
            for id in 290..<310 where id != 300 { #expect(dog(id, realm)?.age == id) }
        }
        for id in 290..<310 { #expect(dog(id, realm)?.age == (id == 300 ? nil : id)) }
    }

    @Test("when objects of two classes with equal keys are asked for in turn") func twoClasses() throws {
        let realm = try realm()
        let people = realm.objects(Person.self)
        for id in 0..<600 {
            #expect(dog(id, realm)?.age == id)
            #expect(people[id].name == "person \(id)")
        }
    }

    @Test("when rows move while they are looked up") func moving() throws {
        let realm = try realm()
        var random = SeededRandom(seed: 3)
        var ages: [Int: Int] = [:]
        for id in 0..<600 { ages[id] = id }
        for round in 0..<20 {
            try realm.write {
                for step in 0..<100 {
                    let id = random.below(700)
                    switch (random.below(4), ages[id]) {
                    case (0, .some):
                        realm.delete(try #require(dog(id, realm)))
                        ages[id] = nil
                    case (1, nil):
                        realm.add(Dog(id, "new", age: round * 1_000 + step))
                        ages[id] = round * 1_000 + step
                    case (2, .some):
                        dog(id, realm)?.age = -step
                        ages[id] = -step
                    default: break
                    }
                    let other = random.below(700)
                    #expect(dog(other, realm)?.age == ages[other], "round \(round), step \(step)")
                }
            }
            for _ in 0..<100 {
                let id = random.below(700)
                #expect(dog(id, realm)?.age == ages[id], "round \(round)")
            }
        }
    }

    @Test("by a cursor over a query, while the loop deletes and adds") func cursor() throws {
        let realm = try realm()
        let young = realm.objects(Dog.self).where { $0.age < 500 }
        try realm.write {
            var seen: [Int] = []
            for dog in young {
                // What was deleted before its turn comes as an invalidated object.
                if dog.isInvalidated { continue }
                seen.append(dog.id)
                if dog.id % 2 == 0, let next = self.dog(dog.id + 1, realm) { realm.delete(next) }
                if dog.id % 50 == 0 { realm.add(Dog(10_000 + dog.id, "late", age: 1)) }
            }
            #expect(seen == stride(from: 0, to: 500, by: 2).map { $0 })
        }
    }

    @Test("when another thread has written, and after invalidate()") func versions() throws {
        let name = UUID().uuidString
        let realm = try memoryRealm([Dog.self, Person.self], name)
        try realm.write { for id in 0..<300 { realm.add(Dog(id, "dog", age: id)) } }
        #expect(dog(5, realm)?.age == 5)
        try onAnotherThread(name, types: [Dog.self, Person.self]) { other in
            try other.write {
                for id in 0..<5 { other.delete(try #require(other.object(ofType: Dog.self, forPrimaryKey: id))) }
                other.object(ofType: Dog.self, forPrimaryKey: 5)?.age = 50
            }
        }
        #expect(dog(5, realm)?.age == 5 && dog(6, realm)?.age == 6)
        realm.refresh()
        #expect(dog(5, realm)?.age == 50 && dog(6, realm)?.age == 6 && dog(4, realm) == nil)
        realm.invalidate()
        #expect(dog(5, realm)?.age == 50 && dog(6, realm)?.age == 6 && dog(4, realm) == nil)
    }
}
