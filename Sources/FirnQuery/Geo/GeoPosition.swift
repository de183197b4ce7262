import CFirn

/// A point on the sphere: its coordinates in degrees, and its direction from the centre.
struct GeoPosition: Sendable, Hashable {
    let latitude: Double
    /// From -180 to below 180; 0 at a pole.
    let longitude: Double
    /// The longitude. Nil at a pole, which has none.
    var meridian: Double? { isPole ? nil : longitude }
    var isPole: Bool { abs(latitude) == 90 }
    let direction: SIMD3<Double>

    init(latitude: Double, longitude: Double) {
        // Both zeros, both longitudes of the antimeridian, and all longitudes of a pole are made equal.
        self.latitude = latitude + 0
        self.longitude = abs(latitude) == 90 ? 0 : longitude == 180 ? -180 : longitude + 0
        let (north, east) = (self.latitude.radians, self.longitude.radians)
        direction = SIMD3(firn_cos(north) * firn_cos(east), firn_cos(north) * firn_sin(east), firn_sin(north))
    }

    static func == (a: GeoPosition, b: GeoPosition) -> Bool { a.latitude == b.latitude && a.longitude == b.longitude }

    func hash(into hasher: inout Hasher) {
        hasher.combine(latitude)
        hasher.combine(longitude)
    }
}

extension Double {
    /// Converts an angle in degrees to radians.
    package var radians: Double { self * .pi / 180 }
    /// Converts an angle in radians to degrees.
    var degrees: Double { self * 180 / .pi }
}

extension GeoRegion {
    /// The length of the shorter great-circle arc between two points, in radians.
    ///
    /// The haversine formula is accurate for points that are close to each other. Applied from one point to the
    /// antipode of the other, it is accurate for points that are almost antipodes. The arctangent of both results is
    /// accurate everywhere.
    static func arc(
        _ a: (latitude: Double, longitude: Double), _ b: (latitude: Double, longitude: Double)
    ) -> Double {
        let (north, east) = ((b.latitude - a.latitude).radians / 2, (b.longitude - a.longitude).radians / 2)
        let middle = (a.latitude + b.latitude).radians / 2
        let circles = firn_cos(a.latitude.radians) * firn_cos(b.latitude.radians)
        func root(_ sine: Double, _ turn: Double) -> Double { (sine * sine + circles * turn * turn).squareRoot() }
        return 2 * firn_atan2(root(firn_sin(north), firn_sin(east)), root(firn_sin(middle), firn_cos(east)))
    }
}
