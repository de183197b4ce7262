import FirnQuery

/// A condition as text with its arguments, which can be stored and passed on. Programs use it as they use `NSPredicate`
/// with Realm on Apple's platforms.
///
/// ```swift
/// let old = RealmPredicate(format: "age > %@ AND name BEGINSWITH %@", 7, "R")
/// let dogs = Dog.objects(with: old)
/// ```
///
/// The text has the syntax of `RealmCollection.filter(_:_:)`. It is checked when it is used with a class.
public struct RealmPredicate: CustomStringConvertible {
    /// The text, with a `%@` for each argument.
    public let predicateFormat: String
    /// The arguments in the order of the text.
    public let arguments: [Any]

    /// A condition from a text and its arguments.
    public init(format: String, _ args: Any...) { self.init(format: format, argumentArray: args) }

    /// A condition from a text and its arguments in an array; nil for none.
    public init(format: String, argumentArray arguments: [Any]?) {
        predicateFormat = format
        self.arguments = arguments ?? []
    }

    /// A condition that holds for every object if `value` is true, and otherwise for none.
    public init(value: Bool) { self.init(format: value ? "TRUEPREDICATE" : "FALSEPREDICATE", argumentArray: nil) }

    /// The text and the arguments.
    public var description: String {
        arguments.isEmpty ? predicateFormat : "\(predicateFormat) \(arguments.map { "\($0)" })"
    }
}

extension RealmPredicate {
    /// Whether the condition holds for a value: an object, managed or not, or a dictionary with names as keys.
    ///
    /// ```swift
    /// let isOld = try RealmPredicate(format: "age > %@", 7).holds(for: dog)
    /// ```
    ///
    /// Values are compared by the rules of queries. O(size of the values that the condition names). To find objects,
    /// `filter` them: a query is much faster.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput` if the text is wrong, or names a property that the value lacks.
    public func holds(for value: Any) throws -> Bool {
        do { return try PredicateEvaluation.holds(self, for: value) } catch let error as QueryError {
            throw Realm.Error(error)
        } catch {
            throw Realm.Error(.invalidInput, "\"\(predicateFormat)\" can't be evaluated: \(error)")
        }
    }
}

extension RealmCollection where Element: _QueriedObject {
    /// The elements for which the condition holds, live. It is the same as `filter(_:_:)` with the text and the
    /// arguments, and stops the program for the same reasons.
    public func filter(_ predicate: RealmPredicate) -> Results<Element> {
        filtered(predicate.predicateFormat, predicate.arguments)
    }

    /// The elements for which the condition holds, live. It is `filter(_:)` for a condition that may be wrong.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, for the same reasons as `filter(validating:_:)`.
    public func filter(validating predicate: RealmPredicate) throws -> Results<Element> {
        do { return Results(try _source.filtered(predicate.predicateFormat, predicate.arguments)) } catch {
            throw Realm.Error(error)
        }
    }

    /// The index of the first element for which the condition holds; nil if there is none. It costs as much as the
    /// other `index(matching:)`.
    public func index(matching predicate: RealmPredicate) -> Int? {
        if realm == nil { return PredicateEvaluation.firstIndex(in: self, matching: predicate) { $0 } }
        guard let found = filter(predicate).first else { return nil }
        return index(of: found)
    }
}

extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: ObjectBase {
    /// The objects for which the condition holds, live.
    public func filter(_ predicate: RealmPredicate) -> Results<Value> {
        Results(Results<Value.Wrapped>(_source).filter(predicate)._source)
    }
}

extension ObjectKind {
    /// The objects of the default realm for which a condition holds, live; all objects if it is nil. Stops the program
    /// for the same reasons as `objects(where:_:)`.
    public static func objects(
        with predicate: RealmPredicate?, file: StaticString = #fileID, line: UInt = #line
    ) -> Results<Self> {
        let all = allObjects(file: file, line: line)
        return predicate.map { all.filter($0) } ?? all
    }

    /// The objects of a realm for which a condition holds, live; all objects if it is nil. Stops the program for the
    /// same reasons as `objects(in:where:_:)`.
    public static func objects(in realm: Realm, with predicate: RealmPredicate?) -> Results<Self> {
        let all = allObjects(in: realm)
        return predicate.map { all.filter($0) } ?? all
    }
}
