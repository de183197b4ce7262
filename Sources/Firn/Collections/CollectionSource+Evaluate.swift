import FirnCore
import FirnQuery
import FirnStorage

extension _CollectionSource {
    // MARK: Building

    /// The same source with one more stage at the end. The stages before it stay compiled as they are.
    private func adding(_ stage: QueryPipeline.Stage) throws(QueryError) -> _CollectionSource {
        guard let binding else {
            throw QueryError(
                .unsupported, "A collection of values can't be queried.", advice: "Query the objects that hold it.")
        }
        var query = pipeline ?? QueryPipeline(table: binding.table)
        do throws(QueryError) {
            try query.append(stage, schema: realm.store.schema, resolver: resolver)
        } catch {
            throw hinting(error)
        }
        return _CollectionSource(realm: realm, binding: binding, origin: origin, query: .objects(query), isDead: isDead)
    }

    /// The stages of a query over objects; nil if there are none.
    private var pipeline: QueryPipeline? {
        guard case .objects(let pipeline) = query else { return nil }
        return pipeline
    }

    /// The same source of values with one more stage at the end.
    func adding(_ stage: ValueStage) -> _CollectionSource {
        var stages: [ValueStage] = []
        if case .values(let before) = query { stages = before }
        return _CollectionSource(
            realm: realm, binding: binding, origin: origin, query: .values(stages + [stage]), isDead: isDead)
    }

    private var resolver: BindingResolver { BindingResolver(realm.schema, realm.store.schema) }

    func filtered(_ predicate: FirnQuery.Predicate) throws(QueryError) -> _CollectionSource {
        try adding(.filter(predicate))
    }

    func filtered(_ format: String, _ arguments: [Any]) throws(QueryError) -> _CollectionSource {
        let arguments = try arguments.map { any throws(QueryError) in try QueryArgument(any, realm) }
        var source = self
        let stages: [QueryPipeline.Stage]
        do throws(QueryError) { stages = try QueryPipeline.stages(parsing: format, arguments) } catch {
            throw hinting(error)
        }
        for stage in stages { source = try source.adding(stage) }
        return source
    }

    /// The error, with a hint if a property name in the query is written in a form that a query can't parse.
    private func hinting(_ error: QueryError) -> QueryError {
        guard let binding else { return error }
        return error.hinting { resolver.reachableNames(from: binding.table, in: realm.store.schema) }
    }

    // MARK: Names as text

