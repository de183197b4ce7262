import FirnCore
import FirnQuery

/// The oracle: evaluates a predicate's tree over plain values, object by object, in the slow and obvious way. It
/// shares no code with the engine except `Value`.
struct NaiveQuery {
    let world: QueryWorld

    func matches(_ predicate: Predicate, table: TableID, key: Int64) -> Bool {
        switch predicate {
        case .constant(let value): value
        case .all(let parts): parts.allSatisfy { matches($0, table: table, key: key) }
        case .any(let parts): parts.contains { matches($0, table: table, key: key) }
        case .not(let part): !matches(part, table: table, key: key)
        case .comparison(let comparison): matches(comparison, table: table, key: key)
        }
    }

    private func matches(_ c: Comparison, table: TableID, key: Int64) -> Bool {
        var c = c
        let left = values(c.left, table: table, key: key)
        var right = values(c.right, table: table, key: key)
        let type = columnType(c.left, table) ?? columnType(c.right, table)
        right = right.map { rounded($0, type) }
        if c.operation == .contains, c.quantifier == nil, isCollection(c.left, table) { c.operation = .equal }
        func holds(_ a: Value) -> Bool {
            let a = rounded(a, type)
            switch c.operation {
            case .in: return right.contains { compare(.equal, a: a, b: $0, options: c.options) }
            case .between:
                return !right.contains(.null) && compare(.greaterOrEqual, a: a, b: right[0], options: [])
                    && compare(.lessOrEqual, a: a, b: right[1], options: [])
            default:
                return right.contains { b in
                    // Nil as a constant is below every value.
                    switch (c.left, c.operation, c.right) {
                    case (_, .greater, .value(.null)): a != .null
                    case (_, .greaterOrEqual, .value(.null)): true
                    case (.value(.null), .less, _): b != .null
                    case (.value(.null), .lessOrEqual, _): true
                    default: compare(c.operation, a: a, b: b, options: c.options)
                    }
                }
            }
        }
        switch c.quantifier {
        case nil, .any: return left.contains { holds($0) }
        case .all: return left.allSatisfy { holds($0) }
        case .some(.none): return !left.contains { holds($0) }
        }
    }

    /// Constants that are compared with a Float column are rounded to Float.
    private func rounded(_ value: Value, _ type: ColumnType?) -> Value {
        guard type == .float else { return value }
        switch value {
        case .int(let x): return .float(Float(x))
        case .double(let x): return .float(Float(x))
        default: return value
        }
    }

    // MARK: Values

    private func columnType(_ operand: Operand, _ table: TableID) -> ColumnType? {
        guard case .path(let path) = operand, path.aggregate == nil else { return nil }
        var table = table
        var type: ColumnType?
        for case .name(let name) in path.components {
            switch world.resolver.property(name, of: table) {
            case .column(let column):
                let schema = world.schema[table].columns[column]
                type = schema.type
                table = schema.target ?? table
            case .backlinks(let origin, _):
                type = .link
                table = origin
            case nil: break
            }
        }
        return type
    }

    private func isCollection(_ operand: Operand, _ table: TableID) -> Bool {
        guard case .path(let path) = operand, path.aggregate == nil else { return false }
        var table = table
        var isCollection = false
        for case .name(let name) in path.components {
            switch world.resolver.property(name, of: table) {
            case .column(let column):
                let schema = world.schema[table].columns[column]
                isCollection = schema.collection != .none
                table = schema.target ?? table
            case .backlinks(let origin, _):
                isCollection = true
                table = origin
            case nil: break
            }
        }
        if case .key = path.components.last { return false }
        return isCollection
    }

    private func values(_ operand: Operand, table: TableID, key: Int64) -> [Value] {
        switch operand {
        case .value(let value): return [value]
        case .values(let values): return values
        case .region: preconditionFailure("GeoRegionTests have an oracle of their own")
        case .path(let path):
            let collected = values(path.components[...], table: table, key: key)
            guard let aggregate = path.aggregate else { return collected }
            if aggregate == .count { return [.int(Int64(collected.count))] }
            let elements =
                path.elementPath.isEmpty
                ? collected : values((path.components + path.elementPath)[...], table: table, key: key)
            return [summary(aggregate, elements)]
        case .subquery(let path, _, let predicate):
            let target = targetTable(path.components, table)
            let count = values(path.components[...], table: table, key: key).count {
                if case .link(let key) = $0 { matches(predicate, table: target, key: key) } else { false }
            }
            return [.int(Int64(count))]
        }
    }

