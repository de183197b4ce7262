import SwiftSyntax

/// A type that the files declare.
final class DeclaredType {
    let name: String
    let node: Syntax
    let file: ParsedFile
    /// Where it is declared.
    let scope: Scope
    /// Where its members are declared.
    private(set) var inner: Scope! = nil
    /// The names of its properties, those of extensions included.
    var properties: Set<String> = []
    /// The extensions of it in the files.
    var extensions: [Scope] = []
    /// What it and its extensions inherit from and conform to.
    var inherited: [(type: TypeSyntax, scope: Scope)] = []

    init(name: String, node: Syntax, scope: Scope) {
        self.name = name
        self.node = node
        file = scope.file
        self.scope = scope
        inner = Scope(file: scope.file, parent: scope)
        inner.owner = self
    }

    /// The type that an alias stands for.
    var aliased: TypeSyntax? { node.as(TypeAliasDeclSyntax.self)?.initializer.value }

    /// Whether only its own file knows it.
    var isPrivate: Bool {
        node.asProtocol((any WithModifiersSyntax).self)?.modifiers.contains {
            ["private", "fileprivate"].contains($0.name.text)
        } ?? false
    }
}

/// A part of a file in which types are declared: the file, a type or an extension, or a body of code.
final class Scope {
    let file: ParsedFile
    let parent: Scope?
    var types: [String: [DeclaredType]] = [:]
    /// The type whose members stand here.
    weak var owner: DeclaredType?
    /// The extension whose members stand here.
    var extensionNode: ExtensionDeclSyntax?

    init(file: ParsedFile, parent: Scope?) {
        self.file = file
        self.parent = parent
    }

    /// The types whose members stand here or around.
    var owners: [DeclaredType] {
        sequence(first: self, next: \.parent).compactMap(\.owner)
    }
}

/// What a type's name stands for.
enum TypeMeaning {
    /// A type of RealmSwift.
    case realm(String)
    /// Types of the files; several if it is declared under conditions.
    case declared([DeclaredType])
    /// Neither.
    case unknown
    /// A type of the files or one of RealmSwift.
    case ambiguous
}

/// The types that the files declare, and what names stand for.
final class TypeTable {
    /// The modules that have RealmSwift's names.
    static let modules: Set = ["RealmSwift", "Realm", "Firn", "FirnRLM"]
    static let bases: Set = ["Object", "EmbeddedObject", "RLMObject", "RLMEmbeddedObject"]
    static let collections: Set = ["List", "MutableSet", "Map", "LinkingObjects", "RealmOptional", "RealmProperty"]
    private static let realmNames = bases.union(collections).union(["RealmEnum", "PersistableEnum"])

    private var scopes: [SyntaxIdentifier: Scope] = [:]
    private var topLevel: [String: [DeclaredType]] = [:]
    private(set) var all: [DeclaredType] = []
    private var declaredNames: Set<String> = []
    private var propertyNames: Set<String> = []

    init(_ files: [ParsedFile]) {
        var extensions: [Scope] = []
        for file in files {
            let finder = TypeFinder(file)
            finder.walk(file.tree)
            scopes.merge(finder.scopes) { first, _ in first }
            for (name, types) in finder.top.types { topLevel[name, default: []] += types }
            all += finder.all
            extensions += finder.extensions
        }
        // Twice, because an extension may extend what another one declares.
        for _ in 0..<2 {
            for scope in extensions where scope.owner == nil { resolveExtension(scope) }
        }
        declaredNames = Set(all.map(\.name))
        for type in all { propertyNames.formUnion(type.properties) }
    }

    private func resolveExtension(_ scope: Scope) {
        guard let node = scope.extensionNode, let path = node.extendedType.path, let parent = scope.parent,
            case .declared(let types) = meaning(of: path, in: parent), let owner = types.first
        else { return }
        scope.owner = owner
        for (name, types) in scope.types { owner.inner.types[name, default: []] += types }
        owner.inherited += node.inheritanceClause?.inheritedTypes.map { ($0.type, parent) } ?? []
        owner.properties.formUnion(node.memberBlock.properties)
        owner.extensions.append(scope)
    }

