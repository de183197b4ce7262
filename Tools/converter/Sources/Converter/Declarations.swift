import SwiftSyntax

extension AttributeListSyntax.Element {
    /// The attribute's name, without the `@`.
    var name: String? {
        self.as(AttributeSyntax.self)?.attributeName.as(IdentifierTypeSyntax.self)?.name.text
    }

    /// What stands in the attribute's brackets.
    var argument: String? { self.as(AttributeSyntax.self)?.arguments?.trimmedDescription }
}

extension AttributeListSyntax {
    func contains(name: String) -> Bool { contains { $0.name == name } }
}

extension DeclModifierListSyntax {
    /// Whether a modifier is among them. `private(set)` is not `private`.
    func contains(name: String) -> Bool { contains { $0.name.text == name && $0.detail == nil } }
}

extension SyntaxProtocol {
    /// The bytes of the syntax without the space around it.
    var range: Range<Int> {
        positionAfterSkippingLeadingTrivia.utf8Offset..<endPositionBeforeTrailingTrivia.utf8Offset
    }
}

extension TokenSyntax {
    /// The text without backticks.
    var plain: String { text.plain }
}

extension String {
    /// The text without backticks.
    var plain: String { String(unicodeScalars.filter { $0 != "`" }) }
}

extension TypeSyntax {
    /// The names that lead to the type, as `["Kennel", "Dog"]`; nil if it has no name.
    var path: [String]? {
        if let type = self.as(IdentifierTypeSyntax.self) { return [type.name.plain] }
        if let type = self.as(MemberTypeSyntax.self) { return type.baseType.path.map { $0 + [type.name.plain] } }
        if let type = self.as(AttributedTypeSyntax.self) { return type.baseType.path }
        return nil
    }

    /// The generic arguments.
    var argumentClause: GenericArgumentClauseSyntax? {
        self.as(IdentifierTypeSyntax.self)?.genericArgumentClause
            ?? self.as(MemberTypeSyntax.self)?.genericArgumentClause
    }

    /// The generic arguments, without the brackets.
    var arguments: String? { argumentClause?.arguments.trimmedDescription }

    /// The type in an optional.
    var wrapped: TypeSyntax? {
        self.as(OptionalTypeSyntax.self)?.wrappedType
            ?? self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self)?.wrappedType
    }
}

extension ExprSyntax {
    /// The names that lead to what is named, as `["Kennel", "Dog"]`; nil for other expressions.
    var path: [String]? {
        if let reference = self.as(DeclReferenceExprSyntax.self) { return [reference.baseName.plain] }
        if let generic = self.as(GenericSpecializationExprSyntax.self) { return generic.expression.path }
        if let member = self.as(MemberAccessExprSyntax.self) {
            return member.base?.path.map { $0 + [member.declName.baseName.plain] }
        }
        return nil
    }

    /// The expression in brackets.
    var withoutBrackets: ExprSyntax {
        guard let tuple = self.as(TupleExprSyntax.self), tuple.elements.count == 1, let first = tuple.elements.first,
            first.label == nil
        else { return self }
        return first.expression.withoutBrackets
    }
}

extension FunctionCallExprSyntax {
    /// The argument with a label.
    func argument(_ label: String) -> ExprSyntax? { arguments.first { $0.label?.text == label }?.expression }

    /// What is called, without `.init`.
    var maker: ExprSyntax {
        guard let member = calledExpression.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "init",
            let base = member.base
        else { return calledExpression }
        return base
    }
}

extension VariableDeclSyntax {
    /// The names of the properties that are declared.
    var names: [String] { bindings.compactMap(\.name) }

    var joinedNames: String {
        bindings.map { $0.name ?? $0.pattern.trimmedDescription }.joined(separator: ", ")
    }

    /// Whether its own words make it one for Objective-C.
    var isForObjC: Bool { attributes.contains(name: "objc") || modifiers.contains(name: "dynamic") }

    /// Whether it declares stored properties of each instance.
    var isStoredInInstances: Bool {
        !modifiers.contains { ["static", "class", "lazy"].contains($0.name.text) } && bindings.allSatisfy(\.isStored)
    }

    /// The type of a property, which it may share with those behind it: `var first, last: String?`.
    func type(of binding: PatternBindingSyntax) -> TypeSyntax? {
        guard binding.typeAnnotation == nil, binding.initializer == nil else { return binding.typeAnnotation?.type }
        return bindings.first { $0.position > binding.position && $0.typeAnnotation != nil }?.typeAnnotation?.type
    }
}

extension PatternBindingSyntax {
    /// The property's name, without backticks.
    var name: String? { pattern.as(IdentifierPatternSyntax.self)?.identifier.plain }

    /// Whether it has no getter of its own. `willSet` and `didSet` are none.
    var isStored: Bool {
        guard let accessors = accessorBlock?.accessors else { return true }
        guard case .accessors(let list) = accessors else { return false }
        return list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
}

extension MemberBlockItemListSyntax {
    /// The members, those within `#if` included.
    var withConditional: [(item: MemberBlockItemSyntax, isConditional: Bool)] {
        flatMap { item -> [(item: MemberBlockItemSyntax, isConditional: Bool)] in
            guard let condition = item.decl.as(IfConfigDeclSyntax.self) else { return [(item, false)] }
            return condition.clauses.flatMap { clause in
                clause.elements?.as(MemberBlockItemListSyntax.self)?.withConditional.map { ($0.item, true) } ?? []
            }
        }
    }
}
