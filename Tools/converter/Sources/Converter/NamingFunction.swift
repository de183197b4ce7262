import SwiftSyntax

/// A function of a class that names properties: the key, the indexed ones, or the ones that are not stored.
struct NamingFunction {
    enum Kind: String, CaseIterable { case primaryKey, indexedProperties, ignoredProperties }

    let kind: Kind
    let node: FunctionDeclSyntax
    let item: MemberBlockItemSyntax
    /// Whether it stands within `#if`.
    let isConditional: Bool
    /// The names that it returns; nil if it computes them.
    private(set) var names: [String]?
    /// The arrays that it returns.
    private(set) var arrays: [ArrayExprSyntax] = []
    /// Their elements, with the names.
    private(set) var elements: [(node: ArrayElementSyntax, name: String)] = []
    /// Whether it adds its names to those of its base class.
    private(set) var callsSuper = false

    /// Nil if the member is none.
    init?(_ item: MemberBlockItemSyntax, isConditional: Bool, in keyPaths: KeyPaths) {
        guard let node = item.decl.as(FunctionDeclSyntax.self), let kind = Kind(rawValue: node.name.text),
            node.modifiers.contains(where: { ["class", "static"].contains($0.name.text) }),
            node.signature.parameterClause.parameters.isEmpty
        else { return nil }
        self.kind = kind
        self.node = node
        self.item = item
        self.isConditional = isConditional
        if let expression = Self.returned(by: node) { names = read(expression, keyPaths) }
    }

    /// What a function returns, if it does nothing else.
    private static func returned(by node: FunctionDeclSyntax) -> ExprSyntax? {
        guard let statements = node.body?.statements, statements.count == 1, let first = statements.first
        else { return nil }
        if case .expr(let value) = first.item { return value }
        return first.item.as(ReturnStmtSyntax.self)?.expression
    }

    /// The names in one text, an array of texts or nil, and in sums of arrays and the base class's names.
    private mutating func read(_ expression: ExprSyntax, _ keyPaths: KeyPaths) -> [String]? {
        let expression = expression.withoutBrackets
        if expression.is(NilLiteralExprSyntax.self) { return [] }
        if let array = expression.as(ArrayExprSyntax.self) {
            arrays.append(array)
            for element in array.elements {
                guard let name = Self.name(element.expression, keyPaths) else { return nil }
                elements.append((element, name))
            }
            return elements.map(\.name)
        }
        guard let sum = expression.as(SequenceExprSyntax.self) else {
            return Self.name(expression, keyPaths).map { [$0] }
        }
        for (number, part) in sum.elements.enumerated() {
            if number % 2 == 1 {
                guard part.as(BinaryOperatorExprSyntax.self)?.operator.text == "+" else { return nil }
            } else if part.trimmedDescription == "super.\(kind.rawValue)()" {
                callsSuper = true
            } else {
                guard part.is(ArrayExprSyntax.self), read(part, keyPaths) != nil else { return nil }
            }
        }
        return elements.map(\.name)
    }

    /// A property's name, as a text or a `#keyPath`.
    private static func name(_ expression: ExprSyntax, _ keyPaths: KeyPaths) -> String? {
        if let text = expression.as(StringLiteralExprSyntax.self) { return text.representedLiteralValue?.plain }
        return expression.as(MacroExpansionExprSyntax.self).flatMap { keyPaths.names(of: $0)?.joined(separator: ".") }
    }
}
