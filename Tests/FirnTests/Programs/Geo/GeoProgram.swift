import Firn
import FirnTestSupport
import Foundation
import Testing

class GeoSpot: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var kind = 0
    @Persisted var location: GeoSpotLocation?
    @Persisted var tagged: GeoIndexedLocation?
    @Persisted var others: List<GeoSpotLocation>
    @Persisted var next: GeoSpot?
    @Persisted var near: List<GeoSpot>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class GeoSpotLocation: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var coordinates: List<Double>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A location whose type is indexed.
class GeoIndexedLocation: EmbeddedObject {
    @Persisted(indexed: true) var type = "Point"
    @Persisted var coordinates: List<Double>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// A random program that moves locations about, and asks for those in random shapes, beside an oracle.
@MainActor
final class GeoProgram: RandomProgram {
    private let seed: UInt64
    private var random: SeededRandom
    private let realm: Realm
    private var spots: [Int: Spot] = [:]
    /// The shapes of this step, near which places are.
    private var shapes: [(shape: GeoShape, region: any Geospatial)] = []
    private(set) var compared = 0

    /// What the oracle knows of an object. A place is nil if there is no location, or one that is no point.
    struct Spot {
        var kind = 0
        var hasLocation = false
        var location: GeoPlace?
        var tagged: GeoPlace?
        var others: [GeoPlace?] = []
        var next: Int?
        var near: [Int] = []
    }

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        realm = try Realm(
            configuration: .init(
                inMemoryIdentifier: "geo \(seed) \(UUID())",
                objectTypes: [GeoSpot.self, GeoSpotLocation.self, GeoIndexedLocation.self]))
    }

