import FirnCore
import FirnStorage
public import Foundation

extension RealmPredicate {
    /// Translates a `#Predicate` of Foundation to the text of a predicate.
    ///
    /// ```swift
    /// let minimum = 7
    /// let old = try RealmPredicate(#Predicate<Dog> { $0.age > minimum && $0.name.starts(with: "R") })
    /// print(old)      // (age > %@) AND (name BEGINSWITH %@) [7, "R"]
    /// ```
    ///
    /// These can be translated:
    ///
    /// - `==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||`, `!`, and ranges: `(1...5).contains($0.age)`;
    /// - stored properties, also through links (`$0.dog?.name`, `$0.dog!.name`), `??` with a constant, and `nil`;
    /// - for strings: `starts(with:)` and `contains(_:)`; on Apple's platforms, where Foundation has it,
    ///   `localizedStandardContains(_:)`, which compares as `[cd]` does;
    /// - for lists, sets and backlinks: `contains(_:)`, `contains { … }`, `allSatisfy { … }`, `filter { … }.count`,
    ///   `count`, `isEmpty`;
    /// - for collections of numbers also `min()` and `max()`;
    /// - for an array of constants `contains(_:)`;
    /// - any expression without a property: it is computed once, by this initialiser.
    ///
    /// A `#Predicate` can't have objects as constants: compare their primary keys, `$0.dog?.id == id`.
    ///
    /// Costs microseconds.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput` if the predicate has anything else. The error names the part that
    ///   can't be translated.
    public init<Element: _QueriedObject>(_ predicate: Foundation.Predicate<Element>) throws {
        var translator = PredicateTranslator()
        translator.bind(predicate.variable.key, to: .path(.init()))
        do {
            let text = try translator.condition(of: predicate.expression)
            self.init(format: text.format, argumentArray: text.arguments)
        } catch let fault as Fault {
            throw Realm.Error(
                .invalidInput,
                "This #Predicate<\(Element.self)> can't be translated: \(fault.text). Use where { } or filter(_:_:), which can do more.",
                fileURL: nil)
        }
    }
}

extension RealmCollection where Element: _QueriedObject {
    /// The elements for which a `#Predicate` of Foundation holds, live.
    ///
    /// ```swift
    /// let old = dogs.filter(#Predicate { $0.age > 7 })
    /// ```
    ///
    /// The predicate is translated to the text of `filter(_:_:)`, so it costs as much and uses indexes.
    /// `RealmPredicate.init(_:)` says what can be translated. Stops the program for anything else, and in the same
    /// cases as `filter(_:_:)`.
    public func filter(_ predicate: Foundation.Predicate<Element>) -> Results<Element> {
        do { return filter(try RealmPredicate(predicate)) } catch { stopProgram("\(error)") }
    }

    /// The elements for which a `#Predicate` of Foundation holds, live. Unlike `filter(_:)`, it throws if the predicate
    /// can't be translated.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, in the same cases as `RealmPredicate.init(_:)` and
    ///   `filter(validating:_:)`.
    public func filter(validating predicate: Foundation.Predicate<Element>) throws -> Results<Element> {
        try filter(validating: RealmPredicate(predicate))
    }

    /// The index of the first element for which a `#Predicate` of Foundation holds; nil if there is none. Costs as much
    /// as the other `index(matching:)`. Stops the program in the same cases as `filter(_:)`.
    public func index(matching predicate: Foundation.Predicate<Element>) -> Int? {
        do { return index(matching: try RealmPredicate(predicate)) } catch { stopProgram("\(error)") }
    }
}