    /// The scope in which a piece of syntax stands.
    func scope(of syntax: some SyntaxProtocol) -> Scope {
        var next: Syntax? = Syntax(syntax)
        while let node = next {
            if let scope = scopes[node.id] { return scope }
            next = node.parent
        }
        preconditionFailure("a piece of syntax is of none of the files")
    }

    func meaning(of type: TypeSyntax, in scope: Scope) -> TypeMeaning {
        type.path.map { meaning(of: $0, in: scope) } ?? .unknown
    }

    /// What the names stand for that lead to a type.
    func meaning(of path: [String], in scope: Scope, depth: Int = 0) -> TypeMeaning {
        guard let first = path.first, depth < 20 else { return .unknown }
        let found = find(first, from: scope, depth: depth)
        guard !found.isEmpty else {
            guard path.count > 1 else { return Self.realmNames.contains(first) ? .realm(first) : .unknown }
            if Self.modules.contains(first) {
                return path.count == 2 && Self.realmNames.contains(path[1]) ? .realm(path[1]) : .unknown
            }
            // The program's own module, perhaps.
            return walk(topLevel[path[1]] ?? [], through: path.dropFirst(2), depth: depth)
        }
        let isElsewhere = found.allSatisfy { $0.scope.parent == nil && $0.file !== scope.file }
        if path.count == 1, isElsewhere, scope.file.importsRealm, Self.realmNames.contains(first) { return .ambiguous }
        return walk(found, through: path.dropFirst(), depth: depth)
    }

    private func walk(_ types: [DeclaredType], through path: ArraySlice<String>, depth: Int) -> TypeMeaning {
        var types = types
        for name in path { types = types.flatMap { members(of: $0, named: name, depth: depth + 1) } }
        guard let first = types.first else { return .unknown }
        guard let aliased = first.aliased else { return .declared(types) }
        return aliased.path.map { meaning(of: $0, in: first.scope, depth: depth + 1) } ?? .unknown
    }

    /// The type that a name stands for, if that is an alias, and where the alias is declared.
    func aliased(_ path: [String], in scope: Scope) -> (type: TypeSyntax, scope: Scope)? {
        var types = path.first.map { find($0, from: scope, depth: 0) } ?? []
        for name in path.dropFirst() { types = types.flatMap { members(of: $0, named: name, depth: 1) } }
        return types.first.flatMap { alias in alias.aliased.map { ($0, alias.scope) } }
    }

    /// The types of the files that a name stands for, from inside to outside.
    private func find(_ name: String, from scope: Scope, depth: Int) -> [DeclaredType] {
        var next: Scope? = scope
        while let scope = next, let parent = scope.parent {
            if let found = scope.types[name] { return found }
            if let owner = scope.owner {
                let found = members(of: owner, named: name, depth: depth + 1)
                if !found.isEmpty { return found }
            }
            next = parent
        }
        let found = topLevel[name] ?? []
        let own = found.filter { $0.file === scope.file }
        return own.isEmpty ? found.filter { !$0.isPrivate } : own
    }

    /// The types that a type declares or inherits.
    private func members(of type: DeclaredType, named name: String, depth: Int) -> [DeclaredType] {
        if let found = type.inner.types[name] { return found }
        guard depth < 20, let base = type.inherited.first, base.scope === type.scope, let path = base.type.path,
            case .declared(let types) = meaning(of: path, in: type.scope, depth: depth + 1)
        else { return [] }
        return types.flatMap { $0 === type ? [] : members(of: $0, named: name, depth: depth + 1) }
    }

    /// Whether a type of the files has a name.
    func isDeclared(_ name: String) -> Bool { declaredNames.contains(name) }

    /// Whether a type of the files has a property of a name.
    func isProperty(_ name: String) -> Bool { propertyNames.contains(name) }

    /// Whether a type conforms to one of RealmSwift's protocols, or to one of a name.
    func conforms(_ type: DeclaredType, to names: Set<String>) -> Bool {
        type.inherited.contains { inherited in
            if case .realm(let name) = meaning(of: inherited.type, in: inherited.scope) { return names.contains(name) }
            return inherited.type.path?.last.map(names.contains) ?? false
        }
    }
}
