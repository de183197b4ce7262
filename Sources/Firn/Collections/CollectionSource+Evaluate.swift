import FirnCore
import FirnQuery

/// A path to a value to sort or to tell apart by: columns through links to one object.
struct SortKey {
    /// The link columns on the way, and the tables they lead to.
    let links: [(column: Int, target: TableID)]
    let column: Int
    let ascending: Bool
    let keyPath: String
}

extension CollectionSource {
    // MARK: Building

    func filtered(_ predicate: Predicate) throws(QueryError) -> CollectionSource {
        guard let binding else {
            throw QueryError(.unsupported, "A collection of values can't be filtered.", advice: "Filter the objects that hold it.")
        }
        let compiled = try CompiledPredicate(
            predicate, table: binding.table, schema: realm.store.schema, resolver: BindingResolver(realm.schema, realm.store.schema))
        return adding(.filter(predicate, compiled))
    }

    func filtered(_ format: String, _ arguments: [Any]) throws(QueryError) -> CollectionSource {
        let arguments = try arguments.map { any throws(QueryError) in try QueryArgument(any, realm) }
        return try filtered(try Predicate(parsing: format, arguments))
    }

    func sorted(_ descriptors: [SortDescriptor]) throws(QueryError) -> CollectionSource {
        adding(.sort(try descriptors.map { descriptor throws(QueryError) in try sortKey(descriptor.keyPath, descriptor.ascending) }))
    }

    func distinct(_ keyPaths: [String]) throws(QueryError) -> CollectionSource {
        adding(.distinct(try keyPaths.map { path throws(QueryError) in try sortKey(path, true) }))
    }

    /// Finds the columns that a key path names.
    func sortKey(_ keyPath: String, _ ascending: Bool) throws(QueryError) -> SortKey {
        guard var table = binding else {
            throw QueryError(.unsupported, "A collection of values has no properties.", advice: "Sort the objects that hold it.")
        }
        var links: [(column: Int, target: TableID)] = []
        let names = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for (place, name) in names.enumerated() {
            guard let property = table.info.property(named: name) else {
                throw QueryError(
                    .unknownProperty, "\(table.info.name) has no property \"\(name)\".",
                    advice: "It has \(table.info.properties.map(\.name).joined(separator: ", ")).")
            }
            guard !property.isCollection, !property.isLinkingObjects else {
                throw QueryError(
                    .type, "\"\(keyPath)\" leads through \(table.info.name).\(name), which is a collection.",
                    advice: "Name properties and links to one object only.")
            }
            if place == names.count - 1 {
                guard !property.isLink else {
                    throw QueryError(
                        .type, "\"\(keyPath)\" ends at \(table.info.name).\(name), which is an object.",
                        advice: "Name a property of it.")
                }
                return SortKey(links: links, column: table.column(property), ascending: ascending, keyPath: keyPath)
            }
            guard property.isLink, let target = property.shape.target, let next = realm.schema.table(of: target) else {
                throw QueryError(
                    .type, "\"\(keyPath)\" leads through \(table.info.name).\(name), which is no link.",
                    advice: "End the key path there.")
            }
            links.append((table.column(property), next.table))
            table = next
        }
        throw QueryError(.syntax, "A key path is empty.", advice: "Name a property.")
    }

    /// Stops the program where an object that is compared with is no live one of this realm.
    func check(_ objects: [ObjectBase]) {
        for object in objects where !object.isManaged || RealmInstance.of(object._row).shared !== realm.shared {
            fatalError(
                "Firn: a query compares with an object of \(type(of: object).className()) that is unmanaged or of another realm. Use one of the realm that is queried.")
        }
    }

    // MARK: Evaluating

    /// The elements in a version.
    func evaluate(_ snapshot: Snapshot) -> Content {
        if case .list(let place) = origin, !place.property.isLink {
            return .values(place.cell(in: snapshot)?.values ?? [])
        }
        guard let binding, binding.table.index < snapshot.reference.schema.tables.count else { return .keys([]) }
        let table = snapshot.table(binding.table)
        let context = QueryContext(snapshot)
        var rest = steps[...]
        var keys: [Int64]
        if case .table = origin, case .filter(_, let predicate)? = rest.first {
            keys = CollectionSource.select(predicate, table, context)
            rest = rest.dropFirst()
        } else {
            keys = natural(snapshot, table)
        }
        for step in rest {
            switch step {
            case .filter(_, let predicate): keys = keys.filter { predicate.matches($0, context) }
            case .sort(let sortKeys): keys = CollectionSource.sort(keys, sortKeys, snapshot, table)
            case .distinct(let sortKeys): keys = CollectionSource.distinct(keys, sortKeys, snapshot, table)
            }
        }
        return .keys(keys)
    }

