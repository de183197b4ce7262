import FirnCore
import FirnQuery
import FirnStorage
import Foundation

/// Evaluates a condition on one value: an object, managed or not, or a dictionary. A query tests rows of a store by the
/// compiled form of a condition; this class walks the condition's tree and reads values by name.
///
/// Values are compared by the rules of queries (`ValueComparison`). Objects are equal if they are the same row.
final class PredicateEvaluation {
    /// The objects met so far. An object is compared by its index here, as a link with this number.
    private var objects: [ObjectBase] = []
    private var variables: [String: Any] = [:]
    /// The objects in the constants of a `where { }` condition, which contains them as links to rows.
    private var given: [ObjectBase] = []

    /// Whether a condition holds. Throws `QueryError` or `ValueFault` if it names a property that the value does not
    /// have.
    static func holds(_ predicate: RealmPredicate, for value: Any) throws -> Bool {
        let evaluation = PredicateEvaluation()
        return try evaluation.holds(evaluation.read(predicate) { names(of: value) }, for: value)
    }

    /// The index of the first element for which a condition holds; nil if there is none. The text is parsed once. Stops
    /// the program if the text is wrong, or names a property that an element does not have.
    static func firstIndex<C: RealmCollection>(
        in elements: C, matching predicate: RealmPredicate, _ subject: (C.Element) -> Any
    ) -> Int? {
        let evaluation = PredicateEvaluation()
        do {
            let condition = try evaluation.read(predicate) { elements.first.map { names(of: subject($0)) } ?? [] }
            let arguments = evaluation.objects
            return try elements.enumerated().first { _, element in
                // The objects met in one element are not needed for the next.
                evaluation.objects = arguments
                return try evaluation.holds(condition, for: subject(element))
            }?.offset
        } catch {
            stopProgram("index(matching: \"\(predicate.predicateFormat)\"): \(error)")
        }
    }

    /// Parses a text with its arguments. Throws if a query would refuse it without knowing the class.
    private func read(
        _ predicate: RealmPredicate, names: () -> [String]
    ) throws(QueryError) -> FirnQuery.Predicate {
        let arguments = try predicate.arguments.map { any throws(QueryError) in
            try QueryArgument(any, linking: { link(to: $0) })
        }
        do throws(QueryError) {
            let condition = try FirnQuery.Predicate(parsing: predicate.predicateFormat, arguments)
            try condition.checkConstants()
            return condition
        } catch {
            throw error.hinting(names)
        }
    }

    /// The names of a value's properties that a condition may use.
    private static func names(of value: Any) -> [String] {
        if let dictionary = value as? [String: Any] { return Array(dictionary.keys) }
        return (value as? any _QueriedObject)?._root.classInfo.properties.flatMap { [$0.name, $0.columnName] } ?? []
    }

    /// Whether a condition of `where { }` holds for an object.
    static func holds(_ expression: QueryExpression, for object: Any) -> Bool {
        let evaluation = PredicateEvaluation()
        evaluation.given = expression.objects.filter(\.isManaged)
        do { return try evaluation.holds(expression.condition, for: object) } catch {
            stopProgram("index(matching:): \(error)")
        }
    }

    /// The form in which a constant is compared here: an object by its index in `objects`.
    private func constant(_ value: Value) -> Value {
        guard case .typedLink(let table, let key) = value else { return value }
        let object = given.first { $0._row.key == key && TableBinding.of($0._row).table == table }
        return object.map { link(to: $0) } ?? .linkToNothing
    }

    private func link(to object: ObjectBase) -> Value {
        let known = objects.firstIndex { $0.isSameObject(as: object) }
        if known == nil { objects.append(object) }
        return .link(Int64(known ?? objects.count - 1))
    }

