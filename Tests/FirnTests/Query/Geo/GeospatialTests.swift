import Firn
import FirnTestSupport
import Foundation
import Testing

private class Location: EmbeddedObject {
    @Persisted private var type = "Point"
    @Persisted private(set) var coordinates: List<Double>

    convenience init(_ latitude: Double, _ longitude: Double, type: String = "Point") {
        self.init()
        self.type = type
        coordinates.append(objectsIn: [longitude, latitude])
    }
}

private class Place: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var location: Location?
    @Persisted var others: List<Location>
    @Persisted var branches: List<Place>
    @Persisted var next: Place?
}

/// An embedded class that is no GeoJSON point.
private class HomeAddress: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var street = ""
}

private class Resident: Object {
    @Persisted var home: HomeAddress?
}

/// Shapes, and queries for the locations in them (R66).
@Suite(.timeLimit(.minutes(20))) struct GeospatialTests {
    private func realm() throws -> Realm {
        try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: UUID().uuidString,
                objectTypes: [Place.self, Location.self, Resident.self, HomeAddress.self]))
    }

    private func place(_ id: Int, location: (Double, Double)?, others: [(Double, Double)] = []) -> Place {
        Place(value: [
            "id": id, "location": location.map { Location($0.0, $0.1) } as Any,
            "others": others.map { Location($0.0, $0.1) },
        ])
    }

    @Test func aQueryFindsWhatBruteForceFinds() throws {
        let realm = try realm()
        var random = SeededRandom(seed: 1)
        var points: [(latitude: Double, longitude: Double)] = []
        for _ in 0..<3_000 {
            points.append(
                (.random(in: -90...90, using: &random), .random(in: -180...180, using: &random)))
        }
        try realm.write {
            for (id, point) in points.enumerated() { realm.add(place(id, location: point)) }
            realm.add([place(9_000, location: nil), place(9_001, location: nil)])
        }
        let places = realm.objects(Place.self)
        func found(_ condition: (Query<Place>) -> Query<Bool>) -> [Int] { places.where(condition).map(\.id) }
        for _ in 0..<20 {
            let (low, high) = (Double.random(in: -90...0, using: &random), Double.random(in: 0...90, using: &random))
            let (west, east) = (
                Double.random(in: -180...180, using: &random), Double.random(in: -180...180, using: &random)
            )
            let box = try #require(GeoBox(bottomLeft: (low, west), topRight: (high, east)))
            let inBox = points.indices.filter {
                let (latitude, longitude) = points[$0]
                let isBetween =
                    west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east
                return latitude >= low && latitude <= high && isBetween
            }
            #expect(found { $0.location.geoWithin(box) } == inBox)
            #expect(places.filter("location IN %@", box).map(\.id) == inBox)
            #expect(
                Set(found { !$0.location.geoWithin(box) })
                    == Set(points.indices).subtracting(inBox).union([9_000, 9_001]))

            // A circle that is written down by its cosine instead.
            let radius = Double.random(in: 0.01...2, using: &random)
            let circle = try #require(GeoCircle(center: (low, west), radiusInRadians: radius))
            let inCircle = points.indices.filter {
                let (a, b) = (points[$0].latitude * .pi / 180, low * .pi / 180)
                let turn = (points[$0].longitude - west) * .pi / 180
                return sin(a) * sin(b) + cos(a) * cos(b) * cos(turn) >= cos(radius)
            }
            #expect(found { $0.location.geoWithin(circle) } == inCircle)
        }
        let triangle = try #require(GeoPolygon(outerRing: [(0, 0), (0, 90), (90, 0), (0, 0)]))
        #expect(
            found { $0.location.geoWithin(triangle) }
                == points.indices.filter { points[$0].latitude >= 0 && (0...90).contains(points[$0].longitude) })
    }

    @Test func collectionsLinksAndSubqueriesHaveLocations() throws {
        let realm = try realm()
        try realm.write {
            let bern = place(1, location: (46.9, 7.4))
            let oslo = place(2, location: (59.9, 10.8), others: [(46.9, 7.4)])
            let both = place(3, location: nil, others: [(46.9, 7.4), (46.8, 7.1)])
            realm.add([bern, oslo, both])
            oslo.next = bern
            both.branches.append(objectsIn: [bern, oslo])
        }
        let swiss = try #require(GeoBox(bottomLeft: (45.8, 5.9), topRight: (47.8, 10.5)))
        let places = realm.objects(Place.self)
        #expect(places.where { $0.location.geoWithin(swiss) }.map(\.id) == [1])
        #expect(places.where { $0.next.location.geoWithin(swiss) }.map(\.id) == [2])
        #expect(places.where { $0.others.geoWithin(swiss) }.map(\.id) == [2, 3])
        #expect(places.where { $0.branches.location.geoWithin(swiss) }.map(\.id) == [3])
        #expect(places.filter("ALL branches.location IN %@", swiss).map(\.id) == [1, 2])
        #expect(places.filter("NONE others IN %@", swiss).map(\.id) == [1])
        try realm.write { realm.objects(Place.self)[2].branches.remove(at: 1) }
        #expect(places.filter("ALL branches.location IN %@", swiss).map(\.id) == [1, 2, 3])
        #expect(places.filter("NONE branches.location IN %@", swiss).map(\.id) == [1, 2])
        #expect(places.filter("SUBQUERY(branches, $x, $x.location IN %@).@count == 1", swiss).map(\.id) == [3])
        #expect(places.filter("location IN %@ OR next.location IN %@", swiss, swiss).map(\.id) == [1, 2])
        #expect(realm.objects(Place.self).filter(RealmPredicate(format: "location IN %@", swiss)).count == 1)
        try realm.write { realm.objects(Place.self)[0].location = Location(0, 0) }
        #expect(places.where { $0.location.geoWithin(swiss) }.isEmpty)
    }

    @Test func whatIsNoPointIsNowhere() throws {
        let realm = try realm()
        try realm.write {
            let odd = [
                Location(1, 1, type: "Polygon"), Location(value: ["coordinates": []]),
                Location(value: ["coordinates": [1.0]]), Location(1, 200), Location(.nan, 1),
                Location(value: ["coordinates": [1.0, 2.0, 300.0]]),
            ]
            for (id, location) in odd.enumerated() { realm.add(Place(value: ["id": id, "location": location])) }
        }
        let all = try #require(GeoBox(bottomLeft: (-90, -180), topRight: (90, 180)))
        #expect(realm.objects(Place.self).where { $0.location.geoWithin(all) }.map(\.id) == [5])
    }

    @Test func wrongQueriesSayWhatIsMissing() throws {
        let realm = try realm()
        let box = try #require(GeoBox(bottomLeft: (0, 0), topRight: (1, 1)))
        let people = realm.objects(Resident.self)
        for (text, word) in [
            ("home IN %@", "GeoJSON"), ("home == %@", "region"), ("home.street IN %@", "not an object"),
            ("home IN {%@}", "several"), ("ANY home IN %@", "collection"), ("home BETWEEN %@", "region"),
            ("3 IN %@", "region"), ("%@ IN home", "region"),
        ] {
            do {
                _ = try people.filter(validating: text, box)
                Issue.record("\(text) was accepted")
            } catch {
                #expect("\(error)".contains(word), "\(text): \(error)")
            }
        }
    }

    @Test func shapesCheckWhatTheyAreMadeOf() throws {
        #expect(GeoPoint(latitude: 90.1, longitude: 0) == nil && GeoPoint(latitude: 0, longitude: -180.1) == nil)
        #expect(
            GeoPoint(latitude: 0, longitude: 0, altitude: -1) == nil && GeoPoint(latitude: .nan, longitude: 0) == nil)
        let point = try #require(GeoPoint(latitude: 46.9, longitude: 7.4, altitude: 540))
        #expect(point.latitude == 46.9 && point.longitude == 7.4 && point.altitude == 540)
        #expect(GeoBox(bottomLeft: (0, 0), topRight: (91, 0)) == nil)
        #expect(GeoBox(bottomLeft: point, topRight: point).topRight == point)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 1), (0, 0)]) == nil)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 1), (1, 1), (1, 0)]) == nil)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 1), (1, 1), (0, 0)], holes: [(0, 0), (0, 0)]) == nil)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 1), (1, 1), (91, 0), (0, 0)]) == nil)
        let polygon = try #require(
            GeoPolygon(outerRing: [(0, 0), (0, 9), (9, 9), (0, 0)], holes: [(1, 2), (1, 3), (2, 3), (1, 2)]))
        #expect(polygon.outerRing.count == 4 && polygon.holes.map(\.count) == [4])
        #expect(polygon == GeoPolygon(outerRing: polygon.outerRing, holes: polygon.holes))
        #expect(
            GeoCircle(center: point, radiusInRadians: -1) == nil
                && GeoCircle(center: (0, 181), radiusInRadians: 1) == nil)
        let distance = try #require(Distance.kilometers(6378.1))
        #expect(distance.asRadians() == 1 && distance.asKilometers() == 6378.1)
        #expect(abs(distance.asDegrees() - 57.29578) < 0.00001 && abs(distance.asMiles() - 3963.167) < 0.001)
        #expect(Distance.degrees(180)?.asRadians() == .pi && Distance.miles(-1) == nil && Distance.radians(.nan) == nil)
        #expect(GeoCircle(center: point, radius: distance).radiusInRadians == 1)
        #expect(GeoCircle(center: (46.9, 7.4), radius: distance)?.center.latitude == 46.9)
    }
}
