#if !canImport(ObjectiveC)
    import Firn
    import FirnStorage
    import Foundation

    // Foundation's NSPredicate can't be made from a text on Linux. These initialisers keep the text and its arguments,
    // and queries find them again.

    /// Finds the text from which a predicate was made.
    ///
    /// `NSPredicate` has no field for the text, so the predicate's block retains it, and an entry here leads to it.
    /// Both references of an entry are weak, so that a text is released with its predicate. A new predicate may get the
    /// identifier of a released one, so an entry counts only if its own predicate still exists.
    private final class PredicateTexts: Sendable {
        final class Text: @unchecked Sendable {
            // The predicate's text and arguments never change.
            let predicate: RealmPredicate
            init(_ predicate: RealmPredicate) { self.predicate = predicate }
        }
        private struct Entry: @unchecked Sendable {
            weak var predicate: NSPredicate?
            weak var text: Text?
        }
        static let shared = PredicateTexts()
        // Predicates are made and used on any thread.
        private let entries = Guarded<[ObjectIdentifier: Entry]>(.innermost, [:])

        func keep(_ text: Text, of predicate: NSPredicate) {
            let entry = Entry(predicate: predicate, text: text)
            entries.withLock { entries in
                // The entries are cleaned at each power of two, so that the cost for each predicate is small.
                if entries.count >= 64, entries.count & (entries.count - 1) == 0 {
                    entries = entries.filter { $0.value.predicate != nil }
                }
                entries[ObjectIdentifier(predicate)] = entry
            }
        }

        func text(of predicate: NSPredicate) -> RealmPredicate? {
            let entry = entries.withLock { $0[ObjectIdentifier(predicate)] }
            return entry?.predicate === predicate ? entry?.text?.predicate : nil
        }
    }

    extension NSPredicate {
        /// A condition from a text and its arguments: `NSPredicate(format: "age > %@ AND name BEGINSWITH %@", 7, "R")`.
        ///
        /// The text has the syntax of `RealmCollection.filter(_:_:)`. It is checked when it is used with a class.
        public convenience init(format predicateFormat: String, _ args: Any...) {
            self.init(format: predicateFormat, argumentArray: args)
        }

        /// A condition from a text and its arguments in an array; nil for none.
        public convenience init(format predicateFormat: String, argumentArray arguments: [Any]?) {
            let text = PredicateTexts.Text(RealmPredicate(format: predicateFormat, argumentArray: arguments))
            self.init(block: { value, _ in text.predicate.evaluated(with: value) })
            PredicateTexts.shared.keep(text, of: self)
        }
    }

    extension RealmPredicate {
        /// Converts a predicate of Foundation that was made from a text, from a Boolean, or from other such ones by
        /// `NSCompoundPredicate`. Stops the program if `predicate` was made from a block, because nobody can know what
        /// a block tests. Also stops it if `predicate` is a copy of another one.
        public init(_ predicate: NSPredicate) {
            if let text = PredicateTexts.shared.text(of: predicate) {
                self = text
            } else if let compound = predicate as? NSCompoundPredicate {
                self = .compound(compound)
            } else {
                switch (predicate as any PredicateText).predicateFormat {
                case "TRUEPREDICATE": self.init(value: true)
                case "FALSEPREDICATE": self.init(value: false)
                default:
                    stopProgram(
                        "a query was given an NSPredicate that was made from a block, or copied. Make it from a text, as in NSPredicate(format: \"age > %@\", 7), or filter the elements by Swift's filter."
                    )
                }
            }
        }

        private static func compound(_ compound: NSCompoundPredicate) -> RealmPredicate {
            let parts = compound.subpredicates.map { RealmPredicate($0) }
            let texts = parts.map { "(\($0.predicateFormat))" }
            let text =
                switch compound.compoundPredicateType {
                case .not: texts.isEmpty ? "FALSEPREDICATE" : "NOT \(texts[0])"
                case .and: texts.isEmpty ? "TRUEPREDICATE" : texts.joined(separator: " AND ")
                case .or: texts.isEmpty ? "FALSEPREDICATE" : texts.joined(separator: " OR ")
                }
            let used = compound.compoundPredicateType == .not ? Array(parts.prefix(1)) : parts
            return RealmPredicate(format: text, argumentArray: used.flatMap(\.arguments))
        }

        /// The result of `NSPredicate.evaluate(with:)`. Stops the program if the value has no properties, or lacks one
        /// that the text names.
        fileprivate func evaluated(with value: Any?) -> Bool {
            guard let value else {
                stopProgram("\"\(predicateFormat)\" was evaluated with nil. Give an object or a dictionary.")
            }
            do { return try holds(for: value) } catch {
                stopProgram("\(error) Give an object or a dictionary that has what the text names.")
            }
        }
    }

    /// Reads `predicateFormat` through a protocol, because Foundation deprecates it on Linux, where nothing parses it.
    /// The text of `NSPredicate(value:)` shows the value.
    private protocol PredicateText {
        var predicateFormat: String { get }
    }
    extension NSPredicate: PredicateText {}

    extension RealmCollection where Element: _QueriedObject {
        /// The elements for which the condition holds, live: `filter(_:)` with a predicate of Foundation. Stops the
        /// program for the same reasons as `filter(_:)`, and for a predicate that was made from a block.
        public func filter(_ predicate: NSPredicate) -> Results<Element> { filter(RealmPredicate(predicate)) }

        /// The index of the first element for which the condition holds; nil if there is none. Stops the program for
        /// the same reasons as `filter(_:)`.
        public func index(matching predicate: NSPredicate) -> Int? { index(matching: RealmPredicate(predicate)) }
    }

    extension ProjectedCollection {
        /// The index of the first element for which the condition on its object holds; nil if there is none. Stops the
        /// program for the same reasons as `RealmCollection.filter(_:)`.
        public func index(matching predicate: NSPredicate) -> Int? { index(matching: RealmPredicate(predicate)) }
    }

    extension RealmKeyedCollection where Value: _OptionalProtocol, Value.Wrapped: ObjectBase {
        /// The objects for which the condition holds, live. Stops the program for the same reasons as
        /// `RealmCollection.filter(_:)`.
        public func filter(_ predicate: NSPredicate) -> Results<Value> { filter(RealmPredicate(predicate)) }
    }

    extension ObjectKind {
        /// The objects of the default realm for which a condition holds, live; all for nil. Stops the program for the
        /// same reasons as `filter(_:)`.
        public static func objects(
            with predicate: NSPredicate?, file: StaticString = #fileID, line: UInt = #line
        ) -> Results<Self> {
            objects(with: predicate.map { RealmPredicate($0) }, file: file, line: line)
        }

        /// The objects of a realm for which a condition holds, live; all for nil. Stops the program for the same
        /// reasons as `filter(_:)`.
        public static func objects(in realm: Realm, with predicate: NSPredicate?) -> Results<Self> {
            objects(in: realm, with: predicate.map { RealmPredicate($0) })
        }
    }
#endif
