import FirnTestSupport
import Foundation
import Testing

@testable import FirnQuery

/// Regions of the Earth (R66), against tests that share nothing with them.
@Suite(.timeLimit(.minutes(20))) struct GeoRegionTests {
    private typealias Vector = SIMD3<Double>

    private static func direction(_ latitude: Double, _ longitude: Double) -> Vector {
        let (north, east) = (latitude * .pi / 180, longitude * .pi / 180)
        return Vector(cos(north) * cos(east), cos(north) * sin(east), sin(north))
    }

    private static func coordinates(_ direction: Vector) -> (latitude: Double, longitude: Double) {
        (
            atan2(direction.z, (direction.x * direction.x + direction.y * direction.y).squareRoot()) * 180 / .pi,
            max(-180, min(180, atan2(direction.y, direction.x) * 180 / .pi))
        )
    }

    private static func cross(_ a: Vector, _ b: Vector) -> Vector {
        Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
    }

    private static func dot(_ a: Vector, _ b: Vector) -> Double { (a * b).sum() }

    private static func randomDirection(_ random: inout SeededRandom) -> Vector {
        let z = Double.random(in: -1...1, using: &random)
        let turn = Double.random(in: 0..<(2 * .pi), using: &random)
        let width = (1 - z * z).squareRoot()
        return Vector(width * cos(turn), width * sin(turn), z)
    }

    /// A ring around a centre: each vertex has an azimuth, larger than the one before, and a distance. The oracle knows
    /// centre and azimuths, so it looks at a single edge.
    private struct Star {
        let center: Vector
        let east: Vector
        let north: Vector
        let azimuths: [Double]
        let vertices: [Vector]
        /// Whether the part without the centre is the smaller one.
        let isInverted: Bool

        init(_ random: inout SeededRandom, at pole: Bool) {
            center = pole ? Vector(0, 0, 1) : GeoRegionTests.randomDirection(&random)
            let helper = abs(center.z) < 0.9 ? Vector(0, 0, 1) : Vector(1, 0, 0)
            let side = GeoRegionTests.cross(helper, center)
            east = side / dot(side, side).squareRoot()
            north = GeoRegionTests.cross(center, east)
            let count = 5 + random.below(12)
            azimuths = (0..<count).map {
                (Double($0) + Double.random(in: 0..<0.5, using: &random)) * 2 * .pi / Double(count)
            }
            isInverted = random.below(4) == 0
            let scale = [0.000001, 0.001, 0.5, 1.2][random.below(4)]
            let radii = isInverted ? 1.9...3.0 : scale * 0.2...scale
            var points: [Vector] = []
            for azimuth in azimuths {
                let radius = Double.random(in: radii, using: &random)
                let ahead = east * sin(azimuth) + north * cos(azimuth)
                points.append(center * cos(radius) + ahead * sin(radius))
            }
            vertices = points
        }

        /// Nil if the point is so close to an edge that rounding decides.
        func contains(_ point: Vector) -> Bool? {
            var azimuth = atan2(dot(point, east), dot(point, north))
            if azimuth < 0 { azimuth += 2 * .pi }
            let next = azimuths.firstIndex { $0 > azimuth } ?? 0
            let (a, b) = (vertices[(next + azimuths.count - 1) % azimuths.count], vertices[next])
            var plane = cross(a - b, a + b)
            plane /= dot(plane, plane).squareRoot()
            let height = dot(plane, point)
            if abs(height) < 1e-13 { return nil }
            let isWithCenter = (height > 0) == (dot(plane, center) > 0)
            return isWithCenter != isInverted
        }
    }

    @Test func polygonsAgreeWithAnOracleOnTheWholeSphere() throws {
        var random = SeededRandom(seed: 66)
        var counts = [0, 0]
        for round in 0..<400 {
            let star = Star(&random, at: round % 5 == 0)
            var points = star.vertices.map { Self.coordinates($0) }
            if random.below(2) == 0 { points.reverse() }
            let ring = try #require(GeoRing(points + [points[0]]))
            let region = GeoRegion.polygon(ring, holes: [])
            for try_ in 0..<150 {
                var point = Self.randomDirection(&random)
                if try_ % 3 > 0 {
                    // A point near a vertex, or between a vertex and the centre.
                    let vertex = star.vertices[random.below(star.vertices.count)]
                    point = vertex + (star.center - vertex) * Double.random(in: -0.5...1.5, using: &random)
                    point /= Self.dot(point, point).squareRoot()
                }
                let place = Self.coordinates(point)
                guard let expected = star.contains(Self.direction(place.latitude, place.longitude)) else { continue }
                counts[expected ? 1 : 0] += 1
                #expect(
                    region.contains(latitude: place.latitude, longitude: place.longitude) == expected,
                    "round \(round), \(place), \(points)")
            }
        }
        #expect(counts[0] > 10_000 && counts[1] > 10_000)
    }

    @Test func circlesAgreeWithTheAngleBetweenDirections() {
        var random = SeededRandom(seed: 67)
        var inside = 0
        for _ in 0..<20_000 {
            let (a, b) = (Self.randomDirection(&random), Self.randomDirection(&random))
            let (center, place) = (Self.coordinates(a), Self.coordinates(b))
            let across = Self.cross(a, b)
            let angle = atan2(Self.dot(across, across).squareRoot(), Self.dot(a, b))
            let radius = Double.random(in: 0...3.2, using: &random)
            guard abs(angle - radius) > 1e-7 else { continue }
            let circle = GeoRegion.circle(latitude: center.latitude, longitude: center.longitude, radius: radius)
            if angle <= radius { inside += 1 }
            #expect(circle.contains(latitude: place.latitude, longitude: place.longitude) == (angle <= radius))
        }
        #expect(inside > 2_000)
        // A degree of latitude is 111.32 km; two points 1 m apart are told apart.
        let small = GeoRegion.circle(latitude: 46, longitude: 7, radius: 0.0005 / 6378.1)
        #expect(small.contains(latitude: 46.000004, longitude: 7) && !small.contains(latitude: 46.000005, longitude: 7))
        #expect(GeoRegion.circle(latitude: 0, longitude: 0, radius: 4).contains(latitude: 0, longitude: 180))
    }

    @Test func boxesIncludeTheirSidesAndCrossTheAntimeridian() {
        let north = GeoRegion.box(south: 80, west: 0, north: 90, east: 10)
        #expect(north.contains(latitude: 90, longitude: 120) && !north.contains(latitude: 89.9, longitude: 120))
        #expect(!north.contains(latitude: -90, longitude: 5))
        let box = GeoRegion.box(south: -10, west: 20, north: 10, east: 40)
        for (latitude, longitude) in [(-10.0, 20.0), (10, 40), (0, 30), (10, 20)] {
            #expect(box.contains(latitude: latitude, longitude: longitude))
        }
        for (latitude, longitude) in [((-10.0).nextDown, 20.0), (10.0.nextUp, 40.0), (0, 40.0.nextUp), (0, -30)] {
            #expect(!box.contains(latitude: latitude, longitude: longitude))
        }
        let across = GeoRegion.box(south: -10, west: 170, north: 10, east: -170)
        #expect(across.contains(latitude: 0, longitude: 180) && across.contains(latitude: 0, longitude: -180))
        #expect(across.contains(latitude: 0, longitude: 170) && across.contains(latitude: 0, longitude: -175))
        #expect(!across.contains(latitude: 0, longitude: 0) && !across.contains(latitude: 0, longitude: 169.9))
        let toTheEdge = GeoRegion.box(south: -10, west: 170, north: 10, east: 180)
        #expect(toTheEdge.contains(latitude: 0, longitude: -180) && !toTheEdge.contains(latitude: 0, longitude: -179))
        #expect(!GeoRegion.box(south: 1, west: 0, north: -1, east: 1).contains(latitude: 0, longitude: 0))
    }

    private func polygon(_ points: [(Double, Double)], _ holes: [(Double, Double)]...) throws -> GeoRegion {
        func ring(_ points: [(Double, Double)]) throws -> GeoRing {
            try #require(GeoRing(points.map { (latitude: $0.0, longitude: $0.1) }))
        }
        return .polygon(try ring(points), holes: try holes.map(ring))
    }

    @Test func linesBelongToThePolygonAndHolesLeaveTheirs() throws {
        let square = try polygon(
            [(0, 0), (0, 10), (10, 10), (10, 0), (0, 0)], [(2, 2), (2, 4), (4, 4), (4, 2), (2, 2)])
        // Vertices, the equator, meridians.
        for (latitude, longitude) in [(0.0, 0.0), (0, 10), (10, 10), (10, 0), (0, 5), (5, 0), (7, 10), (2, 2), (3, 4)] {
            #expect(square.contains(latitude: latitude, longitude: longitude), "\(latitude), \(longitude)")
        }
        #expect(square.contains(latitude: 1, longitude: 1) && !square.contains(latitude: 3, longitude: 3))
        #expect(!square.contains(latitude: -0.0001, longitude: 5) && !square.contains(latitude: 5, longitude: 10.0001))
        // The great circle from (10, 0) to (10, 10) lies north of the tenth parallel.
        #expect(square.contains(latitude: 10.03, longitude: 5) && !square.contains(latitude: 10.05, longitude: 5))
    }

    @Test func polesAndTheAntimeridianAreOrdinaryPlaces() throws {
        let cap = try polygon([(60, 0), (60, 90), (60, 180), (60, -90), (60, 0)])
        #expect(cap.contains(latitude: 90, longitude: 12) && cap.contains(latitude: 80, longitude: -135))
        #expect(!cap.contains(latitude: 59, longitude: 0) && !cap.contains(latitude: -90, longitude: 0))
        let south = try polygon([(-60, 0), (-60, -90), (-60, 180), (-60, 90), (-60, 0)])
        #expect(south.contains(latitude: -90, longitude: 0) && south.contains(latitude: -80, longitude: 45))
        #expect(!south.contains(latitude: 90, longitude: 0) && !south.contains(latitude: 0, longitude: 45))
        // A vertex on the pole, an edge across it.
        let wedge = try polygon([(90, 77), (0, 0), (0, 10), (90, 77)])
        #expect(wedge.contains(latitude: 90, longitude: 77) && wedge.contains(latitude: 45, longitude: 5))
        #expect(!wedge.contains(latitude: 45, longitude: 11) && !wedge.contains(latitude: 45, longitude: 40))
        #expect(!wedge.contains(latitude: 45, longitude: -170))
        // All longitudes of a pole are one place.
        #expect(wedge.contains(latitude: 90, longitude: -120) && !wedge.contains(latitude: -90, longitude: 77))
        for pole in [90.0, -90] {
            let point = GeoRegion.circle(latitude: pole, longitude: 33, radius: 0)
            #expect(point.contains(latitude: pole, longitude: 0) && point.contains(latitude: pole, longitude: 180))
            #expect(
                !point.contains(latitude: -pole, longitude: 33)
                    && !point.contains(latitude: pole * 0.999, longitude: 33))
        }
        let date = GeoRegion.circle(latitude: 10, longitude: 180, radius: 0)
        #expect(date.contains(latitude: 10, longitude: -180) && date.contains(latitude: 10, longitude: 180))
        #expect(!date.contains(latitude: 10, longitude: 179.9999999))
        let across = try polygon([(70, 10), (80, -170), (70, -120), (70, 10)])
        #expect(across.contains(latitude: 80, longitude: -130) && !across.contains(latitude: 80, longitude: 60))
        #expect(!across.contains(latitude: 0, longitude: 0))
        let fiji = try polygon([(-20, 175), (-20, -175), (-15, -175), (-15, 175), (-20, 175)])
        #expect(fiji.contains(latitude: -17, longitude: 180) && fiji.contains(latitude: -17, longitude: -180))
        #expect(fiji.contains(latitude: -17, longitude: 179) && fiji.contains(latitude: -17, longitude: -179))
        #expect(!fiji.contains(latitude: -17, longitude: 174) && !fiji.contains(latitude: -17, longitude: 0))
    }

    /// Triangles with vertices on the poles and the great meridians, against three half-spaces.
    @Test func trianglesAtThePolesAgreeWithHalfSpaces() throws {
        var random = SeededRandom(seed: 3)
        let (latitudes, longitudes) = (
            [90.0, -90, 80, -80, 45, 0, -1], [180.0, -180, 0, 90, -90, 170, -170, 10, -10, 55]
        )
        func coordinates() -> (Double, Double) {
            (latitudes.randomElement(using: &random)!, longitudes.randomElement(using: &random)!)
        }
        var count = 0
        for _ in 0..<4_000 {
            let corners = (0..<3).map { _ in coordinates() }
            let directions = corners.map { Self.direction($0.0, $0.1) }
            let volume = Self.dot(directions[0], Self.cross(directions[1], directions[2]))
            guard abs(volume) > 1e-6 else { continue }
            let triangle = try polygon(corners + [corners[0]])
            for _ in 0..<20 {
                let point =
                    random.below(3) == 0
                    ? (Double.random(in: -89...89, using: &random), coordinates().1) : coordinates()
                let direction = Self.direction(point.0, point.1)
                let heights = (0..<3).map {
                    Self.dot(direction, Self.cross(directions[$0], directions[($0 + 1) % 3])) * (volume > 0 ? 1 : -1)
                }
                let isOutside = heights.contains { $0 < -1e-9 }
                guard isOutside || heights.allSatisfy({ $0 > 1e-9 }) else { continue }
                count += 1
                #expect(
                    triangle.contains(latitude: point.0, longitude: point.1) == !isOutside, "\(corners) \(point)")
            }
        }
        #expect(count > 20_000)
    }

    /// What lies on an edge's great circle, but on the other side of the Earth or of the pole, is not on the edge.
    @Test func edgesThroughAPoleLieOnTwoMeridians() throws {
        for (first, second) in [(180.0, 170.0), (180, -170), (-180, 170), (170, 180)] {
            for pole in [90.0, -90] {
                let sector = try polygon([(pole, 175), (pole * 0.75, first), (pole * 0.75, second), (pole, 175)])
                for latitude in [51.5, 0, -60, 89, -89] { #expect(!sector.contains(latitude: latitude, longitude: 0)) }
                #expect(sector.contains(latitude: pole * 0.9, longitude: first))
            }
        }
        let across = try polygon([(80, 0), (80, 180), (80, 90), (80, 0)])
        for latitude in [-50.0, 0, 79] {
            #expect(!across.contains(latitude: latitude, longitude: 0))
            #expect(!across.contains(latitude: latitude, longitude: 180))
        }
        #expect(across.contains(latitude: 85, longitude: 0) && across.contains(latitude: 85, longitude: -180))
        #expect(across.contains(latitude: 85, longitude: 90) && !across.contains(latitude: 85, longitude: -90))
        #expect(across.contains(latitude: 90, longitude: 13))
    }

    @Test func ringsThatNoLineJoinsAreRefused() {
        #expect(GeoRing([]) == nil)
        #expect(GeoRing([(10, 0), (-10, 180), (50, 90), (10, 0)]) == nil)
        #expect(GeoRing([(90, 5), (-90, 70), (0, 30), (90, 5)]) == nil)
        #expect(GeoRing([(10, 0), (11, 180), (50, 90), (10, 0)]) != nil)
        let point = GeoRing([(5, 5), (5, 5), (5, 5), (5, 5)])
        #expect(point?.side(of: GeoPosition(latitude: 5, longitude: 5)) == .boundary)
        #expect(point?.side(of: GeoPosition(latitude: 5, longitude: 6)) == .outside)
    }

    @Test func aRegionIsWrittenAsAnArgument() throws {
        let box = GeoRegion.box(south: 1, west: 2, north: 3, east: 4)
        let predicate = try Predicate(
            parsing: "ANY places IN %@ AND name == 'a'", [.region(box)])
        #expect(
            predicate.format.text == "ANY places IN %@ AND name == \"a\""
                && predicate.format.arguments == [.region(box)])
        #expect(try Predicate(parsing: predicate.format.text, predicate.format.arguments) == predicate)
        #expect(predicate.description.contains("<a box from (1.0, 2.0) to (3.0, 4.0)>"))
        let ring = try #require(GeoRing([(0, 0), (0, 1), (1, 1)]))
        #expect(GeoRegion.polygon(ring, holes: []) != .polygon(ring, holes: [ring]))
        #expect(ring == GeoRing([(0, 0), (0, 1), (1, 1), (0, 0)]))
    }

    @Test func coordinatesOutOfRangeAreNowhere() {
        let all = GeoRegion.box(south: -90, west: -180, north: 90, east: 180)
        #expect(all.contains(latitude: 90, longitude: 180) && all.contains(latitude: -90, longitude: -180))
        for (latitude, longitude) in [(91.0, 0.0), (0, 181), (.nan, 0), (0, .nan), (.infinity, 0), (0, -180.1)] {
            #expect(!all.contains(latitude: latitude, longitude: longitude))
        }
    }

    /// A line that goes around a pole twice, as a star of five corners does, has the middle outside and all that lies
    /// beyond the corners, whatever its size.
    @Test(arguments: [89.999, 70, 30, 3]) func aStarHasItsTipsInside(latitude: Double) throws {
        let ring = try #require(GeoRing((0..<5).map { (latitude, Double(($0 * 144 + 200) % 360) - 180) }))
        let star = GeoRegion.polygon(ring, holes: [])
        #expect(!star.contains(latitude: 90, longitude: 0) && !star.contains(latitude: -90, longitude: 0))
        #expect(!star.contains(latitude: -latitude, longitude: 20) && !star.contains(latitude: -60, longitude: 99))
        #expect(star.contains(latitude: latitude + (90 - latitude) * 0.01, longitude: 20))
        #expect(!star.contains(latitude: latitude - 0.0001, longitude: 20))
    }

    /// The length of an arc is exact for places that are close to each other, and for those that are almost opposite.
    @Test func arcsAreExactUpToTheOppositePlace() {
        for distance in [1e-7, 1e-5, 1e-3, 1, 90, 179, 180 - 1e-5, 180 - 1e-7] {
            for east in [0, 30, -170.0] {
                // Along the equator, and along a meridian across a pole.
                let along = GeoRegion.arc((0, 0), (0, distance))
                let north = 45 + distance
                let across = GeoRegion.arc(
                    (45, east), north <= 90 ? (north, east) : (180 - north, east < 0 ? east + 180 : east - 180))
                #expect(abs(along - distance * .pi / 180) < 1e-14, "\(distance)")
                #expect(abs(across - distance * .pi / 180) < 1e-14, "\(distance) from \(east)")
            }
        }
    }
}
