import FirnBytes
import FirnCore

/// A type as the user names it, in the form that `TypeText.text` writes.
struct NamedType: Equatable {
    var type: ColumnType
    var collection: CollectionKind = .none
    var isNullable = false
    /// The class that a link leads to.
    var target: String?
}

extension TypeText {
    /// The properties in a text such as `name: type, name: type`. The error says what is wrong with the text.
    static func properties(_ text: String) throws(ToolError) -> [(name: String, type: NamedType)] {
        var properties: [(name: String, type: NamedType)] = []
        // No type has two parameters, so a comma within < > belongs to a class's name.
        var depth = 0
        for part in text.split(whereSeparator: { character in
            if character == "<" { depth += 1 }
            if character == ">" { depth -= 1 }
            return character == "," && depth == 0
        }) {
            let words = part.split(separator: ":", maxSplits: 1).map { $0.trimmed }
            guard words.count == 2, !words[0].isEmpty else {
                throw ToolError(
                    .usage, "--types: '\(DisplayText.name(part.trimmed))' should be a name and a type, as age: int?.")
            }
            guard let type = named(words[1]) else {
                throw ToolError(
                    .usage,
                    "--types: \(DisplayText.name(words[0])) has the unknown type '\(DisplayText.name(words[1]))'. Types are "
                        + names.values.sorted().joined(separator: ", ")
                        + ", link<Class>, list<type>, set<type> and map<type>; a ? behind a type allows nil.")
            }
            properties.append((words[0], type))
        }
        return properties
    }

    /// The type that a text names; nil if it names none.
    static func named(_ text: String, mayBeCollection: Bool = true) -> NamedType? {
        for (prefix, collection) in [("list<", CollectionKind.list), ("set<", .set), ("map<", .map)]
        where text.hasPrefix(prefix) && text.hasSuffix(">") {
            guard mayBeCollection,
                var element = named(String(text.dropFirst(prefix.count).dropLast()).trimmed, mayBeCollection: false)
            else { return nil }
            element.collection = collection
            return element
        }
        if text.hasPrefix("link<"), text.hasSuffix(">") {
            let target = String(text.dropFirst(5).dropLast()).trimmed
            return target.isEmpty ? nil : NamedType(type: .link, isNullable: true, target: target)
        }
        let isNullable = text.hasSuffix("?")
        let name = isNullable ? String(text.dropLast()).trimmed : text
        guard let type = names.first(where: { $0.value == name })?.key else { return nil }
        return NamedType(type: type, isNullable: isNullable || type == .mixed)
    }
}

extension StringProtocol {
    /// The text without white space at its ends.
    var trimmed: String {
        var rest = self[...]
        while rest.first?.isWhitespace ?? false { rest = rest.dropFirst() }
        while rest.last?.isWhitespace ?? false { rest = rest.dropLast() }
        return String(rest)
    }
}
