import FirnBytes
import FirnCore

// MARK: Mixed values

extension ImportValues {
    /// Reads a value of a mixed property, or of a collection in one.
    ///
    /// - Parameter depth: how many collections it lies in.
    func readMixed(_ reader: inout JSONReader, depth: Int = 0) throws(InputFault) -> Parsed {
        switch try reader.kind() {
        case .null:
            try reader.null()
            return .value(.null)
        case .bool: return .value(.bool(try reader.bool()))
        case .string:
            let start = reader.offset
            let text = try reader.string()
            try Self.checkLength(text.utf8.count, at: start)
            return .value(.string(text))
        case .number:
            let start = reader.offset
            let text = try reader.numberText()
            if JSONReader.longInteger(text) != nil { return .value(.decimal(try Self.wholeDecimal(text, at: start))) }
            switch try JSONReader.number(text, at: start) {
            case .int(let value): return .value(.int(value))
            case .double(let value): return .value(.double(value))
            }
        case .array:
            try checkDepth(depth, reader)
            var elements: [Parsed] = []
            try reader.array { (reader) throws(InputFault) in
                elements.append(try readMixed(&reader, depth: depth + 1))
            }
            return .list(elements)
        case .object: return try readMixedObject(&reader, depth)
        }
    }

    /// Reads a map, or a value that names its type.
    private func readMixedObject(_ reader: inout JSONReader, _ depth: Int) throws(InputFault) -> Parsed {
        let start = reader.offset
        var isMarked = false
        var marked: Parsed?
        var link: (table: TableID, target: Target?)?
        var entries: [(key: String, value: Parsed)] = []
        var keys: Set<[UInt8]> = []
        try reader.object { (name, offset, reader) throws(InputFault) in
            guard keys.insert(Array(name)).inserted else { throw InputFault("the key is there twice", at: offset) }
            try Self.checkLength(name.count, at: offset)
            let key = String(decoding: name, as: UTF8.self)
            guard key.hasPrefix("$") else {
                try checkDepth(depth, reader)
                entries.append((key, try readMixed(&reader, depth: depth + 1)))
                return
            }
            isMarked = true
            switch key {
            case "$map":
                guard try reader.kind() == .object else { throw InputFault("$map should be an object", at: offset) }
                try checkDepth(depth, reader)
                marked = .map(
                    try readEntries(&reader) { (reader) throws(InputFault) in
                        try readMixed(&reader, depth: depth + 1)
                    })
            case "$link":
                let text = try reader.string()
                guard let table = tables[text], !schema[table].isEmbedded else {
                    throw InputFault("there is no class \(DisplayText.name(text)) to link to", at: offset)
                }
                link = (table, nil)
            case "$key":
                guard let table = link?.table, let primaryKey = schema[table].primaryKey else {
                    throw InputFault("$key should follow $link with a class that has a primary key", at: offset)
                }
                link?.target = .primaryKey(try readKey(table, primaryKey: primaryKey, reader: &reader))
            case "$object":
                guard link != nil, try reader.kind() == .number, case .int(let number) = try reader.number(),
                    number >= 0
                else { throw InputFault("$object should follow $link, and be a number", at: offset) }
                link?.target = .number(number)
            default:
                let types: [String: ColumnType] = [
                    "$float": .float, "$double": .double, "$data": .data, "$date": .date, "$objectId": .objectID,
                    "$uuid": .uuid, "$decimal": .decimal,
                ]
                guard let type = types[key], let value = try readScalar(type, kind: try reader.kind(), reader: &reader)
                else {
                    throw InputFault("\(DisplayText.name(key)) names no type, or has no value of it", at: offset)
                }
                marked = .value(value)
            }
        }
        guard isMarked else {
            return .map(entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
        }
        if let link, let target = link.target, keys.count == 2 { return .typedLink(link.table, target) }
        guard link == nil, let marked, keys.count == 1 else {
            throw InputFault("the keys of this object do not belong together", at: start)
        }
        return marked
    }

    /// Throws if no collection may begin here.
    private func checkDepth(_ depth: Int, _ reader: JSONReader) throws(InputFault) {
        guard depth < Limits.nesting else {
            throw InputFault(
                "a mixed value has collections that are nested more than \(Limits.nesting) levels deep",
                at: reader.offset)
        }
    }
}
