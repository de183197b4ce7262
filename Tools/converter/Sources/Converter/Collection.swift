import SwiftSyntax

/// A collection, box or backlinks, as a property of a class was declared to be one, and what it is today.
struct Collection {
    /// `@Persisted`, with the linking property of backlinks.
    let attribute: String
    /// The type, such as `List<Dog>`.
    let type: String

    /// Nil if the property is none.
    init?(_ binding: PatternBindingSyntax) {
        let call = binding.initializer?.value.as(FunctionCallExprSyntax.self)
        let declared = binding.typeAnnotation?.type.as(IdentifierTypeSyntax.self)
        if let call, Self.name(of: call) == "LinkingObjects" || declared?.name.text == "LinkingObjects" {
            guard let origin = call.argument("property").flatMap(Self.text),
                let type = call.argument("fromType").flatMap(Self.typeName)
            else { return nil }
            attribute = "@Persisted(originProperty: \"\(origin)\")"
            self.type = "LinkingObjects<\(type)>"
            return
        }
        let arguments: String
        let name: String
        if let declared, let generic = declared.genericArgumentClause {
            (name, arguments) = (declared.name.text, generic.arguments.trimmedDescription)
        } else if let generic = call?.calledExpression.as(GenericSpecializationExprSyntax.self),
            let base = generic.expression.as(DeclReferenceExprSyntax.self)
        {
            (name, arguments) = (
                base.baseName.text, generic.genericArgumentClause.arguments.trimmedDescription
            )
        } else {
            return nil
        }
        // With elements from the beginning it would have to be filled.
        guard binding.accessorBlock == nil, call?.arguments.isEmpty ?? true else { return nil }
        attribute = "@Persisted"
        switch name {
        case "List", "MutableSet", "Map", "RealmProperty": type = "\(name)<\(arguments)>"
        case "RealmOptional": type = "RealmProperty<\(arguments)?>"
        default: return nil
        }
    }

    /// Whether a property is declared as a collection or box, whatever its initial value is.
    static func isMeant(_ binding: PatternBindingSyntax) -> Bool {
        let declared = binding.typeAnnotation?.type.as(IdentifierTypeSyntax.self)?.name.text
        let made = binding.initializer?.value.as(FunctionCallExprSyntax.self).flatMap(name)
        let names = ["List", "MutableSet", "Map", "LinkingObjects", "RealmOptional", "RealmProperty"]
        return [declared, made].contains { $0.map(names.contains) ?? false }
    }

    /// The name of the generic type that a call makes.
    private static func name(of call: FunctionCallExprSyntax) -> String? {
        if let reference = call.calledExpression.as(DeclReferenceExprSyntax.self) { return reference.baseName.text }
        return call.calledExpression.as(GenericSpecializationExprSyntax.self)?.expression
            .as(DeclReferenceExprSyntax.self)?.baseName.text
    }

    private static func text(_ expression: ExprSyntax) -> String? {
        if let text = expression.as(StringLiteralExprSyntax.self) { return text.representedLiteralValue }
        return expression.as(MacroExpansionExprSyntax.self).flatMap { FileConverter.names(of: $0)?.last }
    }

    /// `Person` of `Person.self`.
    private static func typeName(_ expression: ExprSyntax) -> String? {
        guard let member = expression.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "self" else {
            return nil
        }
        return member.base?.trimmedDescription
    }
}

extension FunctionCallExprSyntax {
    /// The argument with a label.
    func argument(_ label: String) -> ExprSyntax? { arguments.first { $0.label?.text == label }?.expression }
}
