import FirnCore
import FirnStorage
public import Foundation

extension RealmPredicate {
    /// The condition of a `#Predicate` of Foundation, as text.
    ///
    /// ```swift
    /// let minimum = 7
    /// let old = try RealmPredicate(#Predicate<Dog> { $0.age > minimum && $0.name.starts(with: "R") })
    /// print(old)      // (age > %@) AND (name BEGINSWITH %@) [7, "R"]
    /// ```
    ///
    /// What can be translated:
    ///
    /// - `==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||`, `!`, and ranges: `(1...5).contains($0.age)`;
    /// - stored properties, also through links (`$0.dog?.name`, `$0.dog!.name`), `??` with a constant, and `nil`;
    /// - of strings `starts(with:)` and `contains(_:)`; on Apple's platforms, where Foundation has it,
    ///   `localizedStandardContains(_:)`, which compares as `[cd]` does;
    /// - of lists, sets and backlinks `contains(_:)`, `contains { … }`, `allSatisfy { … }`, `filter { … }.count`,
    ///   `count`, `isEmpty`, and of numbers `min()` and `max()`; and `contains(_:)` of an array of constants;
    /// - anything without a property: it is computed once, now.
    ///
    /// Foundation takes no objects as constants: compare their primary keys, `$0.dog?.id == id`.
    ///
    /// Costs microseconds.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput` for anything else. It names what can't be translated.
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
    /// It is translated to the text of `filter(_:_:)`, so it costs what that costs, and uses indexes.
    /// `RealmPredicate.init(_:)` says what can be translated. Stops the program for anything else, and as
    /// `filter(_:_:)` does.
    public func filter(_ predicate: Foundation.Predicate<Element>) -> Results<Element> {
        do { return filter(try RealmPredicate(predicate)) } catch { stopProgram("\(error)") }
    }

    /// The elements for which a `#Predicate` of Foundation holds, live, for one that may not be translatable.
    ///
    /// - Throws: `Realm.Error` with `.invalidInput`, as `RealmPredicate.init(_:)`, and as `filter(validating:_:)`.
    public func filter(validating predicate: Foundation.Predicate<Element>) throws -> Results<Element> {
        try filter(validating: RealmPredicate(predicate))
    }

    /// The index of the first element for which a `#Predicate` of Foundation holds; nil if there is none. Costs what
    /// the other `index(matching:)` costs. Stops the program as `filter(_:)` does.
    public func index(matching predicate: Foundation.Predicate<Element>) -> Int? {
        do { return index(matching: try RealmPredicate(predicate)) } catch { stopProgram("\(error)") }
    }
}