    private func holds(_ predicate: FirnQuery.Predicate, for subject: Any) throws -> Bool {
        switch predicate {
        case .constant(let value): value
        case .all(let parts): try parts.allSatisfy { try holds($0, for: subject) }
        case .any(let parts): try parts.contains { try holds($0, for: subject) }
        case .not(let part): try !holds(part, for: subject)
        case .comparison(let comparison): try holds(comparison, for: subject)
        }
    }

    private func holds(_ comparison: Comparison, for subject: Any) throws -> Bool {
        var operation = comparison.operation
        let left = try side(comparison.left, subject)
        let right = try side(comparison.right, subject)
        if operation == .between, !right.isConstant || right.values.count != 2 {
            throw ValueFault("BETWEEN takes two constants")
        }
        if operation == .contains, comparison.quantifier == nil, left.isCollection { operation = .equal }
        func holds(_ value: Value) -> Bool {
            // A constant is converted to the type of the value with which it is compared.
            let others = right.values.map { value.columnType.map($0.converted) ?? $0 }
            let test = { ConstantTest.of(operation, $0, options: comparison.options).holds(value) }
            if operation == .in || operation == .between { return test(others) }
            return others.contains { other in
                if right.isConstant { return test([other]) }
                guard left.isConstant else {
                    return ValueComparison.holds(operation, a: value, b: other, options: comparison.options)
                }
                let constant = other.columnType.map(value.converted) ?? value
                // Nil as a constant is below every value, on either side.
                if constant == .null, let opposite = operation.turned {
                    return ConstantTest.of(opposite, [.null], options: comparison.options).holds(other)
                }
                return ValueComparison.holds(operation, a: constant, b: other, options: comparison.options)
            }
        }
        switch comparison.quantifier {
        case nil, .any: return left.values.contains(where: holds)
        case .all: return left.values.allSatisfy(holds)
        case .some(.none): return !left.values.contains(where: holds)
        }
    }

    // MARK: Operands

    private struct Side {
        var values: [Value]
        var isConstant = false
        var isCollection = false
    }

    private func side(_ operand: Operand, _ subject: Any) throws -> Side {
        switch operand {
        case .value(let value): return Side(values: [constant(value)], isConstant: true)
        case .values(let values): return Side(values: values.map(constant), isConstant: true)
        case .region: throw ValueFault("a shape is compared with points that are stored only")
        case .path(let path):
            let (found, isCollection) = try elements(path, subject)
            guard let aggregate = path.aggregate else {
                return Side(values: try found.map(value), isCollection: isCollection)
            }
            if aggregate == .count { return Side(values: [.int(Int64(found.count))]) }
            let inner = try found.flatMap { try follow(path.elementPath, from: [$0]).items }.compactMap {
                unwrapped($0)
            }
            return Side(values: [try KeyPathValue.aggregate(aggregate, inner) ?? .null])
        case .subquery(let path, let variable, let predicate):
            let outer = variables[variable]
            defer { variables[variable] = outer }
            let count = try elements(path, subject).items.count { element in
                guard let element else { return false }
                variables[variable] = element
                return try holds(predicate, for: element)
            }
            return Side(values: [.int(Int64(count))])
        }
    }

    private func value(_ any: Any?) throws -> Value {
        guard let value = unwrapped(any) else { return .null }
        guard let found = try QueryArgument.single(value, { link(to: $0) }) else {
            throw ValueFault("a value of the type \(type(of: value)) can't be compared")
        }
        return found
    }

    // MARK: Paths

    /// The values that a path leads to, and whether they are the elements of a collection.
    private func elements(_ path: PropertyPath, _ subject: Any) throws -> (items: [Any?], isCollection: Bool) {
        guard let variable = path.variable else { return try follow(path.components, from: [subject]) }
        guard let start = variables[variable] else { throw ValueFault("\(variable) is not the variable of a SUBQUERY") }
        return try follow(path.components, from: [start])
    }

