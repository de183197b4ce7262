import RealmSwift
import Testing

class Kettle: Object {
    @Persisted(primaryKey: true) var id = UUID()
    @Persisted var made = Date(timeIntervalSince1970: 0)
    @Persisted var label = Data()
    @Persisted var litres = 1.0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

extension RealmCollection {
    /// As programs of RealmSwift 3 name it.
    fileprivate func firstElement() -> ElementType? { first }
}

/// A file that imports RealmSwift and nothing else has Foundation's names, and Realm's own where both have one.
@Suite(.timeLimit(.minutes(20))) struct OneImportTests {
    @Test func foundationAndRealmsNamesAreThere() throws {
        let realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Kettle.self]))
        let ids: [UUID] = try autoreleasepool {
            try realm.write {
                (0..<3).map { number in
                    let kettle = Kettle()
                    kettle.litres = Double(3 - number)
                    realm.add(kettle)
                    return kettle.id
                }
            }
        }
        let kettles = realm.objects(Kettle.self)
        #expect(kettles.sorted(by: [SortDescriptor(keyPath: "litres")]).map(\.id) == ids.reversed())
        #expect(kettles.sorted(by: [RealmSwift.SortDescriptor(keyPath: "litres", ascending: false)]).map(\.id) == ids)
        #expect(kettles.firstElement()?.id == ids[0] && kettles[0].made == Date(timeIntervalSince1970: 0))
        #expect(throws: CancellationError.self) { try autoreleasepool { throw CancellationError() } }
        let level: RealmSwift.Logger? = RealmSwift.Logger.shared
        #expect(level != nil)
    }
}
