import FirnCore

/// The argument for a `%@`, `%d`, `%K`… in a query's text. `Firn` makes arguments from the values that its callers
/// pass.
package enum QueryArgument: Sendable, Hashable {
    case value(Value)
    /// A sequence, for IN and BETWEEN.
    case values([Value])
    /// A region of the Earth, for IN.
    case region(GeoRegion)
    /// A key path, for `%K`. A string is accepted as well.
    case name(String)
}
