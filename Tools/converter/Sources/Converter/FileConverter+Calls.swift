import SwiftSyntax

extension FileConverter {
    /// Reports the calls of functions that the conversion has removed from classes.
    func reportCalls() {
        let finder = CallFinder(viewMode: .sourceAccurate)
        finder.walk(file.tree)
        for (name, kind, base) in finder.found where !edits.cover(name.range) && reaches(kind, base, from: name) {
            report(name, "\(kind.rawValue)() \(Self.hint(kind))")
        }
    }

    private static func hint(_ kind: NamingFunction.Kind) -> String {
        switch kind {
        case .primaryKey:
            "returns nil, because @Persisted(primaryKey: true) says the key. Ask objectSchema.primaryKeyProperty?.name of an object, or sharedSchema()?.primaryKeyProperty?.name of the class."
        case .indexedProperties:
            "does not return what @Persisted(indexed: true) says. Ask sharedSchema()?.properties of the class which are isIndexed."
        case .ignoredProperties:
            "does not return names that are of plain properties now. Write them where they are needed."
        }
    }

    /// Whether a call may reach a function that is gone.
    private func reaches(_ kind: NamingFunction.Kind, _ base: ExprSyntax?, from name: TokenSyntax) -> Bool {
        let scope = program.types.scope(of: name)
        let owner = scope.owners.lazy.compactMap(program.model).first
        func isGone(_ models: [Model]) -> Bool { models.contains { $0.removed.contains(kind) } }
        guard let base else { return owner.map { isGone([$0] + $0.ancestors + $0.descendants) } ?? false }
        if base.is(SuperExprSyntax.self) { return owner.map { isGone($0.ancestors) } ?? false }
        if ["self", "Self"].contains(base.trimmedDescription), let owner {
            return isGone([owner] + owner.ancestors + owner.descendants)
        }
        if let path = base.path, case .declared(let types) = program.types.meaning(of: path, in: scope) {
            return isGone(types.compactMap(program.model).flatMap { [$0] + $0.ancestors })
        }
        return isGone(program.models)
    }
}

/// Finds what calls or passes on functions that name properties.
private final class CallFinder: SyntaxVisitor {
    var found: [(name: TokenSyntax, kind: NamingFunction.Kind, base: ExprSyntax?)] = []

    override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
        let name = node.declName.baseName
        if let kind = NamingFunction.Kind(rawValue: name.text), let base = node.base {
            found.append((name, kind, base))
        }
        return .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        if let name = node.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName, node.arguments.isEmpty,
            let kind = NamingFunction.Kind(rawValue: name.text)
        {
            found.append((name, kind, nil))
        }
        return .visitChildren
    }
}
