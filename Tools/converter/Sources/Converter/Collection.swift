import SwiftSyntax

/// The types that names stand for in one scope.
struct Names {
    let types: TypeTable
    let scope: Scope

    func meaning(of path: [String]) -> TypeMeaning { types.meaning(of: path, in: scope) }

    /// The collection of RealmSwift that a name stands for.
    func collection(_ path: [String]) -> String? {
        guard case .realm(let name) = meaning(of: path), TypeTable.collections.contains(name) else { return nil }
        return name
    }
}

/// A collection, box or backlinks, as a property of a class was declared to be one, and what it is today.
struct Collection {
    /// What a property is.
    enum Reading {
        case none
        case collection(Collection)
        /// It is one that has no form today, and what to say of it.
        case refused(String)
    }

    /// The property from which backlinks come.
    var origin: String?
    /// The type to write, such as `List<Dog>`; nil if the declared one stays.
    var type: String?

    static func read(_ binding: PatternBindingSyntax, type: TypeSyntax?, in names: Names) -> Reading {
        let value = binding.initializer?.value.withoutBrackets
        let call = value?.as(FunctionCallExprSyntax.self)
        for path in [type?.path ?? type?.wrapped?.path, type == nil ? call?.maker.path : nil] {
            if let path, let name = path.last, case .ambiguous = names.meaning(of: path) {
                return .refused(
                    "may be the program's own \(name) or RealmSwift's. Write RealmSwift.\(name) if it is that.")
            }
        }
        if let type { return read(binding, declared: type, value: value, in: names) }
        guard let call, let path = call.maker.path, let name = names.collection(path) else {
            guard let value, mentionsCollection(value, in: names) else { return .none }
            return .refused("gets its collection in a way that can't be read here. \(remedy)")
        }
        guard binding.accessorBlock == nil else { return .refused(observers) }
        if name == "LinkingObjects" { return links(path, call, arguments: nil) }
        guard call.arguments.isEmpty, call.trailingClosure == nil else { return .refused(filled) }
        let written = call.maker.trimmedDescription
        guard let generic = call.maker.as(GenericSpecializationExprSyntax.self) else {
            // An alias has its arguments in itself.
            let isAlias = path.last != name
            return isAlias && name != "RealmOptional" ? .collection(Collection(type: written)) : .refused(filled)
        }
        let arguments = generic.genericArgumentClause.arguments.trimmedDescription
        return .collection(Collection(type: text(path, arguments)))
    }

    private static let remedy = "Declare it as @Persisted var, and fill it in init()."
    private static let filled = "is a collection with an initial value. \(remedy)"
    private static let observers = "is a collection with observers. Declare it as @Persisted var, without them."

    /// Reads a property whose type is declared.
    private static func read(
        _ binding: PatternBindingSyntax, declared type: TypeSyntax, value: ExprSyntax?, in names: Names
    ) -> Reading {
        if let wrapped = type.wrapped {
            guard let path = wrapped.path, names.collection(path) != nil else { return .none }
            return .refused("is an optional collection, but a stored one is never nil. Declare it without ? or !.")
        }
        guard let path = type.path, let name = names.collection(path) else { return .none }
        guard binding.accessorBlock == nil else { return .refused(observers) }
        let call = value?.as(FunctionCallExprSyntax.self)
        if name == "LinkingObjects" {
            guard let call else {
                return .refused("is declared without the property that links. Write @Persisted(originProperty: …).")
            }
            return links(path, call, arguments: type.arguments)
        }
        if value != nil {
            guard let call, call.arguments.isEmpty, call.trailingClosure == nil, isMaker(call, of: name, in: names)
            else { return .refused(filled) }
        }
        guard name == "RealmOptional" else { return .collection(Collection()) }
        guard path.last == name, let arguments = type.arguments else {
            return .refused("is a RealmOptional under another name. Declare a RealmProperty.")
        }
        return .collection(Collection(type: text(path, arguments)))
    }

    /// Whether a call makes an empty collection, as `List<Int>()` and `.init()` do.
    private static func isMaker(_ call: FunctionCallExprSyntax, of name: String, in names: Names) -> Bool {
        if call.calledExpression.trimmedDescription == ".init" { return true }
        return call.maker.path.flatMap(names.collection) == name
    }

    private static func links(_ path: [String], _ call: FunctionCallExprSyntax, arguments: String?) -> Reading {
        guard let origin = call.argument("property").flatMap(text), call.arguments.count == 2,
            let source = call.argument("fromType").flatMap(typeName)
        else {
            return .refused(
                "computes the property that links. Write its name, as in @Persisted(originProperty: \"owner\").")
        }
        // An alias has its argument in itself.
        let isAlias = path.last != "LinkingObjects"
        let type = isAlias ? path.joined(separator: ".") : text(path, arguments ?? source)
        return .collection(Collection(origin: origin, type: type))
    }

    /// A type as it is written today.
    private static func text(_ path: [String], _ arguments: String) -> String {
        guard path.last == "RealmOptional" else { return "\(path.joined(separator: "."))<\(arguments)>" }
        return "\((path.dropLast() + ["RealmProperty"]).joined(separator: "."))<\(arguments)?>"
    }

    /// Whether an expression makes a collection somewhere.
    private static func mentionsCollection(_ value: ExprSyntax, in names: Names) -> Bool {
        let finder = MakerFinder(viewMode: .sourceAccurate)
        finder.walk(value)
        return finder.found.contains { names.collection($0) != nil }
    }

    private static func text(_ expression: ExprSyntax) -> String? {
        if let text = expression.as(StringLiteralExprSyntax.self) { return text.representedLiteralValue }
        guard let macro = expression.as(MacroExpansionExprSyntax.self), macro.macroName.text == "keyPath" else {
            return nil
        }
        return macro.arguments.first?.expression.path?.last
    }

    /// `Person` of `Person.self`.
    private static func typeName(_ expression: ExprSyntax) -> String? {
        guard let member = expression.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "self" else {
            return nil
        }
        return member.base?.trimmedDescription
    }
}

/// Finds what calls in an expression make.
private final class MakerFinder: SyntaxVisitor {
    var found: [[String]] = []

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        if let path = node.maker.path { found.append(path) }
        return .visitChildren
    }
}
