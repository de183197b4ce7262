import SwiftSyntax

/// The files of a program, with their types and models.
struct Program {
    let files: [ParsedFile]
    let types: TypeTable
    let keyPaths: KeyPaths
    private(set) var models: [Model] = []
    /// Classes that may be models, as far as the files say, and why that is open.
    private(set) var undecided: [(node: ClassDeclSyntax, file: ParsedFile, text: String)] = []
    /// The types that declarations for Objective-C name, apart from stored properties of models.
    private(set) var namesForObjC: Set<String> = []
    private var modelsByType: [ObjectIdentifier: Model] = [:]
    private var modelsByFile: [ObjectIdentifier: [Model]] = [:]
    private let typesByFile: [ObjectIdentifier: [DeclaredType]]
    private var extensionsByFile: [ObjectIdentifier: [(model: Model, scope: Scope)]] = [:]

    /// What a class is.
    private enum Role {
        case model, other
        /// Its base class is not among the files.
        case unknown(base: String)
        case ambiguous(base: String)
    }

    init(_ files: [ParsedFile]) {
        self.files = files
        types = TypeTable(files)
        keyPaths = KeyPaths(types: types)
        typesByFile = Dictionary(grouping: types.all) { ObjectIdentifier($0.file) }
        for type in types.all {
            guard let node = type.node.as(ClassDeclSyntax.self) else { continue }
            switch role(of: type) {
            case .model:
                let model = Model(type, node: node, in: keyPaths)
                models.append(model)
                modelsByType[ObjectIdentifier(type)] = model
                modelsByFile[ObjectIdentifier(type.file), default: []].append(model)
                for scope in type.extensions {
                    extensionsByFile[ObjectIdentifier(scope.file), default: []].append((model, scope))
                }
            case .other: break
            case .unknown(let base) where looksLikeModel(node):
                let text =
                    "\(type.name) inherits from \(base), which is not among the files. If it is a model, convert it together with the file that declares \(base)."
                undecided.append((node, type.file, text))
            case .ambiguous(let base) where looksLikeModel(node) || hasCollections(type, node):
                let text =
                    "\(base) of \(type.name) may be the program's own or RealmSwift's, so the class stays as it is. If it is RealmSwift's, write RealmSwift.\(base)."
                undecided.append((node, type.file, text))
            case .unknown, .ambiguous: break
            }
        }
        for model in models {
            if let base = baseTypes(of: model.type).compactMap({ modelsByType[ObjectIdentifier($0)] }).first {
                model.inherit(from: base)
            }
        }
        let nodes = Set(models.map(\.node.id))
        let finder = ObjCNameFinder { nodes.contains($0.id) }
        for file in files { finder.walk(file.tree) }
        namesForObjC = finder.names
    }

    func models(in file: ParsedFile) -> [Model] { modelsByFile[ObjectIdentifier(file)] ?? [] }

    func types(in file: ParsedFile) -> [DeclaredType] { typesByFile[ObjectIdentifier(file)] ?? [] }

    /// The extensions of models.
    func extensions(in file: ParsedFile) -> [(model: Model, scope: Scope)] {
        extensionsByFile[ObjectIdentifier(file)] ?? []
    }

    func model(_ type: DeclaredType) -> Model? { modelsByType[ObjectIdentifier(type)] }

    // MARK: Roles

    private func role(of type: DeclaredType, seen: Set<ObjectIdentifier> = []) -> Role {
        var seen = seen
        guard seen.insert(ObjectIdentifier(type)).inserted, let base = Self.base(of: type) else { return .other }
        let name = base.trimmedDescription
        switch types.meaning(of: base, in: type.scope) {
        case .realm(let name): return TypeTable.bases.contains(name) ? .model : .other
        case .ambiguous: return .ambiguous(base: name)
        case .unknown: return .unknown(base: name)
        case .declared(let bases):
            let classes = bases.filter { $0.node.is(ClassDeclSyntax.self) }
            var roles = classes.map { role(of: $0, seen: seen) }
            guard let first = roles.popLast() else { return .other }
            let isModel = { (role: Role) in if case .model = role { true } else { false } }
            return roles.allSatisfy { isModel($0) == isModel(first) } ? first : .ambiguous(base: name)
        }
    }

    private func baseTypes(of type: DeclaredType) -> [DeclaredType] {
        guard let base = Self.base(of: type), case .declared(let types) = types.meaning(of: base, in: type.scope)
        else { return [] }
        return types.filter { $0 !== type }
    }

    /// What a class inherits from first.
    private static func base(of type: DeclaredType) -> TypeSyntax? {
        let clause = type.node.as(ClassDeclSyntax.self)?.inheritanceClause
        guard let first = clause?.inheritedTypes.first?.type else { return nil }
        return first.as(CompositionTypeSyntax.self)?.elements.first?.type ?? first
    }

    /// Whether a class has collections of RealmSwift's, or what may be some.
    private func hasCollections(_ type: DeclaredType, _ node: ClassDeclSyntax) -> Bool {
        let names = Names(types: types, scope: type.inner)
        return node.memberBlock.members.withConditional.contains { item, _ in
            guard let property = item.decl.as(VariableDeclSyntax.self), property.isStoredInInstances,
                !property.attributes.contains(name: "Persisted")
            else { return false }
            return property.bindings.contains { binding in
                if case .none = Collection.read(binding, type: property.type(of: binding), in: names) { return false }
                return true
            }
        }
    }

    /// Whether a class has properties as models have, and no base class of Apple's.
    private func looksLikeModel(_ node: ClassDeclSyntax) -> Bool {
        let base = node.inheritanceClause?.inheritedTypes.first?.type.path?.last ?? ""
        guard !base.hasPrefix("NS"), !base.hasPrefix("UI") else { return false }
        return node.memberBlock.members.withConditional.contains { item, _ in
            guard let property = item.decl.as(VariableDeclSyntax.self) else { return false }
            return property.isStoredInInstances && property.modifiers.contains(name: "dynamic")
        }
    }
}
