import Firn
import FirnStorage
import Foundation
import Testing

/// These tests run one after the other, because the default configuration is the process's.
@Suite(.serialized, .timeLimit(.minutes(20))) struct DefaultRealmTests {
    /// A class's own methods create and find its objects in the default realm, or in the realm that is given (SPEC S19,
    /// S26, S35, S39, S62, S63, S66, S72, R2). `Realm()` twice on one thread is the same instance (SEMANTICS 2).
    @Test func classesFindAndCreateTheirObjects() throws {
        let before = Realm.Configuration.defaultConfiguration
        defer { Realm.Configuration.defaultConfiguration = before }
        Realm.Configuration.defaultConfiguration = .init(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Person.self])
        let realm = try Realm()
        try Realm().write {
            Dog.createInDefaultRealm(withValue: [1, "Rex"])
            Dog.createOrUpdateInDefaultRealm(withValue: ["id": 1, "name": "Max"])
            Dog.createOrUpdateModified(in: realm, withValue: ["id": 2, "name": "Bo"])
        }
        #expect(Dog.allObjects().map(\.name) == ["Max", "Bo"] && Dog.objects(where: "name == %@", "Bo").count == 1)
        #expect(Dog.object(forPrimaryKey: 2)?.name == "Bo" && Dog.object(in: realm, forPrimaryKey: 3) == nil)
    }

    /// A class's objects in the default realm are found by a predicate; nil means all (SPEC S65).
    @Test func objectsAreFoundByAPredicate() throws {
        let before = Realm.Configuration.defaultConfiguration
        defer { Realm.Configuration.defaultConfiguration = before }
        Realm.Configuration.defaultConfiguration = .init(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Dog.self, Person.self])
        let realm = try Realm()
        try realm.write { realm.add([Dog(1, "Rex", age: 3), Dog(2, "Max", age: 5)]) }
        let old = Dog.objects(with: RealmPredicate(format: "age > %@", 3))
        #expect(old.map(\.name) == ["Max"] && old.realm == realm)
        #expect(Dog.objects(with: nil).map(\.name) == ["Rex", "Max"])
    }

    /// In debug builds a lock taken under the configuration's lock stops the process; in others the thread waits for
    /// itself.
    @Test func objectsOfTheOldDefaultConfigurationMayReadTheNewOneWhenReleased() async {
        await #expect(processExitsWith: .success) {
            final class Asking: Sendable {
                let answer: Guarded<String?>
                init(_ answer: Guarded<String?>) { self.answer = answer }
                deinit {
                    let name = Realm.Configuration.defaultConfiguration.inMemoryIdentifier
                    answer.withLock { $0 = name }
                }
            }
            let answer = Guarded<String?>(.unranked, nil)
            func set() {
                let asking = Asking(answer)
                var configuration = Realm.Configuration(inMemoryIdentifier: "old")
                configuration.onDamage = { _ in withExtendedLifetime(asking) {} }
                Realm.Configuration.defaultConfiguration = configuration
            }
            set()
            #expect(answer.withLock { $0 } == nil)
            Realm.Configuration.defaultConfiguration = .init(inMemoryIdentifier: "new")
            #expect(answer.withLock { $0 } == "new")
        }
    }
}
