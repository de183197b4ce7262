extension ObjectBase {
    /// The class and the values of its properties, with linked objects and collections indented, up to three levels
    /// below the outermost one.
    ///
    /// The text of an object that is gone is its class name and "[invalid object]".
    final func describe(depth: Int) -> String {
        let name = classInfo.name
        if isInvalidated { return "\(name) [invalid object]" }
        guard depth < 4 else { return "\(name) <Maximum depth exceeded>" }
        var text = "\(name) {\n"
        for property in classInfo.properties {
            text += "\t\(property.name) = \(indented(describeValue(anyValue(property), depth: depth + 1)));\n"
        }
        return text + "}"
    }
}

func describeValue(_ any: Any?, depth: Int) -> String {
    switch any {
    case nil: "nil"
    case let object as ObjectBase: object.describe(depth: depth)
    case let collection as any DescribedCollection: collection.describe(depth: depth)
    case let value?: "\(value)"
    }
}

func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n\t")
}

/// A collection whose description shows its type and its elements.
protocol DescribedCollection: Collection {
    var isInvalidated: Bool { get }
}

extension DescribedCollection {
    func describe(depth: Int) -> String {
        let name = "\(type(of: self))"
        if isInvalidated { return "\(name) [invalid collection]" }
        guard depth < 4 else { return "\(name) <Maximum depth exceeded>" }
        // Long collections are cut: descriptions are read by people.
        let shown = prefix(100).enumerated().map { index, element in
            "\t[\(index)] \(indented(describeValue(element, depth: depth + 1)))"
        }
        let rest = count > 100 ? ["\t… \(count - 100) more"] : []
        return "\(name) (\n\((shown + rest).joined(separator: ",\n"))\n)"
    }
}
