import FirnBytes
import FirnCore

extension TextImport {
    /// The classes that the records need, and the schema's version if they say one.
    func classes(_ stored: StoreSchema) throws -> (classes: [ImportSchema.Class], version: UInt64) {
        source.keep()
        defer { source.rewind() }
        if !options.isCSV {
            var found: (classes: [ImportSchema.Class], version: UInt64)?
            try forEachRecord { record, _ in
                var reader = JSONReader(record)
                guard try reader.kind() == .object else { return false }
                try reader.object { (name, _, reader) throws(InputFault) in
                    guard name.elementsEqual("$schema".utf8) else { return try reader.skip() }
                    found = try ImportSchema.read(&reader)
                }
                return false
            }
            if let found {
                guard options.types.isEmpty, options.primaryKey == nil else {
                    throw ToolError(
                        .usage,
                        "\(source.name) begins with a schema, which has the types. Leave --types and --primary-key out."
                    )
                }
                return found
            }
            source.rewind()
            source.keep()
        }
        var names: Set<String> = []
        for type in options.types where !names.insert(type.name).inserted {
            throw ToolError(.usage, "--types names \(DisplayText.name(type.name)) twice.")
        }
        guard let type = options.type else {
            throw ToolError(.usage, "\(source.name) does not begin with a schema. Give the objects' class with --type.")
        }
        if stored.table(named: type) != nil {
            let properties = options.types.map { ($0.name, $0.type, false) }
            return ([ImportSchema.Class(name: type, primaryKey: options.primaryKey, properties: properties)], 0)
        }
        return ([try inferred(type)], 0)
    }

    /// A class whose properties take all values of the records.
    private func inferred(_ type: String) throws -> ImportSchema.Class {
        var guesses = TypeGuesses()
        var count = 0
        try forEachRecord(skipsEmpty: { !options.isCSV || guesses.all.count != 1 }) { record, _ in
            if options.isCSV {
                let row = try CSVReader.fields(record)
                if guesses.isEmpty {
                    for field in row {
                        _ = try Self.name(field)
                        guesses.add(field.text)
                    }
                    return true
                }
                for (index, field) in row.enumerated() { guesses.see(field, at: index) }
            } else {
                var reader = JSONReader(record)
                var index = 0
                try reader.object { (name, _, reader) throws(InputFault) in
                    if name.first == UInt8(ascii: "$") { return try reader.skip() }
                    try guesses.see(name, at: index, &reader)
                    index += 1
                }
                try reader.end()
            }
            count += 1
            return true
        }
        let given = Dictionary(options.types.map { ($0.name, $0.type) }) { $1 }
        let properties = guesses.all.filter { $0.name != "$object" }.map { name, guess in
            var guess = guess
            if guess.count < count { guess.miss() }
            var type = given[name] ?? guess.type(isText: options.isCSV)
            if name == options.primaryKey, given[name] == nil { type.isNullable = false }
            return (name, type, false)
        }
        let further = options.types.filter { type in !properties.contains { $0.0 == type.name } }.map {
            ($0.name, $0.type, false)
        }
        return ImportSchema.Class(name: type, primaryKey: options.primaryKey, properties: properties + further)
    }
}
