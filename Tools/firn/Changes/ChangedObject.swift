import FirnBytes

/// What happened to one object, as a person or a program reads it.
struct ChangedObject {
    enum Change: String {
        case inserted, updated, deleted

        /// The sign before the object in text.
        var sign: Character {
            switch self {
            case .inserted: "+"
            case .updated: "~"
            case .deleted: "-"
            }
        }

        var colour: Output.Colour {
            switch self {
            case .inserted: .green
            case .updated: .yellow
            case .deleted: .red
            }
        }
    }

    /// An object's table and number, which no other object ever has.
    struct Identity: Hashable, Comparable {
        var table: Int
        var key: Int64

        static func < (a: Identity, b: Identity) -> Bool { (a.table, a.key) < (b.table, b.key) }
    }

    /// One property of the object. `text` is empty if the output is JSON, `json` if it is text.
    struct Property {
        var name: String
        var text: String = ""
        var json: [(String, JSON)] = []

        /// Roughly how many bytes the property takes in memory.
        var byteCount: Int { 64 + text.utf8.count + json.reduce(0) { $0 + $1.1.byteCount } }
    }

    var identity: Identity
    var change: Change
    /// The primary key, if it is known; a `JSON.string` if the output is text.
    var primaryKey: JSON?
    var properties: [Property] = []
    /// Whether the object was deleted without its old values in the log.
    var lacksOldValues = false

    /// What the output shows instead of a value that was not logged: in text, and in JSON.
    static let notLogged = "(old value not logged)"
    static let oldNotLogged = ("oldNotLogged", JSON.bool(true))

    func text(_ schema: DecodedSchema?) -> String {
        var line = "\(change.sign) \(schema?.shownName(identity.table) ?? "table \(identity.table)") #\(identity.key)"
        if case .string(let key)? = primaryKey { line += " \(key)" }
        for property in properties { line += "\n    \(property.name): \(property.text)" }
        if lacksOldValues { line += "\n    \(properties.isEmpty ? "" : "other ")old values not logged" }
        return line
    }

    func write(to output: Output, _ schema: DecodedSchema?, isJSON: Bool, stamp: [(String, JSON)] = []) throws {
        if isJSON {
            try output.line(json(schema, stamp: stamp).text)
        } else {
            try output.line(text(schema), change.colour)
        }
    }

    /// - Parameter stamp: members that come first.
    func json(_ schema: DecodedSchema?, stamp: [(String, JSON)] = []) -> JSON {
        .object(
            stamp + [
                ("change", .string(change.rawValue)),
                ("class", .string(schema?.name(identity.table) ?? "table \(identity.table)")),
                ("key", .int(identity.key)), ("primaryKey", primaryKey ?? .null),
            ] + (lacksOldValues ? [Self.oldNotLogged] : []) + [
                ("properties", .array(properties.map { .object([("name", .string($0.name))] + $0.json) }))
            ])
    }
}

/// An element of a collection, and its key if the collection is a map.
struct Element {
    var key: UnsafeRawBufferPointer?
    var value: Cell

    /// The elements of a collection, in its order.
    static func all(of collection: Cell) -> [Element] {
        switch collection {
        case .list(let cells), .set(let cells): cells.map { Element(value: $0) }
        case .map(let entries): entries.map { Element(key: $0.key, value: $0.value) }
        default: []
        }
    }
}

/// One operation of an edit script, with the elements that it adds and removes, as text or as JSON. There are fewer
/// elements than the operation says if they were not logged.
struct ShownEdit {
    var operation: EditScript.Operation
    var new: ArraySlice<Element>
    var old: ArraySlice<Element>

    func text(_ schema: DecodedSchema?) -> String {
        func text(_ elements: ArraySlice<Element>) -> String {
            var shown = elements.prefix(CellText.elementCount).map { element in
                (element.key.map { CellText.quoted($0) + ": " } ?? "") + CellText.text(element.value, schema)
            }
            if elements.count > shown.count { shown.append("… \(elements.count - shown.count) more") }
            return shown.joined(separator: ", ")
        }
        func before(_ count: Int) -> String { old.count < count ? missing(count) : text(old) }
        func after(_ count: Int) -> String { new.count < count ? missing(count) : text(new) }
        func missing(_ count: Int) -> String { count == 1 ? "(value not logged)" : "(\(count) values not logged)" }
        switch operation {
        case .insert(let index, let count): return "insert at \(index): \(after(count))"
        case .remove(let index, let count): return "remove at \(index): \(before(count))"
        case .replace(let index, let count): return "replace at \(index): \(before(count)) -> \(after(count))"
        case .move(let from, let to): return "move \(from) -> \(to)"
        }
    }

    func json(_ schema: DecodedSchema?) -> JSON {
        func values(_ elements: ArraySlice<Element>) -> JSON {
            .array(
                elements.map { element in
                    let value = CellText.json(element.value, schema)
                    return element.key.map {
                        .object([("key", .string(String(decoding: $0, as: UTF8.self))), ("value", value)])
                    } ?? value
                })
        }
        // Elements that were not logged are counted instead.
        func before(_ count: Int) -> [(String, JSON)] {
            old.count < count
                ? [ChangedObject.oldNotLogged, ("oldCount", .int(count))] : [("old", values(old))]
        }
        func after(_ count: Int) -> [(String, JSON)] {
            new.count < count
                ? [("newNotLogged", .bool(true)), ("newCount", .int(count))] : [("new", values(new))]
        }
        switch operation {
        case .insert(let index, let count):
            return .object([("edit", .string("insert")), ("index", .int(index))] + after(count))
        case .remove(let index, let count):
            return .object([("edit", .string("remove")), ("index", .int(index))] + before(count))
        case .replace(let index, let count):
            return .object(
                [("edit", .string("replace")), ("index", .int(index))] + before(count) + after(count))
        case .move(let from, let to):
            return .object([("edit", .string("move")), ("from", .int(from)), ("to", .int(to))])
        }
    }
}
