import SwiftParser
import SwiftSyntax

/// Converts the model classes of a program from the style of Objective-C's time (`@objc dynamic var`) to `@Persisted`.
///
/// It takes all files of the program together, since a class may inherit from one in another file. Only stored
/// properties of classes that inherit from `Object` or `EmbeddedObject` change, and what belongs to them. These are the
/// functions that name keys and indexes, the attributes of the class, and `#keyPath` everywhere. What it can't decide
/// stays, and is reported; so does a file with errors of syntax. A file that was converted before does not change.
public struct Conversion {
    /// The files in the order in which they were given.
    public private(set) var files: [ConvertedFile] = []
    /// What a person has to look at, by file and line.
    public private(set) var findings: [Finding] = []

    /// Converts the files of a program.
    ///
    /// - Parameter sources: their names and texts.
    public init(_ sources: [(name: String, text: String)]) {
        let parsed = sources.map { ParsedFile(name: $0.name, text: $0.text) }
        let classes = ModelClasses(parsed)
        for file in parsed {
            var first = FileConverter(file, classes)
            guard !file.tree.hasError else {
                first.report(file.tree, "the file is not correct Swift, so it stays as it is.")
                findings += first.findings
                files.append(ConvertedFile(name: file.name, before: file.text, after: file.text))
                continue
            }
            // In two passes, because a property that is rewritten may have a #keyPath in it.
            first.convertKeyPaths()
            var second = FileConverter(ParsedFile(name: file.name, text: first.result), classes)
            second.convertModels()
            findings += (first.findings + second.findings).sorted { $0.line < $1.line }
            files.append(ConvertedFile(name: file.name, before: file.text, after: second.result))
        }
    }
}

/// A file and its syntax.
struct ParsedFile {
    let name: String
    let text: String
    let tree: SourceFileSyntax
    private let lines: SourceLocationConverter

    init(name: String, text: String) {
        self.name = name
        self.text = text
        tree = Parser.parse(source: text)
        lines = SourceLocationConverter(fileName: name, tree: tree)
    }

    /// The line of a piece of syntax.
    func line(of syntax: some SyntaxProtocol) -> Int {
        lines.location(for: syntax.positionAfterSkippingLeadingTrivia).line
    }
}

/// The models among the classes of a program: they inherit from `Object` or `EmbeddedObject`, directly or through
/// other classes of the program.
struct ModelClasses {
    private var bases: [String: String] = [:]

    init(_ files: [ParsedFile]) {
        for file in files {
            let finder = ClassFinder(viewMode: .sourceAccurate)
            finder.walk(file.tree)
            for (name, base) in finder.found where bases[name] == nil { bases[name] = base }
        }
    }

    /// Whether a class is a model.
    func isModel(_ node: ClassDeclSyntax) -> Bool {
        var next = ClassFinder.base(of: node)
        var seen: Set<String> = []
        while let base = next, seen.insert(base).inserted {
            if ["Object", "EmbeddedObject", "RLMObject", "RLMEmbeddedObject"].contains(base) { return true }
            next = bases[base]
        }
        return false
    }
}

private final class ClassFinder: SyntaxVisitor {
    var found: [(name: String, base: String)] = []

    /// What a class inherits from first, without a module's name before it.
    static func base(of node: ClassDeclSyntax) -> String? {
        guard let type = node.inheritanceClause?.inheritedTypes.first?.type else { return nil }
        if let member = type.as(MemberTypeSyntax.self) { return member.name.text }
        return type.as(IdentifierTypeSyntax.self)?.name.text
    }

    override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
        if let base = Self.base(of: node) { found.append((node.name.text, base)) }
        return .visitChildren
    }
}
