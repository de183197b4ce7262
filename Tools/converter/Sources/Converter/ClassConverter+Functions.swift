import SwiftSyntax

// The functions of a class that name properties.
extension ClassConverter {
    func convert(_ function: NamingFunction) {
        if let reason = reasonToKeep(function) {
            file.report(function.node, "\(function.node.name.text)() \(reason)")
            return reportMissing(function)
        }
        let names = function.names ?? []
        switch function.kind {
        // The functions of a class with @Persisted stay as they were.
        case .primaryKey:
            guard names.allSatisfy(isConverted), hasChanges else { return reportUnstored(function) }
            key = names.first
        case .indexedProperties:
            guard names.allSatisfy(isConverted), hasChanges else { return reportUnstored(function) }
            indexed = Set(names)
        case .ignoredProperties: return convertIgnored(function)
        }
        remove(function)
    }

    private func remove(_ function: NamingFunction) {
        remove(function.item)
        model.removed.insert(function.kind)
    }

    /// Why a function stays, and what to do; nil if it goes.
    private func reasonToKeep(_ function: NamingFunction) -> String? {
        let attribute = function.kind == .primaryKey ? "@Persisted(primaryKey: true)" : "@Persisted(indexed: true)"
        let isIgnoring = function.kind == .ignoredProperties
        if model.functions(function.kind).count > 1 {
            return "stands more than once, as with #if. Write its names at the properties."
        }
        if function.isConditional {
            return isIgnoring
                ? "stands within #if, so it stays: its properties get @Persisted, and it says where they are not stored. Look whether that is meant."
                : "stands within #if, so it stays: it holds under the condition alone. If it holds always, write \(attribute) at the properties instead."
        }
        guard let names = function.names else {
            return isIgnoring
                ? "computes its names, so it stays, and its properties get @Persisted. Remove @Persisted from those that are not stored, and keep the names of collections here."
                : "computes its names. Write them at the properties, as in \(attribute)."
        }
        if function.kind == .primaryKey {
            if let other = (model.ancestors + model.descendants).first(where: \.hasKey) {
                return
                    "stays, because \(other.type.name) names its key, too, and a class has one @Persisted(primaryKey: true) at most. Look whether both are meant."
            }
            guard names.count <= 1 else { return "returns more than one name. Return one." }
        }
        guard !isIgnoring, let name = names.first(where: { model.assignedEarly[$0] != nil }),
            let assignment = model.assignedEarly[name], isConverted(name)
        else { return nil }
        return
            "stays, because an initialiser assigns \(name) before super.init() in line \(file.file.line(of: assignment)), which a property with \(attribute) does not allow. Assign it behind super.init() to write the attribute instead."
    }

    /// Reports names of a function that stays, if they are of no stored property.
    private func reportUnstored(_ function: NamingFunction) {
        let stored = model.ancestors.flatMap(\.properties).filter(\.isStoredInInstances).flatMap(\.names)
        let own = model.properties.filter { $0.attributes.contains(name: "Persisted") }.flatMap(\.names)
        for name in function.names ?? [] where !isConverted(name) && !own.contains(name) && !stored.contains(name) {
            file.report(
                function.node,
                "\(function.node.name.text)() names \(name), which is no stored property. Opening refuses that.")
        }
    }

    // MARK: Properties that are not stored

    /// Only collections and boxes must be named in `ignoredProperties()` today, those of base classes included.
    private func convertIgnored(_ function: NamingFunction) {
        let kept = namesKept(by: model)
        // RealmSwift takes the names for properties of the class itself: those of base classes are stored.
        let inheritedNames = Set(model.ancestors.filter { !$0.isModern }.flatMap(\.properties).flatMap(\.names))
        let gone = function.elements.filter { _, name in
            !kept.contains(name) && (hasChanges || inheritedNames.contains(name))
        }
        // The base class's function is inherited then.
        if hasChanges || !gone.isEmpty, gone.count == function.elements.count { return remove(function) }
        let named = Set(function.names ?? [])
        let inherited = Set(model.ancestors.flatMap { namesKept(by: $0) })
        let missing = function.callsSuper ? [] : inherited.subtracting(named).sorted()
        edit(function, gone: gone.map(\.node), missing: missing)
        if !gone.isEmpty { model.removed.insert(function.kind) }
        reportMissing(function)
    }