    private func follow(
        _ components: [PropertyPath.Component], from start: [Any?]
    ) throws -> (items: [Any?], isCollection: Bool) {
        var items = start
        var isCollection = false
        for (index, component) in components.enumerated() {
            items = try items.flatMap { item -> [Any?] in
                guard let item = unwrapped(item) else { return [nil] }
                if leadsNowhere(item, rest: components[index...]) { return [] }
                if let named = try self.item(component, of: item) { return [named] }
                func fault(_ value: Any) -> ValueFault {
                    ValueFault("a value of the type \(type(of: value)) has no properties")
                }
                guard let elements = elements(of: item) else { throw fault(item) }
                isCollection = true
                if component == .each { return elements }
                return try elements.map { element in
                    guard let element = unwrapped(element) else { return nil }
                    guard let named = try self.item(component, of: element) else { throw fault(element) }
                    return named
                }
            }
        }
        let expanded = items.map { item in
            unwrapped(item).flatMap { isNamed($0) ? nil : elements(of: $0) }
        }
        guard expanded.contains(where: { $0 != nil }) else { return (items, isCollection) }
        return (zip(items, expanded).flatMap { $1 ?? [$0] }, true)
    }

    /// Whether a path from an object passes a nil link and then a collection. Such a path has no values; other paths
    /// through a nil link have the single value nil.
    private func leadsNowhere(_ value: Any, rest: ArraySlice<PropertyPath.Component>) -> Bool {
        guard case .name(let name)? = rest.first, let object = (value as? any _QueriedObject)?._root,
            let property = object.property(named: name), property.isLink, property.shape.collection == .none,
            object.anyValue(property) == nil
        else { return false }
        var target = property.shape.target.map { ClassInfo.of($0) }
        for case .name(let name) in rest.dropFirst() {
            guard let next = target?.property(named: name) else { return false }
            if next.isCollection || next.isLinkingObjects { return true }
            target = next.shape.target.map { ClassInfo.of($0) }
        }
        return false
    }

    private func elements(of value: Any) -> [Any?]? {
        (value as? any UntypedMap)?.typedEntries.map(\.value) ?? KeyPathValue.elements(of: value)
    }

    /// Whether a value has properties by name. A dictionary has, so it is not treated as a sequence of its entries.
    private func isNamed(_ value: Any) -> Bool { value is any _QueriedObject || value is [String: Any] }

    /// A property of an object or dictionary, or an element of a map or list. Nil if the value is a collection whose
    /// elements may have the property.
    private func item(_ component: PropertyPath.Component, of value: Any) throws -> Any?? {
        switch component {
        case .name(let name):
            if let dictionary = value as? [String: Any] { return .some(dictionary[name]) }
            if value is any UntypedMap { return nil }
            guard let object = (value as? any _QueriedObject)?._root else { return nil }
            guard let property = object.property(named: name) else {
                throw ValueFault(object.classInfo.missingPropertyText(name, written: PropertyPath.escaped))
            }
            let found = object.anyValue(property)
            guard property.shape.collection == .none, let number = found as? NSNumber else { return .some(found) }
            switch property.shape.type {
            case .float: return .some(number.floatValue)
            case .bool: return .some(number.boolValue)
            default: return .some(number)
            }
        case .keyword(let word):
            guard let map = value as? any UntypedMap else {
                guard isNamed(value) else { return nil }
                throw ValueFault("\(word) is no property; a property of that name is written \\\(word)")
            }
            switch word.lowercased() {
            case "@keys", "@allkeys": return .some(map.typedEntries.map(\.key))
            case "@values", "@allvalues": return .some(map.typedEntries.map(\.value))
            default: return nil
            }
        case .key(let key):
            if let dictionary = value as? [String: Any] { return .some(dictionary[key]) }
            guard let map = value as? any UntypedMap else { return .some(nil) }
            return .some(map.typedEntries.first { Value.sameBytes($0.key, key) }?.value)
        case .index(let index):
            let elements = elements(of: value) ?? []
            return .some(index < elements.count ? elements[index] : nil)
        case .each: return nil
        }
    }
}