    private func natural(_ snapshot: Snapshot, _ table: TableView) -> [Int64] {
        switch origin {
        case .table:
            var keys: [Int64] = []
            keys.reserveCapacity(table.count)
            table.forEachLeaf { leaf, _ in
                for row in 0..<leaf.count { keys.append(leaf.key(row)) }
                return true
            }
            return keys
        case .list(let place):
            guard let cell = place.cell(in: snapshot) else { return [] }
            var keys: [Int64] = []
            keys.reserveCapacity(cell.count)
            cell.forEachRun { values, _, count in
                for index in 0..<count { keys.append(values.loadUnaligned(fromByteOffset: index * 8, as: Int64.self)) }
                return true
            }
            return keys
        case .backlinks(let place, let property):
            var keys: [Int64] = []
            table.forEachSource(of: place.row.key, binding.unsafelyUnwrapped.column(property)) { key in
                keys.append(key)
                return true
            }
            return keys
        case .unmanaged: return []
        }
    }

    private static func select(_ predicate: CompiledPredicate, _ table: TableView, _ context: QueryContext) -> [Int64] {
        var keys: [Int64] = []
        table.forEachLeaf { leaf, _ in
            predicate.select(leaf, context).forEach { keys.append(leaf.key($0)) }
            return true
        }
        return keys
    }

    /// The value at the end of a path; nil where a link on the way is nil.
    private static func value(_ key: Int64, _ path: SortKey, _ snapshot: Snapshot, _ table: TableView) -> Value? {
        var key = key
        var table = table
        for link in path.links {
            guard case .link(let target)? = table.value(link.column, of: key), target >= 0 else { return nil }
            key = target
            table = snapshot.table(link.target)
        }
        return table.value(path.column, of: key)
    }

    /// Stable. Null comes first ascending; across a link that is nil, last.
    private static func sort(_ keys: [Int64], _ paths: [SortKey], _ snapshot: Snapshot, _ table: TableView) -> [Int64] {
        var rows = keys.enumerated().map { place, key in
            (place: place, key: key, values: paths.map { value(key, $0, snapshot, table) })
        }
        rows.sort { a, b in
            for (number, path) in paths.enumerated() {
                let order: Int
                switch (a.values[number], b.values[number]) {
                case (nil, nil): order = 0
                case (nil, _): order = 1
                case (_, nil): order = -1
                case (let x?, let y?): order = Value.order(x, y)
                }
                if order != 0 { return path.ascending ? order < 0 : order > 0 }
            }
            return a.place < b.place
        }
        return rows.map(\.key)
    }

    private static func distinct(_ keys: [Int64], _ paths: [SortKey], _ snapshot: Snapshot, _ table: TableView) -> [Int64] {
        var seen: Set<[Value]> = []
        return keys.filter { key in
            var values: [Value] = []
            for path in paths {
                // What lies behind a nil link is no value to tell apart by.
                guard let value = value(key, path, snapshot, table) else { return false }
                values.append(value)
            }
            return seen.insert(values).inserted
        }
    }

    // MARK: Aggregates

    func aggregate(_ aggregate: Aggregate, _ keyPath: String) throws(QueryError) -> Value? {
        let path = try sortKey(keyPath, true)
        guard let binding else { return nil }
        let pin = realm.pinShown()
        let snapshot = pin.snapshot
        guard let table = realm.table(binding) else { return nil }
        var accumulator = ValueAccumulator(aggregate)
        if isWholeTable, path.links.isEmpty {
            table.forEachLeaf { leaf, _ in
                for row in 0..<leaf.count { accumulator.add(table.value(path.column, leaf, row)) }
                return true
            }
        } else if case .keys(let keys) = content {
            for key in keys { if let value = CollectionSource.value(key, path, snapshot, table) { accumulator.add(value) } }
        }
        return accumulator.result
    }
}

/// Sums up values by SEMANTICS 73: nulls are skipped, the sum of integers is exact, that of floats is computed in Double.
struct ValueAccumulator {
    private let aggregate: Aggregate
    private var count = 0
    private var integers: Int64 = 0
    private var floating = 0.0
    private var isFloating = false
    private var best: Value?

    init(_ aggregate: Aggregate) { self.aggregate = aggregate }

    mutating func add(_ value: Value) {
        guard value != .null else { return }
        switch aggregate {
        case .min: if best.map({ Value.order(value, $0) < 0 }) ?? true { best = value }
        case .max: if best.map({ Value.order(value, $0) > 0 }) ?? true { best = value }
        case .sum, .average:
            count += 1
            switch value {
            case .int(let number):
                integers &+= number
                floating += Double(number)
            case .float(let number):
                floating += Double(number)
                isFloating = true
            case .double(let number):
                floating += number
                isFloating = true
            default: break
            }
        }
    }

    var result: Value? {
        switch aggregate {
        case .min, .max: best
        case .sum: count == 0 ? nil : isFloating ? .double(floating) : .int(integers)
        case .average: count == 0 ? nil : .double(floating / Double(count))
        }
    }
}
