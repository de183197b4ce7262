extension ObjectBase {
    /// The class and the values of its properties, with linked objects and collections indented, up to three levels
    /// below the outermost one.
    ///
    /// The text of an object that is gone is its class name and "[invalid object]".
    final func describe(depth: Int) -> String {
        if let heldValue { return describeValue(heldValue.any, depth: depth) }
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
    // An embedded object in a value of the application's type continues the count of levels. The value's own text would
    // count from 0.
    let value = storedObject(any)
    if let object = instance(value, of: ObjectBase.self) { return object.describe(depth: depth) }
    return switch value {
    case nil: "nil"
    case let collection as any DescribedValue: collection.describe(depth: depth)
    case let mixed as AnyRealmValue: describeValue(AnyRealmValue._any(mixed), depth: depth)
    case let value?: "\(value)"
    }
}

func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n\t")
}

/// A collection whose description shows its type and its elements.
protocol DescribedValue {
    var isInvalidated: Bool { get }
    func describe(depth: Int) -> String
}

extension DescribedValue {
    /// The type and the first elements. `lines` returns at most 100 of them, because people read descriptions.
    func describe(depth: Int, _ count: @autoclosure () -> Int, _ lines: () -> [String]) -> String {
        let name = "\(type(of: self))"
        if isInvalidated { return "\(name) [invalid collection]" }
        guard depth < 4 else { return "\(name) <Maximum depth exceeded>" }
        let shown = lines()
        let rest = count() > shown.count ? ["\t… \(count() - shown.count) more"] : []
        return "\(name) (\n\((shown + rest).joined(separator: ",\n"))\n)"
    }
}

/// A collection whose elements are described with their indices.
protocol DescribedCollection: DescribedValue, Collection {}

extension DescribedCollection {
    func describe(depth: Int) -> String {
        describe(depth: depth, count) {
            prefix(100).enumerated().map { index, element in
                "\t[\(index)] \(indented(describeValue(element, depth: depth + 1)))"
            }
        }
    }
}
