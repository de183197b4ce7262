/// A part of the Earth's surface, which is taken as a sphere. Latitudes are degrees from -90 (south) to 90, longitudes
/// degrees from -180 (west) to 180.
package enum GeoRegion: Sendable, Hashable {
    /// The points between two latitudes and two longitudes, all included. The box extends eastwards from `west`, across
    /// the antimeridian if `east` is less than `west`. It is empty if `north` is less than `south`.
    case box(south: Double, west: Double, north: Double, east: Double)
    /// The points within the first ring, its edges included, and within none of the others.
    case polygon(GeoRing, holes: [GeoRing])
    /// The points whose distance from a given point is at most `radius`, the length of an arc in radians.
    case circle(latitude: Double, longitude: Double, radius: Double)

    /// Whether the region contains a point. False for NaN and for coordinates out of range. Costs a few nanoseconds for
    /// each edge of a polygon.
    package func contains(latitude: Double, longitude: Double) -> Bool {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return false }
        switch self {
        case .box(let south, let west, let north, let east):
            guard latitude >= south, latitude <= north else { return false }
            func covers(_ longitude: Double) -> Bool {
                west <= east
                    ? longitude >= west && longitude <= east : longitude >= west || longitude <= east
            }
            // A pole has all longitudes, and a point of the antimeridian has two.
            return abs(latitude) == 90 || covers(longitude) || (abs(longitude) == 180 && covers(-longitude))
        case .polygon(let ring, let holes):
            let point = GeoPosition(latitude: latitude, longitude: longitude)
            return ring.side(of: point) != .outside && holes.allSatisfy { $0.side(of: point) != .inside }
        case .circle(let centerLatitude, let centerLongitude, let radius):
            let arc = GeoRegion.arc(
                (latitude: latitude, longitude: longitude), (latitude: centerLatitude, longitude: centerLongitude))
            // The computed arc from a location with several longitudes to itself is not exactly 0.
            return arc <= radius
                || arc < 1e-9
                    && GeoPosition(latitude: latitude, longitude: longitude)
                        == GeoPosition(latitude: centerLatitude, longitude: centerLongitude)
        }
    }
}

extension GeoRegion {
    /// Describes the region for people.
    var text: String {
        switch self {
        case .box(let south, let west, let north, let east): "a box from (\(south), \(west)) to (\(north), \(east))"
        case .polygon(_, let holes): holes.isEmpty ? "a polygon" : "a polygon with \(holes.count) holes"
        case .circle(let latitude, let longitude, let radius):
            "a circle of \(radius) radians around (\(latitude), \(longitude))"
        }
    }
}
