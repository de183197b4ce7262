import FirnCore

extension QueryCompiler {
    /// Binds a path that begins at `table`, except for its aggregate.
    func bind(_ path: PropertyPath, from table: TableID) throws(QueryError) -> BoundPath {
        try bind(path.components, from: table, text: path.text, position: path.position)
    }

    func bind(
        _ components: [PropertyPath.Component], from table: TableID, text: String, position: TextPosition?
    ) throws(QueryError) -> BoundPath {
        var bound = BoundPath(root: table, table: table, text: text, position: position)
        bound.target = table
        var remaining = components[...]
        while let component = remaining.popFirst() {
            switch component {
            case .name(let name):
                try advance(&bound)
                try bindProperty(name, &bound)
            case .keyword(let word):
                try advance(&bound)
                guard word == "@links" || word == "@backlinks" else { throw unknown(keyword: word, in: bound) }
                try bindLinks(&bound, &remaining)
            default:
                try take(component, &bound)
                continue
            }
            // The keyword behind a map may select its keys or its values.
            if case .keyword(let next) = remaining.first, case .elements(let column) = bound.end,
                schema[bound.table].columns[column].collection == .map
            {
                let lower = next.lowercased()
                if lower == "@allkeys" || lower == "@keys" {
                    remaining.removeFirst()
                    (bound.end, bound.type, bound.target, bound.isNullable) = (.keys(column), .string, nil, false)
                } else if lower == "@allvalues" || lower == "@values" {
                    remaining.removeFirst()
                }
            }
        }
        return bound
    }

    /// Turns the end of the path bound so far into a step, because another name follows.
    func advance(_ bound: inout BoundPath) throws(QueryError) {
        let step: BoundPath.Step
        switch bound.end {
        case .object: return
        case .value(let column) where bound.type == .link && bound.inner.isEmpty:
            step = .link(column, to: bound.target ?? bound.table)
        case .entry(let column, let key) where bound.type == .link:
            step = .item(column, .key(key), to: bound.target ?? bound.table)
        case .element(let column, let index) where bound.type == .link:
            step = .item(column, .index(index), to: bound.target ?? bound.table)
        case .elements(let column) where bound.type == .link: step = .links(column, to: bound.target ?? bound.table)
        case .sources(let origin, let column): step = .sources(of: origin, column)
        default:
            throw QueryError(
                .type, "'\(bound.text)' continues after a property that is not a link.",
                advice: "Only links, collections of links and backlinks lead to other properties.", at: bound.position)
        }
        bound.steps.append(step)
        bound.table = bound.target ?? bound.table
        bound.end = .object
        bound.isNullable = false
    }

    private func bindProperty(_ name: String, _ bound: inout BoundPath) throws(QueryError) {
        guard let property = resolver.property(name, of: bound.table) else { throw unknown(name, in: bound) }
        switch property {
        case .column(let column):
            let column = (number: column, schema: schema[bound.table].columns[column])
            bound.end = column.schema.collection == .none ? .value(column.number) : .elements(column.number)
            bound.type = column.schema.type
            bound.target = column.schema.target
            bound.isNullable = column.schema.isNullable || column.schema.type == .link
        case .backlinks(let origin, let column): bindSources(origin, column: column, bound: &bound)
        }
    }

    private func bindSources(_ origin: TableID, column: Int, bound: inout BoundPath) {
        bound.end = .sources(of: origin, column)
        bound.type = .link
        bound.target = origin
    }

    /// Binds `@links.Class.property`.
    private func bindLinks(
        _ bound: inout BoundPath, _ remaining: inout ArraySlice<PropertyPath.Component>
    ) throws(QueryError) {
        guard case .name(let className) = remaining.popFirst(), case .name(let name) = remaining.popFirst(),
            let origin = schema.tables.indices.map({ TableID($0) }).first(where: {
                !schema[$0].isRemoved && resolver.className(of: $0) == className
            }),
            case .column(let column) = resolver.property(name, of: origin), schema[origin].columns[column].isLink,
            schema[origin].columns[column].target == bound.table
        else {
            throw QueryError(
                .unknownProperty, "'\(bound.text)' does not name a link to '\(resolver.className(of: bound.table))'.",
                advice: "Write '@links.Class.property' with a link property that leads here.", at: bound.position)
        }
        bindSources(origin, column: column, bound: &bound)
    }

    /// Binds an element by key or index.
    private func take(_ component: PropertyPath.Component, _ bound: inout BoundPath) throws(QueryError) {
        if component == .each, bound.type != .mixed {
            throw QueryError(
                .type, "'\(bound.text)' has [*] behind a property that is not a mixed value.",
                advice: "A path to a collection means any of its elements without it.", at: bound.position)
        }
        if bound.type == .mixed, bound.inner.isEmpty == false || !bound.endsInCollection {
            bound.inner.append(component)
            return
        }
        switch (bound.end, component) {
        case (.elements(let column), .key(let key)) where schema[bound.table].columns[column].collection == .map:
            bound.end = .entry(column, key)
        case (.elements(let column), .index(let index)) where schema[bound.table].columns[column].collection == .list:
            bound.end = .element(column, index)
        default:
            throw QueryError(
                .type, "'\(bound.text)' takes an element of a value that has no elements.",
                advice:
                    "Elements of maps have string keys, those of lists have indices; a mixed value may have either.",
                at: bound.position)
        }
        bound.isNullable = true
    }

    private func unknown(_ name: String, in bound: BoundPath) -> QueryError {
        QueryError(
            .unknownProperty,
            resolver.fault(in: name, of: bound.table)?.text
                ?? "'\(resolver.className(of: bound.table))' has no property '\(name)'.",
            advice: "Its properties are: \(knownNames(bound)).", at: bound.position)
    }

    private func unknown(keyword: String, in bound: BoundPath) -> QueryError {
        let isProperty = resolver.property(keyword, of: bound.table) != nil
        return QueryError(
            .unknownProperty,
            isProperty
                ? "There is no operator '\(keyword)'."
                : "'\(resolver.className(of: bound.table))' has no property '\(keyword)'.",
            advice: "Its properties are: \(knownNames(bound)).", at: bound.position)
    }

    /// The names of the properties, as they are written in a query.
    private func knownNames(_ bound: BoundPath) -> String {
        resolver.propertyNames(of: bound.table).sorted().map(PropertyPath.escaped).joined(separator: ", ")
    }
}
