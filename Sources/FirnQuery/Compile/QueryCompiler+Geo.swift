import FirnCore

extension QueryCompiler {
    /// Builds the node of `path IN region`. The path must lead to objects with the properties `type` and `coordinates`,
    /// which GeoJSON defines.
    func compile(_ comparison: Comparison, in region: GeoRegion, _ scope: Scope) throws(QueryError) -> any QueryNode {
        guard comparison.operation == .in, case .path(let path) = comparison.left, path.aggregate == nil else {
            throw fault(
                .type, message: "A region is compared with something other than a location.",
                advice: "Write 'location IN %@' with a property that holds a GeoJSON point.", comparison: comparison)
        }
        var bound = try bind(path, scope: scope, comparison: comparison)
        guard bound.type == .link, bound.inner.isEmpty, let target = bound.target else {
            throw fault(
                .type, message: "'\(path.text)' is not an object, so it has no location.",
                advice: "Name a property that holds a GeoJSON point.", comparison: comparison)
        }
        if comparison.quantifier != nil, !bound.isToMany {
            throw fault(
                .type, message: "ANY, ALL and NONE need a path to a collection.",
                advice: "Leave the word out, or name a collection.",
                comparison: comparison)
        }
        guard case .column(let type)? = resolver.property("type", of: target),
            case .column(let coordinates)? = resolver.property("coordinates", of: target),
            case let (kind, list) = (schema[target].columns[type], schema[target].columns[coordinates]),
            kind.type == .string, kind.collection == .none, list.type == .double, list.collection == .list
        else {
            throw fault(
                .type, message: "'\(resolver.className(of: target))' is not a GeoJSON point.",
                advice:
                    "Give it the properties 'type', a String that is \"Point\", and 'coordinates', a List<Double> of the longitude and the latitude.",
                comparison: comparison)
        }
        try advance(&bound)
        func node(isNegated: Bool) -> any QueryNode {
            let last = GeoNode(
                table: target, type: type, coordinates: coordinates, region: region, isNegated: isNegated,
                name: path.text)
            return follow(bound, last)
        }
        switch comparison.quantifier {
        case nil, .any: return node(isNegated: false)
        case .some(.none): return NotNode(part: node(isNegated: false))
        case .all: return NotNode(part: node(isNegated: true))
        }
    }

    /// Builds the node that follows a path's steps and tests the objects at their end. A nil link on the way leads to
    /// no object, so it does not match.
    private func follow(_ path: BoundPath, _ last: any QueryNode) -> any QueryNode {
        path.steps.indices.reversed().reduce(last) { part, index in
            let table = tableOfStep(path, index)
            switch path.steps[index] {
            case .link(let column, let target):
                return LinkNode(
                    column: column, name: schema[table].columns[column].name, target: target, part: part,
                    matchesNilLink: false)
            case .item, .links, .sources:
                return AnyLinkNode(table: table, step: path.steps[index], name: path.text, part: part)
            }
        }
    }
}
