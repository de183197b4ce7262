import SwiftSyntax

/// The words with which a declaration begins, from its first attribute to its keyword, and the gaps between them.
struct Head {
    private struct Word {
        /// Nil once it is dropped.
        var text: String?
        /// `@objc` or `dynamic`, without what stands in brackets.
        let name: String
        /// Whether it is `#if` with attributes.
        let isCondition: Bool
        var gapBehind: Gap
    }
    private var words: [Word] = []
    /// The bytes of the words.
    let range: Range<Int>

    init(
        in file: ParsedFile, attributes: AttributeListSyntax, modifiers: DeclModifierListSyntax, keyword: TokenSyntax
    ) {
        var parts: [(range: Range<Int>, name: String, isCondition: Bool)] = attributes.map { attribute in
            (attribute.range, attribute.name.map { "@\($0)" } ?? "", attribute.is(IfConfigDeclSyntax.self))
        }
        parts += modifiers.map { ($0.range, $0.detail == nil ? $0.name.text : "", false) }
        parts.append((keyword.range, keyword.text, false))
        range = parts[0].range.lowerBound..<keyword.range.upperBound
        for (number, part) in parts.enumerated() {
            let next = number + 1 < parts.count ? parts[number + 1].range.lowerBound : part.range.upperBound
            words.append(
                Word(
                    text: file[part.range], name: part.name, isCondition: part.isCondition,
                    gapBehind: Gap(file[part.range.upperBound..<next])))
        }
    }

    init(of property: VariableDeclSyntax, in file: ParsedFile) {
        self.init(
            in: file, attributes: property.attributes, modifiers: property.modifiers,
            keyword: property.bindingSpecifier)
    }

    var hasCondition: Bool { words.contains(where: \.isCondition) }

    mutating func drop(_ isDropped: (String) -> Bool) {
        for index in words.indices where isDropped(words[index].name) { words[index].text = nil }
    }

    /// Drops what is for Objective-C.
    mutating func dropObjC() { drop { $0 == "@objc" || $0 == "dynamic" } }

    /// Makes it the beginning of a stored property: `@Persisted` stands where `@objc` stood, or first.
    mutating func persist(_ attribute: String) {
        let place =
            words.firstIndex { $0.name == "@objc" }
            ?? words.indices.first { index in words[index...].allSatisfy { !$0.isCondition } } ?? 0
        dropObjC()
        if let old = words[place].text {
            words[place].text = "\(attribute) \(old)"
        } else {
            words[place].text = attribute
            if !words[place].gapBehind.hasComment { words[place].gapBehind = Gap(" ") }
        }
        if let index = words.indices.last, let last = words[index].text, last.hasSuffix("let") {
            words[index].text = String(last.dropLast(3)) + "var"
        }
    }

    /// The words that stay, and the comments between them.
    var text: String {
        var result = ""
        var gap = Gap("")
        for word in words {
            if let text = word.text {
                result += gap.text + text
                gap = word.gapBehind
            } else if result.isEmpty {
                gap = Gap((gap.text + word.gapBehind.text)).withoutLeadingSpace
                if !gap.hasComment { gap = Gap("") }
            } else {
                gap = gap.merged(with: word.gapBehind)
            }
        }
        return result
    }

    /// The words that stay, without comments.
    var plainText: String { words.compactMap(\.text).joined(separator: " ") }
}
