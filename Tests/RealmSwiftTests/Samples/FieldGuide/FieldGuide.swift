import Foundation
import RealmSwift

/// What was seen where: the queries of a nature lover's notebook.
final class FieldGuide {
    let realm: Realm

    init() throws {
        realm = try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString,
                objectTypes: [GuideSpecies.self, GuideSighting.self, GuidePoint.self, GuideCoordinates.self]))
    }

    var sightings: Results<GuideSighting> { realm.objects(GuideSighting.self) }
    var species: Results<GuideSpecies> { realm.objects(GuideSpecies.self) }

    /// A sighting, whose place is given as latitude and longitude.
    @discardableResult
    func saw(
        _ name: String, at place: (Double, Double)? = nil, count: Int = 1, _ change: (GuideSighting) -> Void = { _ in }
    ) throws -> GuideSighting {
        try realm.write {
            let code = String(name.prefix(3).uppercased())
            let species = realm.create(GuideSpecies.self, value: ["code": code, "name": name], update: .modified)
            let sighting = GuideSighting()
            sighting.species = species
            sighting.count = count
            if let place { sighting.location = GuidePoint(place.0, place.1) }
            change(sighting)
            realm.add(sighting)
            return sighting
        }
    }

    /// A query made of parts, each of which may be left out.
    func sightings(of name: String? = nil, atLeast count: Int? = nil, tagged tag: String? = nil)
        -> Results<GuideSighting>
    {
        var parts: [(Query<GuideSighting>) -> Query<Bool>] = []
        if let name { parts.append { $0.species.name == name } }
        if let count { parts.append { $0.count >= count } }
        if let tag { parts.append { $0.tags.contains(tag) } }
        guard let first = parts.first else { return sightings }
        return sightings.where { query in
            parts.dropFirst().reduce(first(query)) { $0 && $1(query) }
        }
    }

    func sightings(within circle: GeoCircle) -> Results<GuideSighting> {
        sightings.where { $0.location.geoWithin(circle) }
    }

    func sightings(within shape: GeoBox) -> Results<GuideSighting> {
        sightings.where { $0.location.geoWithin(shape) }
    }

    func sightings(within shape: GeoPolygon) -> Results<GuideSighting> {
        sightings.where { $0.location.geoWithin(shape) }
    }
}
