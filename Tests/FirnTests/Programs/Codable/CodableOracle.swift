import Firn
import Foundation

extension PlainObject {
    /// What an object holds, managed or not.
    init(_ object: CodedObject) {
        id = object.id
        (bool, int8, int16, int32, int64) = (object.bool, object.int8, object.int16, object.int32, object.int64)
        (float, double, text, data, date) = (object.float, object.double, object.text, object.data, object.date)
        (objectId, uuid) = (object.objectId.stringValue, object.uuid)
        decimal = PlainDecimal(object.decimal)
        (mood, level, warmth) = (object.mood, object.level, object.warmth.degrees)
        (optionalBool, optionalDouble, optionalText) = (object.optionalBool, object.optionalDouble, object.optionalText)
        (optionalData, optionalDate) = (object.optionalData, object.optionalDate)
        (optionalObjectId, optionalUUID) = (object.optionalObjectId?.stringValue, object.optionalUUID)
        optionalDecimal = object.optionalDecimal.map { PlainDecimal($0) }
        optionalMood = object.optionalMood
        any = PlainValue(object.any)
        part = object.part.map { PlainPart($0) }
        link = object.link.map { Box(PlainObject($0)) }
        parts = object.parts.map { PlainPart($0) }
        links = object.links.map { PlainObject($0) }
        (ints, dates, anys) = (Array(object.ints), Array(object.dates), object.anys.map { PlainValue($0) })
        words = Array(object.words)
        decimals = object.decimals.map { PlainDecimal($0) }
        for entry in object.prices { prices.updateValue(entry.value, forKey: entry.key) }
        for entry in object.datas { datas[entry.key] = entry.value }
        for entry in object.named { named.updateValue(entry.value.map { PlainPart($0) }, forKey: entry.key) }
    }

    /// The same text for equal objects: sets are sorted.
    var canonical: String { Self.text(normalized) }

    /// A value as JSON, where numbers that JSON does not have are texts.
    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+inf", negativeInfinity: "-inf", nan: "nan")
        do { return String(decoding: try encoder.encode(value), as: UTF8.self) } catch { return "\(error)" }
    }

    private var normalized: PlainObject {
        var object = self
        (object.objectId, object.optionalObjectId) = (objectId.lowercased(), optionalObjectId?.lowercased())
        // Both zeros are one in a set.
        let decimals = decimals.map { $0.text == "-0" ? PlainDecimal(text: "0") : $0 }
        object.decimals = Dictionary(decimals.map { ($0.text, $0) }) { first, _ in first }.values
            .sorted { $0.text < $1.text }
        object.words = Dictionary(words.map { (Array($0.utf8), $0) }) { first, _ in first }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
        object.link = link.map { Box($0.object.normalized) }
        object.links = links.map(\.normalized)
        return object
    }

    /// Whether Firn takes what Swift has decoded: the keys of maps, and identities.
    var isValid: Bool {
        func isKey(_ key: String) -> Bool {
            !key.utf8.contains(UInt8(ascii: ".")) && key.utf8.first != UInt8(ascii: "$")
        }
        func isId(_ text: String) -> Bool {
            text.utf8.count == 24 && text.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
        }
        return [Array(prices.keys), Array(datas.keys), Array(named.keys)].joined().allSatisfy(isKey) && isId(objectId)
            && optionalObjectId.map(isId) ?? true && ([any] + anys).allSatisfy(\.isValid)
            && (link?.object.isValid ?? true) && links.allSatisfy(\.isValid)
    }

    /// The object as a realm stores it: dates are clamped to what a timestamp holds (SEMANTICS 74).
    var stored: PlainObject {
        var object = self
        object.date = date.stored
        object.optionalDate = optionalDate?.stored
        object.dates = dates.map(\.stored)
        object.any = any.stored
        object.anys = anys.map(\.stored)
        object.link = link.map { Box($0.object.stored) }
        object.links = links.map(\.stored)
        return object
    }

    /// The object and all that it links to.
    var all: [PlainObject] { [self] + (link?.object.all ?? []) + links.flatMap(\.all) }
}

extension PlainObject.PlainPart {
    init(_ part: CodedPart) {
        self.init(
            city: part.city, size: part.size, inner: part.inner.map { PlainObject.PlainPart($0) },
            marks: part.marks.map { PlainDecimal($0) })
    }
}

extension PlainDecimal {
    init(_ decimal: Decimal128) { self.init(text: decimal.stringValue) }
}

extension PlainValue {
    fileprivate var isValid: Bool { (try? value) != nil }

    fileprivate var stored: PlainValue {
        switch self {
        case .date(let date): .date(date.stored)
        case .list(let elements): .list(elements.map(\.stored))
        case .map(let entries): .map(entries.mapValues(\.stored))
        default: self
        }
    }
}

extension Date {
    /// Whether it lies within the calendar.
    var isEarly: Bool { abs(timeIntervalSinceReferenceDate) < 1e12 }

    /// What a realm stores: NaN is the start of 1970, and what lies outside of 2^63 seconds is the last one there.
    fileprivate var stored: Date {
        let seconds = timeIntervalSinceReferenceDate
        if seconds.isNaN { return Date(timeIntervalSince1970: 0) }
        if seconds >= 0x1p63 { return Date(timeIntervalSinceReferenceDate: 0x1p63 - 978_307_200) }
        if seconds < -0x1p63 { return Date(timeIntervalSinceReferenceDate: -0x1p63) }
        return self
    }
}
