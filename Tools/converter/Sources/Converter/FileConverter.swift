import SwiftSyntax

/// Finds what changes in one file.
struct FileConverter {
    let file: ParsedFile
    private let classes: ModelClasses
    var edits = SourceEdits()
    private(set) var findings: [Finding] = []

    init(_ file: ParsedFile, _ classes: ModelClasses) {
        self.file = file
        self.classes = classes
    }

    /// The file's text with all changes.
    var result: String { String(decoding: edits.applied(to: Array(file.text.utf8)), as: UTF8.self) }

    mutating func convertKeyPaths() {
        let finder = Finder(classes)
        finder.walk(file.tree)
        for keyPath in finder.keyPaths { replace(keyPath) }
    }

    /// Converts everything but `#keyPath`.
    mutating func convertModels() {
        let finder = Finder(classes)
        finder.walk(file.tree)
        for model in finder.models {
            var converter = ClassConverter(model, self)
            converter.convert()
            self = converter.file
        }
        for selector in finder.observers {
            report(selector, "a key-value observer of Foundation. Observe the object with observe(keyPaths:_:).")
        }
    }

    mutating func report(_ syntax: some SyntaxProtocol, _ text: String) {
        findings.append(Finding(file: file.name, line: file.line(of: syntax), text: text))
    }

    /// `#keyPath(Dog.owner.name)` becomes `"owner.name"`.
    private mutating func replace(_ node: MacroExpansionExprSyntax) {
        guard let names = Self.names(of: node) else {
            return report(node, "#keyPath, which Linux does not have. Write the property's name as a text.")
        }
        edits.replace(node.range, with: "\"\(names.joined(separator: "."))\"")
    }

    /// The names of the properties that a `#keyPath` leads through; nil for another macro.
    static func names(of node: MacroExpansionExprSyntax) -> [String]? {
        guard node.macroName.text == "keyPath", node.arguments.count == 1,
            var expression = node.arguments.first?.expression
        else { return nil }
        var names: [String] = []
        while let member = expression.as(MemberAccessExprSyntax.self) {
            names.append(member.declName.baseName.text)
            guard let base = member.base else { return nil }
            expression = base
        }
        guard let root = expression.as(DeclReferenceExprSyntax.self)?.baseName.text else { return nil }
        // Without a class, as in `#keyPath(name)`, the root is a property, too.
        if !(root.first?.isUppercase ?? false), root != "self" { names.append(root) }
        return names.isEmpty ? nil : names.reversed()
    }
}

extension SyntaxProtocol {
    /// The bytes of the syntax without the space around it.
    var range: Range<Int> {
        positionAfterSkippingLeadingTrivia.utf8Offset..<endPositionBeforeTrailingTrivia.utf8Offset
    }
}

/// Finds the model classes of a file, and all `#keyPath`s that stand in it.
private final class Finder: SyntaxVisitor {
    private let classes: ModelClasses
    var models: [ClassDeclSyntax] = []
    var keyPaths: [MacroExpansionExprSyntax] = []
    var observers: [FunctionCallExprSyntax] = []

    init(_ classes: ModelClasses) {
        self.classes = classes
        super.init(viewMode: .sourceAccurate)
    }

    override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
        if classes.isModel(node) { models.append(node) }
        return .visitChildren
    }

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
