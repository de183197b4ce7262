import Firn
import FirnTestSupport
import Testing

/// `RealmPredicate` (S65, S71).
@Suite(.timeLimit(.minutes(20))) struct RealmPredicateTests {
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
}
