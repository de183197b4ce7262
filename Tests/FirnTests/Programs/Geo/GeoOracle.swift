import Foundation

/// A place of random programs. Its coordinates are multiples of 2^-20 degrees, so that sums of them are exact.
struct GeoPlace: Hashable, CustomStringConvertible {
    let latitude: Double
    let longitude: Double

    static let grid = 0x1p-20

    init(_ latitude: Double, _ longitude: Double, grid: Double = GeoPlace.grid) {
        self.latitude = min(90, max(-90, (latitude / grid).rounded() * grid))
        self.longitude = min(180, max(-180, (longitude / grid).rounded() * grid))
    }

    /// The place in a direction from the centre of the sphere.
    init(_ direction: SIMD3<Double>, grid: Double = GeoPlace.grid) {
        self.init(
            atan2(direction.z, hypot(direction.x, direction.y)) * 180 / .pi,
            atan2(direction.y, direction.x) * 180 / .pi, grid: grid)
    }

    var direction: SIMD3<Double> {
        let (north, east) = (latitude * .pi / 180, longitude * .pi / 180)
        return SIMD3(cos(north) * cos(east), cos(north) * sin(east), sin(north))
    }

    var pair: (Double, Double) { (latitude, longitude) }
    var description: String { "(\(latitude), \(longitude))" }

    func isAntipode(of other: GeoPlace) -> Bool {
        latitude == -other.latitude && (abs(latitude) == 90 || abs(longitude - other.longitude) == 180)
    }
}

/// Whether a condition holds. What lies closer to an edge than the arithmetic is exact is not known.
enum GeoAnswer {
    case yes, no, unknown

    init(_ value: Bool) { self = value ? .yes : .no }

    static prefix func ! (a: GeoAnswer) -> GeoAnswer {
        switch a {
        case .yes: .no
        case .no: .yes
        case .unknown: .unknown
        }
    }
    static func && (a: GeoAnswer, b: GeoAnswer) -> GeoAnswer {
        a == .no || b == .no ? .no : a == .yes && b == .yes ? .yes : .unknown
    }
    static func || (a: GeoAnswer, b: GeoAnswer) -> GeoAnswer { !(!a && !b) }
}

