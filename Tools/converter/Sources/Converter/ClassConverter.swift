import SwiftSyntax

/// Converts one model class.
struct ClassConverter {
    private let node: ClassDeclSyntax
    var file: FileConverter
    /// What the functions of the class say of its properties.
    private var named = NamedProperties()
    /// Whether every member is one for Objective-C.
    private let hasObjCMembers: Bool

    /// The properties that functions of the class name.
    private struct NamedProperties {
        var primaryKey: String?
        var indexed: Set<String> = []
        var ignored: Set<String> = []
    }

    /// The members of the class, those within `#if` included.
    private let members: [MemberBlockItemSyntax]

    init(_ node: ClassDeclSyntax, _ file: FileConverter) {
        self.node = node
        self.file = file
        members = Self.members(in: node.memberBlock.members)
        hasObjCMembers = node.attributes.contains { $0.name == "objcMembers" }
    }

    private static func members(in list: MemberBlockItemListSyntax) -> [MemberBlockItemSyntax] {
        list.flatMap { item -> [MemberBlockItemSyntax] in
            guard let condition = item.decl.as(IfConfigDeclSyntax.self) else { return [item] }
            return condition.clauses.flatMap { clause in
                clause.elements?.as(MemberBlockItemListSyntax.self).map { members(in: $0) } ?? []
            }
        }
    }

    mutating func convert() {
        readFunctions()
        for member in members {
            if let property = member.decl.as(VariableDeclSyntax.self) { convert(property) }
            if let initializer = member.decl.as(InitializerDeclSyntax.self) { convert(initializer, item: member) }
            if let function = member.decl.as(FunctionDeclSyntax.self), function.attributes.contains(name: "objc") {
                file.report(
                    function, "\(function.name.text)() is one for Objective-C. Remove @objc, which Linux lacks.")
            }
        }
        convertAttributes()
    }

    // MARK: Functions that name properties

    private mutating func readFunctions() {
        for member in members {
            guard let function = member.decl.as(FunctionDeclSyntax.self),
                function.modifiers.contains(where: { ["class", "static"].contains($0.name.text) }),
                function.signature.parameterClause.parameters.isEmpty
            else { continue }
            let name = function.name.text
            if ["primaryKey", "indexedProperties", "ignoredProperties"].contains(name), functions(named: name) > 1 {
                file.report(
                    function, "\(name)() stands more than once, as with #if. Write its names at the properties.")
                continue
            }
            switch name {
            case "primaryKey":
                guard let names = Self.names(in: function), names.count <= 1 else { keep(function); continue }
                // Of a property that has @Persisted already, it stays as it is.
                guard names.allSatisfy(isConverted) else { continue }
                named.primaryKey = names.first
                remove(member)
            case "indexedProperties":
                guard let names = Self.names(in: function) else { keep(function); continue }
                guard names.allSatisfy(isConverted) else { continue }
                named.indexed = Set(names)
                remove(member)
            case "ignoredProperties":
                guard let names = Self.names(in: function) else { keep(function); continue }
                named.ignored = Set(names)
                // Only collections and boxes must be named there today.
                let kept = names.filter { name in stored(named: name).map(isCollectionOrBox) ?? false }
                if kept.isEmpty { remove(member) } else if kept.count < names.count { rewrite(function, kept) }
            default: break
            }
        }
    }

    /// How many functions of the class have a name.
    private func functions(named name: String) -> Int {
        members.count { $0.decl.as(FunctionDeclSyntax.self)?.name.text == name }
    }

    private mutating func keep(_ function: FunctionDeclSyntax) {
        file.report(
            function,
            "\(function.name.text)() computes its names. Write them at the properties, as in @Persisted(indexed: true)."
        )
    }

