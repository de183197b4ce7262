import Foundation
import RealmSwift

// MARK: Types of the application, and what is stored of them

/// An amount, which is stored as its decimal number.
struct GuidePrice: CustomPersistable, Equatable {
    typealias PersistedType = Decimal128

    var amount: Decimal128

    init(_ amount: Decimal128) { self.amount = amount }
    init(persistedValue: Decimal128) { amount = persistedValue }
    var persistableValue: Decimal128 { amount }
}

/// A web address, which not every string is.
struct GuideLink: FailableCustomPersistable, Equatable {
    typealias PersistedType = String

    let url: URL

    init?(persistedValue: String) {
        guard let url = URL(string: persistedValue), url.scheme != nil else { return nil }
        self.url = url
    }
    var persistableValue: String { url.absoluteString }
}

/// A place without a type, which is stored as an embedded object.
struct GuideSpot: CustomPersistable, Equatable {
    typealias PersistedType = GuideCoordinates

    var latitude: Double
    var longitude: Double

    init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
    init(persistedValue: GuideCoordinates) {
        self.init(latitude: persistedValue.latitude, longitude: persistedValue.longitude)
    }
    var persistableValue: GuideCoordinates { GuideCoordinates(value: [latitude, longitude]) }
}

class GuideCoordinates: EmbeddedObject {
    @Persisted var latitude: Double
    @Persisted var longitude: Double
}

/// A point as GeoJSON has it. Queries of places need the names of its two properties.
class GuidePoint: EmbeddedObject {
    @Persisted private var type: String = "Point"
    @Persisted private var coordinates: List<Double>

    var latitude: Double { coordinates.count > 1 ? coordinates[1] : 0 }
    var longitude: Double { coordinates.count > 0 ? coordinates[0] : 0 }

    convenience init(_ latitude: Double, _ longitude: Double) {
        self.init()
        coordinates.append(objectsIn: [longitude, latitude])
    }
}

enum GuideHabitat: String, PersistableEnum {
    case forest, meadow, shore
}

// MARK: The models

class GuideSpecies: Object {
    @Persisted(primaryKey: true) var code: String
    @Persisted var name: String
    @Persisted var habitats: MutableSet<GuideHabitat>
    /// The name in other languages.
    @Persisted var names: Map<String, String>
    @Persisted var link: GuideLink?
    @Persisted(originProperty: "species") var sightings: LinkingObjects<GuideSighting>

    convenience init(_ code: String, _ name: String) {
        self.init()
        self.code = code
        self.name = name
    }
}

class GuideSighting: Object {
    @Persisted(primaryKey: true) var id: UUID
    @Persisted var species: GuideSpecies?
    @Persisted var seenAt: Date
    @Persisted var count = 1
    @Persisted var location: GuidePoint?
    @Persisted var camp: GuideSpot
    @Persisted var weights: List<Double>
    /// What was read each hour, if anything was.
    @Persisted var temperatures: List<Int?>
    @Persisted var surroundings: List<GuideHabitat?>
    @Persisted var photo: Data?
    @Persisted var tags: MutableSet<String>
    @Persisted var counts: Map<String, Int>
    @Persisted var companions: Map<String, GuideSpecies?>
    /// Whatever the observer wants to note.
    @Persisted var remark: AnyRealmValue
    @Persisted var remarks: List<AnyRealmValue>
    @Persisted var fee: Decimal128?
    @Persisted var prices: List<GuidePrice>
    @Persisted var trip: ObjectId

    override class func primaryKey() -> String? { "id" }
}
