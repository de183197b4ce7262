import Foundation
import RealmSwift
import Testing

/// A field guide's own types, numbers, identifiers and places.
@Suite(.timeLimit(.minutes(20))) struct FieldGuideValueTests {
    private let guide: FieldGuide
    private var realm: Realm { guide.realm }

    init() throws { guide = try FieldGuide() }

    // MARK: Places

    private func placeBirds() throws {
        for (name, place) in [("Robin", (47.6, -122.3)), ("Wren", (47.9, -122.4)), ("Emu", (40.7, -74.0))] {
            try guide.saw(name, at: place)
        }
        try guide.saw("Lost")
    }

    @Test func sightingsAreFoundByPlace() throws {
        try placeBirds()
        func names(_ sightings: Results<GuideSighting>) -> [String] { sightings.compactMap { $0.species?.name } }
        let box = try #require(GeoBox(bottomLeft: (47.3, -122.7), topRight: (48.1, -122.1)))
        #expect(names(guide.sightings(within: box)) == ["Robin", "Wren"])
        let corners = try #require(GeoPoint(latitude: 47.3, longitude: -122.7))
        let other = try #require(GeoPoint(latitude: 47.7, longitude: -122.1))
        #expect(names(guide.sightings(within: GeoBox(bottomLeft: corners, topRight: other))) == ["Robin"])
        let polygon = try #require(
            GeoPolygon(outerRing: [(48.0, -122.8), (48.2, -121.8), (47.8, -121.6), (47.8, -122.8), (48.0, -122.8)]))
        #expect(names(guide.sightings(within: polygon)) == ["Wren"])
        let holed = try #require(
            GeoPolygon(
                outerRing: [(47, -123), (49, -123), (49, -121), (47, -121), (47, -123)],
                holes: [[(47.8, -122.5), (48, -122.5), (48, -122.3), (47.8, -122.3), (47.8, -122.5)]]))
        #expect(names(guide.sightings(within: holed)) == ["Robin"])
        let circle = try #require(GeoCircle(center: (47.6, -122.3), radiusInRadians: 0.001))
        #expect(names(guide.sightings(within: circle)) == ["Robin"])
        let far = try #require(GeoCircle(center: (47.6, -122.3), radius: Distance.kilometers(40)!))
        #expect(names(guide.sightings(within: far)) == ["Robin", "Wren"])
        let near = GeoCircle(center: corners, radius: Distance.miles(1)!)
        #expect(guide.sightings(within: near).isEmpty && Distance.kilometers(-1) == nil)
        #expect(GeoPoint(latitude: 91, longitude: 0) == nil && GeoCircle(center: (0, 0), radiusInRadians: -1) == nil)
        #expect(GeoPolygon(outerRing: [(0, 0), (1, 1)]) == nil)
        #expect(names(guide.sightings.filter("location IN %@", box)) == ["Robin", "Wren"])
    }

    // MARK: Types of the application

    @Test func ownTypesAreStoredAndFound() throws {
        let sighting = try guide.saw("Robin") {
            $0.camp = GuideSpot(latitude: 47, longitude: -122)
            $0.prices.append(objectsIn: [GuidePrice(1.5), GuidePrice(2)])
            $0.species?.link = GuideLink(persistedValue: "https://example.com/robin")
        }
        #expect(sighting.camp == GuideSpot(latitude: 47, longitude: -122) && sighting.prices[1].amount == 2)
        #expect(sighting.species?.link?.url.host == "example.com")
        #expect(guide.sightings.where { $0.prices == GuidePrice(2) }.count == 1)
        #expect(guide.sightings.where { $0.prices.persistableValue > 2 }.isEmpty)
        #expect(guide.sightings.where { $0.camp == GuideSpot(latitude: 47, longitude: -122) }.count == 1)
        #expect(guide.sightings.where { $0.camp.persistableValue.latitude > 46 }.count == 1)
        #expect(guide.sightings.where { $0.camp == GuideSpot(latitude: 1, longitude: 1) }.isEmpty)
        #expect(guide.species.where { $0.link.persistableValue.contains("robin") }.count == 1)
        #expect(guide.species.where { $0.link == GuideLink(persistedValue: "https://example.com/robin") }.count == 1)
        try realm.write {
            sighting.camp.latitude = 48
            sighting.prices[0] = GuidePrice(9)
        }
        #expect(sighting.camp.latitude == 48 && sighting.prices.map(\.amount) == [9, 2])
        // By its name, a property takes what is stored.
        try realm.write { sighting.species?["link"] = "https://example.com/other" }
        #expect(sighting.species?.link?.url.path == "/other" && GuideLink(persistedValue: "no link") == nil)
    }

    // MARK: Numbers and identifiers

    @Test func decimalsAreExact() throws {
        let sum: Decimal128 = 0.1 + 0.2
        #expect(sum == 0.3 && sum.stringValue == "0.3" && "\(Decimal128(12))" == "12")
        #expect(try Decimal128(string: "1.10") == 1.1 && (try? Decimal128(string: "a")) == nil)
        #expect(Decimal128(value: 5) > 4 && Decimal128(number: 2.5) * 2 == 5 && -sum == "-0.3")
        #expect([Decimal128(3), 1, 2].sorted() == [1, 2, 3] && sum.doubleValue == 0.3)
        let sighting = try guide.saw("Robin") { $0.fee = "19.90" }
        #expect(sighting.fee == 19.9 && guide.sightings.where { $0.fee.in([19.9, 3]) }.count == 1)
        #expect(guide.sightings.sum(of: \.fee) == 19.9 && guide.sightings.average(of: \.fee) == Decimal128(19.9))
    }

    @Test func picturesAreFoundByTheirBytes() throws {
        try guide.saw("Robin") { $0.photo = Data([1, 2, 3]) }
        try guide.saw("Wren")
        #expect(guide.sightings.where { $0.photo.contains(Data([2])) }.count == 1)
        #expect(
            guide.sightings.where { $0.photo.starts(with: Data([1, 2])) && $0.photo.ends(with: Data([3])) }.count == 1)
        #expect(guide.sightings.where { $0.photo.starts(with: Data([2])) }.isEmpty)
        #expect(guide.sightings.filter("photo CONTAINS %@", Data([2, 3])).count == 1)
        #expect(guide.sightings.where { $0.photo == nil }.count == 1)
    }

    @Test func identifiersAreMadeAndFound() throws {
        let text = "507f1f77bcf86cd799439011"
        let id = try ObjectId(string: text)
        #expect(id.stringValue == text && id == ObjectId("507f1f77bcf86cd799439011"))
        #expect(id.timestamp == Date(timeIntervalSince1970: 1_350_508_407) && (try? ObjectId(string: "x")) == nil)
        #expect(ObjectId.generate() != ObjectId.generate() && id < ObjectId.generate())
        let sighting = try guide.saw("Robin") { $0.trip = id }
        #expect(guide.sightings.where { $0.trip == id }.count == 1)
        #expect(realm.object(ofType: GuideSighting.self, forPrimaryKey: sighting.id) == sighting)
        #expect(guide.sightings.filter("id == %@ AND trip == %@", sighting.id, id).count == 1)
        let json = try JSONEncoder().encode([id])
        #expect(try JSONDecoder().decode([ObjectId].self, from: json) == [id])
    }
}