    private func targetTable(_ components: [PropertyPath.Component], _ table: TableID) -> TableID {
        var table = table
        for case .name(let name) in components {
            switch world.resolver.property(name, of: table) {
            case .column(let column): table = world.schema[table].columns[column].target ?? table
            case .backlinks(let origin, _): table = origin
            case nil: break
            }
        }
        return table
    }

    private func values(_ remaining: ArraySlice<PropertyPath.Component>, table: TableID, key: Int64) -> [Value] {
        var remaining = remaining
        guard case .name(let name)? = remaining.popFirst() else { return [.link(key)] }
        var found: [Value]
        var target = table
        switch world.resolver.property(name, of: table) {
        case .backlinks(let origin, let column):
            target = origin
            found = world.objects[origin.index].keys.sorted().flatMap { source -> [Value] in
                elements(world.objects[origin.index][source]![column]).filter { $0 == .link(key) }.map { _ in
                    .link(source)
                }
            }
        case .column(let column):
            let value = world.objects[table.index][key]![column]
            target = world.schema[table].columns[column].target ?? table
            switch remaining.first {
            case .key(let mapKey) where world.schema[table].columns[column].collection == .map:
                guard case .map(let entries) = value else { return [.null] }
                return [entries.first { $0.key == mapKey }?.value ?? .null]
            case .index(let index):
                remaining.removeFirst()
                let list = elements(value)
                found = [index < list.count ? list[index] : .null]
            case .keyword("@keys"):
                guard case .map(let entries) = value else { return [] }
                return entries.map { .string($0.key) }
            default: found = elements(value)
            }
        case nil: return []
        }
        if remaining.isEmpty { return found }
        // Behind a nil link a single value is null, and a collection has no values.
        return found.flatMap { value -> [Value] in
            if case .link(let next) = value { return values(remaining, table: target, key: next) }
            return leadsToCollection(remaining, target) ? [] : [.null]
        }
    }

    private func leadsToCollection(_ remaining: ArraySlice<PropertyPath.Component>, _ table: TableID) -> Bool {
        var table = table
        for (position, component) in zip(remaining.indices, remaining) {
            guard case .name(let name) = component else { continue }
            var takesOne = false
            if position + 1 < remaining.endIndex, case .index = remaining[position + 1] { takesOne = true }
            switch world.resolver.property(name, of: table) {
            case .backlinks: return true
            case .column(let column):
                if world.schema[table].columns[column].collection != .none, !takesOne { return true }
                table = world.schema[table].columns[column].target ?? table
            case nil: break
            }
        }
        return false
    }

    private func elements(_ value: Value) -> [Value] {
        switch value {
        case .list(let values), .set(let values): values
        case .map(let entries): entries.map(\.value)
        default: [value]
        }
    }

    private func summary(_ aggregate: PropertyPath.Aggregate, _ values: [Value]) -> Value {
        let numbers = values.compactMap { if case .int(let x) = $0 { x } else { nil } }
        let sum = numbers.reduce(Int128(0)) { $0 + Int128($1) }
        return switch aggregate {
        case .count: .int(Int64(values.count))
        case .min: numbers.min().map { .int($0) } ?? .null
        case .max: numbers.max().map { .int($0) } ?? .null
        case .sum: .int(Int64(clamping: sum))
        case .average: numbers.isEmpty ? .null : .double(Double(sum) / Double(numbers.count))
        }
    }

    // MARK: Comparing

    private func compare(_ operation: Comparison.Operation, a: Value, b: Value, options: Comparison.Options)
        -> Bool
    {
        switch operation {
        case .equal: isEqual(a, b, options: options)
        case .notEqual: !isEqual(a, b, options: options)
        case .less: order(a, b).map { $0 < 0 } ?? false
        case .lessOrEqual: order(a, b).map { $0 <= 0 } ?? (a == .null && b == .null)
        case .greater: order(a, b).map { $0 > 0 } ?? false
        case .greaterOrEqual: order(a, b).map { $0 >= 0 } ?? (a == .null && b == .null)
        default: relates(operation, a: a, b: b, options: options)
        }
    }

    private func isEqual(_ a: Value, _ b: Value, options: Comparison.Options) -> Bool {
        switch (a, b) {
        case (.null, .null): return true
        case (.string(let x), .string(let y)): return Array(fold(x, options)) == Array(fold(y, options))
        case (.typedLink(_, let x), .link(let y)), (.link(let x), .typedLink(_, let y)): return x == y
        default:
            if let order = order(a, b) { return order == 0 }
            if isNumber(a) || isNumber(b) { return false }
            return a == b
        }
    }

