import FirnQuery

/// A shape on the Earth, in which a query looks for locations: a `GeoBox`, `GeoPolygon` or `GeoCircle`.
public protocol Geospatial: Hashable, Sendable {
    /// The shape in the form that queries use.
    var _region: _GeoRegion { get }
}

/// A shape in the form that queries use.
public struct _GeoRegion: Sendable {
    let region: GeoRegion
}

/// The locations between two latitudes and two longitudes, edges included.
///
/// The box extends eastwards from its left side: from 170 to -170 degrees it is 20 degrees wide and crosses the
/// antimeridian. It is empty if the top lies south of the bottom.
public struct GeoBox: Geospatial {
    /// The south-western corner.
    public let bottomLeft: GeoPoint
    /// The north-eastern corner.
    public let topRight: GeoPoint

    /// A box from two of its corners.
    public init(bottomLeft: GeoPoint, topRight: GeoPoint) {
        self.bottomLeft = bottomLeft
        self.topRight = topRight
    }

    /// A box from the latitude and longitude of two of its corners; nil if a coordinate is out of range.
    public init?(bottomLeft: (Double, Double), topRight: (Double, Double)) {
        guard let bottomLeft = GeoPoint(bottomLeft), let topRight = GeoPoint(topRight) else { return nil }
        self.init(bottomLeft: bottomLeft, topRight: topRight)
    }

    /// The shape in the form that queries use.
    public var _region: _GeoRegion {
        _GeoRegion(
            region: .box(
                south: bottomLeft.latitude, west: bottomLeft.longitude, north: topRight.latitude,
                east: topRight.longitude))
    }
}

/// The locations within a line around them, except the locations within its holes.
///
/// The edges are parts of great circles. A line divides the Earth into two parts. The polygon is the smaller part,
/// whatever the direction of the points along the line. Locations on the line belong to the polygon, and so do
/// locations on the line of a hole. Where a line crosses itself, every second part is inside.
public struct GeoPolygon: Geospatial {
    /// The points of the line. The last point equals the first one.
    public let outerRing: [GeoPoint]
    /// The points of each hole's line.
    public let holes: [[GeoPoint]]
    private let ring: GeoRing
    private let holeRings: [GeoRing]

    /// A polygon from the points of its line and of its holes. Nil if a line has fewer than 4 points or does not end
    /// where it begins, or if neighbouring points are opposite on the Earth.
    public init?(outerRing: [GeoPoint], holes: [[GeoPoint]] = []) {
        func ring(_ points: [GeoPoint]) -> GeoRing? {
            guard points.count >= 4, let first = points.first, let last = points.last,
                first.latitude == last.latitude, first.longitude == last.longitude
            else { return nil }
            return GeoRing(points.map { ($0.latitude, $0.longitude) })
        }
        guard let outer = ring(outerRing) else { return nil }
        let inner = holes.compactMap(ring)
        guard inner.count == holes.count else { return nil }
        self.outerRing = outerRing
        self.holes = holes
        self.ring = outer
        holeRings = inner
    }

    /// A polygon from the points of its line and of its holes; nil in the same cases as for `init(outerRing:holes:)`.
    public init?(outerRing: [GeoPoint], holes: [GeoPoint]...) { self.init(outerRing: outerRing, holes: holes) }

    /// A polygon from latitudes and longitudes. Nil in the same cases as for points, and if a coordinate is out of
    /// range.
    public init?(outerRing: [(Double, Double)], holes: [[(Double, Double)]] = []) {
        let outer = outerRing.compactMap { GeoPoint($0) }
        let inner = holes.map { $0.compactMap { GeoPoint($0) } }
        guard outer.count == outerRing.count, inner.map(\.count) == holes.map(\.count) else { return nil }
        self.init(outerRing: outer, holes: inner)
    }

    /// A polygon from latitudes and longitudes. Nil in the same cases as for points, and if a coordinate is out of
    /// range.
    public init?(outerRing: [(Double, Double)], holes: [(Double, Double)]...) {
        self.init(outerRing: outerRing, holes: holes)
    }

    /// The shape in the form that queries use.
    public var _region: _GeoRegion { _GeoRegion(region: .polygon(ring, holes: holeRings)) }
}

/// The locations whose distance from the centre is at most the radius.
public struct GeoCircle: Geospatial {
    /// The centre.
    public let center: GeoPoint
    /// The length of the arc from the centre to the edge, as an angle at the Earth's centre.
    public let radiusInRadians: Double

    /// A circle from its centre and radius; nil if the radius is negative or NaN.
    public init?(center: GeoPoint, radiusInRadians: Double) {
        guard radiusInRadians >= 0 else { return nil }
        self.center = center
        self.radiusInRadians = radiusInRadians
    }

    /// A circle from the latitude and longitude of its centre. Nil if a coordinate is out of range, or if the radius is
    /// negative or NaN.
    public init?(center: (Double, Double), radiusInRadians: Double) {
        guard let center = GeoPoint(center) else { return nil }
        self.init(center: center, radiusInRadians: radiusInRadians)
    }

    /// A circle from its centre and radius.
    public init(center: GeoPoint, radius: Distance) {
        self.center = center
        radiusInRadians = radius.asRadians()
    }

    /// A circle from the latitude and longitude of its centre, and its radius; nil if a coordinate is out of range.
    public init?(center: (Double, Double), radius: Distance) {
        guard let center = GeoPoint(center) else { return nil }
        self.init(center: center, radius: radius)
    }

    /// The shape in the form that queries use.
    public var _region: _GeoRegion {
        _GeoRegion(
            region: .circle(latitude: center.latitude, longitude: center.longitude, radius: radiusInRadians))
    }
}

extension Query where T: EmbeddedObject {
    /// Whether the location lies in a box, polygon or circle: see `GeoPoint` for the class of the location.
    public func geoWithin(_ shape: some Geospatial) -> Query<Bool> { within(shape) }
}

extension Query where T: _OptionalProtocol, T.Wrapped: EmbeddedObject {
    /// Whether the location lies in a box, polygon or circle; nil does not. See `GeoPoint` for the class of the
    /// location.
    public func geoWithin(_ shape: some Geospatial) -> Query<Bool> { within(shape) }
}

extension Query where T: RealmCollection, T.Element: EmbeddedObject {
    /// Whether any of the locations lies in a box, polygon or circle: see `GeoPoint` for the class of the locations.
    public func geoWithin(_ shape: some Geospatial) -> Query<Bool> { within(shape) }
}

extension Query {
    fileprivate func within(_ shape: some Geospatial) -> Query<Bool> {
        Query<Bool>(.compare(expression, .in, .region(shape._region.region)))
    }
}