func dot(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double { (a * b).sum() }
func length(_ a: SIMD3<Double>) -> Double { dot(a, a).squareRoot() }
func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// Two directions at right angles to a third one and to each other.
struct TangentPlane {
    let center: SIMD3<Double>
    let east: SIMD3<Double>
    let north: SIMD3<Double>

    init(at center: SIMD3<Double>) {
        self.center = center
        let other = abs(center.z) < 0.9 ? SIMD3<Double>(0, 0, 1) : SIMD3(1, 0, 0)
        let side = cross(other, center)
        east = side / length(side)
        north = cross(center, east)
    }

    func angle(of direction: SIMD3<Double>) -> Double { atan2(dot(direction, north), dot(direction, east)) }

    func direction(angle: Double, distance: Double) -> SIMD3<Double> {
        let way = east * cos(angle) + north * sin(angle)
        return center * cos(distance) + way * sin(distance)
    }

    /// Where the line through a direction meets the plane; nil if it lies behind the centre. Great circles are straight
    /// lines there.
    func flattened(_ direction: SIMD3<Double>) -> SIMD2<Double>? {
        let depth = dot(direction, center)
        return depth > 1e-6 ? SIMD2(dot(direction, east), dot(direction, north)) / depth : nil
    }
}

/// A closed line whose inside is known by other means than following meridians.
struct GeoLine {
    enum Shape {
        /// In the order of the angles at a centre: a place is inside if no edge lies between it and the centre, or
        /// outside if that part is the larger one.
        case star(isInsideOut: Bool)
        /// Within a hemisphere around a centre, in any order: a place is inside if, on the plane that touches the
        /// sphere at the centre, a ray from it crosses the line an odd number of times.
        case crossing
    }

    let places: [GeoPlace]
    private let plane: TangentPlane
    private let shape: Shape
    private let corners: [SIMD3<Double>]
    private let angles: [Double]
    private let flat: [SIMD2<Double>]

    /// Nil if the line has no such shape, or one that the oracle can't judge.
    init?(_ places: [GeoPlace], around center: SIMD3<Double>, isStar: Bool) {
        self.places = places
        plane = TangentPlane(at: center)
        corners = places.map(\.direction)
        for (a, b) in zip(corners, corners.dropFirst() + corners.prefix(1))
        where length(a + b) < 1e-5 && length(a + b) > 1e-12 { return nil }
        guard isStar else {
            angles = []
            flat = corners.compactMap(plane.flattened)
            guard flat.count == corners.count else { return nil }
            shape = .crossing
            return
        }
        flat = []
        angles = corners.map(plane.angle)
        var area = 0.0
        for index in places.indices {
            let next = (index + 1) % places.count
            let gap = angles[next] - angles[index] + (next == 0 ? 2 * .pi : 0)
            guard gap > 1e-6, gap < 3.1 else { return nil }
            let (a, b) = (corners[index], corners[next])
            area +=
                2 * atan2(abs(dot(center, cross(a, b))), 1 + dot(center, a) + dot(center, b) + dot(a, b))
        }
        guard abs(area - 2 * .pi) > 1e-5 else { return nil }
        shape = .star(isInsideOut: area > 2 * .pi)
    }

    /// Whether a place is inside; unknown if it lies on the line.
    func contains(_ place: GeoPlace) -> GeoAnswer {
        let direction = place.direction
        for (a, b) in zip(corners, corners.dropFirst() + corners.prefix(1)) where isNear(direction, a: a, b: b) {
            return .unknown
        }
        switch shape {
        case .star(let isInsideOut):
            let angle = plane.angle(of: direction)
            let index = (angles.lastIndex { $0 <= angle }) ?? angles.count - 1
            let normal = cross(corners[index], corners[(index + 1) % corners.count])
            return GeoAnswer((dot(normal, direction) * dot(normal, plane.center) > 0) != isInsideOut)
        case .crossing:
            guard let point = plane.flattened(direction) else { return .no }
            var isInside = false
            for (a, b) in zip(flat, flat.dropFirst() + flat.prefix(1)) where (a.y > point.y) != (b.y > point.y) {
                if point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x { isInside.toggle() }
            }
            return GeoAnswer(isInside)
        }
    }

    private func isNear(_ place: SIMD3<Double>, a: SIMD3<Double>, b: SIMD3<Double>) -> Bool {
        let margin = 2e-10
        if length(place - a) < margin || length(place - b) < margin { return true }
        let normal = cross(a, b) / length(cross(a, b))
        guard normal.x.isFinite, abs(dot(normal, place)) < margin else { return false }
        return dot(cross(normal, a), place) > -margin && dot(cross(b, normal), place) > -margin
    }
}

/// A shape, and which places it has by the oracle's own geometry.
enum GeoShape: CustomStringConvertible {
    case box(GeoPlace, GeoPlace)
    case circle(GeoPlace, Double)
    case polygon(GeoLine, holes: [GeoLine])

    func contains(_ place: GeoPlace) -> GeoAnswer {
        switch self {
        case .box(let low, let high):
            guard place.latitude >= low.latitude, place.latitude <= high.latitude else { return .no }
            if abs(place.latitude) == 90 { return .yes }
            func eastward(to longitude: Double) -> Double {
                longitude >= low.longitude ? longitude - low.longitude : longitude - low.longitude + 360
            }
            let others = abs(place.longitude) == 180 ? [180, -180] : [place.longitude]
            return GeoAnswer(others.contains { eastward(to: $0) <= eastward(to: high.longitude) })
        case .circle(let center, let radius):
            if center == place { return .yes }
            let (a, b) = (center.direction, place.direction)
            let arc = atan2(length(cross(a, b)), dot(a, b))
            return abs(arc - radius) < 1e-12 ? .unknown : GeoAnswer(arc < radius)
        case .polygon(let line, let holes):
            return holes.reduce(line.contains(place)) { $0 && !$1.contains(place) }
        }
    }

    /// Places that lie on the edge, and so in the shape.
    var edge: [GeoPlace] {
        switch self {
        case .box(let low, let high): low.latitude <= high.latitude ? [low, high] : []
        case .circle(let center, _): [center]
        case .polygon(let line, let holes):
            line.places.filter { place in holes.allSatisfy { $0.contains(place) == .no } }
        }
    }

    var description: String {
        switch self {
        case .box(let low, let high): "box \(low) \(high)"
        case .circle(let center, let radius): "circle \(center) \(radius)"
        case .polygon(let line, let holes): "polygon \(line.places) without \(holes.map(\.places))"
        }
    }
}