    /// The texts that a function returns, if it does nothing else: one text, an array of texts, nil or nothing.
    private static func names(in function: FunctionDeclSyntax) -> [String]? {
        guard let statements = function.body?.statements, statements.count == 1, let first = statements.first
        else { return nil }
        let returned: ExprSyntax?
        if case .expr(let value) = first.item {
            returned = value
        } else {
            returned = first.item.as(ReturnStmtSyntax.self)?.expression
        }
        guard let expression = returned else { return nil }
        if expression.is(NilLiteralExprSyntax.self) { return [] }
        if let array = expression.as(ArrayExprSyntax.self) {
            var names: [String] = []
            for element in array.elements {
                guard let name = name(element.expression) else { return nil }
                names.append(name)
            }
            return names
        }
        return name(expression).map { [$0] }
    }

    /// A property's name, as a text or a `#keyPath`.
    private static func name(_ expression: ExprSyntax) -> String? {
        if let text = expression.as(StringLiteralExprSyntax.self) { return text.representedLiteralValue }
        if let macro = expression.as(MacroExpansionExprSyntax.self) {
            return FileConverter.names(of: macro)?.joined(separator: ".")
        }
        return nil
    }

    private mutating func rewrite(_ function: FunctionDeclSyntax, _ names: [String]) {
        guard let body = function.body else { return }
        let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
        file.edits.replace(body.statements.range, with: "[\(list)]")
    }

    // MARK: Properties

    /// The stored property of the class with a name.
    private func stored(named name: String) -> VariableDeclSyntax? {
        for member in members {
            if let property = member.decl.as(VariableDeclSyntax.self), property.names.contains(name) { return property }
        }
        return nil
    }

    /// Whether a property with a name becomes one with @Persisted in this run.
    private func isConverted(_ name: String) -> Bool {
        guard let property = stored(named: name), !property.attributes.contains(name: "Persisted") else { return false }
        return isPersisted(property) || isCollectionOrBox(property)
    }

    /// Whether a property was stored because it is one for Objective-C.
    private func isPersisted(_ property: VariableDeclSyntax) -> Bool {
        guard property.bindingSpecifier.tokenKind == .keyword(.var), property.isStoredInInstances else { return false }
        return property.modifiers.contains(name: "dynamic")
            || hasObjCMembers && !property.attributes.contains(name: "nonobjc")
            || property.attributes.contains(name: "objc")
    }

    private func isCollectionOrBox(_ property: VariableDeclSyntax) -> Bool {
        property.isStoredInInstances && property.bindings.contains { Collection($0) != nil }
    }

    private mutating func convert(_ property: VariableDeclSyntax) {
        guard property.isStoredInInstances, !property.attributes.contains(name: "Persisted") else {
            if property.attributes.contains(name: "objc") || property.modifiers.contains(name: "dynamic"),
                !property.attributes.contains(name: "Persisted")
            {
                file.report(
                    property,
                    "\(property.names.joined(separator: ", ")) is computed, lazy or of the class. Remove @objc and dynamic."
                )
            }
            return
        }
        let isIgnored = property.names.contains(where: named.ignored.contains)
        if isIgnored {
            // It stays as it was, for the instance alone.
            return removeObjC(property)
        }
        guard isPersisted(property) || isCollectionOrBox(property) else {
            if property.bindings.contains(where: Collection.isMeant) {
                file.report(
                    property,
                    "\(property.names.joined(separator: ", ")) is a collection with an initial value. Declare it as @Persisted var, and fill it in init()."
                )
            }
            return
        }
        let names = property.bindings.map { $0.name ?? $0.pattern.trimmedDescription }.joined(separator: ", ")
        guard property.bindings.allSatisfy({ $0.name != nil }) else {
            return file.report(property, "\(names) is declared as a tuple. Declare each property by itself.")
        }
        guard !["weak", "unowned"].contains(where: property.modifiers.contains(name:)) else {
            return file.report(property, "\(names) is weak or unowned, which no stored property is. Remove the word.")
        }
        if property.bindings.count > 1 || property.bindings.first.map({ Collection($0) != nil }) ?? false {
            return rewrite(property)
        }
        removeObjC(property)
        guard let binding = property.bindings.first else { return }
        reportType(binding)
        let start = property.firstWord
        file.edits.insert("\(attribute(binding)) ", at: start)
    }

