import FirnCore
import FirnQuery

/// Conditions on strings, and on enums and types of the application that are stored as strings. For these, the stored
/// string is compared.
extension Query where T: _Persistable, T._Stored: _QueryTextual {
    /// Whether the string contains `value`. Every string that is not nil contains an empty `value`. A nil string
    /// matches only if `value` is nil.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        text(.contains, value: value, options: options)
    }
    /// Whether the string begins with `value`. A nil string matches only if `value` is nil. Without options, an index
    /// on the property is used if that costs less than a scan.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        text(.beginsWith, value: value, options: options)
    }
    /// Whether the string ends with `value`. A nil string matches only if `value` is nil.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        text(.endsWith, value: value, options: options)
    }
    /// Whether the whole string matches the pattern: `*` matches any characters, or none, and `?` matches one code
    /// point. A nil string matches only if `value` is nil.
    public func like(_ value: T, caseInsensitive: Bool = false) -> Query<Bool> {
        text(.like, value: value, options: caseInsensitive ? .caseInsensitive : [])
    }
    /// Whether the strings are equal under the options. Nil equals only nil.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        text(.equal, value: value, options: options)
    }
    /// Whether the strings differ under the options. Nil differs from every string, but not from nil.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        text(.notEqual, value: value, options: options)
    }

    private func text(_ operation: Comparison.Operation, value: T, options: StringOptions) -> Query<Bool> {
        let stored = T._wrap(value)._queryValue
        return Query<Bool>(.compare(expression, operation, .value(stored), options: options.comparison))
    }

    /// Whether the string contains another property's string. Nil matches only nil.
    public func contains<U: _Persistable>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryTextual {
        Query<Bool>(.compare(self, .contains, other, options: options.comparison))
    }
    /// Whether the string begins with another property's string. Nil matches only nil.
    public func starts<U: _Persistable>(with other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryTextual {
        Query<Bool>(.compare(self, .beginsWith, other, options: options.comparison))
    }
    /// Whether the string ends with another property's string. Nil matches only nil.
    public func ends<U: _Persistable>(with other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryTextual {
        Query<Bool>(.compare(self, .endsWith, other, options: options.comparison))
    }
    /// Whether the whole string matches another property's pattern. Nil matches only nil.
    public func like<U: _Persistable>(_ other: Query<U>, caseInsensitive: Bool = false) -> Query<Bool>
    where U._Stored: _QueryTextual {
        Query<Bool>(.compare(self, .like, other, options: caseInsensitive ? .caseInsensitive : []))
    }
    /// Whether the strings of two properties are equal under the options. Nil equals only nil.
    public func equals<U: _Persistable>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryTextual {
        Query<Bool>(.compare(self, .equal, other, options: options.comparison))
    }
    /// Whether the strings of two properties differ under the options. Nil differs from every string, but not from nil.
    public func notEquals<U: _Persistable>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryTextual {
        Query<Bool>(.compare(self, .notEqual, other, options: options.comparison))
    }
}

/// Conditions on data. RealmSwift's signatures have `options`, and so have these. But data have neither case nor
/// accents, so `where` stops the program unless the options are empty.
extension Query where T: _Persistable, T._Stored: _QueryBytes {
    /// Whether the data contain `value`. All data that are not nil contain an empty `value`. Nil data match only if
    /// `value` is nil.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        bytes(.contains, value, options: options)
    }
    /// Whether the data begin with `value`. Nil data match only if `value` is nil.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        bytes(.beginsWith, value, options: options)
    }
    /// Whether the data end with `value`. Nil data match only if `value` is nil.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        bytes(.endsWith, value, options: options)
    }
    /// Whether the data are equal to `value`: the same as `==`.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        bytes(.equal, value, options: options)
    }
    /// Whether the data differ from `value`: the same as `!=`.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        bytes(.notEqual, value, options: options)
    }

    private func bytes(_ operation: Comparison.Operation, _ value: T, options: StringOptions) -> Query<Bool> {
        let stored = T._wrap(value)._queryValue
        return Query<Bool>(.compare(expression, operation, .value(stored), options: options.comparison))
    }

    /// Whether the data contain another property's data. Nil matches only nil.
    public func contains<U: _Persistable>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryBytes {
        Query<Bool>(.compare(self, .contains, other, options: options.comparison))
    }
    /// Whether the data begin with another property's data. Nil matches only nil.
    public func starts<U: _Persistable>(with other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryBytes {
        Query<Bool>(.compare(self, .beginsWith, other, options: options.comparison))
    }
    /// Whether the data end with another property's data. Nil matches only nil.
    public func ends<U: _Persistable>(with other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryBytes {
        Query<Bool>(.compare(self, .endsWith, other, options: options.comparison))
    }
    /// Whether the data of two properties are equal. Nil equals only nil.
    public func equals<U: _Persistable>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryBytes {
        Query<Bool>(.compare(self, .equal, other, options: options.comparison))
    }
    /// Whether the data of two properties differ. Nil differs from all data, but not from nil.
    public func notEquals<U: _Persistable>(_ other: Query<U>, options: StringOptions = []) -> Query<Bool>
    where U._Stored: _QueryBytes {
        Query<Bool>(.compare(self, .notEqual, other, options: options.comparison))
    }
}

extension Query where T: _QueryValue {
    /// Whether the value is one of `values`: `dogs.where { $0.name.in(["Rex", "Max"]) }`. Nil is found if `values`
    /// contains it. The sequence is read immediately.
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T {
        let values = Array(values)
        return Query<Bool>(
            .compare(expression, .in, .values(values.map(\._queryValue)), objects: values.flatMap(\._queryObjects)))
    }
}

extension Query where T: _MappedValue {
    /// Whether the value is one of `values`. The sequence is read immediately.
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T {
        Query<Bool>(expression.isOne(of: values.map { Optional($0) }))
    }
}

extension Query where T: _OptionalProtocol, T.Wrapped: _MappedValue {
    /// Whether the value is one of `values`. Nil is found if `values` contains it. The sequence is read immediately.
    public func `in`<S: Sequence>(_ values: S) -> Query<Bool> where S.Element == T {
        Query<Bool>(expression.isOne(of: values.map { $0 as? T.Wrapped }))
    }
}

extension Query where T: _Persistable & Comparable, T._Stored: _QueryOrdered {
    /// Whether the value lies within the range, its end excluded: `dogs.where { $0.age.contains(3..<7) }`. Never holds
    /// if a link on the way to it is nil. An index on the property is used if that costs less than a scan.
    ///
    /// Enums and types of the application, and the range's bounds, are compared by their stored values.
    public func contains(_ range: Range<T>) -> Query<Bool> {
        Query<Bool>(expression.isWithin(T._wrap(range.lowerBound), upTo: T._wrap(range.upperBound)))
    }
    /// Whether the value lies within the range, both ends included. Never holds if a link on the way to it is nil.
    public func contains(_ range: ClosedRange<T>) -> Query<Bool> {
        Query<Bool>(expression.isWithin(T._wrap(range.lowerBound), through: T._wrap(range.upperBound)))
    }
}

extension Query where T: _OptionalProtocol, T.Wrapped: _Persistable & Comparable, T.Wrapped._Stored: _QueryOrdered {
    /// Whether the value lies within the range, its end excluded; nil does not.
    public func contains(_ range: Range<T.Wrapped>) -> Query<Bool> {
        Query<Bool>(expression.isWithin(T.Wrapped._wrap(range.lowerBound), upTo: T.Wrapped._wrap(range.upperBound)))
    }
    /// Whether the value lies within the range, both ends included; nil does not.
    public func contains(_ range: ClosedRange<T.Wrapped>) -> Query<Bool> {
        Query<Bool>(expression.isWithin(T.Wrapped._wrap(range.lowerBound), through: T.Wrapped._wrap(range.upperBound)))
    }
}

extension Query where T: RealmCollection, T.Element: _QueryValue {
    /// Whether the collection contains the element. Through a path with another collection, whether any of the
    /// collections does.
    public func contains(_ value: T.Element) -> Query<Bool> { self == value }

    /// Whether the collection contains any of the elements. The sequence is read immediately. Never holds if it is
    /// empty.
    public func containsAny<S: Sequence>(in values: S) -> Query<Bool> where S.Element == T.Element {
        let values = Array(values)
        return Query<Bool>(
            .compare(expression, .in, .values(values.map(\._queryValue)), objects: values.flatMap(\._queryObjects)))
    }
}

extension Query where T: RealmCollection, T.Element: _Persistable & Comparable, T.Element._Stored: _QueryOrdered {
    /// Whether all elements lie within the range, its end excluded, as in RealmSwift: `$0.ages.contains(3..<7)`. NaN is
    /// ignored. Never holds if no other element is left. To test whether any element lies within a range, use the text
    /// `ANY ages BETWEEN {3, 6}`.
    public func contains(_ range: Range<T.Element>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
    /// Whether all elements lie within the range, both ends included. NaN is ignored. Never holds if no other element
    /// is left.
    public func contains(_ range: ClosedRange<T.Element>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
}

extension Query
where
    T: RealmCollection, T.Element: _OptionalProtocol, T.Element.Wrapped: _Persistable & Comparable,
    T.Element.Wrapped._Stored: _QueryOrdered
{
    /// Whether all elements lie within the range, its end excluded. Nil and NaN are ignored. Never holds if no other
    /// element is left.
    public func contains(_ range: Range<T.Element.Wrapped>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
    /// Whether all elements lie within the range, both ends included. Nil and NaN are ignored. Never holds if no other
    /// element is left.
    public func contains(_ range: ClosedRange<T.Element.Wrapped>) -> Query<Bool> {
        Query<Bool>(expression.allElements(in: range))
    }
}

extension QueryExpression {
    /// Whether all elements lie within the range, its end excluded.
    func allElements<Bound: _Persistable>(in range: Range<Bound>) -> QueryExpression
    where Bound._Stored: _QueryOrdered {
        allElements(from: Bound._wrap(range.lowerBound), .less, Bound._wrap(range.upperBound))
    }

    /// Whether all elements lie within the range, both ends included.
    func allElements<Bound: _Persistable>(in range: ClosedRange<Bound>) -> QueryExpression
    where Bound._Stored: _QueryOrdered {
        allElements(from: Bound._wrap(range.lowerBound), .lessOrEqual, Bound._wrap(range.upperBound))
    }

    /// Whether the smallest and the largest element lie within two bounds, so that all elements do.
    ///
    /// - Parameter operation: the comparison of the largest element with `high`.
    private func allElements(
        from low: any _QueryValue, _ operation: Comparison.Operation, _ high: any _QueryValue
    ) -> QueryExpression {
        let least = QueryExpression.compare(aggregated(.min), .greaterOrEqual, low)
        let greatest = QueryExpression.compare(aggregated(.max), operation, high)
        return .combining(least, greatest, predicate: least.condition && greatest.condition)
    }

    /// Whether a value lies within two bounds, both included.
    fileprivate func isWithin(_ low: any _QueryValue, through high: any _QueryValue) -> QueryExpression {
        .compare(self, .between, .values([low._queryValue, high._queryValue]))
    }

    /// Whether a value lies within two bounds, the upper one excluded.
    fileprivate func isWithin(_ low: any _QueryValue, upTo high: any _QueryValue) -> QueryExpression {
        let (low, high) = (low._queryValue, high._queryValue)
        guard collectionLength != nil else {
            return QueryExpression(
                kind: .condition(
                    .compare(operand, .greaterOrEqual, .value(low))
                        && .compare(operand, .less, .value(high))), objects: objects)
        }
        // One element must satisfy both bounds, which two separate conditions would not require. The stored bounds may
        // be in another order than the application's own.
        guard Value.precedes(low, high) else { return .compare(self, .in, .values([])) }
        return .compare(self, .between, .values([low, high.predecessor]))
    }
}

extension Value {
    /// The next smaller value of its type. The caller ensures that one exists.
    fileprivate var predecessor: Value {
        switch self {
        case .int(let number): .int(number - 1)
        case .float(let number): .float(number.nextDown)
        case .double(let number): .double(number.nextDown)
        case .date(let time): .date(time.predecessor)
        default: preconditionFailure("Firn: a range of values that are neither numbers nor dates")
        }
    }
}

extension Timestamp {
    /// The timestamp one nanosecond earlier. Seconds and nanoseconds never have opposite signs.
    fileprivate var predecessor: Timestamp {
        if nanoseconds == 0, seconds > 0 { return Timestamp(seconds: seconds - 1, nanoseconds: 999_999_999) }
        if nanoseconds == -999_999_999 { return Timestamp(seconds: seconds - 1, nanoseconds: 0) }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds - 1)
    }
}
