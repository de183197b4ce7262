import FirnQuery
import FirnStorage

extension Query where T == Bool {
    /// The number of elements of a collection for which the whole condition holds: all its parts must hold for the same
    /// element.
    ///
    /// ```swift
    /// people.where { ($0.dogs.age > 3 && $0.dogs.name == "Rex").count > 0 }     // one dog with both
    /// ```
    ///
    /// All conditions must be about elements of one collection of objects, and about nothing else; otherwise `where`
    /// stops the program.
    public var count: Query<Int> {
        guard expression.collections.count == 1, let collection = expression.collections.first else {
            stopProgram(
                "the conditions before .count are about \(expression.collections.count) collections; they must be about the elements of one."
            )
        }
        let operand = Operand.subquery(
            path: PropertyPath(collection), variable: Predicate.variable,
            predicate: expression.condition.about(elementsOf: collection, expression.innerPaths))
        return Query<Int>(QueryExpression(kind: .matchCount(operand), objects: expression.objects))
    }
}

extension Predicate {
    fileprivate static var variable: String { "$x" }

    /// Converts the condition on the object that has the collection to a condition on one of the elements.
    ///
    /// - Parameter innerPaths: the paths that lead through another collection, so that any of its elements may fulfil
    ///   the condition.
    fileprivate func about(
        elementsOf collection: [PropertyPath.Component], _ innerPaths: Set<[PropertyPath.Component]>
    ) -> Predicate {
        switch self {
        case .constant: return self
        case .not(let part): return .not(part.about(elementsOf: collection, innerPaths))
        case .all(let parts): return .all(parts.map { $0.about(elementsOf: collection, innerPaths) })
        case .any(let parts): return .any(parts.map { $0.about(elementsOf: collection, innerPaths) })
        case .comparison(var comparison):
            // A comparison with a mapped value already is a condition on an element.
            if case .subquery(let path, Predicate.variable, let members) = comparison.left,
                path.components == collection
            {
                return members
            }
            if case .path(let path) = comparison.left, !innerPaths.contains(path.components) {
                comparison.quantifier = nil
            }
            comparison.left = comparison.left.about(elementsOf: collection, innerPaths)
            comparison.right = comparison.right.about(elementsOf: collection, innerPaths)
            return .comparison(comparison)
        }
    }
}

extension Operand {
    fileprivate func about(
        elementsOf collection: [PropertyPath.Component], _ innerPaths: Set<[PropertyPath.Component]>
    ) -> Operand {
        switch self {
        case .value, .values, .region: return self
        case .path(let path): return .path(path.about(elementsOf: collection, innerPaths))
        case .subquery(let path, let variable, let predicate):
            return .subquery(
                path: path.about(elementsOf: collection, innerPaths), variable: variable, predicate: predicate)
        }
    }
}

extension PropertyPath {
    fileprivate func about(
        elementsOf collection: [PropertyPath.Component], _ innerPaths: Set<[PropertyPath.Component]>
    ) -> PropertyPath {
        // An aggregate over a collection that the elements lead to becomes an aggregate of each element.
        if aggregate != nil, components == collection,
            let length = elementPath.indices.map({ $0 + 1 }).first(where: {
                innerPaths.contains(collection + elementPath[..<$0])
            })
        {
            return PropertyPath(
                variable: Predicate.variable, Array(elementPath[..<length]), aggregate: aggregate,
                of: Array(elementPath[length...]), position: position)
        }
        guard components.starts(with: collection) else {
            stopProgram(
                "the conditions before .count are about elements of \(PropertyPath(collection).text), and '\(text)' is not one of their properties."
            )
        }
        return PropertyPath(
            variable: Predicate.variable, Array(components.dropFirst(collection.count)), aggregate: aggregate,
            of: elementPath, position: position)
    }
}
