import FirnCore

/// Infers the type that a property needs for all values that were seen.
struct TypeGuess {
    private var kinds: Kinds = []
    private var elements: Kinds = []
    private var mayBeMissing = false
    /// The number of objects in which the property was seen.
    private(set) var count = 0

    private struct Kinds: OptionSet {
        let rawValue: UInt16
        static let null = Kinds(rawValue: 1)
        static let bool = Kinds(rawValue: 2)
        static let int = Kinds(rawValue: 4)
        static let double = Kinds(rawValue: 8)
        static let string = Kinds(rawValue: 16)
        static let array = Kinds(rawValue: 32)
        /// A value that only a mixed property takes: an object, or an array within an array.
        static let other = Kinds(rawValue: 64)
        /// An integer that would lose digits as a double.
        static let long = Kinds(rawValue: 128)
        /// An integer of more than 64 bits, which a decimal number keeps.
        static let decimal = Kinds(rawValue: 256)
        /// An integer of more than 64 bits that a double keeps as well.
        static let wide = Kinds(rawValue: 512)

        /// The type of single values of these kinds.
        var type: ColumnType {
            switch subtracting(.null) {
            case .bool: .bool
            case .int, .long, [.int, .long]: .int
            case .double, [.int, .double], [.wide, .double], [.int, .wide, .double]: .double
            case let kinds
            where !kinds.isDisjoint(with: [.decimal, .wide])
                && kinds.isSubset(of: [.int, .long, .decimal, .wide]):
                .decimal
            case .string, []: .string
            default: .mixed
            }
        }
    }

    /// Notes that an object lacks the property.
    mutating func miss() { mayBeMissing = true }

    /// Reads a JSON value, and notes its kind.
    mutating func see(_ reader: inout JSONReader) throws(InputFault) {
        count += 1
        guard try reader.kind() == .array else {
            kinds.insert(try Self.kind(&reader))
            return
        }
        kinds.insert(.array)
        var seen: Kinds = []
        try reader.array { (reader) throws(InputFault) in seen.insert(try Self.kind(&reader)) }
        elements.formUnion(seen)
    }

    private static func kind(_ reader: inout JSONReader) throws(InputFault) -> Kinds {
        switch try reader.kind() {
        case .null:
            try reader.null()
            return .null
        case .bool:
            _ = try reader.bool()
            return .bool
        case .number: return kind(ofNumber: try reader.numberText())
        case .string:
            try reader.skip()
            return .string
        case .object, .array:
            try reader.skip()
            return .other
        }
    }

    private static func kind(ofNumber text: UnsafeRawBufferPointer) -> Kinds {
        guard let integer = JSONReader.integer(text) else {
            guard JSONReader.longInteger(text) != nil else { return .double }
            let double = Double(String(decoding: text, as: UTF8.self)) ?? .nan
            return ImportValues.isExact(double, text) ? .wide : .decimal
        }
        return integer.magnitude <= 1 << 53 ? .int : .long
    }

    /// Notes the kind of a field of CSV.
    mutating func see(_ field: CSVReader.Field) {
        count += 1
        guard !field.isEmpty else {
            kinds.insert(.null)
            return
        }
        kinds.insert(field.isQuoted ? .string : Self.kind(ofText: field.text))
    }

    /// The kind of a field without quotes. Blanks around a number or a word do not count.
    private static func kind(ofText field: [UInt8]) -> Kinds {
        let isBlank = CSVReader.isBlank
        let text = Array(field.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
        if text.elementsEqual("true".utf8) || text.elementsEqual("false".utf8) { return .bool }
        guard JSONReader.isNumber(text) else { return .string }
        return text.withUnsafeBytes { bytes in
            let digits = JSONReader.longInteger(bytes).map { ImportValues.keptDigits($0) } ?? 0
            return digits > 34 ? .string : kind(ofNumber: bytes)
        }
    }

    /// The inferred type.
    ///
    /// - Parameter isText: whether the values were fields of CSV. Values of several kinds are then texts.
    func type(isText: Bool) -> NamedType {
        let isNullable = mayBeMissing || kinds.contains(.null)
        if kinds.contains(.array), kinds.subtracting([.array, .null]).isEmpty {
            let element = elements.contains(.other) ? .mixed : elements.type
            return NamedType(
                type: element, collection: .list, isNullable: elements.contains(.null) || element == .mixed)
        }
        var type = kinds.intersection([.array, .other]).isEmpty ? kinds.type : .mixed
        if type == .mixed, isText { type = .string }
        return NamedType(type: type, isNullable: isNullable || type == .mixed)
    }
}

/// The inferred types of all properties of a class, in the order in which the properties first occurred.
struct TypeGuesses {
    private(set) var all: [(name: String, guess: TypeGuess)] = []
    private var names: [[UInt8]] = []
    private var indices: [String: Int] = [:]
    /// For each position in a record, the index in `all` of the property that was last found there.
    private var order: [Int] = []

    var isEmpty: Bool { all.isEmpty }

    /// Adds a property.
    mutating func add(_ name: [UInt8]) {
        let text = String(decoding: name, as: UTF8.self)
        indices[text] = all.count
        names.append(name)
        all.append((text, TypeGuess()))
    }

    /// Notes the kind of the `index`th field of a record. A record may have too many fields.
    mutating func see(_ field: CSVReader.Field, at index: Int) {
        if index < all.count { all[index].guess.see(field) }
    }

    /// Reads the value of a property that is the `index`th of its record.
    mutating func see(_ name: UnsafeRawBufferPointer, at index: Int, _ reader: inout JSONReader) throws(InputFault) {
        if index < order.count, names[order[index]].elementsEqual(name) {
            return try all[order[index]].guess.see(&reader)
        }
        let text = String(decoding: name, as: UTF8.self)
        if indices[text] == nil { add(Array(name)) }
        let found = indices[text]!
        if index < order.count { order[index] = found } else if index == order.count { order.append(found) }
        try all[found].guess.see(&reader)
    }
}
