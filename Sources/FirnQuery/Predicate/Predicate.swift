import FirnCore

/// What an object must be like to be found: the tree that the text form, `where { }` and translated `#Predicate`s all build.
///
/// It names properties and knows no schema; `CompiledPredicate` binds it to one. Logic is two-valued: a comparison with a null holds or doesn't
/// (see `Comparison`), and `not` is the complement.
public indirect enum Predicate: Sendable, Hashable {
    /// Every object (`TRUEPREDICATE`), or none.
    case constant(Bool)
    case comparison(Comparison)
    /// Objects that all of them hold for; of no predicates: every object.
    case all([Predicate])
    /// Objects that at least one of them holds for; of no predicates: none.
    case any([Predicate])
    case not(Predicate)

    /// Both hold. Chains become one level, so that a query built in a loop stays flat.
    public static func && (a: Predicate, b: Predicate) -> Predicate {
        .all(a.conjuncts + b.conjuncts)
    }

    /// At least one holds. Chains become one level.
    public static func || (a: Predicate, b: Predicate) -> Predicate {
        .any(a.disjuncts + b.disjuncts)
    }

    public static prefix func ! (a: Predicate) -> Predicate {
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
    public static func compare(
        _ left: Operand, _ operation: Comparison.Operation, _ right: Operand, options: Comparison.Options = [],
        quantifier: Comparison.Quantifier? = nil
    ) -> Predicate {
        .comparison(
            Comparison(quantifier: quantifier, left: left, operation: operation, options: options, right: right))
    }
}

/// Two operands and the relation between them.
///
/// How null behaves: `== null` holds for it, `!=` anything else holds for it, and no other comparison does. A path through a nil link is null.
/// Numbers of all types compare by value; a NaN (Float, Double) equals nothing and is neither below nor above anything. Strings compare as UTF-8 bytes.
/// Without a quantifier a path to a collection means ANY.
public struct Comparison: Sendable, Hashable {
    public enum Operation: Sendable, Hashable, CaseIterable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        case beginsWith, endsWith, contains, like
        /// The right operand is `.values`, or a path to a collection.
        case `in`
        /// The right operand is `.values` of two, both included.
        case between
    }

    public struct Options: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Case is folded, code point by code point, without a locale.
        public static let caseInsensitive = Options(rawValue: 1)
        /// Diacritics are taken off. See `Folding` for what is covered.
        public static let diacriticInsensitive = Options(rawValue: 2)
    }

    /// Which elements of the collections on the left path the comparison must hold for.
    public enum Quantifier: Sendable, Hashable {
        case any, all, none
    }

    public var quantifier: Quantifier?
    public var left: Operand
    public var operation: Operation
    public var options: Options
    public var right: Operand
    private var origin: Origin
    /// Where it was written.
    public var place: TextPosition? { origin.place }

    public init(
        quantifier: Quantifier? = nil, left: Operand, operation: Operation, options: Options = [], right: Operand,
        place: TextPosition? = nil
    ) {
        self.quantifier = quantifier
        self.left = left
        self.operation = operation
        self.options = options
        self.right = right
        origin = Origin(place)
    }
}

/// One side of a comparison.
public indirect enum Operand: Sendable, Hashable {
    /// A constant. An object is a `.typedLink`, or a `.link` into whatever table the other side leads to.
    case value(Value)
    /// The right side of IN and BETWEEN.
    case values([Value])
    case path(PropertyPath)
    /// `SUBQUERY(path, $x, predicate).@count`
    case subquery(path: PropertyPath, variable: String, predicate: Predicate)

    public static func path(_ names: String...) -> Operand { .path(PropertyPath(names)) }
}

/// The names that lead from an object to a value: `dog.owner.name`, `dogs.@max.age`, `$dog.age`.
public struct PropertyPath: Sendable, Hashable {
    public enum Component: Sendable, Hashable {
        case name(String)
        /// A map's, or a mixed value's, element by key.
        case key(String)
        /// A list's, or a mixed value's, element by place.
        case index(Int)
    }

    /// What is made of the collection that `components` lead to.
    public enum Aggregate: Sendable, Hashable, CaseIterable {
        case count, min, max, sum, average
    }

    /// The variable of a SUBQUERY that the path begins at, `$` included; nil for the object itself.
    public var variable: String?
    /// No components: the object itself (`SELF`).
    public var components: [Component]
    public var aggregate: Aggregate?
    /// The path from each element to the value that is aggregated (`age` in `dogs.@max.age`).
    public var elementPath: [Component]
    private var origin: Origin
    /// Where it was written.
    public var place: TextPosition? { origin.place }

    public init(
        variable: String? = nil, _ components: [Component], aggregate: Aggregate? = nil,
        of elementPath: [Component] = [],
        place: TextPosition? = nil
    ) {
        self.variable = variable
        self.components = components
        self.aggregate = aggregate
        self.elementPath = elementPath
        origin = Origin(place)
    }

    public init(_ names: [String]) { self.init(names.map { .name($0) }) }

    /// Reads `dog.owner.name` or `dogs.@max.age`, as sorting and observing take it.
    public init(parsing text: String) throws(QueryError) {
        var parser = try PredicateParser(text, [])
        self = try parser.lonePath()
    }
}

extension PropertyPath.Aggregate {
    /// As it is written in a path.
    var keyword: String {
        switch self {
        case .count: "@count"
        case .min: "@min"
        case .max: "@max"
        case .sum: "@sum"
        case .average: "@avg"
        }
    }
}
