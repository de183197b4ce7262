import SwiftSyntax

extension AttributeListSyntax.Element {
    /// The attribute's name, without the `@`.
    var name: String? {
        self.as(AttributeSyntax.self)?.attributeName.as(IdentifierTypeSyntax.self)?.name.text
    }

    /// What stands in the attribute's brackets.
    var argument: String? { self.as(AttributeSyntax.self)?.arguments?.trimmedDescription }
}

extension AttributeListSyntax {
    func contains(name: String) -> Bool { contains { $0.name == name } }
}

extension DeclModifierListSyntax {
    func contains(name: String) -> Bool { contains { $0.name.text == name } }
}

extension SyntaxProtocol {
    /// The bytes of the syntax and of the space behind it, up to the next word.
    var rangeWithSpaceBehind: Range<Int> {
        let next = nextToken(viewMode: .sourceAccurate)
        let own = lastToken(viewMode: .sourceAccurate)
        let end = next ?? own
        // The next word may stand on the next line.
        return range.lowerBound..<(end?.positionAfterSkippingLeadingTrivia.utf8Offset ?? range.upperBound)
    }

    /// The spaces before the line in which the syntax begins.
    var indentation: String {
        var spaces = ""
        for piece in (firstToken(viewMode: .sourceAccurate)?.leadingTrivia ?? []).reversed() {
            switch piece {
            case .spaces(let count): spaces = String(repeating: " ", count: count) + spaces
            case .tabs(let count): spaces = String(repeating: "\t", count: count) + spaces
            default: return spaces
            }
        }
        return spaces
    }
}

extension VariableDeclSyntax {
    /// The names of the properties that are declared.
    var names: [String] { bindings.compactMap(\.name) }

    /// Whether it declares stored properties of each instance.
    var isStoredInInstances: Bool {
        !modifiers.contains { ["static", "class", "lazy"].contains($0.name.text) } && bindings.allSatisfy(\.isStored)
    }

    /// The offset of the first word that stays when what is for Objective-C is removed.
    var firstWord: Int {
        // `filter` would give lists of their own, with other offsets.
        let attributes = attributes.compactMap { $0.name == "objc" ? nil : $0.range.lowerBound }
        let modifiers = modifiers.compactMap { $0.name.text == "dynamic" ? nil : $0.range.lowerBound }
        return (attributes + modifiers + [bindingSpecifier.range.lowerBound]).min() ?? range.lowerBound
    }
}

extension PatternBindingSyntax {
    var name: String? { pattern.as(IdentifierPatternSyntax.self)?.identifier.text }

    /// Whether it has no getter of its own. `willSet` and `didSet` are none.
    var isStored: Bool {
        guard let accessors = accessorBlock?.accessors else { return true }
        guard case .accessors(let list) = accessors else { return false }
        return list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
}
