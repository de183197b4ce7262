import SwiftSyntax

extension FileConverter {
    /// Converts an enum that is stored: `@objc enum Kind: Int, RealmEnum` becomes `enum Kind: Int, PersistableEnum`.
    func convertEnum(_ type: DeclaredType) {
        guard let node = type.node.as(EnumDeclSyntax.self) else { return }
        let stored = type.inherited.filter { inherited in
            guard case .realm(let name) = program.types.meaning(of: inherited.type, in: inherited.scope) else {
                return false
            }
            return ["RealmEnum", "PersistableEnum"].contains(name)
        }
        guard let conformance = stored.first else { return }
        guard conformance.scope.file === file else {
            return report(
                node,
                "\(type.name) conforms to PersistableEnum in another file, \(conformance.scope.file.name), where Swift can't list its cases. Write the conformance here, and remove @objc."
            )
        }
        let objc = node.attributes.first { $0.name == "objc" }
        let hasObjCCases = node.memberBlock.members.contains {
            $0.decl.as(EnumCaseDeclSyntax.self)?.attributes.contains(name: "objc") ?? false
        }
        if let objc, objc.argument != nil || hasObjCCases || program.namesForObjC.contains(type.name) {
            return report(
                node,
                "\(type.name) is an enum for Objective-C, which other declarations need. Remove @objc, which Linux lacks, there and here."
            )
        }
        for inherited in stored {
            guard let name = inherited.type.lastName, name.text == "RealmEnum" else { continue }
            edits.replace(name.range, with: "PersistableEnum")
        }
        if objc != nil {
            var head = Head(
                in: file, attributes: node.attributes, modifiers: node.modifiers, keyword: node.enumKeyword)
            head.drop { $0 == "@objc" }
            edits.replace(head.range, with: head.text)
        }
    }
}

extension TypeSyntax {
    /// The word that names the type itself.
    fileprivate var lastName: TokenSyntax? {
        self.as(IdentifierTypeSyntax.self)?.name ?? self.as(MemberTypeSyntax.self)?.name
    }
}

/// Finds the types that declarations for Objective-C name, apart from stored properties of models.
final class ObjCNameFinder: SyntaxVisitor {
    private(set) var names: Set<String> = []
    private let isModel: (ClassDeclSyntax) -> Bool

    init(isModel: @escaping (ClassDeclSyntax) -> Bool) {
        self.isModel = isModel
        super.init(viewMode: .sourceAccurate)
    }

    private func note(_ node: some SyntaxProtocol) {
        let finder = TypeNameFinder(viewMode: .sourceAccurate)
        finder.walk(node)
        names.formUnion(finder.names)
    }

    private func isForObjC(_ node: some WithAttributesSyntax) -> Bool {
        node.attributes.contains { ["objc", "IBAction", "IBInspectable", "NSManaged"].contains($0.name) }
    }

    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
        if isForObjC(node) { note(node.signature) }
        return .visitChildren
    }

    override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
        if isForObjC(node) { note(node.signature) }
        return .visitChildren
    }

    override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind {
        if isForObjC(node) { note(node.memberBlock) }
        return .visitChildren
    }

    override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
        let owner = node.parent?.parent?.parent?.parent?.as(ClassDeclSyntax.self)
        if isForObjC(node), !(owner.map(isModel) ?? false) { note(node) }
        return .visitChildren
    }

    override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
        guard node.attributes.contains(name: "objcMembers"), !isModel(node) else { return .visitChildren }
        for member in node.memberBlock.members {
            if let function = member.decl.as(FunctionDeclSyntax.self) {
                note(function.signature)
            } else if !member.decl.is(ClassDeclSyntax.self) {
                note(member)
            }
        }
        return .visitChildren
    }
}

private final class TypeNameFinder: SyntaxVisitor {
    var names: Set<String> = []

    override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
        names.insert(node.name.plain)
        return .visitChildren
    }

    override func visit(_ node: MemberTypeSyntax) -> SyntaxVisitorContinueKind {
        names.insert(node.name.plain)
        return .visitChildren
    }

    override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
        names.insert(node.baseName.plain)
        return .visitChildren
    }
}