    /// `@Persisted`, with what the class's functions say of the property.
    private func attribute(_ binding: PatternBindingSyntax) -> String {
        guard let name = binding.name else { return "@Persisted" }
        if name == named.primaryKey { return "@Persisted(primaryKey: true)" }
        if named.indexed.contains(name) { return "@Persisted(indexed: true)" }
        return "@Persisted"
    }

    /// Removes what is for Objective-C from a property's declaration.
    private mutating func removeObjC(_ property: VariableDeclSyntax) {
        for attribute in property.attributes where attribute.name == "objc" {
            file.edits.remove(attribute.rangeWithSpaceBehind)
        }
        for modifier in property.modifiers where modifier.name.text == "dynamic" {
            file.edits.remove(modifier.rangeWithSpaceBehind)
        }
    }

    /// Writes a declaration anew: of a collection or box, or of several properties, which become one each.
    private mutating func rewrite(_ property: VariableDeclSyntax) {
        let modifiers = property.modifiers.filter { $0.name.text != "dynamic" }.map { "\($0.trimmed) " }.joined()
        let others = property.attributes.filter { $0.name != "objc" }.map { "\($0.trimmed) " }.joined()
        let indentation = property.indentation
        let lines = property.bindings.map { binding -> String in
            reportType(binding)
            var binding = binding
            binding.trailingComma = nil
            guard let collection = Collection(binding), let name = binding.name else {
                return "\(attribute(binding)) \(others)\(modifiers)var \(binding.trimmed)"
            }
            return "\(collection.attribute) \(others)\(modifiers)var \(name): \(collection.type)"
        }
        file.edits.replace(property.range, with: lines.joined(separator: "\n" + indentation))
    }

    /// Reports a type that is stored no more.
    private mutating func reportType(_ binding: PatternBindingSyntax) {
        guard let type = binding.typeAnnotation?.type.trimmedDescription else { return }
        let plain = type.filter { $0 != "?" && $0 != "!" }
        let today = [
            "NSDate": "Date", "NSData": "Data", "NSString": "String", "NSNumber": "a number's type such as Int",
        ]
        if let name = today[plain] {
            file.report(binding, "\(binding.name ?? "the property") is of the type \(plain). Declare \(name).")
        }
        if type.hasSuffix("!") {
            file.report(binding, "\(binding.name ?? "the property") is implicitly unwrapped. Declare an optional.")
        }
    }

    // MARK: Initialisers and attributes

    /// Removes the initialisers that RealmSwift once required, if they do nothing else.
    private mutating func convert(_ initializer: InitializerDeclSyntax, item: MemberBlockItemSyntax) {
        let labels = initializer.signature.parameterClause.parameters.map { $0.firstName.text }
        guard [["realm", "schema"], ["value", "schema"]].contains(labels) else { return }
        let statements = initializer.body?.statements.map { $0.trimmedDescription } ?? []
        guard statements.count == 1, statements[0].hasPrefix("super.init(") else {
            return file.report(
                initializer, "init(\(labels[0]):\(labels[1]):) is called no more. Move what it does to init().")
        }
        remove(item)
    }

    private mutating func convertAttributes() {
        for attribute in node.attributes {
            switch attribute.name {
            case "objcMembers": file.edits.remove(attribute.rangeWithSpaceBehind)
            case "objc":
                file.edits.remove(attribute.rangeWithSpaceBehind)
                guard let name = attribute.argument, name != node.name.text else { continue }
                let indentation = node.indentation
                file.edits.insert(
                    "\n\(indentation)    override class func _realmObjectName() -> String? { \"\(name)\" }",
                    at: node.memberBlock.leftBrace.endPositionBeforeTrailingTrivia.utf8Offset)
            default: break
            }
        }
    }

    /// Removes a member with the space and the comments before it.
    private mutating func remove(_ item: MemberBlockItemSyntax) {
        file.edits.remove(item.position.utf8Offset..<item.endPositionBeforeTrailingTrivia.utf8Offset)
    }
}
