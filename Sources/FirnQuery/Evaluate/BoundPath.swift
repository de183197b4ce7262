import CFirn
import FirnCore

/// A property path bound to tables and columns.
struct BoundPath: Sendable {
    enum Step: Sendable, Hashable {
        /// To the object that a to-one link leads to.
        case link(Int, to: TableID)
        /// To the object that a map has for a key, or a list at an index, if there is one.
        case item(Int, PropertyPath.Component, to: TableID)
        /// To each object in a collection of links.
        case links(Int, to: TableID)
        /// To each object of another table that links here.
        case sources(of: TableID, Int)

        var isToMany: Bool {
            switch self {
            case .link, .item: false
            case .links, .sources: true
            }
        }
    }

    enum End: Sendable, Hashable {
        /// The object itself.
        case object
        /// The value of a column.
        case value(Int)
        /// Each element of a collection.
        case elements(Int)
        /// Each key of a map.
        case keys(Int)
        /// A map's value for a key, or null if the map has no such key.
        case entry(Int, String)
        /// A list's element at an index, or null if the list is shorter.
        case element(Int, Int)
        /// Each object of another table that links here.
        case sources(of: TableID, Int)
    }

    /// The table at which the path begins.
    var root: TableID
    var steps: [Step] = []
    var end: End = .object
    /// The keys and indices that lead to values inside the mixed value at the end.
    var inner: [PropertyPath.Component] = []
    /// The table that `end` belongs to.
    var table: TableID
    /// The type of the values. It is `link` for objects.
    var type: ColumnType = .link
    /// The table that a link leads to.
    var target: TableID?
    var isNullable = false
    /// The path as it was written.
    var text: String
    var position: TextPosition?

    /// Whether the end is a collection.
    var endsInCollection: Bool {
        if inner.contains(.each) { return true }
        return switch end {
        case .elements, .keys, .sources: true
        case .object, .value, .entry, .element: false
        }
    }

    var hasToManyStep: Bool { steps.contains(where: \.isToMany) }
    var isToMany: Bool { endsInCollection || hasToManyStep }
}

extension BoundPath {
    /// Calls `body` with each value that the path leads to from a row, until `body` returns false.
    ///
    /// A to-one path has exactly one value, which is null behind a nil link.
    @discardableResult
    func forEachValue(_ leaf: Leaf, row: Int, in context: QueryContext, _ body: (Value) -> Bool) -> Bool {
        walk(0, table: context.table(root), leaf: leaf, row: row, in: context, body)
    }

    private func walk(
        _ stepIndex: Int, table: TableView, leaf: Leaf, row: Int, in context: QueryContext, _ body: (Value) -> Bool
    ) -> Bool {
        guard stepIndex < steps.count else { return finish(table, leaf: leaf, row: row, in: context, body) }
        func follow(_ key: Int64, _ target: TableView) -> Bool {
            guard let found = target.find(key) else { return true }
            return walk(stepIndex + 1, table: target, leaf: found.leaf, row: found.row, in: context, body)
        }
        func followOne(_ key: Int64, _ target: TableID) -> Bool {
            let next = context.table(target)
            if key >= 0, next.find(key) != nil { return follow(key, next) }
            // Behind a nil link the value of a to-one path is null, and a to-many path has no values.
            let isSingle = !endsInCollection && !steps[stepIndex...].contains(where: \.isToMany)
            return isSingle ? body(.null) : true
        }
        switch steps[stepIndex] {
        case .link(let column, let target): return followOne(leaf.load(column, row), target)
        case .item(let column, let item, let target):
            return followOne(table.list(column, leaf: leaf, row: row).link(of: item) ?? -1, target)
        case .links(let column, let target):
            let next = context.table(target)
            return table.list(column, leaf: leaf, row: row).forEachLink { follow($0, next) }
        case .sources(let origin, let column):
            let next = context.table(origin)
            var shouldContinue = true
            next.forEachSource(of: leaf.key(row), column) {
                shouldContinue = follow($0, next)
                return shouldContinue
            }
            return shouldContinue
        }
    }

