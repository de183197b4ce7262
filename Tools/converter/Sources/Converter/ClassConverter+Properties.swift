import SwiftSyntax

// The changes of the properties.
extension ClassConverter {
    func convert(_ property: VariableDeclSyntax, _ treatments: [Treatment]) {
        let isStored = treatments.contains(where: \.isStored)
        let isAllPlain = treatments.allSatisfy { if case .plain = $0 { true } else { false } }
        let isAllAsIs = treatments.allSatisfy { if case .asIs = $0 { true } else { false } }
        guard isStored || !isAllAsIs && property.isForObjC else { return }
        let parts = Array(zip(property.bindings, treatments))
        for (binding, treatment) in parts where treatment.isStored { reportType(binding, property) }
        guard let (first, treatment) = parts.first else { return }
        let head = head(of: property, first, treatment: treatment)
        file.edits.replace(head.range, with: head.text)
        if !isAllPlain { split(parts, property) }
    }

    /// Writes each property of a declaration by itself, and each collection as it is declared today.
    private func split(_ parts: [(PatternBindingSyntax, Treatment)], _ property: VariableDeclSyntax) {
        for (number, (binding, treatment)) in parts.enumerated() {
            if number > 0 {
                let head = head(of: property, binding, treatment: treatment)
                separate(parts[number - 1].0, binding, head: head.plainText)
            }
            if case .collection(let collection) = treatment {
                declare(binding, type: collection.type, of: property)
            } else if binding.typeAnnotation == nil, let type = property.type(of: binding) {
                file.edits.insert(": \(type.trimmed)", at: binding.pattern.range.upperBound)
            }
        }
    }

    /// How the declaration of a property begins.
    private func head(
        of property: VariableDeclSyntax, _ binding: PatternBindingSyntax, treatment: Treatment
    ) -> Head {
        var head = Head(of: property, in: file.file)
        switch treatment {
        case .persisted: head.persist(attribute(binding, origin: nil))
        case .collection(let collection): head.persist(attribute(binding, origin: collection.origin))
        case .plain: head.dropObjC()
        case .asIs: break
        }
        return head
    }

    /// `@Persisted`, with what the class's functions say of the property.
    private func attribute(_ binding: PatternBindingSyntax, origin: String?) -> String {
        if let origin { return "@Persisted(originProperty: \"\(origin)\")" }
        guard let name = binding.name else { return "@Persisted" }
        if name == key { return "@Persisted(primaryKey: true)" }
        return indexed.contains(name) ? "@Persisted(indexed: true)" : "@Persisted"
    }

    /// Puts a line end, or in one line a semicolon, instead of the comma between two properties.
    private func separate(_ before: PatternBindingSyntax, _ next: PatternBindingSyntax, head: String) {
        guard let comma = before.trailingComma, let property = next.parent?.parent else { return }
        let source = file.file
        let end = [before.pattern.range, before.typeAnnotation?.range, before.initializer?.range]
            .compactMap { $0?.upperBound }.reduce(before.accessorBlock?.range.upperBound ?? 0, max)
        let behind = source[comma.range.upperBound..<next.range.lowerBound]
        let gap = Gap(source[end..<comma.range.lowerBound] + behind)
        let separator = source.lineEnd + source.indentation(at: property.range.lowerBound)
        var text = gap.withoutTrailingSpace.text
        if !gap.hasLineEnd {
            let isInOneLine = !source.startsLine(property.range.lowerBound)
            let comments = Gap(behind).withoutLeadingSpace.withoutTrailingSpace.text
            text = Gap(source[end..<comma.range.lowerBound]).withoutTrailingSpace.text
            text += (isInOneLine ? "; " : separator) + (comments.isEmpty ? "" : comments + " ")
        } else if gap.lastLine.hasComment {
            // The comments stay in their lines.
            text = gap.text
        } else {
            text += separator
        }
        file.edits.replace(end..<next.range.lowerBound, with: text + head + " ")
    }

    // MARK: Collections

    /// Declares a collection instead of making it.
    private func declare(_ binding: PatternBindingSyntax, type: String?, of property: VariableDeclSyntax) {
        if let old = binding.typeAnnotation?.type {
            if let type { file.edits.replace(old.range, with: type) }
        } else if let type = type ?? property.type(of: binding)?.trimmedDescription {
            file.edits.insert(": \(type)", at: binding.pattern.range.upperBound)
        }
        guard let initializer = binding.initializer else { return }
        let source = file.file
        let range = initializer.range
        let start = (binding.typeAnnotation?.range ?? binding.pattern.range).upperBound
        // The comments before and in the value stay behind the type.
        let before = Gap(source[start..<range.lowerBound]).withoutTrailingSpace
        let comments = initializer.innerComments
        guard before.hasComment || !comments.isEmpty else { return file.edits.remove(start..<range.upperBound) }
        let separator = source.lineEnd + source.indentation(at: property.range.lowerBound)
        var text = before.text
        for comment in comments {
            text += Gap(text).endsWithLineComment ? separator : " "
            text += comment
        }
        if Gap(text).endsWithLineComment, !source.endsLine(range.upperBound) { text += separator }
        file.edits.replace(start..<range.upperBound, with: text)
    }

    // MARK: Types

    /// Reports a type that is not stored.
    private func reportType(_ binding: PatternBindingSyntax, _ property: VariableDeclSyntax) {
        let name = binding.name ?? "the property"
        let declared = property.type(of: binding)
        if let type = valueType(binding, property), let advice = type.advice(program) {
            file.report(binding, "\(name) is of the type \(type.text). \(advice)")
        }
        if let element = elementType(binding, declared), let advice = element.advice(program) {
            file.report(binding, "\(name) has elements of the type \(element.text). \(advice)")
        }
        if declared?.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) ?? false {
            file.report(binding, "\(name) is implicitly unwrapped. Declare an optional.")
        }
    }

    /// The type of what a collection or box holds.
    private func elementType(_ binding: PatternBindingSyntax, _ declared: TypeSyntax?) -> ValueType? {
        let maker = binding.initializer?.value.withoutBrackets.as(FunctionCallExprSyntax.self)?.maker
        let made = maker?.as(GenericSpecializationExprSyntax.self)?.genericArgumentClause
        guard let last = (declared == nil ? made : declared?.argumentClause)?.arguments.last,
            let type = last.argument.as(TypeSyntax.self)
        else { return nil }
        return ValueType(type, in: scope)?.unaliased(types)
    }
}