    func run() async throws {
        var followed: FollowedCollection<Results<GeoSpot>>?
        for step in 0..<4 {
            shapes = (0..<4).compactMap { _ in shape() }
            try realm.write { for _ in 0..<(step == 0 ? 40 : 15) { change() } }
            if step == 0, let region = shapes.first?.region {
                followed = FollowedCollection(
                    what: "observed",
                    collection: realm.objects(GeoSpot.self).where { within($0, region) }.sorted(by: \.id)
                ) { "\($0.id)" }
            }
            for (shape, region) in shapes {
                for (id, spot) in spots {
                    guard let place = spot.location, shape.edge.contains(place) else { continue }
                    #expect(
                        find { within($0, region) }.contains(id), "seed \(seed): \(place) on the edge of \(shape)")
                }
            }
            for _ in 0..<6 { ask(condition(depth: 0)) }
            await deliverEverything(of: realm)
            followed?.check("seed \(seed)")
        }
        followed?.end()
    }

    private func find(_ condition: (Query<GeoSpot>) -> Query<Bool>) -> [Int] {
        realm.objects(GeoSpot.self).where(condition).map(\.id)
    }

    // MARK: Conditions

    private func ask(_ condition: GeoCondition) {
        let (text, arguments) = condition.text
        let filtered = realm.objects(GeoSpot.self).filter(RealmPredicate(format: text, argumentArray: arguments))
        var results = [("as text", Set(filtered.map(\.id)))]
        if condition.isTyped { results.append(("typed", Set(find { condition.query($0) }))) }
        // One part is asked of what the other part left.
        if case .and(let a, let b) = condition {
            let (first, second) = (a.text, b.text)
            let left = realm.objects(GeoSpot.self)
                .filter(RealmPredicate(format: first.text, argumentArray: first.arguments)).sorted(by: \.kind)
                .filter(RealmPredicate(format: second.text, argumentArray: second.arguments))
            results.append(("one after the other", Set(left.map(\.id))))
        }
        for (id, spot) in spots {
            let expected = condition.answer(id, spot: spot, spots: spots)
            if expected == .unknown { continue }
            compared += 1
            for (how, found) in results where found.contains(id) != (expected == .yes) {
                Issue.record("seed \(seed): \(id) \(spot) is \(expected) for \(text) \(condition.shapes), not \(how)")
            }
        }
    }

    private func condition(depth: Int) -> GeoCondition {
        guard let shape = shapes.isEmpty ? nil : shapes[random.below(shapes.count)] else { return .kind(1) }
        switch random.below(depth < 2 ? 12 : 8) {
        case 0, 1: return .location(shape.shape, shape.region)
        case 2: return .tagged(shape.shape, shape.region)
        case 3: return .next(shape.shape, shape.region)
        case 4: return .others(GeoCondition.words[random.below(3)], shape.shape, shape.region)
        case 5: return .near(GeoCondition.words[random.below(3)], shape.shape, shape.region)
        case 6: return .kind(random.below(3))
        case 7: return .id(random.below(40))
        case 8, 9: return .not(condition(depth: depth + 1))
        case 10: return .and(condition(depth: depth + 1), condition(depth: depth + 1))
        default: return .or(condition(depth: depth + 1), condition(depth: depth + 1))
        }
    }

    // MARK: Changes

    private func change() {
        let id = random.below(40)
        guard let object = realm.object(ofType: GeoSpot.self, forPrimaryKey: id), var spot = spots[id] else {
            let new = realm.create(GeoSpot.self, value: ["id": id])
            var spot = Spot()
            set(new, &spot)
            spots[id] = spot
            return
        }
        if random.below(8) == 0 {
            realm.delete(object)
            spots[id] = nil
            for other in spots.keys {
                if spots[other]?.next == id { spots[other]?.next = nil }
                spots[other]?.near.removeAll { $0 == id }
            }
            return
        }
        switch random.below(7) {
        case 0:
            spot.kind = random.below(3)
            object.kind = spot.kind
        case 1:
            let (place, type, coordinates) = location()
            spot.tagged = place
            object.tagged = GeoIndexedLocation(value: ["type": type, "coordinates": coordinates])
        case 2:
            spot.next = spots.keys.sorted()[random.below(spots.count)]
            object.next = spot.next.flatMap { realm.object(ofType: GeoSpot.self, forPrimaryKey: $0) }
        case 3:
            let other = spots.keys.sorted()[random.below(spots.count)]
            spot.near.append(other)
            object.near.append(realm.object(ofType: GeoSpot.self, forPrimaryKey: other)!)
        case 4 where object.location != nil:
            // In place, so that only a list within the embedded object changes.
            let place = self.place()
            object.location?.type = "Point"
            object.location?.coordinates.removeAll()
            object.location?.coordinates.append(objectsIn: [place.longitude, place.latitude])
            (spot.location, spot.hasLocation) = (place, true)
        default: set(object, &spot)
        }
        spots[id] = spot
    }

    private func set(_ object: GeoSpot, _ spot: inout Spot) {
        func new() -> (GeoPlace?, GeoSpotLocation) {
            let (place, type, coordinates) = location()
            return (place, GeoSpotLocation(value: ["type": type, "coordinates": coordinates]))
        }
        if random.below(6) == 0 {
            (spot.location, object.location) = (nil, nil)
        } else {
            (spot.location, object.location) = new()
        }
        spot.hasLocation = object.location != nil
        if random.below(3) == 0 {
            let others = (0..<random.below(3)).map { _ in new() }
            spot.others = others.map(\.0)
            object.others.removeAll()
            object.others.append(objectsIn: others.map(\.1))
        }
    }

    /// A location as it is stored, and where it is.
    private func location() -> (GeoPlace?, String, [Double]) {
        let place = place()
        switch random.below(16) {
        case 0: return (nil, "LineString", [place.longitude, place.latitude])
        case 1: return (nil, "Point", [place.longitude])
        case 2: return (nil, "Point", [place.longitude, [90.5, -1000, .nan, .infinity][random.below(4)]])
        case 3: return (nil, "Point", [[180.5, -.infinity, .nan][random.below(3)], place.latitude])
        case 4: return (place, "Point", [place.longitude, place.latitude, 1_000, .nan])
        default: return (place, "Point", [place.longitude, place.latitude])
        }
    }

    // MARK: Random geometry

    private func number(_ range: ClosedRange<Double>) -> Double { .random(in: range, using: &random) }

    private func anywhere() -> GeoPlace {
        switch random.below(8) {
        case 0: GeoPlace(number(-90...90), random.below(2) == 0 ? 180 : -180)
        case 1: GeoPlace((random.below(2) == 0 ? 1 : -1) * (90 - number(0...1e-4)), number(-180...180))
        case 2: GeoPlace(random.below(2) == 0 ? 90 : -90, number(-180...180))
        case 3, 4: GeoPlace(number(-90...90), number(-180...180), grid: 15)
        default: GeoPlace(number(-90...90), number(-180...180))
        }
    }

    /// A place, often one near a shape.
    private func place() -> GeoPlace {
        guard random.below(4) > 0, let (shape, _) = shapes.isEmpty ? nil : shapes[random.below(shapes.count)] else {
            return anywhere()
        }
        switch shape {
        case .box(let low, let high):
            func near(_ number: Double) -> Double { number + Double(random.below(3) - 1) * GeoPlace.grid }
            let latitude = random.below(2) == 0 ? near(low.latitude) : number(-90...90)
            return GeoPlace(latitude, random.below(2) == 0 ? near(high.longitude) : near(low.longitude))
        case .circle(let center, let radius):
            let nudge = [0, 1e-7, -1e-7, 1e-8, -1e-8, radius, -radius / 2][random.below(7)]
            let distance = min(Double.pi, max(0, radius + nudge))
            return GeoPlace(
                TangentPlane(at: center.direction).direction(angle: number(0...6.28), distance: distance))
        case .polygon(let line, let holes):
            let places = ([line] + holes)[random.below(holes.count + 1)].places
            let corner = places[random.below(places.count)]
            if random.below(5) == 0 { return corner }
            let others = (0..<3).map { _ in places[random.below(places.count)].direction * number(0...1) }
            let sum = others.reduce(corner.direction * number(0...0.2), +)
            return length(sum) > 1e-9 ? GeoPlace(sum / length(sum)) : corner
        }
    }

    private func shape() -> (GeoShape, any Geospatial)? {
        switch random.below(4) {
        case 0:
            let (a, b) = (anywhere(), anywhere())
            let box = GeoBox(bottomLeft: a.pair, topRight: b.pair)
            return box.map { (.box(a, b), $0) }
        case 1:
            let center = anywhere()
            // A radius that just reaches another place, or just does not, also the place opposite to the centre.
            let (a, b) = (center.direction, anywhere().direction)
            let radius =
                switch random.below(4) {
                case 0: max(0, atan2(length(cross(a, b)), dot(a, b)) + [1e-9, -1e-9][random.below(2)])
                case 1: Double.pi - number(0...1) * 1e-6
                default: number(0...1) * [1e-7, 1e-3, 0.1, 1, 3.2][random.below(5)]
                }
            return GeoCircle(center: center.pair, radiusInRadians: radius).map { (.circle(center, radius), $0) }
        default: return polygon()
        }
    }

    private func polygon() -> (GeoShape, any Geospatial)? {
        for _ in 0..<20 {
            let center = anywhere()
            let scale = [1e-6, 1e-4, 0.02, 0.5, 1.4, 3][random.below(6)]
            guard let line = line(around: center.direction, scale) else { continue }
            let holes = (0..<(random.below(3) == 0 ? 2 : 0)).compactMap { _ in
                self.line(around: random.below(2) == 0 ? center.direction : line.places[0].direction, scale / 3)
            }
            func pairs(_ line: GeoLine) -> [(Double, Double)] { (line.places + line.places.prefix(1)).map(\.pair) }
            let polygon = GeoPolygon(outerRing: pairs(line), holes: holes.map(pairs))
            let hasAntipodes = ([line] + holes).contains { line in
                zip(line.places, line.places.dropFirst() + line.places.prefix(1)).contains { $0.isAntipode(of: $1) }
            }
            #expect((polygon == nil) == hasAntipodes, "seed \(seed): \(line.places) \(holes.map(\.places))")
            if let polygon { return (.polygon(line, holes: holes), polygon) }
        }
        return nil
    }

    private func line(around center: SIMD3<Double>, _ scale: Double) -> GeoLine? {
        let plane = TangentPlane(at: center)
        let isStar = random.below(3) > 0
        let count = random.below(6) + 3
        let grid = scale > 0.3 && random.below(3) == 0 ? 15 : GeoPlace.grid
        var angles = (0..<count).map { _ in number(-3.14...3.14) }
        if isStar { angles.sort() }
        let limit = isStar ? 3.0 : 1.4
        var places = angles.map {
            GeoPlace(plane.direction(angle: $0, distance: min(limit, scale * number(0.1...1))), grid: grid)
        }
        // There and back again: nothing but the line itself is inside.
        if !isStar, random.below(6) == 0 { places += places.dropFirst().dropLast().reversed() }
        guard places.count >= 3 else { return nil }
        return GeoLine(places, around: center, isStar: isStar)
    }
}
