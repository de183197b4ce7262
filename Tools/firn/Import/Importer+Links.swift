import FirnBytes
import FirnCore

/// Looks up the objects that links lead to. In the end, sets the properties that waited for such objects.
extension Importer {
    /// The value with its links looked up; nil if one of them leads to an object that does not exist yet.
    func resolved(_ parsed: Parsed, _ line: Int) throws -> Value? {
        switch parsed {
        case .value(let value): return value
        case .link(let table, let target): return try key(table, target).map { .link($0) }
        case .typedLink(let table, let target): return try key(table, target).map { .typedLink(table, $0) }
        case .embedded(let table, let given):
            var values = [Parsed?](repeating: nil, count: schema[table].columns.count)
            for (column, value) in given { values[column] = value }
            return .link(try insert(table, number: nil, values, line: line))
        case .list(let elements): return try resolved(elements, line).map { .list($0) }
        case .set(let elements): return try resolved(elements, line).map { .set($0) }
        case .map(let entries):
            guard let values = try resolved(entries.map(\.value), line) else { return nil }
            return .map(zip(entries, values).map { Value.MapEntry(key: $0.key, value: $1) })
        }
    }

    private func resolved(_ elements: [Parsed], _ line: Int) throws -> [Value]? {
        var values: [Value] = []
        values.reserveCapacity(elements.count)
        for element in elements {
            guard let value = try resolved(element, line) else { return nil }
            values.append(value)
        }
        return values
    }

    private func key(_ table: TableID, _ target: ImportValues.Target) throws -> Int64? {
        let view = transaction.table(table)
        switch target {
        case .primaryKey(let value): return view.firstKey(primaryKey: value)
        case .number(let number):
            if let key = renumbered[table]?[number] { return key }
            // A number that no object of the import has is the number of one of the store's own objects.
            guard isComplete || number >= firstKeys[table.index], view.find(number) != nil,
                !(unnumbered[table]?.contains(number) ?? false)
            else { return nil }
            return number
        }
    }

    /// A property that links to an object that is missing.
    struct MissingLink: Error {
        var table: TableID
        var line: Int
        var text: String
        /// How many links are missing in all.
        var count = 0
    }

    /// Sets the properties that waited for other objects, and leaves out links whose objects do not exist. Returns the
    /// first of these links, nil if there are none. Skips properties of objects that were deleted meanwhile.
    ///
    /// - Parameter didSet: called after each property.
    func finish(_ didSet: () throws -> Void) throws -> MissingLink? {
        let properties = deferred
        deferred = []
        waiting = [:]
        isComplete = true
        var first: MissingLink?
        for (index, property) in properties.enumerated() {
            let place = property.place
            // Between two batches another process may have deleted the object.
            guard index >= superseded[place] ?? 0, transaction.table(place.table).find(place.key) != nil else {
                continue
            }
            var missing = Missing()
            let value = try existing(property.value, &missing)
            if try set(place.table, column: place.column, key: place.key, to: value, line: property.line, isNew: false),
                uncounted[place.table]?.contains(place.key) ?? false
            {
                uncounted[place.table]?.remove(place.key)
                changed += 1
            }
            if let target = missing.first {
                let column = schema[place.table].columns[place.column]
                if first == nil {
                    first = MissingLink(
                        table: place.table, line: property.line,
                        text:
                            "\(DisplayText.line(column.name)) links to \(target), which is neither in the import nor in the store"
                    )
                }
                first?.count += missing.count
            }
            try Interrupts.check()
            try didSet()
        }
        return first
    }

    /// The objects that a value links to and that are missing.
    private struct Missing {
        var count = 0
        /// The first of these objects, for a message.
        var first: String?
    }

    /// The value without links that lead to no object: they become null, and are left out of lists and sets.
    private func existing(_ parsed: Parsed, _ missing: inout Missing) throws -> Parsed {
        func isThere(_ element: Parsed) throws -> Bool {
            switch element {
            case .link(let table, let target), .typedLink(let table, let target):
                if try key(table, target) != nil { return true }
                missing.count += 1
                missing.first = missing.first ?? shown(table, target)
                return false
            default: return true
            }
        }
        switch parsed {
        case .link, .typedLink: return try isThere(parsed) ? parsed : .value(.null)
        case .list(let elements):
            return .list(try elements.filter(isThere).map { try existing($0, &missing) })
        case .set(let elements): return .set(try elements.filter(isThere))
        case .map(let entries):
            return .map(try entries.map { ($0.key, try existing($0.value, &missing)) })
        case .embedded(let table, var values):
            for column in values.keys.sorted() { values[column] = try existing(values[column]!, &missing) }
            return .embedded(table, values)
        case .value: return parsed
        }
    }

    private func shown(_ table: TableID, _ target: ImportValues.Target) -> String {
        let name = DisplayText.line(schema[table].name)
        switch target {
        case .primaryKey(.string(let text)): return "\(name) \(DisplayText.quoted(text))"
        case .primaryKey(.int(let number)): return "\(name) \(number)"
        case .primaryKey(.uuid(let uuid)): return "\(name) \(CellText.uuid(uuid.high, uuid.low))"
        case .primaryKey(let value): return "\(name) \(value)"
        case .number(let number): return "\(name) #\(number)"
        }
    }
}
