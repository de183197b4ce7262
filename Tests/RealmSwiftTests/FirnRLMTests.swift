import FirnRLM
import Foundation
import Testing

class Boat: RLMObject {
    @Persisted(primaryKey: true) var id: RLMInt
    @Persisted var length: RLMDouble?
    @Persisted var crew: RLMArray<Sailor>
    @Persisted var flags: RLMSet<String>
    @Persisted var berths: RLMDictionary<String, Sailor?>
}

class Sailor: RLMObject {
    @Persisted var name = ""
    @Persisted(originProperty: "crew") var boats: RLMLinkingObjects<Boat>
}

/// Realm's Objective-C names (S1, S5).
@Suite(.timeLimit(.minutes(20))) struct FirnRLMTests {
    @Test func theNamesOfObjectiveCAreThoseOfFirn() throws {
        let configuration = RLMRealmConfiguration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Boat.self, Sailor.self])
        let realm = try RLMRealm(configuration: configuration)
        let boat = try realm.write {
            realm.create(
                Boat.self,
                value: ["id": 1, "length": 9.5, "crew": [["name": "Ann"]], "flags": ["red"], "berths": ["a": NSNull()]]
                    as [String: Any])
        }
        let found: RLMResults<Boat> = realm.objects(Boat.self).where { $0.length > 9 }
        #expect(found.first == boat && boat.crew.first?.boats.first == boat && boat.flags.contains("red"))
        #expect(boat.berths["a"] == .some(nil))
        let schema: RLMObjectSchema = boat.objectSchema
        #expect(schema["length"]?.type == RLMPropertyType.double)
    }
}
