import Firn
import FirnTestSupport
import Foundation
import Testing

/// Queries for the locations in random circles, boxes and polygons find what an oracle with its own spherical geometry
/// finds: near poles and the antimeridian, tiny, huge, degenerate, with holes and crossing themselves; in embedded
/// objects, through links and in collections, negated and combined; and observed while the locations move (R66).
///
/// `FIRN_PROGRAMS=10000` runs so many.
@Suite(.timeLimit(.minutes(60))) struct GeoProgramTests {
    private static let count = TestEnvironment.programCount(60)

    @Test(arguments: 0..<2) @MainActor func queriesFindWhatLiesInAShape(part: Int) async throws {
        let answers = try await GeoProgram.run(Self.count, part: part)
        #expect(answers > 200 * Self.count / 2, "the oracle does not know what lies where")
    }

    /// Lines and numbers that are no shapes make none (R66).
    @Test func whatIsNoShapeIsNil() {
        var random = SeededRandom(seed: 1)
        let wrong: [Double] = [.nan, .infinity, -.infinity, 181, -180.0000001, 1e300]
        for seed in 0..<(10 * Self.count) {
            func number(_ limit: Double) -> Double { .random(in: -limit...limit, using: &random) }
            var places = (0..<(random.below(5) + 1)).map { _ in (number(90), number(180)) }
            let isClosed = random.below(4) > 0
            let count = places.count + (isClosed ? 1 : 0)
            if isClosed { places.append(places[0]) }
            let isRight = random.below(3) > 0
            if !isRight {
                let (index, bad) = (random.below(places.count), wrong[random.below(wrong.count)])
                if random.below(2) == 0 { places[index].0 = bad } else { places[index].1 = bad }
            }
            let isLine = isRight && isClosed && count >= 4
            let good = [(0.0, 0.0), (0, 1), (1, 1), (0, 0)]
            #expect((GeoPolygon(outerRing: places) != nil) == isLine, "seed \(seed): \(places)")
            #expect((GeoPolygon(outerRing: good, holes: [places]) != nil) == isLine, "seed \(seed): \(places)")
            let (first, last) = (places[0], places[places.count - 1])
            let areRight = [first, last].allSatisfy { abs($0.0) <= 90 && abs($0.1) <= 180 }
            #expect((GeoBox(bottomLeft: first, topRight: last) != nil) == areRight, "seed \(seed): \(places)")
            let radius = [number(4), .nan, -0.0, .infinity, -1e-300][random.below(5)]
            let isCircle = areRight && radius >= 0
            #expect(
                (GeoCircle(center: first, radiusInRadians: radius) != nil && abs(last.0) <= 90 && abs(last.1) <= 180)
                    == isCircle, "seed \(seed): \(first) \(radius)")
            #expect(
                (Distance.kilometers(radius) != nil) == (radius >= 0)
                    && (Distance.miles(radius) != nil) == (radius >= 0))
        }
    }
}
