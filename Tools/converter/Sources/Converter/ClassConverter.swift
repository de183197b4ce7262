import SwiftSyntax

/// Converts one model class.
final class ClassConverter {
    /// What becomes of a property.
    enum Treatment {
        /// It gets `@Persisted`.
        case persisted
        /// It gets `@Persisted`, and its collection is declared instead of made.
        case collection(Collection)
        /// It loses what is for Objective-C, and is not stored.
        case plain
        /// It stays as it is.
        case asIs

        var isStored: Bool {
            switch self {
            case .persisted, .collection: true
            case .plain, .asIs: false
            }
        }
    }

    let model: Model
    let file: FileConverter
    var program: Program { file.program }
    var types: TypeTable { file.program.types }
    /// Where the properties stand.
    var scope: Scope { model.type.inner }
    var names: Names { Names(types: types, scope: scope) }
    /// What becomes of the properties, by declaration.
    private(set) var treatments: [SyntaxIdentifier: [Treatment]] = [:]
    /// The property that becomes the key, and the ones to be indexed.
    var key: String?
    var indexed: Set<String> = []

    init(_ model: Model, _ file: FileConverter) {
        self.model = model
        self.file = file
    }

    func convert() {
        for property in model.properties { treatments[property.id] = treatments(of: property) }
        for function in model.functions { convert(function) }
        for (item, _) in model.members {
            if let property = item.decl.as(VariableDeclSyntax.self) {
                convert(property, treatments[property.id] ?? [])
            } else if let initializer = item.decl.as(InitializerDeclSyntax.self) {
                convert(initializer, item: item)
            } else {
                file.reportObjC(item)
            }
        }
        convertAttributes()
    }

    /// Whether each property with a name, and there is one, gets `@Persisted` in this run.
    func isConverted(_ name: String) -> Bool {
        let found = model.properties.flatMap { property in
            zip(property.bindings, treatments[property.id] ?? []).filter { $0.0.name == name }.map(\.1)
        }
        return !found.isEmpty && found.allSatisfy(\.isStored)
    }

    /// Whether the class has anything of Objective-C's time that changes.
    var hasChanges: Bool {
        treatments.values.contains { $0.contains { if case .asIs = $0 { false } else { true } } }
    }

    // MARK: Members that go

    /// Removes the initialisers that RealmSwift once required, if they do nothing else.
    private func convert(_ initializer: InitializerDeclSyntax, item: MemberBlockItemSyntax) {
        let labels = initializer.signature.parameterClause.parameters.map { $0.firstName.text }
        guard [["realm", "schema"], ["value", "schema"]].contains(labels) else { return file.reportObjC(item) }
        let statements = initializer.body?.statements.map { $0.trimmedDescription } ?? []
        guard statements.count == 1, statements[0].hasPrefix("super.init(") else {
            return file.report(
                initializer, "init(\(labels[0]):\(labels[1]):) is called no more. Move what it does to init().")
        }
        remove(item)
    }

    /// Removes a member. The comments before, in and behind it stay.
    func remove(_ item: MemberBlockItemSyntax) {
        let source = file.file
        let range = item.range
        let behind = source.skipBlanks(range.upperBound)
        // What documents a member that is gone would document the next one.
        let inner = item.innerComments.map { comment in
            let isDocumentation = comment.hasPrefix("///") || comment.hasPrefix("/**") && comment.count > 4
            return isDocumentation ? String(comment.prefix(2) + comment.dropFirst(3)) : comment
        }
        let hasCommentBefore = !item.leadingTrivia.comments.isEmpty
        let hasCommentBehind = !item.trailingTrivia.comments.isEmpty
        let separator = source.lineEnd + source.indentation(at: range.lowerBound)
        if !inner.isEmpty {
            let text = inner.joined(separator: separator)
            let needsLine = hasCommentBehind || !source.endsLine(range.upperBound)
            file.edits.replace(range.lowerBound..<behind, with: needsLine ? text + separator : text)
        } else if hasCommentBehind {
            file.edits.remove(range.lowerBound..<behind)
        } else if hasCommentBefore {
            // The space behind the last comment goes, too.
            let before = Gap(source[item.position.utf8Offset..<range.lowerBound]).withoutTrailingSpace.text.utf8.count
            file.edits.remove(item.position.utf8Offset + before..<range.upperBound)
        } else {
            let end = source.endsLine(range.upperBound) ? range.upperBound : behind
            file.edits.remove(item.position.utf8Offset..<end)
        }
        for piece in Self.documentation(of: item) { file.edits.remove(piece) }
    }

