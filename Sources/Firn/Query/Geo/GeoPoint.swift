/// A point on the Earth, from which shapes are made.
///
/// A realm stores a location as an embedded object of an application's class that has the properties of a GeoJSON
/// point:
///
/// ```swift
/// class Location: EmbeddedObject {
///     @Persisted private var type = "Point"
///     @Persisted private var coordinates: List<Double>      // longitude, latitude and, if known, altitude
///
///     convenience init(_ latitude: Double, _ longitude: Double) {
///         self.init()
///         coordinates.append(objectsIn: [longitude, latitude])
///     }
/// }
/// class Cafe: Object {
///     @Persisted var location: Location?
/// }
///
/// let center = GeoPoint(latitude: 46.948, longitude: 7.447)!
/// let near = realm.objects(Cafe.self).where {
///     $0.location.geoWithin(GeoCircle(center: center, radius: .kilometers(2)!))
/// }
/// ```
///
/// The text form is `location IN %@`, with the shape as its argument.
///
/// The Earth is taken as a sphere of 6378.1 km. A location is in no shape if its type is not `Point`, or if its
/// coordinates are missing or out of range. There is no index for shapes, so a query tests each object. That costs
/// about 100 nanoseconds, and a few more for each edge of a polygon.
public struct GeoPoint: Hashable, Sendable {
    /// Degrees north of the equator, from -90 to 90.
    public let latitude: Double
    /// Degrees east of Greenwich, from -180 to 180.
    public let longitude: Double
    /// Metres above the ground. Queries don't use it.
    public let altitude: Double

    /// A point from its coordinates in degrees; nil if a coordinate is out of range or the altitude is negative.
    public init?(latitude: Double, longitude: Double, altitude: Double = 0) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude), altitude >= 0 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
    }

    /// A point from its latitude and longitude; nil if a coordinate is out of range.
    init?(_ point: (Double, Double)) { self.init(latitude: point.0, longitude: point.1) }
}

/// A length on the Earth's surface.
public struct Distance: Hashable, Sendable {
    /// The length as an angle at the Earth's centre.
    public let radians: Double

    private static let kilometersPerRadian = 6378.1
    private static let kilometersPerMile = 1.609344

    /// A length in kilometres; nil if it is negative or NaN.
    public static func kilometers(_ kilometers: Double) -> Distance? { radians(kilometers / kilometersPerRadian) }
    /// A length in miles; nil if it is negative or NaN.
    public static func miles(_ miles: Double) -> Distance? { kilometers(miles * kilometersPerMile) }
    /// A length in degrees of a great circle; nil if it is negative or NaN.
    public static func degrees(_ degrees: Double) -> Distance? { radians(degrees * .pi / 180) }
    /// A length in radians of a great circle; nil if it is negative or NaN.
    public static func radians(_ radians: Double) -> Distance? {
        radians >= 0 ? Distance(radians: radians) : nil
    }

    private init(radians: Double) { self.radians = radians }

    /// The length in kilometres.
    public func asKilometers() -> Double { radians * Self.kilometersPerRadian }
    /// The length in miles.
    public func asMiles() -> Double { asKilometers() / Self.kilometersPerMile }
    /// The length in degrees of a great circle.
    public func asDegrees() -> Double { radians * 180 / .pi }
    /// The length in radians of a great circle.
    public func asRadians() -> Double { radians }
}
