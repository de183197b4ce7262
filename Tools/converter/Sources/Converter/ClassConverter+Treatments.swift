import SwiftSyntax

// What becomes of the properties.
extension ClassConverter {
    /// What becomes of the properties of a declaration. Reports what stays as it is.
    func treatments(of property: VariableDeclSyntax) -> [Treatment] {
        let stays = [Treatment](repeating: .asIs, count: property.bindings.count)
        guard !property.attributes.contains(name: "Persisted") else { return stays }
        let joined = property.joinedNames
        guard property.isStoredInInstances else {
            reportComputed(property)
            return stays
        }
        let ignored = model.ignored
        func isIgnored(_ binding: PatternBindingSyntax) -> Bool { binding.name.map(ignored.contains) ?? false }
        if model.isModern {
            for binding in property.bindings
            where property.isForObjC || !isIgnored(binding) && isCollection(binding, property) {
                let otherwise = property.isForObjC ? "remove @objc and dynamic" : "name it in ignoredProperties()"
                file.report(
                    binding,
                    "\(binding.name ?? joined) is not stored, because the class has @Persisted properties. Declare it with @Persisted to store it, or else \(otherwise)."
                )
            }
            return stays
        }
        if let name = property.attributes.first(where: { $0.name == "objc" })?.argument, name != joined,
            !property.bindings.allSatisfy(isIgnored)
        {
            file.report(
                property,
                "\(joined) has another name for Objective-C, \(name), and is not stored under either. Declare it with @Persisted to store it, or remove @objc and dynamic."
            )
            return stays
        }
        let candidates = property.bindings.map { isIgnored($0) ? nil : treatment(of: $0, in: property) }
        guard candidates.contains(where: { $0?.isStored ?? false }) else {
            return candidates.map { $0 ?? .plain }
        }
        guard property.bindings.allSatisfy({ $0.name != nil }) else {
            file.report(property, "\(joined) is declared as a tuple. Declare each property by itself.")
            return stays
        }
        guard !property.modifiers.contains(where: { ["weak", "unowned"].contains($0.name.text) }) else {
            file.report(property, "\(joined) is weak or unowned, which no stored property is. Remove the word.")
            return stays
        }
        guard property.bindings.count == 1 || !Head(of: property, in: file.file).hasCondition else {
            file.report(property, "\(joined) are declared together, with attributes in #if. Declare each by itself.")
            return stays
        }
        return candidates.map { $0 ?? .plain }
    }

    private func reportComputed(_ property: VariableDeclSyntax) {
        let joined = property.joinedNames
        if property.isForObjC {
            return file.report(
                property, "\(joined) is computed, lazy or of the class. Remove @objc and dynamic.")
        }
        guard property.modifiers.contains(name: "lazy"), !property.names.allSatisfy(model.ignored.contains),
            property.bindings.contains(where: { isCollection($0, property) })
        else { return }
        file.report(property, "\(joined) is a lazy collection. Declare it as @Persisted var, without a value.")
    }

    private func isCollection(_ binding: PatternBindingSyntax, _ property: VariableDeclSyntax) -> Bool {
        if case .none = Collection.read(binding, type: property.type(of: binding), in: names) { return false }
        return true
    }

    /// What becomes of a property that the class stores or may store.
    private func treatment(of binding: PatternBindingSyntax, in property: VariableDeclSyntax) -> Treatment {
        switch Collection.read(binding, type: property.type(of: binding), in: names) {
        case .collection(let collection): return .collection(collection)
        case .refused(let text):
            file.report(binding, "\(binding.name ?? "the property") \(text)")
            return .asIs
        case .none: break
        }
        guard property.bindingSpecifier.tokenKind == .keyword(.var) else { return .asIs }
        if property.attributes.contains(name: "objc") { return .persisted }
        let isDynamic = property.modifiers.contains(name: "dynamic")
        guard model.hasObjCMembers else { return isDynamic ? .persisted : .asIs }
        return treatmentByClass(binding, property, isDynamic: isDynamic)
    }

    /// What becomes of a property that only the class's `@objcMembers` can make one for Objective-C.
    private func treatmentByClass(
        _ binding: PatternBindingSyntax, _ property: VariableDeclSyntax, isDynamic: Bool
    ) -> Treatment {
        let name = binding.name ?? binding.pattern.trimmedDescription
        guard !property.attributes.contains(name: "nonobjc") else { return .asIs }
        // Without the class's attribute, the word alone would look like Swift 3's way to have a property stored.
        let unstored: Treatment = isDynamic ? .plain : .asIs
        let isPrivate = ["private", "fileprivate"].contains(where: property.modifiers.contains(name:))
        if isPrivate || model.isPrivate {
            // Most private properties are not meant to be stored.
            if isDynamic || !isPrivate {
                file.report(
                    binding,
                    "\(name) is not stored, because @objcMembers does not reach what is private. Declare it with @Persisted to store it."
                )
            }
            return unstored
        }
        if let wrapper = property.attributes.first(where: { $0.name?.first?.isUppercase ?? false })?.name {
            file.report(
                binding,
                "\(name) stays as it is, because it has the wrapper @\(wrapper). A stored one has @Persisted alone.")
            return .asIs
        }
        guard let type = valueType(binding, property) else {
            if isDynamic || binding.name == nil { return .persisted }
            file.report(
                binding,
                "\(name) stays as it is, because its type can't be read here. If it is stored, declare it with @Persisted and its type."
            )
            return .asIs
        }
        switch type.isStoredByItself(program) {
        case true?: return .persisted
        case nil where isDynamic: return .persisted
        case nil:
            file.report(
                binding,
                "\(name) stays as it is, because \(type.text) is not among the files. If it is stored, declare it with @Persisted."
            )
        case false?:
            file.report(
                binding,
                "\(name) is not stored, because @objcMembers does not reach \(type.text)\(type.isOptional ? "?" : ""). Declare it with @Persisted to store it, if its type allows that."
            )
        }
        return unstored
    }

    /// The type of a property's value.
    func valueType(_ binding: PatternBindingSyntax, _ property: VariableDeclSyntax) -> ValueType? {
        let type = property.type(of: binding).map { ValueType($0, in: scope) }
        return (type ?? binding.initializer.flatMap { ValueType(of: $0.value, in: scope, types) })?.unaliased(types)
    }
}
