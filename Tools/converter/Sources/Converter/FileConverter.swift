import SwiftSyntax

/// Finds what changes in one file.
final class FileConverter {
    let file: ParsedFile
    let program: Program
    var edits = SourceEdits()
    private(set) var findings: [Finding] = []

    init(_ file: ParsedFile, _ program: Program) {
        self.file = file
        self.program = program
    }

    /// The file's text with all changes.
    var result: String { String(decoding: edits.applied(to: Array(file.text.utf8)), as: UTF8.self) }

    func convert() {
        let finder = Finder(viewMode: .sourceAccurate)
        finder.walk(file.tree)
        for keyPath in finder.keyPaths { replace(keyPath) }
        for model in program.models(in: file) { ClassConverter(model, self).convert() }
        for undecided in program.undecided where undecided.file === file {
            report(undecided.node, undecided.text)
        }
        for type in program.types(in: file) { convertEnum(type) }
        reportExtensions()
        for selector in finder.observers {
            report(selector, "a key-value observer of Foundation. Observe the object with observe(keyPaths:_:).")
        }
    }

    func report(_ syntax: some SyntaxProtocol, _ text: String) { report(line: file.line(of: syntax), text) }

    func report(line: Int, _ text: String) { findings.append(Finding(file: file.name, line: line, text: text)) }

    /// `#keyPath(Dog.owner.name)` becomes `"owner.name"`.
    private func replace(_ node: MacroExpansionExprSyntax) {
        guard let names = program.keyPaths.names(of: node) else {
            return report(
                node,
                "#keyPath, which Linux does not have, with names that may be of types or properties. Write the names of the properties as a text."
            )
        }
        edits.replace(node.range, with: "\"\(names.joined(separator: "."))\"")
    }

    /// Reports what is for Objective-C in the extensions of models.
    private func reportExtensions() {
        for (model, scope) in program.extensions(in: file) {
            for (item, _) in scope.extensionNode?.memberBlock.members.withConditional ?? [] {
                if let function = item.decl.as(FunctionDeclSyntax.self),
                    NamingFunction.Kind(rawValue: function.name.text) != nil,
                    function.modifiers.contains(name: "override")
                {
                    report(
                        function,
                        "\(function.name.text)() stands in an extension, which can't override on Linux. Move it into the class \(model.type.name)."
                    )
                } else {
                    reportObjC(item)
                }
            }
        }
    }

    /// Reports a member that is one for Objective-C.
    func reportObjC(_ item: MemberBlockItemSyntax) {
        guard let node = item.decl.asProtocol((any WithAttributesSyntax).self), node.attributes.contains(name: "objc"),
            !item.decl.is(EnumDeclSyntax.self), !item.decl.is(ClassDeclSyntax.self)
        else { return }
        var name = item.decl.as(VariableDeclSyntax.self)?.joinedNames ?? "the member"
        if let function = item.decl.as(FunctionDeclSyntax.self) { name = "\(function.name.text)()" }
        if let initializer = item.decl.as(InitializerDeclSyntax.self) {
            let labels = initializer.signature.parameterClause.parameters.map { "\($0.firstName.text):" }
            name = "init(\(labels.joined()))"
        }
        if item.decl.is(SubscriptDeclSyntax.self) { name = "the subscript" }
        report(item, "\(name) is one for Objective-C. Remove @objc, which Linux lacks.")
    }
}

/// Finds all `#keyPath`s of a file, and observers by key path.
private final class Finder: SyntaxVisitor {
    var keyPaths: [MacroExpansionExprSyntax] = []
    var observers: [FunctionCallExprSyntax] = []

    override func visit(_ node: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind {
        if node.macroName.text == "keyPath" { keyPaths.append(node) }
        return .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        if let member = node.calledExpression.as(MemberAccessExprSyntax.self),
            member.declName.baseName.text == "addObserver",
            node.arguments.contains(where: { $0.label?.text == "forKeyPath" })
        {
            observers.append(node)
        }
        return .visitChildren
    }
}
