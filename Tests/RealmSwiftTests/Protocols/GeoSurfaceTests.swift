import RealmSwift
import Testing

// RealmSwift's signatures of geospatial shapes and queries, as requirements. The compiler checks them.

private protocol PointSurface: Hashable {
    init?(latitude: Double, longitude: Double, altitude: Double)
    var latitude: Double { get }
    var longitude: Double { get }
    var altitude: Double { get }
}
extension GeoPoint: PointSurface {}

private protocol BoxSurface: Hashable {
    init(bottomLeft: GeoPoint, topRight: GeoPoint)
    init?(bottomLeft: (Double, Double), topRight: (Double, Double))
    var bottomLeft: GeoPoint { get }
    var topRight: GeoPoint { get }
}
extension GeoBox: BoxSurface {}

private protocol PolygonSurface: Hashable {
    init?(outerRing: [GeoPoint], holes: [[GeoPoint]])
    init?(outerRing: [GeoPoint], holes: [GeoPoint]...)
    init?(outerRing: [(Double, Double)], holes: [[(Double, Double)]])
    init?(outerRing: [(Double, Double)], holes: [(Double, Double)]...)
    var outerRing: [GeoPoint] { get }
}
extension GeoPolygon: PolygonSurface {}

private protocol CircleSurface: Hashable {
    init(center: GeoPoint, radius: Distance)
    init?(center: GeoPoint, radiusInRadians: Double)
    init?(center: (Double, Double), radiusInRadians: Double)
    init?(center: (Double, Double), radius: Distance)
    var center: GeoPoint { get }
    var radiusInRadians: Double { get }
}
extension GeoCircle: CircleSurface {}

private protocol DistanceSurface: Hashable {
    static func kilometers(_ kilometers: Double) -> Self?
    static func miles(_ miles: Double) -> Self?
    static func degrees(_ degrees: Double) -> Self?
    static func radians(_ radians: Double) -> Self?
    func asKilometers() -> Double
    func asMiles() -> Double
    func asDegrees() -> Double
    var radians: Double { get }
}
extension Distance: DistanceSurface {}

/// Where an embedded object is queried by.
private protocol GeoQuerySurface {
    func geoWithin(_ value: GeoBox) -> Query<Bool>
    func geoWithin(_ value: GeoCircle) -> Query<Bool>
    func geoWithin(_ value: GeoPolygon) -> Query<Bool>
}
extension Query: GeoQuerySurface where T: EmbeddedObject {}

/// The same behind an optional link.
private protocol OptionalGeoQuerySurface {
    func geoWithin(_ value: GeoBox) -> Query<Bool>
    func geoWithin(_ value: GeoCircle) -> Query<Bool>
    func geoWithin(_ value: GeoPolygon) -> Query<Bool>
}
extension Query: OptionalGeoQuerySurface where T == Spot? {}

@Suite(.timeLimit(.minutes(20))) struct GeoSurfaceTests {
    @Test func shapesAreMadeThroughTheirRequirements() throws {
        func point<P: PointSurface>(_: P.Type) -> P? { P(latitude: 46, longitude: 7, altitude: 3) }
        let made = try #require(point(GeoPoint.self))
        #expect([made.latitude, made.longitude, made.altitude] == [46, 7, 3])
        #expect(GeoPoint(latitude: 91, longitude: 0) == nil)
        let corner = try #require(GeoPoint(latitude: 47, longitude: 8))
        func boxes<B: BoxSurface>(_: B.Type) -> [B] {
            [B(bottomLeft: made, topRight: corner)] + [B(bottomLeft: (46, 7), topRight: (47, 8))].compactMap { $0 }
        }
        #expect(boxes(GeoBox.self).map(\.topRight) == [corner, corner])
        func circles<C: CircleSurface>(_: C.Type, _ radius: Distance) -> [C?] {
            [
                C(center: made, radius: radius), C(center: made, radiusInRadians: 0.5),
                C(center: (46, 7), radius: radius), C(center: (46, 7), radiusInRadians: 0.5),
            ]
        }
        let radius = try #require(Distance.radians(0.5))
        #expect(circles(GeoCircle.self, radius).map { $0?.radiusInRadians } == [0.5, 0.5, 0.5, 0.5])
        let ring: [(Double, Double)] = [(0, 0), (0, 9), (9, 9), (0, 0)]
        let points = ring.compactMap { GeoPoint(latitude: $0.0, longitude: $0.1) }
        func polygons<P: PolygonSurface>(_: P.Type) -> [P?] {
            [
                P(outerRing: points, holes: [[GeoPoint]]()), P(outerRing: points, holes: points),
                P(outerRing: ring, holes: [[(Double, Double)]]()), P(outerRing: ring, holes: ring),
            ]
        }
        #expect(polygons(GeoPolygon.self).map { $0?.outerRing.count } == [4, 4, 4, 4])
        #expect(polygons(GeoPolygon.self).map { $0?.holes.count } == [0, 1, 0, 1])
    }

    @Test func distancesAreMadeThroughTheirRequirements() {
        func distances<D: DistanceSurface>(_: D.Type) -> [D?] {
            [D.kilometers(6378.1), D.miles(6378.1 / 1.609344), D.degrees(180 / Double.pi), D.radians(1), D.radians(-1)]
        }
        func values<D: DistanceSurface>(_ distance: D) -> [Double] {
            [distance.asKilometers(), distance.asMiles(), distance.asDegrees(), distance.radians].map { $0.rounded() }
        }
        let all = distances(Distance.self)
        #expect(all.map { $0.map(values) } == Array(repeating: [6378, 3963, 57, 1], count: 4) + [nil])
    }

    @Test func placesAreQueriedThroughTheirRequirements() throws {
        let realm = try peaks()
        let box = try #require(GeoBox(bottomLeft: (46, 7.9), topRight: (47, 8.1)))
        let radius = try #require(Distance.kilometers(10))
        let circle = try #require(GeoCircle(center: (46.6, 8.0), radius: radius))
        let ring: [(Double, Double)] = [(46, 7.9), (46, 8.1), (47, 8.1), (47, 7.9), (46, 7.9)]
        let polygon = try #require(GeoPolygon(outerRing: ring))
        func within<Q: OptionalGeoQuerySurface>(_ spot: Q, _ index: Int) -> Query<Bool> {
            [spot.geoWithin(box), spot.geoWithin(circle), spot.geoWithin(polygon)][index]
        }
        for index in 0..<3 {
            #expect(realm.objects(Peak.self).where { within($0.spot, index) }.map(\.id) == [1])
        }
        func shapes<Q: GeoQuerySurface>(_: Q.Type) -> String { "\(Q.self)" }
        #expect(shapes(Query<Spot>.self) == "Query<Spot>")
    }
}