    /// The third characters of the comments that document a member.
    private static func documentation(of item: MemberBlockItemSyntax) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var offset = item.position.utf8Offset
        for piece in item.leadingTrivia {
            switch piece {
            case .docLineComment, .docBlockComment: found.append(offset + 2..<offset + 3)
            case .newlines(let count) where count > 1: found = []
            case .carriageReturnLineFeeds(let count) where count > 1: found = []
            default: break
            }
            offset += piece.sourceLength.utf8Length
        }
        return found
    }

    // MARK: Attributes of the class

    private func convertAttributes() {
        let node = model.node
        let name = node.attributes.first { $0.name == "objc" }?.argument
        guard node.attributes.contains(where: { ["objc", "objcMembers"].contains($0.name) }) else { return }
        if let name, name.hasPrefix("_Tt") {
            return file.report(
                node,
                "\(node.name.text) has a name of the compiler's. Override _realmObjectName() with the name of its table, and remove @objc."
            )
        }
        var head = Head(
            in: file.file, attributes: node.attributes, modifiers: node.modifiers, keyword: node.classKeyword)
        head.drop { ["@objc", "@objcMembers"].contains($0) }
        file.edits.replace(head.range, with: head.text)
        let hasOverride = model.members.contains {
            $0.item.decl.as(FunctionDeclSyntax.self)?.name.text == "_realmObjectName"
        }
        guard let name, name != node.name.plain, !hasOverride else { return }
        insertName(name)
    }

    /// Overrides the name of the class's table.
    private func insertName(_ name: String) {
        let node = model.node
        let access = access()
        // A subclass would share the table if it inherited the name.
        let mayHaveSubclasses = !model.derived.isEmpty || access == "open "
        let value = mayHaveSubclasses ? "self == \(node.name.text).self ? \"\(name)\" : nil" : "\"\(name)\""
        let text = "\(access)override class func _realmObjectName() -> String? { \(value) }"
        let brace = node.memberBlock.leftBrace
        let first = brace.nextToken(viewMode: .sourceAccurate) ?? brace
        if first.leadingTrivia.contains(where: \.isNewline) {
            let source = file.file
            let indentation =
                node.memberBlock.members.isEmpty
                ? source.deeper(than: source.indentation(at: node.range.lowerBound))
                : source.indentation(at: first.range.lowerBound)
            file.edits.insert(source.lineEnd + indentation + text, at: brace.endPosition.utf8Offset)
        } else {
            let isEmpty = node.memberBlock.members.isEmpty
            let end = isEmpty ? (first.range.lowerBound == brace.range.upperBound ? " " : "") : ";"
            file.edits.insert(" \(text)\(end)", at: brace.range.upperBound)
        }
    }

    /// The access that an override needs.
    private func access() -> String {
        var next: Syntax? = Syntax(model.node)
        while let node = next {
            if let modifiers = node.asProtocol((any WithModifiersSyntax).self)?.modifiers {
                for word in ["open", "public", "package"] where modifiers.contains(name: word) {
                    return word + " "
                }
                if node.is(ExtensionDeclSyntax.self) { return "" }
            }
            // A public extension makes its members public.
            next = node.parent?.parent?.parent?.parent.flatMap { $0.is(ExtensionDeclSyntax.self) ? $0 : nil }
        }
        return ""
    }
}
