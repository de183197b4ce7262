import Firn
import Foundation
import Testing

/// One after the other: the default configuration is the process's.
@Suite(.serialized, .timeLimit(.minutes(20))) struct DefaultRealmTests {
    /// SPEC S19–S40, S62–S72, R2, SEMANTICS 2
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
}
