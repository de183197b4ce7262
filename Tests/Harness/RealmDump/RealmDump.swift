import FirnRealmFile
import FirnStorage

/// The contents of a Realm file as JSON, in the form of the samples (`Tests/FirnRealmFileTests/Samples`).
///
/// Objects keep the file's order, sets are sorted by their elements' texts, and dictionaries by their keys' bytes, as
/// the samples' generator does. Long strings and binaries are given by length and checksums.
public struct RealmDump {
    private let file: RealmFile
    private let names: [UInt32: String]
    private let hasIndexes: Bool
    /// The position of each object in its class, by table and key, if objects are named by it and not by their key.
    private var positions: [UInt32: [Int64: Int]]?
    /// Receives the text.
    private let write: (String) -> Void

    public init(_ file: RealmFile, hasIndexes: Bool = true, write: @escaping (String) -> Void) {
        self.file = file
        self.hasIndexes = hasIndexes
        self.write = write
        var names: [UInt32: String] = [:]
        for type in file.classes { names[type.table] = type.name }
        self.names = names
    }

    /// Prepares for a comparison with a dump of a store. Objects are named by their position in their class. A class
    /// for a server's use is an ordinary one there, and a set has NaN and zero only once.
    public mutating func compareWithStore() throws {
        var positions: [UInt32: [Int64: Int]] = [:]
        for type in file.classes {
            var own: [Int64: Int] = [:]
            try file.forEachBatch(of: type) { batch in
                for index in 0..<batch.count { own[batch.key(index)] = own.count }
            }
            positions[type.table] = own
        }
        file.beginReading()
        self.positions = positions
    }

    private func name(_ table: UInt32, _ key: Int64) -> Int64? {
        guard let positions else { return key }
        return positions[table]?[key].map(Int64.init)
    }

    public func run() throws {
        let version = file.schemaVersion.map(String.init) ?? "null"
        write("{\"format\":\(file.format),\"schemaVersion\":\(version),\"classes\":{")
        for (index, type) in file.classes.enumerated() {
            write(index == 0 ? "" : ",")
            try run(type)
        }
        write("}}\n")
    }

    private func run(_ type: RealmFileClass) throws {
        let kind =
            switch type.kind {
            case .object: "object"
            case .embedded: "embedded"
            case .asymmetric: positions == nil ? "asymmetric" : "object"
            }
        let key = type.primaryKey.map { DumpText.quoted(type.properties[$0].name) } ?? "null"
        write("\(DumpText.quoted(type.name)):{\"kind\":\"\(kind)\",\"primaryKey\":\(key),\"properties\":[")
        write(type.properties.map(description).joined(separator: ","))
        write("],\"objects\":[")
        var isFirst = true
        try file.forEachBatch(of: type) { batch in
            for index in 0..<batch.count {
                var text = isFirst ? "" : ","
                isFirst = false
                text += "{\"key\":\(name(type.table, batch.key(index)) ?? -1),\"values\":{"
                for (number, property) in type.properties.enumerated() {
                    text += (number == 0 ? "" : ",") + DumpText.quoted(property.name) + ":"
                    text += try self.text(batch.value(number, index))
                }
                write(text + "}}")
            }
        }
        write("]}")
    }

    private func description(_ property: RealmFileProperty) -> String {
        var parts = ["\"name\":\(DumpText.quoted(property.name))", "\"type\":\"\(Self.name(property.type.kind))\""]
        parts.append("\"optional\":\(property.isOptional)")
        switch property.collection {
        case .list: parts.append("\"collection\":\"list\"")
        case .set: parts.append("\"collection\":\"set\"")
        case .dictionary: parts += ["\"collection\":\"dictionary\"", "\"keyType\":\"string\""]
        case nil: parts.append("\"collection\":null")
        }
        if hasIndexes {
            switch property.index {
            case .none: parts.append("\"index\":\"none\"")
            case .general: parts.append("\"index\":\"general\"")
            case .fullText: parts.append("\"index\":\"fulltext\"")
            }
        }
        if let target = property.target { parts.append("\"target\":\(DumpText.quoted(target))") }
        return "{" + parts.joined(separator: ",") + "}"
    }

    private static func name(_ kind: ElementType.Kind) -> String {
        switch kind {
        case .int: "int"
        case .bool: "bool"
        case .string: "string"
        case .binary: "binary"
        case .mixed: "mixed"
        case .timestamp, .oldDate: "timestamp"
        case .float: "float"
        case .double: "double"
        case .decimal: "decimal"
        case .object: "object"
        case .objectID: "objectid"
        case .typedLink: "typedlink"
        case .uuid: "uuid"
        }
    }

    private func text(_ value: RealmFileValue) throws -> String {
        switch value {
        case .null: return "null"
        case .int(let value): return String(value)
        case .bool(let value): return String(value)
        case .float(let bits): return "{\"f32\":\"\(DumpText.hex(UInt64(bits), 8))\"}"
        case .double(let bits): return "{\"f64\":\"\(DumpText.hex(bits, 16))\"}"
        case .string(let bytes): return DumpText.string(bytes)
        case .binary(let bytes):
            return "{\"bin\":" + (bytes.count > 512 ? DumpText.long(bytes) : "\"\(DumpText.hex(bytes))\"") + "}"
        case .timestamp(let seconds, let nanoseconds): return "{\"t\":[\(seconds),\(nanoseconds)]}"
        case .decimal(let low, let high): return "{\"dec\":\"\(DumpText.hex(high, 16))\(DumpText.hex(low, 16))\"}"
        case .objectID(let bytes): return "{\"oid\":\"\(DumpText.hex(bytes))\"}"
        case .uuid(let bytes):
            let digits = Array(DumpText.hex(bytes))
            let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
            return "{\"uuid\":\"\(parts.joined(separator: "-"))\"}"
        case .link(let table, let key):
            guard let key = self.name(table, key) else { return "null" }
            guard let name = names[table] else { return "{\"link\":[null,\(key)]}" }
            return "{\"link\":[\(DumpText.quoted(name)),\(key)]}"
        case .collection(let collection): return try text(collection)
        }
    }

    private func text(_ collection: RealmFileCollection) throws -> String {
        var elements: [String] = []
        if collection.kind == .dictionary {
            var entries: [(key: [UInt8], text: String)] = []
            try file.forEachEntry(of: collection) { key, value in
                entries.append((Array(key), "[\(DumpText.string(key)),\(try text(value))]"))
            }
            entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
            elements = entries.map(\.text)
            return "{\"dict\":[" + elements.joined(separator: ",") + "]}"
        }
        try file.forEachElement(of: collection) { elements.append(try text($0)) }
        if collection.kind == .set {
            if positions != nil { elements = DumpText.members(elements) }
            elements.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        let list = "[" + elements.joined(separator: ",") + "]"
        return collection.isNested ? "{\"list\":\(list)}" : list
    }
}
