import RealmSwift

// The classes of the tests that hold RealmSwift's signatures. They have a property of each kind that a signature names.

enum Rock: String, PersistableEnum {
    case granite, lime
}

/// A type that is stored as a number.
struct Metres: CustomPersistable {
    typealias PersistedType = Double
    var count: Double
    init(_ count: Double) { self.count = count }
    init(persistedValue: Double) { count = persistedValue }
    var persistableValue: Double { count }
}

/// A type that not every stored text stands for.
struct Climate: FailableCustomPersistable {
    typealias PersistedType = String
    var letter: Character
    init?(persistedValue: String) {
        guard let letter = persistedValue.first else { return nil }
        self.letter = letter
    }
    var persistableValue: String { String(letter) }
}

/// Where a peak is, in the form that RealmSwift's geospatial queries read.
class Spot: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var coordinates: List<Double>
    @Persisted var huts: List<Peak>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Peak: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name: String
    @Persisted var height: Double
    @Persisted var year: Int?
    @Persisted var isSteep: Bool
    @Persisted var climbed: Date
    @Persisted var rock: Rock
    @Persisted var prominence: Metres
    @Persisted var climate: Climate?
    @Persisted var picture: Data
    @Persisted var cost: Decimal128
    @Persisted var note: AnyRealmValue
    @Persisted var spot: Spot?
    @Persisted var spots: List<Spot>
    @Persisted var depths: List<Int>
    @Persisted var readings: List<Int?>
    @Persisted var views: MutableSet<String>
    @Persisted var tolls: Map<String, Int>
    @Persisted var snow: Map<String, Int?>
    @Persisted var names: Map<String, String>
    @Persisted var next: Peak?
    @Persisted var neighbours: List<Peak>
    @Persisted var rivals: MutableSet<Peak>
    @Persisted var routes: Map<String, Peak?>
    @Persisted(originProperty: "neighbours") var seenFrom: LinkingObjects<Peak>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ id: Int, _ name: String, height: Double = 0) {
        self.init()
        (self.id, self.name, self.height) = (id, name, height)
    }
}

final class PeakCard: Projection<Peak> {
    @Projected(\Peak.name) var name: String
    @Projected(\Peak.neighbours.projectTo.name) var neighbours: ProjectedCollection<String>
    @Projected(\Peak.rivals.projectTo.name) var rivals: ProjectedCollection<String>
}

/// A realm in memory with two peaks, each the other's neighbour. Only the first is steep.
func peaks() throws -> Realm {
    let realm = try Realm(
        configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Peak.self, Spot.self]))
    try realm.write {
        let (high, low) = (Peak(1, "Eiger", height: 3967), Peak(2, "Niesen", height: 2362))
        realm.add([high, low])
        high.isSteep = true
        for (peak, other) in [(high, low), (low, high)] {
            peak.neighbours.append(other)
            peak.rivals.insert(other)
            peak.routes["north"] = other
            peak.depths.append(objectsIn: [3, 1, 2])
            peak.readings.append(objectsIn: [4, nil])
            peak.views.insert(objectsIn: ["east", "west"])
            peak.tolls["road"] = 5
            peak.snow["road"] = 6
            peak.names["de"] = peak.name
            peak.spot = Spot()
            peak.spot?.coordinates.append(objectsIn: [peak.id == 1 ? 8.0 : 7.7, 46.6])
            peak.spots.append(Spot(value: ["coordinates": [7.0, 46.0]]))
        }
    }
    return realm
}

/// Both peaks of `peaks()`, the higher one first.
func highAndLow(_ realm: Realm) -> (Peak, Peak) {
    let all = realm.objects(Peak.self).sorted(by: \.height, ascending: false)
    return (all[0], all[1])
}
