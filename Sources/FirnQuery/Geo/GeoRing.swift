import CFirn

/// A closed line of great-circle edges, and the smaller of the two parts into which it divides the sphere. Where the
/// line crosses itself, a part is inside if a way out of it crosses the line an odd number of times. If the line lies
/// within a hemisphere, the other hemisphere is outside, however often the line crosses itself.
///
/// A point is tested by following its meridian to the north pole and counting the edges on the way. Longitudes alone,
/// which are exact, decide which edges span the meridian. So no rounding makes the meridian miss or repeat a crossing
/// at a vertex. Only whether an edge is north of the point is computed, with an error of some nanometres.
///
/// A pole has no longitude. So an edge that ends at a pole lies on the other end's meridian, and no other meridian
/// meets the edge. All meridians meet the pole itself. Where the line leads through the north pole, from one meridian
/// to another, the meridians between them cross the line there (`turns`). An edge across a pole is stored as two edges
/// that meet there.
package struct GeoRing: Sendable, Hashable {
    /// The vertices; the first one is not repeated at the end.
    private let vertices: [GeoPosition]
    private let edges: [Edge]
    /// The spans of meridians that cross the line at the north pole, one for each time that the line leads through it.
    private let turns: [Span]
    private var containsNorthPole = false

    /// The location of a point relative to the ring.
    enum Side: Sendable {
        case inside, outside
        /// On a vertex or an edge.
        case boundary
    }

    /// The ring through some points, which need not be repeated at the end. Nil if two neighbours are antipodes, which
    /// no single great circle joins, or if there is no point.
    package init?(_ points: [(latitude: Double, longitude: Double)]) {
        var vertices: [GeoPosition] = []
        for point in points {
            let vertex = GeoPosition(latitude: point.latitude, longitude: point.longitude)
            if vertices.last != vertex { vertices.append(vertex) }
        }
        if vertices.count > 1, vertices.first == vertices.last { vertices.removeLast() }
        guard !vertices.isEmpty, let line = GeoRing.throughPoles(vertices) else { return nil }
        vertices = line
        var edges: [Edge] = []
        var turns: [Span] = []
        var turn = 0.0
        var area = 0.0
        for (index, start) in vertices.enumerated() {
            let end = vertices[(index + 1) % vertices.count]
            if start.isPole, let previous = vertices[index == 0 ? vertices.count - 1 : index - 1].meridian,
                let next = end.meridian
            {
                let difference = GeoRing.eastward(previous, next)
                if start.latitude > 0 {
                    turns.append(Span(start: previous, end: next, difference: difference))
                } else {
                    // The whole lune between the two meridians.
                    area += 2 * difference.radians
                }
                turn += difference
            }
            let difference = start.isPole || end.isPole ? 0 : GeoRing.eastward(start.longitude, end.longitude)
            edges.append(Edge(start: start, end: end, difference: difference))
            turn += difference
            area += GeoRing.area(start, end: end, difference: difference)
        }
        self.vertices = vertices
        self.edges = edges
        self.turns = turns
        if let point = GeoRing.opposite(to: vertices) {
            // So far the north pole counts as outside.
            containsNorthPole = side(of: point) == .inside
            return
        }
        // Each edge forms a triangle with the north pole. If the ring goes around the pole, the sum of their areas is
        // the area of the part around the pole. Otherwise the sum is the area of the part without the pole. Area that
        // the line goes around twice counts twice.
        let goesAround = abs(turn) > 180
        containsNorthPole = goesAround == (abs(area) <= 2 * .pi)
    }

    /// The centre of a hemisphere that contains no vertex, and so no edge. Nil if none is found.
    ///
    /// The search is for the opposite centre: it starts at the sum of the vertices, and each step moves it towards the
    /// farthest vertex.
    private static func opposite(to vertices: [GeoPosition]) -> GeoPosition? {
        var center = vertices.reduce(SIMD3<Double>.zero) { $0 + $1.direction }
        for _ in 0..<16 {
            let length = (center * center).sum().squareRoot()
            guard length > 1e-6 else { return nil }
            center /= length
            let farthest = vertices.map { ($0.direction, ($0.direction * center).sum()) }.min { $0.1 < $1.1 }
            guard let farthest, farthest.1 < 1e-6 else {
                return GeoPosition(
                    latitude: -firn_asin(min(1, max(-1, center.z))).degrees,
                    longitude: firn_atan2(-center.y, -center.x).degrees)
            }
            center += farthest.0 * max(0.1, -2 * farthest.1)
        }
        return nil
    }

    package static func == (a: GeoRing, b: GeoRing) -> Bool { a.vertices == b.vertices }
    package func hash(into hasher: inout Hasher) { hasher.combine(vertices) }

    /// The vertices, with the poles that edges lead across. Nil if two neighbours are antipodes.
    private static func throughPoles(_ vertices: [GeoPosition]) -> [GeoPosition]? {
        var line: [GeoPosition] = []
        for (index, start) in vertices.enumerated() {
            let end = vertices[(index + 1) % vertices.count]
            line.append(start)
            if start.isPole || end.isPole {
                if start.latitude == -end.latitude { return nil }
            } else if eastward(start.longitude, end.longitude) == 180 {
                let latitude = start.latitude + end.latitude
                if latitude == 0 { return nil }
                line.append(GeoPosition(latitude: latitude > 0 ? 90 : -90, longitude: 0))
            }
        }
        return line
    }

    func side(of point: GeoPosition) -> Side {
        var isInside = containsNorthPole
        for turn in turns where turn.contains(point.longitude) { isInside.toggle() }
        for (index, edge) in edges.enumerated() {
            if vertices[index] == point { return .boundary }
            guard edge.span.west != edge.span.east else {
                if edge.span.west == point.longitude, edge.latitudes.contains(point.latitude) { return .boundary }
                continue
            }
            guard edge.span.contains(point.longitude) else { continue }
            let height = edge.height(of: point)
            if height == 0 { return .boundary }
            if height < 0 { isInside.toggle() }
        }
        return isInside ? .inside : .outside
    }

    /// The degrees from one longitude to another by the shorter way, positive eastwards: above -180, up to 180.
    private static func eastward(_ start: Double, _ end: Double) -> Double {
        let difference = end - start
        if difference > 180 { return difference - 360 }
        return difference <= -180 ? difference + 360 : difference
    }

    /// The area of the triangle of the north pole and an edge, with a sign: positive if the edge leads eastwards.
    private static func area(_ start: GeoPosition, end: GeoPosition, difference: Double) -> Double {
        let (a, b) = ((90 - start.latitude).radians / 2, (90 - end.latitude).radians / 2)
        let sines = firn_sin(a) * firn_sin(b)
        return 2
            * firn_atan2(
                sines * firn_sin(difference.radians), firn_cos(a) * firn_cos(b) + sines * firn_cos(difference.radians))
    }

    /// The longitudes of an edge, from its western to its eastern end.
    private struct Span: Sendable {
        let west: Double
        let east: Double
        /// Whether the span crosses the antimeridian.
        private let isWrapping: Bool

        init(start: Double, end: Double, difference: Double) {
            (west, east) = difference < 0 ? (end, start) : (start, end)
            isWrapping = west > east
        }

        /// Whether the span contains a longitude. Its eastern end is excluded.
        @inline(__always)
        func contains(_ longitude: Double) -> Bool {
            isWrapping ? longitude >= west || longitude < east : longitude >= west && longitude < east
        }
    }

    private struct Edge: Sendable {
        let span: Span
        let latitudes: ClosedRange<Double>
        /// The normal of the edge's plane, directed to the north.
        let normal: SIMD3<Double>

        init(start: GeoPosition, end: GeoPosition, difference: Double) {
            span = Span(
                start: start.meridian ?? end.longitude, end: end.meridian ?? start.longitude, difference: difference)
            let (west, east) = difference < 0 ? (end, start) : (start, end)
            latitudes = min(west.latitude, east.latitude)...max(west.latitude, east.latitude)
            // Twice the cross product. The sums and differences keep it exact for edges of a few metres.
            let (a, b) = (west.direction - east.direction, west.direction + east.direction)
            normal = SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
        }

        /// Positive if the point is north of the edge, 0 if it is on the edge, negative if it is south of the edge.
        @inline(__always)
        func height(of point: GeoPosition) -> Double { (normal * point.direction).sum() }
    }
}
