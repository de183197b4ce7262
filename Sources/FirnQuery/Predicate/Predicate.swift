import FirnCore

/// The condition that an object must fulfil to be found. The text form, `where { }` and translated `#Predicate`s all
/// build this tree.
///
/// It names properties and knows no schema; `QueryCompiler` binds it to a schema. Logic is two-valued: a comparison
/// with a null either holds or does not hold (see `Comparison`), and `not` is the complement.
package indirect enum Predicate: Sendable, Hashable {
    /// Every object (`TRUEPREDICATE`), or none.
    case constant(Bool)
    case comparison(Comparison)
    /// Objects that fulfil all of the predicates. Without predicates: every object.
    case all([Predicate])
    /// Objects that fulfil at least one of the predicates. Without predicates: none.
    case any([Predicate])
    case not(Predicate)

    /// A predicate that holds if both hold. Chains become one level, so that a query built in a loop stays flat.
    package static func && (a: Predicate, b: Predicate) -> Predicate {
        .all(a.conjuncts + b.conjuncts)
    }

    /// A predicate that holds if at least one holds. Chains become one level.
    package static func || (a: Predicate, b: Predicate) -> Predicate {
        .any(a.disjuncts + b.disjuncts)
    }

    package static prefix func ! (a: Predicate) -> Predicate {
        if case .constant(let value) = a { return .constant(!value) }
        return .not(a)
    }

    private var conjuncts: [Predicate] {
        if case .all(let parts) = self { parts } else { [self] }
    }

    private var disjuncts: [Predicate] {
        if case .any(let parts) = self { parts } else { [self] }
    }

    /// A comparison of two operands.
    package static func compare(
        _ left: Operand, _ operation: Comparison.Operation, _ right: Operand, options: Comparison.Options = [],
        quantifier: Comparison.Quantifier? = nil
    ) -> Predicate {
        .comparison(
            Comparison(quantifier: quantifier, left: left, operation: operation, options: options, right: right))
    }
}

/// Two operands and the relation between them.
///
/// Null behaves as in Realm. A null fulfils `== null`, `<= null`, `>= null`, and `!=` with anything else. It also
/// fulfils IN with null among its values, and the text operators with null, but no other comparison. Every other value
/// fulfils `!= null` and, with null as a constant, `> null` and `>= null`. A path through a nil link is null. Numbers
/// of all types compare by value. A NaN (Float, Double) equals nothing and is neither below nor above anything. Strings
/// compare as UTF-8 bytes. Without a quantifier, a path to a collection means ANY.
package struct Comparison: Sendable, Hashable {
    package enum Operation: Sendable, Hashable, CaseIterable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        case beginsWith, endsWith, contains, like
        /// The right operand is `.values`, a `.region`, or a path to a collection.
        case `in`
        /// The right operand is `.values` with two values. Both bounds are included.
        case between
    }

    package struct Options: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Case is folded, code point by code point, without a locale.
        package static let caseInsensitive = Options(rawValue: 1)
        /// Diacritics are ignored. See `DiacriticTable` for which ones.
        package static let diacriticInsensitive = Options(rawValue: 2)
    }

    /// The elements of the collections on the left path for which the comparison must hold.
    package enum Quantifier: Sendable, Hashable {
        case any, all, none
    }

    package var quantifier: Quantifier?
    package var left: Operand
    package var operation: Operation
    package var options: Options
    package var right: Operand
    private var origin: Origin
    /// The position at which the comparison was written.
    package var position: TextPosition? { origin.position }

    package init(
        quantifier: Quantifier? = nil, left: Operand, operation: Operation, options: Options = [], right: Operand,
        position: TextPosition? = nil
    ) {
        self.quantifier = quantifier
        self.left = left
        self.operation = operation
        self.options = options
        self.right = right
        origin = Origin(position)
    }
}

/// One side of a comparison.
package indirect enum Operand: Sendable, Hashable {
    /// A constant. An object is a `.typedLink`, or a `.link` into the table that the other side leads to.
    case value(Value)
    /// The right side of IN and BETWEEN.
    case values([Value])
    /// The right side of IN, if the left side is the path to a GeoJSON point.
    case region(GeoRegion)
    case path(PropertyPath)
    /// `SUBQUERY(path, $x, predicate).@count`
    case subquery(path: PropertyPath, variable: String, predicate: Predicate)

    package static func path(_ names: String...) -> Operand { .path(PropertyPath(names)) }
}

/// The names that lead from an object to a value: `dog.owner.name`, `dogs.@max.age`, `$dog.age`.
package struct PropertyPath: Sendable, Hashable {
    package enum Component: Sendable, Hashable {
        /// A property's name.
        case name(String)
        /// A word of the language that begins with `@`: `@links` or `@allKeys`.
        case keyword(String)
        /// An element of a map, or of a mixed value, by key.
        case key(String)
        /// An element of a list, or of a mixed value, by index.
        case index(Int)
        /// Each element of a list or map in a mixed value.
        case each
    }

    /// The aggregate of the collection that `components` lead to.
    package enum Aggregate: Sendable, Hashable, CaseIterable {
        case count, min, max, sum, average
    }

    /// The variable of a SUBQUERY at which the path begins, including the `$`. Nil if the path begins at the object
    /// itself.
    package var variable: String?
    /// The names along the path, in order. If there are none, the path is the object itself (`SELF`).
    package var components: [Component]
    package var aggregate: Aggregate?
    /// The path from each element to the value that is aggregated (`age` in `dogs.@max.age`).
    package var elementPath: [Component]
    private var origin: Origin
    /// The position at which the path was written.
    package var position: TextPosition? { origin.position }

    package init(
        variable: String? = nil, _ components: [Component], aggregate: Aggregate? = nil,
        of elementPath: [Component] = [],
        position: TextPosition? = nil
    ) {
        self.variable = variable
        self.components = components
        self.aggregate = aggregate
        self.elementPath = elementPath
        origin = Origin(position)
    }

    package init(_ names: [String]) { self.init(names.map { .name($0) }) }
}
