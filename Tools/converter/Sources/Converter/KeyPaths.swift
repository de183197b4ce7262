import SwiftSyntax

/// What `#keyPath`s lead through.
struct KeyPaths {
    let types: TypeTable

    /// The names of the properties; nil for another macro, and if a name may be a type or a property.
    func names(of node: MacroExpansionExprSyntax) -> [String]? {
        guard node.macroName.text == "keyPath", node.arguments.count == 1,
            let path = node.arguments.first?.expression.path, let first = path.first
        else { return nil }
        if ["self", "Self", "super"].contains(first) { return path.count > 1 ? Array(path.dropFirst()) : nil }
        return typeCount(in: path, types.scope(of: node)).map { Array(path.dropFirst($0)) }
    }

    /// How many of the names lead to the type with which a path begins. Its last name is a property's.
    private func typeCount(in path: [String], _ scope: Scope) -> Int? {
        let mayBeTypes = path.dropLast().map { types.isDeclared($0) || $0.beginsUppercase }
        guard let first = mayBeTypes.firstIndex(of: true) else { return 0 }
        // The program's module may stand before the type. Otherwise a property is named like a type.
        guard first == 0 || first == 1 && !types.isProperty(path[0]) else { return nil }
        if first == 0, !path[0].beginsUppercase, scope.owners.contains(where: { $0.properties.contains(path[0]) }) {
            return nil
        }
        var count = first + 1
        while count < mayBeTypes.count, mayBeTypes[count] {
            // What the type before declares decides, if it is among the files.
            guard case .declared(let before) = types.meaning(of: Array(path.prefix(count)), in: scope) else {
                if types.isProperty(path[count]) { return nil }
                count += 1
                continue
            }
            let isType = before.contains { $0.inner.types[path[count]] != nil }
            let isProperty = before.contains { $0.properties.contains(path[count]) }
            guard isType != isProperty else { return nil }
            if isProperty { break }
            count += 1
        }
        return count
    }
}

extension String {
    fileprivate var beginsUppercase: Bool { first?.isUppercase ?? false }
}
