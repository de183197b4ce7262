import FirnCore
import FirnQuery

// Enums and types of the application are compared by their stored values.

// MARK: Two properties

/// Holds if the two properties have the same value.
public func == <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .equal, b))
}
/// Holds if the two properties have different values.
public func != <V: _MappedValue>(a: Query<V>, b: Query<V>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .notEqual, b))
}
/// Holds if the two optional properties have the same value, or are both nil.
public func == <V: _MappedValue>(a: Query<V?>, b: Query<V?>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .equal, b))
}
/// Holds if the two optional properties have different values, or if only one of them is nil.
public func != <V: _MappedValue>(a: Query<V?>, b: Query<V?>) -> Query<Bool> where V._Mapped: _Scalar {
    Query(.compare(a, .notEqual, b))
}