    private func finish(
        _ table: TableView, leaf: Leaf, row: Int, in context: QueryContext, _ body: (Value) -> Bool
    ) -> Bool {
        switch end {
        case .object: return body(.link(leaf.key(row)))
        case .value(let column): return take(from: table.value(column, leaf: leaf, row: row), body)
        case .elements(let column):
            var shouldContinue = true
            table.list(column, leaf: leaf, row: row).forEach {
                shouldContinue = take(from: $0, body)
                return shouldContinue
            }
            return shouldContinue
        case .keys(let column):
            let list = table.list(column, leaf: leaf, row: row)
            for index in 0..<list.count where !body(.string(list.key(at: index))) { return false }
            return true
        case .entry(let column, let key):
            return take(from: table.list(column, leaf: leaf, row: row).value(of: .key(key)), body)
        case .element(let column, let index):
            return take(from: table.list(column, leaf: leaf, row: row).value(of: .index(index)), body)
        case .sources(let origin, let column):
            var shouldContinue = true
            context.table(origin).forEachSource(of: leaf.key(row), column) {
                shouldContinue = body(.link($0))
                return shouldContinue
            }
            return shouldContinue
        }
    }

    /// Calls `body` with each value that `inner` leads to within `value`, until it returns false. A nil link becomes
    /// null.
    private func take(from value: Value, _ body: (Value) -> Bool) -> Bool {
        if inner.isEmpty, case .link(let key) = value, key < 0 { return body(.null) }
        return inner.isEmpty ? body(value) : take(inner[...], from: value, body)
    }

    private func take(
        _ components: ArraySlice<PropertyPath.Component>, from value: Value, _ body: (Value) -> Bool
    ) -> Bool {
        guard let component = components.first else { return body(value) }
        let rest = components.dropFirst()
        switch (component, value) {
        case (.key(let key), .map(let entries)):
            guard let entry = entries.first(where: { $0.key.utf8.elementsEqual(key.utf8) }) else { break }
            return take(rest, from: entry.value, body)
        case (.index(let index), .list(let values)) where index < values.count:
            return take(rest, from: values[index], body)
        case (.each, .list(let values)):
            for value in values where !take(rest, from: value, body) { return false }
            return true
        case (.each, .map(let entries)):
            for entry in entries where !take(rest, from: entry.value, body) { return false }
            return true
        default: break
        }
        // There is no such element. A path to a single element has the value null, and a path to each element has none.
        return components.contains(.each) ? true : body(.null)
    }

    /// The value of a to-one path.
    func value(_ leaf: Leaf, row: Int, in context: QueryContext) -> Value {
        var result = Value.null
        forEachValue(leaf, row: row, in: context) {
            result = $0
            return false
        }
        return result
    }

    /// The number of values that the path leads to. A collection of the row itself is counted without reading its
    /// elements.
    func count(_ leaf: Leaf, row: Int, in context: QueryContext) -> Int {
        if steps.isEmpty, inner.isEmpty {
            switch end {
            case .elements(let column), .keys(let column):
                return context.table(root).list(column, leaf: leaf, row: row).count
            case .sources(let origin, let column): return context.table(origin).sourceCount(of: leaf.key(row), column)
            default: break
            }
        }
        var count = 0
        forEachValue(leaf, row: row, in: context) { _ in
            count += 1
            return true
        }
        return count
    }
}

extension ListCell {
    /// The value that a map has for a key, or a list at an index; null if there is none.
    fileprivate func value(of item: PropertyPath.Component) -> Value {
        switch item {
        case .key(let key): value(forKey: key) ?? .null
        case .index(let index): index < count ? value(at: index) : .null
        case .name, .keyword, .each: .null
        }
    }

    /// The object that a map has for a key, or a list at an index; nil if there is none.
    func link(of item: PropertyPath.Component) -> Int64? {
        if case .link(let key) = value(of: item), key >= 0 { key } else { nil }
    }

    /// Calls `body` with each link that is not nil, until it returns false.
    @inline(__always)
    func forEachLink(_ body: (Int64) -> Bool) -> Bool {
        // What `body` reads may replace a run that is a copy: see `firn_scratch.h`.
        if let run = contiguousElements, !firn_scratch_has_copy(run.start) {
            for index in 0..<run.count {
                let key = run.start.loadUnaligned(fromByteOffset: index &* 8, as: Int64.self)
                if key >= 0, !body(key) { return false }
            }
            return true
        }
        var shouldContinue = true
        forEach { value in
            if case .link(let key) = value, key >= 0 { shouldContinue = body(key) }
            return shouldContinue
        }
        return shouldContinue
    }
}