    private func isNumber(_ value: Value) -> Bool { number(value) != nil }

    /// A number as a Double, which is exact for the pool's decimals. Integers beyond 2^53 are compared in `order`.
    /// Nil if the value is not a number.
    private func number(_ value: Value) -> Double? {
        switch value {
        case .int(let x): Double(x)
        case .float(let x): Double(x)
        case .double(let x): x
        case .decimal(let x): x == ValuePool.decimals[5] ? 1e30 : decimalSmall(x)
        default: nil
        }
    }

    private func decimalSmall(_ x: DecimalBits) -> Double {
        let exponent = Int(x.high >> 49 & 0x3FFF) - 6176
        let magnitude = exponent == -1 ? Double(x.low) / 10 : Double(x.low)
        return x.high >> 63 == 1 ? -magnitude : magnitude
    }

    private func order(_ a: Value, _ b: Value) -> Int? {
        func sign<T: Comparable>(_ x: T, _ y: T) -> Int { x < y ? -1 : x == y ? 0 : 1 }
        switch (a, b) {
        case (.int(let x), .int(let y)): return sign(x, y)
        case (.int(let x), _):
            // Doubles from 2^53 on are whole numbers, so they are compared as integers.
            guard let y = number(b), !y.isNaN else { return nil }
            if y.magnitude >= 0x1p53, y.isFinite { return sign(Int128(x), Int128(y)) }
            return x.magnitude > 1 << 53 ? (y.isFinite ? sign(x, 0) : sign(0, y)) : sign(Double(x), y)
        case (_, .int): return order(b, a).map { -$0 }
        case (.string(let x), .string(let y)): return bytesOrder(Array(x.utf8), Array(y.utf8))
        case (.data(let x), .data(let y)): return bytesOrder(x, y)
        case (.date(let x), .date(let y)): return sign(x, y)
        case (.uuid(let x), .uuid(let y)): return sign(x, y)
        case (.objectID(let x), .objectID(let y)): return sign(x, y)
        case (.bool(let x), .bool(let y)): return sign(x ? 1 : 0, y ? 1 : 0)
        default:
            guard let x = number(a), let y = number(b), !x.isNaN, !y.isNaN else { return nil }
            return sign(x, y)
        }
    }

    private func bytesOrder(_ a: [UInt8], _ b: [UInt8]) -> Int {
        for (x, y) in zip(a, b) where x != y { return x < y ? -1 : 1 }
        return a.count < b.count ? -1 : a.count == b.count ? 0 : 1
    }

    /// Folds the pool's strings as the definition says, with a decomposition written by hand.
    private func fold(_ text: String, _ options: Comparison.Options) -> [Unicode.Scalar] {
        let bases: [Unicode.Scalar: Unicode.Scalar] = ["é": "e", "É": "E", "ü": "u", "ǻ": "a"]
        var result: [Unicode.Scalar] = []
        for var scalar in text.unicodeScalars {
            if options.contains(.diacriticInsensitive) {
                if scalar == "\u{301}" { continue }
                scalar = bases[scalar] ?? scalar
            }
            if options.contains(.caseInsensitive) { scalar = Character(scalar).lowercased().unicodeScalars.first! }
            result.append(scalar)
        }
        return result
    }

    private func relates(_ operation: Comparison.Operation, a: Value, b: Value, options: Comparison.Options)
        -> Bool
    {
        switch (a, b) {
        case (.null, .null): return true
        case (.string(let x), .string(let y)): return relates(operation, x: fold(x, options), y: fold(y, options))
        case (.data(let x), .data(let y)) where operation != .like:
            return relates(operation, x: x.map { Unicode.Scalar($0) }, y: y.map { Unicode.Scalar($0) })
        default: return false
        }
    }

    private func relates(_ operation: Comparison.Operation, x: [Unicode.Scalar], y: [Unicode.Scalar]) -> Bool {
        switch operation {
        case .beginsWith: return x.starts(with: y)
        case .endsWith: return x.reversed().starts(with: y.reversed())
        case .contains: return y.isEmpty || x.indices.contains { x[$0...].starts(with: y) }
        default: return isLike(x[...], y[...])
        }
    }

    private func isLike(_ x: ArraySlice<Unicode.Scalar>, _ y: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = y.first else { return x.isEmpty }
        if first == "*" { return isLike(x, y.dropFirst()) || !x.isEmpty && isLike(x.dropFirst(), y) }
        return !x.isEmpty && (first == "?" || x.first == first) && isLike(x.dropFirst(), y.dropFirst())
    }
}
