import SwiftSyntax

/// Finds the types of a file, and the scopes in which they stand.
final class TypeFinder: SyntaxVisitor {
    let top: Scope
    private var current: Scope
    private(set) var scopes: [SyntaxIdentifier: Scope] = [:]
    private(set) var all: [DeclaredType] = []
    private(set) var extensions: [Scope] = []

    init(_ file: ParsedFile) {
        top = Scope(file: file, parent: nil)
        current = top
        super.init(viewMode: .sourceAccurate)
        scopes[file.tree.id] = top
    }

    private func enter(_ node: some SyntaxProtocol, _ scope: Scope) -> SyntaxVisitorContinueKind {
        scopes[node.id] = scope
        current = scope
        return .visitChildren
    }

    private func leave() { current = current.parent ?? top }

    private func declare(_ name: TokenSyntax, _ node: some DeclSyntaxProtocol) -> DeclaredType {
        let type = DeclaredType(name: name.plain, node: Syntax(node), scope: current)
        current.types[type.name, default: []].append(type)
        all.append(type)
        return type
    }

    private func enterType(_ name: TokenSyntax, _ node: some DeclGroupSyntax) -> SyntaxVisitorContinueKind {
        let type = declare(name, node)
        type.inherited = node.inheritanceClause?.inheritedTypes.map { ($0.type, current) } ?? []
        type.properties = node.memberBlock.properties
        return enter(node.memberBlock, type.inner)
    }

    override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { enterType(node.name, node) }
    override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind { enterType(node.name, node) }
    override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind { enterType(node.name, node) }
    override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind { enterType(node.name, node) }
    override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind { enterType(node.name, node) }
    override func visitPost(_: ClassDeclSyntax) { leave() }
    override func visitPost(_: StructDeclSyntax) { leave() }
    override func visitPost(_: EnumDeclSyntax) { leave() }
    override func visitPost(_: ActorDeclSyntax) { leave() }
    override func visitPost(_: ProtocolDeclSyntax) { leave() }

    override func visit(_ node: TypeAliasDeclSyntax) -> SyntaxVisitorContinueKind {
        _ = declare(node.name, node)
        return .visitChildren
    }

    override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
        let scope = Scope(file: current.file, parent: current)
        scope.extensionNode = node
        extensions.append(scope)
        return enter(node.memberBlock, scope)
    }
    override func visitPost(_: ExtensionDeclSyntax) { leave() }

    // Types that are declared in code are known there alone.
    override func visit(_ node: CodeBlockSyntax) -> SyntaxVisitorContinueKind {
        enter(node, Scope(file: current.file, parent: current))
    }
    override func visitPost(_: CodeBlockSyntax) { leave() }
    override func visit(_ node: AccessorBlockSyntax) -> SyntaxVisitorContinueKind {
        enter(node, Scope(file: current.file, parent: current))
    }
    override func visitPost(_: AccessorBlockSyntax) { leave() }
    override func visit(_ node: ClosureExprSyntax) -> SyntaxVisitorContinueKind {
        enter(node, Scope(file: current.file, parent: current))
    }
    override func visitPost(_: ClosureExprSyntax) { leave() }
}

extension MemberBlockSyntax {
    /// The names of the properties among the members.
    var properties: Set<String> {
        Set(members.withConditional.flatMap { $0.item.decl.as(VariableDeclSyntax.self)?.names ?? [] })
    }
}
