import SwiftSyntax

/// A class whose objects are stored: it inherits from `Object` or `EmbeddedObject`, directly or through other classes.
final class Model {
    let type: DeclaredType
    let node: ClassDeclSyntax
    /// The model that it inherits from, if that is not RealmSwift's own class.
    private(set) var base: Model?
    /// The models that inherit from it directly.
    private(set) var derived: [Model] = []
    let members: [(item: MemberBlockItemSyntax, isConditional: Bool)]
    let functions: [NamingFunction]
    /// Whether it has `@Persisted` properties. RealmSwift stores no others then.
    let isModern: Bool
    /// The kinds of its functions that the conversion has removed.
    var removed: Set<NamingFunction.Kind> = []

    init(_ type: DeclaredType, node: ClassDeclSyntax, in keyPaths: KeyPaths) {
        self.type = type
        self.node = node
        members = node.memberBlock.members.withConditional
        functions = members.compactMap { NamingFunction($0.item, isConditional: $0.isConditional, in: keyPaths) }
        isModern = members.contains {
            $0.item.decl.as(VariableDeclSyntax.self)?.attributes.contains(name: "Persisted") ?? false
        }
    }

    func inherit(from base: Model) {
        self.base = base
        base.derived.append(self)
    }

    /// The models that it inherits from, the nearest first.
    var ancestors: [Model] { Array(sequence(first: self, next: \.base).dropFirst().prefix(50)) }

    /// The models that inherit from it, directly or not.
    var descendants: [Model] { derived.flatMap { [$0] + $0.descendants } }

    var properties: [VariableDeclSyntax] { members.compactMap { $0.item.decl.as(VariableDeclSyntax.self) } }

    /// Whether every member is one for Objective-C that can be. Subclasses inherit that.
    var hasObjCMembers: Bool {
        ([self] + ancestors).contains { $0.node.attributes.contains(name: "objcMembers") }
    }

    /// Whether only its file knows it, which makes no member one for Objective-C by itself.
    var isPrivate: Bool { type.isPrivate || type.scope.owners.contains(where: \.isPrivate) }

    func functions(_ kind: NamingFunction.Kind) -> [NamingFunction] { functions.filter { $0.kind == kind } }

    /// Its only function of a kind, if it can be read.
    func readable(_ kind: NamingFunction.Kind) -> (function: NamingFunction, names: [String])? {
        let all = functions(kind)
        guard all.count == 1, let only = all.first, !only.isConditional, let names = only.names else { return nil }
        return (only, names)
    }

    /// The names of the properties that are not stored.
    var ignored: Set<String> { Set(readable(.ignoredProperties)?.names ?? []) }

    /// Whether it says by itself which property is the key.
    var hasKey: Bool {
        !functions(.primaryKey).isEmpty
            || properties.contains { property in
                property.attributes.contains {
                    $0.name == "Persisted" && $0.argument?.contains("primaryKey") ?? false
                }
            }
    }

    /// The names of the properties that initialisers assign before they call the base class's. Only a plain
    /// `@Persisted` property can be assigned there.
    lazy var assignedEarly: [String: Syntax] = {
        var found: [String: Syntax] = [:]
        for (item, _) in members {
            guard let initializer = item.decl.as(InitializerDeclSyntax.self), let body = initializer.body,
                !initializer.modifiers.contains(name: "convenience")
            else { continue }
            let finder = AssignmentFinder(viewMode: .sourceAccurate)
            finder.walk(body)
            for (name, node) in finder.found where finder.end.map({ node.position < $0 }) ?? true {
                if found[name] == nil { found[name] = node }
            }
        }
        return found
    }()
}

/// Finds the properties that an initialiser assigns, and where it calls the base class's initialiser.
private final class AssignmentFinder: SyntaxVisitor {
    var found: [(name: String, node: Syntax)] = []
    var end: AbsolutePosition?

    override func visit(_ node: SequenceExprSyntax) -> SyntaxVisitorContinueKind {
        let elements = Array(node.elements)
        if elements.count > 1, elements[1].is(AssignmentExprSyntax.self), let path = elements[0].path {
            if path.count == 1 { found.append((path[0], Syntax(node))) }
            if path.count == 2, path[0] == "self" { found.append((path[1], Syntax(node))) }
        }
        return .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        if node.calledExpression.trimmedDescription == "super.init" { end = node.position }
        return .visitChildren
    }
}
