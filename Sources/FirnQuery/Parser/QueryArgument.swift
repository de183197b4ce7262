import FirnCore

/// What stands for a `%@`, `%d`, `%K`… in a query's text. `Firn` makes them from what its callers give.
public enum QueryArgument: Sendable, Hashable {
    case value(Value)
    /// A sequence, for IN and BETWEEN.
    case values([Value])
    /// A key path, for `%K`. A string does as well.
    case name(String)
}
