import Realm
import Testing

class Cup: RLMObject {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var lids: List<Int>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A file that imports `Realm` alone has the names of both interfaces, and of Foundation.
@Suite(.timeLimit(.minutes(20))) struct RealmImportTests {
    @Test func bothInterfacesAreThere() throws {
        let realm: RLMRealm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Cup.self]))
        try realm.write { realm.add(Cup(value: ["id": 4, "lids": [1, 2]] as [String: Any])) }
        let found: RLMResults<Cup> = realm.objects(Cup.self).filter(NSPredicate(format: "id == %d", 4))
        let configuration: Realm.Configuration = realm.configuration
        #expect(found.first?.lids.sum() == 3 && configuration.inMemoryIdentifier != nil)
    }
}
