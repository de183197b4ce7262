import SwiftSyntax

/// The type of a property's value, as far as the files say it.
struct ValueType {
    enum Form {
        /// A type with a name.
        case named([String])
        case array, dictionary, function, tuple
    }
    let form: Form
    var isOptional = false
    /// The type as it is written, without a question mark.
    private(set) var text: String
    let scope: Scope

    private init(_ form: Form, text: String, scope: Scope) {
        self.form = form
        self.text = text
        self.scope = scope
    }

    private init(_ path: [String], scope: Scope) {
        self.init(.named(path), text: path.joined(separator: "."), scope: scope)
    }

    /// The type that a declaration names.
    init?(_ type: TypeSyntax, in scope: Scope) {
        if let wrapped = type.wrapped {
            self.init(wrapped, in: scope)
            isOptional = true
            return
        }
        let text = type.trimmedDescription
        if let path = type.path {
            self.init(.named(path), text: text, scope: scope)
        } else if type.is(ArrayTypeSyntax.self) {
            self.init(.array, text: text, scope: scope)
        } else if type.is(DictionaryTypeSyntax.self) {
            self.init(.dictionary, text: text, scope: scope)
        } else if type.is(FunctionTypeSyntax.self) || type.as(AttributedTypeSyntax.self) != nil {
            self.init(.function, text: text, scope: scope)
        } else if let tuple = type.as(TupleTypeSyntax.self) {
            if tuple.elements.count == 1, let only = tuple.elements.first?.type {
                self.init(only, in: scope)
                self.text = text
            } else {
                self.init(.tuple, text: text, scope: scope)
            }
        } else {
            return nil
        }
    }

    /// The type itself, if an alias names it.
    func unaliased(_ types: TypeTable) -> ValueType {
        var result = self
        for _ in 0..<20 {
            guard case .named(let path) = result.form, let alias = types.aliased(path, in: result.scope),
                var next = ValueType(alias.type, in: alias.scope)
            else { break }
            next.isOptional = next.isOptional || result.isOptional
            result = next
        }
        return result
    }

    /// The type of an initial value, if it is plain to see.
    init?(of value: ExprSyntax, in scope: Scope, _ types: TypeTable) {
        let value = value.withoutBrackets
        if value.is(IntegerLiteralExprSyntax.self) {
            self.init(["Int"], scope: scope)
        } else if value.is(FloatLiteralExprSyntax.self) {
            self.init(["Double"], scope: scope)
        } else if value.is(BooleanLiteralExprSyntax.self) {
            self.init(["Bool"], scope: scope)
        } else if value.is(StringLiteralExprSyntax.self)
            || value.as(MacroExpansionExprSyntax.self)?.macroName.text == "keyPath"
        {
            self.init(["String"], scope: scope)
        } else if value.is(ArrayExprSyntax.self) {
            self.init(.array, text: "an array", scope: scope)
        } else if value.is(DictionaryExprSyntax.self) {
            self.init(.dictionary, text: "a dictionary", scope: scope)
        } else if value.is(ClosureExprSyntax.self) {
            self.init(.function, text: "a closure", scope: scope)
        } else if value.is(TupleExprSyntax.self) {
            self.init(.tuple, text: "a tuple", scope: scope)
        } else if let forced = value.as(ForceUnwrapExprSyntax.self) {
            self.init(of: forced.expression, in: scope, types)
        } else if let prefixed = value.as(PrefixOperatorExprSyntax.self) {
            self.init(of: prefixed.expression, in: scope, types)
        } else if let call = value.as(FunctionCallExprSyntax.self) {
            self.init(madeBy: call, in: scope, types)
        } else if let member = value.as(MemberAccessExprSyntax.self) {
            self.init(of: member, in: scope, types)
        } else if let sequence = value.as(SequenceExprSyntax.self) {
            self.init(of: sequence, in: scope, types)
        } else {
            return nil
        }
    }

    private init?(madeBy call: FunctionCallExprSyntax, in scope: Scope, _ types: TypeTable) {
        let maker = call.maker
        if maker.is(ArrayExprSyntax.self) || maker.is(DictionaryExprSyntax.self) {
            self.init(of: maker, in: scope, types)
            return
        }
        guard let path = maker.path, let last = path.last, last.first?.isUppercase ?? false || types.isDeclared(last)
        else { return nil }
        self.init(path, scope: scope)
    }

    private init?(of member: MemberAccessExprSyntax, in scope: Scope, _ types: TypeTable) {
        let name = member.declName.baseName.text
        switch name {
        case "uuidString": self.init(["String"], scope: scope)
        case "timeIntervalSince1970", "timeIntervalSinceReferenceDate": self.init(["Double"], scope: scope)
        case "rawValue":
            guard let base = member.base?.path, base.count > 1,
                case .declared(let found) = types.meaning(of: base.dropLast(), in: scope),
                let raw = found.first(where: { $0.node.is(EnumDeclSyntax.self) })?.inherited.first?.type.path
            else { return nil }
            self.init(raw, scope: scope)
        default:
            guard let base = member.base?.path else { return nil }
            if case .declared(let found) = types.meaning(of: base, in: scope),
                found.contains(where: { $0.node.is(EnumDeclSyntax.self) })
            {
                self.init(base, scope: scope)
            } else if ["max", "min", "zero", "distantPast", "distantFuture", "now"].contains(name) {
                self.init(base, scope: scope)
            } else {
                return nil
            }
        }
    }

    /// Sums and casts.
    private init?(of sequence: SequenceExprSyntax, in scope: Scope, _ types: TypeTable) {
        let parts = Array(sequence.elements)
        if parts.count == 3, parts[1].is(UnresolvedAsExprSyntax.self), let type = parts[2].as(TypeExprSyntax.self) {
            self.init(type.type, in: scope)
            return
        }
        var found: [ValueType] = []
        for (number, part) in parts.enumerated() {
            if number % 2 == 0 {
                guard let type = ValueType(of: part, in: scope, types) else { return nil }
                found.append(type)
            } else if !["+", "-", "*", "/"].contains(part.trimmedDescription) {
                return nil
            }
        }
        guard let first = found.first(where: { $0.text != "Int" }) ?? found.first,
            found.allSatisfy({ [first.text, "Int"].contains($0.text) })
        else { return nil }
        self = first
    }
}