    /// Parses a key path. A text with neither a dot nor a backslash is the name of a property if there is such a
    /// property. Any other text is parsed like a path in a query.
    func path(parsing text: String) throws(QueryError) -> PropertyPath {
        let isName = !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "\\") }
        if isName, let binding, resolver.property(text, of: binding.table) != nil { return PropertyPath([text]) }
        do throws(QueryError) { return try PropertyPath(parsing: text) } catch { throw hinting(error) }
    }

    func sortDescriptor(_ descriptor: SortDescriptor) throws(QueryError) -> FirnQuery.SortDescriptor {
        let path = if let path = descriptor.path { path } else { try path(parsing: descriptor.keyPath) }
        return FirnQuery.SortDescriptor(path, ascending: descriptor.ascending)
    }

    func sorted(_ descriptors: [FirnQuery.SortDescriptor]) throws(QueryError) -> _CollectionSource {
        try adding(.sort(descriptors))
    }

    func distinct(_ paths: [PropertyPath]) throws(QueryError) -> _CollectionSource { try adding(.distinct(paths)) }

    /// Stops the program if an object that the query compares with belongs to another realm.
    func check(_ objects: [ObjectBase]) {
        for object in objects where object.isManaged && _RealmInstance.of(object._row).shared !== realm.shared {
            stopProgram(
                "a query compares with an object of \(type(of: object).className()) of another realm. Use one of the realm that is queried."
            )
        }
    }

    // MARK: Evaluating

    /// The elements in a version.
    func evaluate(_ snapshot: Snapshot) -> Content {
        if case .list(let location) = origin, !location.property.isLink {
            var values = location.cell(in: snapshot)?.values ?? []
            if case .values(let stages) = query { for stage in stages { stage.apply(to: &values) } }
            return .values(values)
        }
        guard let binding, binding.table.index < snapshot.resolvedSchema.schema.tables.count else {
            return .keys(OrderedKeys())
        }
        guard let query = pipeline else {
            return .keys(OrderedKeys(naturalKeys(snapshot) ?? wholeTable(snapshot, binding)))
        }
        let keys = query.run(in: snapshot, from: queried(snapshot)).keys(in: snapshot.table(binding.table))
        return .keys(OrderedKeys(keys))
    }

    /// The number of elements in a version, counted without collecting them. Nil if there is no query, or if the
    /// version does not have the class.
    func count(_ snapshot: Snapshot) -> Int? {
        guard let query = pipeline, let binding, binding.table.index < snapshot.resolvedSchema.schema.tables.count
        else {
            return nil
        }
        return query.count(in: snapshot, from: queried(snapshot))
    }

    /// The elements that the first stage of the query reads.
    private func queried(_ snapshot: Snapshot) -> QueryPipeline.Source {
        naturalKeys(snapshot).map { .keys($0) } ?? .table
    }

    /// The elements before any stage; nil for a whole table.
    private func naturalKeys(_ snapshot: Snapshot) -> [Int64]? {
        switch origin {
        case .table: return nil
        case .list(let location): return location.cell(in: snapshot)?.keys ?? []
        case .backlinks(let location, let property):
            guard let binding else { return [] }
            var keys: [Int64] = []
            snapshot.table(binding.table).forEachSource(of: location.row.key, binding.column(property)) { key in
                keys.append(key)
                return true
            }
            return keys
        case .unmanaged: return []
        }
    }

    private func wholeTable(_ snapshot: Snapshot, _ binding: TableBinding) -> [Int64] {
        let table = snapshot.table(binding.table)
        var keys: [Int64] = []
        keys.reserveCapacity(table.count)
        table.forEachLeaf { leaf, _ in
            for row in 0..<leaf.count { keys.append(leaf.key(row)) }
            return true
        }
        return keys
    }

    /// The query as a maintained one, whose result an observer updates for each version; nil if the query has another
    /// form.
    var maintained: MaintainedQuery? {
        guard case .table = origin, let query = pipeline else { return nil }
        return MaintainedQuery(query, schema: realm.store.schema, resolver: resolver)
    }

    /// How the elements are found, as text for people.
    func explain() -> String {
        realm.check()
        let pin = realm.pinShown()
        guard !isDead else { return "nothing: the realm was invalidated after the results were made" }
        guard let binding, binding.table.index < pin.snapshot.resolvedSchema.schema.tables.count else {
            return "the values of a collection, one by one"
        }
        let query = pipeline ?? QueryPipeline(table: binding.table)
        var lines = [query.explain(in: pin.snapshot, from: queried(pin.snapshot))]
        if isWholeTable || maintained != nil {
            lines.append("an observer is shown each change at the cost of the objects that it concerns")
        }
        return lines.joined(separator: "\n")
    }

    // MARK: Aggregates

    /// An aggregate; nil if there are no values, or if there is nothing to read them from. In the second case `path` is
    /// not called.
    func aggregate(
        _ aggregate: PropertyPath.Aggregate, _ path: () throws(QueryError) -> PropertyPath
    ) throws(QueryError) -> Value? {
        realm.check()
        guard !isDead, let binding else { return nil }
        let pin = realm.pinShown()
        guard binding.table.index < pin.snapshot.resolvedSchema.schema.tables.count else { return nil }
        let all = pipeline ?? QueryPipeline(table: binding.table)
        let value = try all.aggregate(
            aggregate, path(), in: pin.snapshot, from: queried(pin.snapshot), resolver: resolver)
        return value == .null ? nil : value
    }
}