    /// Reports a function that can't be changed to name what those of the base classes name.
    private func reportMissing(_ function: NamingFunction) {
        guard function.kind == .ignoredProperties, !"\(function.node)".contains("super.") else { return }
        let isFixed = function.names == nil || function.isConditional || function.elements.isEmpty
        let base = model.ancestors.first { base in
            let isUnread = !base.functions(.ignoredProperties).isEmpty && base.readable(.ignoredProperties) == nil
            return isUnread || isFixed && !namesKept(by: base).isEmpty
        }
        guard let base else { return }
        file.report(
            function.node,
            "\(function.node.name.text)() must name what that of \(base.type.name) names, too. Add super.ignoredProperties()."
        )
    }

    /// The names that must stay in a class's function.
    private func namesKept(by model: Model) -> Set<String> {
        let names = model.ignored
        let stored = model.properties.filter(\.isStoredInInstances)
        return names.filter { name in
            stored.contains { property in
                property.bindings.contains { binding in
                    guard binding.name == name else { return false }
                    if property.attributes.contains(name: "Persisted") { return true }
                    let reading = Collection.read(
                        binding, type: property.type(of: binding), in: Names(types: types, scope: model.type.inner))
                    if case .none = reading { return false }
                    return true
                }
            }
        }
    }

    /// Takes names out of the arrays that a function returns, and adds others to the last one.
    private func edit(_ function: NamingFunction, gone: [ArrayElementSyntax], missing: [String]) {
        let goneIDs = Set(gone.map(\.id))
        let arrays = function.arrays
        for (number, array) in arrays.enumerated() {
            let added = number == arrays.count - 1 ? missing : []
            guard !added.isEmpty || array.elements.contains(where: { goneIDs.contains($0.id) }) else { continue }
            let range = array.leftSquare.range.upperBound..<array.rightSquare.range.lowerBound
            file.edits.replace(range, with: list(array, without: goneIDs, adding: added))
        }
    }

    /// What stands between the brackets of an array without some of its elements, and with names behind the last one.
    private func list(
        _ array: ArrayExprSyntax, without gone: Set<SyntaxIdentifier>, adding missing: [String]
    ) -> String {
        let source = file.file
        let last = array.elements.last { !gone.contains($0.id) }
        let hasLastComma = array.elements.last?.trailingComma != nil
        var text = ""
        var end = array.leftSquare.range.upperBound
        // What stands behind the element that stays, without its comma; or in place of one that goes.
        var (behindKept, behindGone): (String, Gap?) = ("", nil)
        for element in array.elements {
            let expression = element.expression
            let before = Gap(source[end..<expression.range.lowerBound])
            end = element.range.upperBound
            let behind = source[expression.range.upperBound..<(element.trailingComma?.range.lowerBound ?? end)]
            let gap =
                behindGone.map { before.hasComment ? $0.merged(with: before) : $0 } ?? Gap(behindKept + before.text)
            guard !gone.contains(element.id) else {
                behindGone = Gap(behind).hasComment ? gap.merged(with: Gap(behind)) : gap
                continue
            }
            // The #keyPath of another change is within this one.
            let name = expression.is(MacroExpansionExprSyntax.self) ? name(of: element) : nil
            text += gap.text + (name.map { "\"\($0)\"" } ?? source[expression.range])
            if element.id == last?.id { text += missing.map { ", \"\($0)\"" }.joined() }
            let hasComma = element.id == last?.id ? hasLastComma : true
            text += hasComma ? behind + "," : ""
            (behindKept, behindGone) = (hasComma ? "" : behind, nil)
        }
        let rest = Gap(source[end..<array.rightSquare.range.lowerBound])
        text += (behindGone ?? Gap(behindKept)).withoutTrailingSpace.text
        if Gap(text).endsWithLineComment, !rest.startsWithLineEnd {
            text += source.lineEnd + source.indentation(at: array.range.lowerBound)
        }
        return text + rest.text
    }

    private func name(of element: ArrayElementSyntax) -> String? {
        element.expression.as(MacroExpansionExprSyntax.self)
            .flatMap { program.keyPaths.names(of: $0)?.joined(separator: ".") }
    }
}
