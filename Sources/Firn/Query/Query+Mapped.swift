import FirnCore
import FirnQuery
import FirnStorage

// Comparisons with values whose stored form is of another type: enums and types of the application.
extension QueryExpression {
    func isEqual<V: _MappedValue>(to value: V?) -> QueryExpression {
        guard let object = storedObject(value) as? EmbeddedObject else {
            return .compare(self, .equal, .value(V._optionalStoreValue(value) ?? .null))
        }
        return hasMembers(of: object)
    }

    func isUnequal<V: _MappedValue>(to value: V?) -> QueryExpression {
        guard let object = storedObject(value) as? EmbeddedObject else {
            return .compare(self, .notEqual, .value(V._optionalStoreValue(value) ?? .null))
        }
        // For a collection, it is enough that one element differs.
        return hasMembers(of: object, isNegated: true)
    }

    func isOne<V: _MappedValue>(of values: some Sequence<V?>) -> QueryExpression {
        guard V._propertyType.isMapped else {
            return .compare(self, .in, .values(values.map { V._optionalStoreValue($0) ?? .null }))
        }
        let parts = values.map { isEqual(to: $0) }
        return QueryExpression(
            kind: .condition(.any(parts.map(\.condition))), objects: parts.flatMap(\.objects),
            collections: ownCollections)
    }

    /// Whether the embedded object at the end of the path has the same members as another one. If the path leads
    /// through a collection, whether any of its elements leads to such an object.
    private func hasMembers(of object: EmbeddedObject, isNegated: Bool = false) -> QueryExpression {
        guard case .path(let path) = kind else { stopProgram("a condition can't be compared.") }
        var found = Members()
        guard let length = self.collectionLength else {
            found.add(object, at: path)
            return found.expression(isNegated ? { !$0 } : { $0 }, others: objects, collections: ownCollections)
        }
        let variable = "$x"
        let element = PropertyPath(variable: variable, Array(path.components[length...]))
        found.add(object, at: element)
        let collection = PropertyPath(Array(path.components[..<length]))
        return found.expression(
            { members in
                .compare(
                    .subquery(path: collection, variable: variable, predicate: isNegated ? !members : members),
                    .greater, .value(.int(0)))
            }, others: objects, collections: ownCollections)
    }

    /// The comparisons of the members of an embedded object.
    private struct Members {
        private var conditions: [FirnQuery.Predicate] = []
        private var objects: [ObjectBase] = []

        func expression(
            _ make: (FirnQuery.Predicate) -> FirnQuery.Predicate, others: [ObjectBase],
            collections: Set<[PropertyPath.Component]>
        ) -> QueryExpression {
            QueryExpression(
                kind: .condition(make(.all(conditions))), objects: others + objects, collections: collections)
        }

        mutating func add(_ object: EmbeddedObject, at path: PropertyPath) {
            let info = object.classInfo
            // For a class without members this is the only condition: all its objects are equal, and none equals nil.
            conditions.append(.compare(.path(path), .notEqual, .value(.null)))
            for property in info.stored {
                var member = path
                member.components.append(.name(property.name))
                guard !property.isCollection else {
                    stopProgram(
                        "\(info.name).\(property.name) is a collection, by which objects can't be compared in a query. Compare the other members by persistableValue."
                    )
                }
                let value = object.anyValue(property)
                if property.isOwner, let embedded = value as? EmbeddedObject {
                    add(embedded, at: member)
                } else {
                    add(value, of: property, at: member)
                }
            }
        }

        private mutating func add(_ any: Any?, of property: PropertyInfo, at path: PropertyPath) {
            func compare(_ value: Value, _ objects: [ObjectBase]) {
                conditions.append(.compare(.path(path), .equal, .value(value)))
                self.objects += objects
            }
            if let object = any as? ObjectBase { return compare(object._queryValue, [object]) }
            do {
                if property.isMixed {
                    let value = try AnyRealmValue(untyped: any)
                    return compare(value._queryValue, value._queryObjects)
                }
                compare(any == nil ? .null : try property.wrapper.storeValue(from: any) ?? .null, [])
            } catch { preconditionFailure("Firn: \(property.name) gave a value that it does not take: \(error)") }
        }
    }
}
