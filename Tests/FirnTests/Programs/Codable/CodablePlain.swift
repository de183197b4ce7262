import Firn
import Foundation

/// The same as structures of Swift alone, with the standard library's code.
struct PlainObject: Codable, Sendable {
    var id = 0
    var bool = false
    var int8: Int8 = 0
    var int16: Int16?
    var int32: Int32?
    var int64: Int64 = 0
    var float: Float = 0
    var double = 0.0
    var text = ""
    var data = Data()
    var date = Date(timeIntervalSince1970: 0)
    var objectId: String = "000000000000000000000000"
    var uuid = UUID()
    var decimal = PlainDecimal(text: "0")
    var mood = CodedMood.calm
    var level: CodedLevel?
    var warmth = 0.0
    var optionalBool: Bool?
    var optionalDouble: Double?
    var optionalText: String?
    var optionalData: Data?
    var optionalDate: Date?
    var optionalObjectId: String?
    var optionalUUID: UUID?
    var optionalDecimal: PlainDecimal?
    var optionalMood: CodedMood?
    var any = PlainValue.none
    var part: PlainPart?
    var link: Box?
    var parts: [PlainPart] = []
    var links: [PlainObject] = []
    var ints: [Int?] = []
    var dates: [Date] = []
    var anys: [PlainValue] = []
    var words: [String] = []
    var decimals: [PlainDecimal] = []
    var prices: [String: Double?] = [:]
    var datas: [String: Data] = [:]
    var named: [String: PlainPart?] = [:]

    final class Box: Codable, Sendable {
        let object: PlainObject
        init(_ object: PlainObject) { self.object = object }
        init(from decoder: any Decoder) throws { object = try PlainObject(from: decoder) }
        func encode(to encoder: any Encoder) throws { try object.encode(to: encoder) }
    }

    struct PlainPart: Codable, Sendable {
        var city = ""
        var size: Float?
        var inner: [PlainPart] = []
        var marks: [PlainDecimal] = []

        enum CodingKeys: String, CodingKey { case city, size, inner, marks }

        init(city: String, size: Float?, inner: PlainPart?, marks: [PlainDecimal]) {
            (self.city, self.size, self.inner, self.marks) = (city, size, inner.map { [$0] } ?? [], marks)
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            city = try values.decode(String.self, forKey: .city)
            size = try values.decodeIfPresent(Float.self, forKey: .size)
            inner = try values.decodeIfPresent(PlainPart.self, forKey: .inner).map { [$0] } ?? []
            marks = try values.decode([PlainDecimal].self, forKey: .marks)
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(city, forKey: .city)
            try values.encode(size, forKey: .size)
            try values.encode(inner.first, forKey: .inner)
            try values.encode(marks, forKey: .marks)
        }
    }
}

/// A decimal number as its text, in the one form that Firn writes.
struct PlainDecimal: Codable, Sendable {
    let text: String
    init(text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let written: String
        if let number = try? container.decode(Int.self) {
            written = "\(number)"
        } else if let number = try? container.decode(UInt64.self) {
            written = "\(number)"
        } else if let number = try? container.decode(Double.self) {
            written = "\(number)"
        } else {
            written = try container.decode(String.self)
        }
        guard let decimal = try? Decimal128(string: written) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: written)
        }
        text = decimal.stringValue
    }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A mixed value as the tests code it: in a dictionary with its type.
indirect enum PlainValue: Codable, Sendable {
    case none, int(Int), bool(Bool), double(Double), text(String), data(Data), date(Date), decimal(PlainDecimal)
    case id(UUID), list([PlainValue]), map([String: PlainValue])
}

/// The application's own code for mixed values.
extension AnyRealmValue: Codable {
    public init(from decoder: any Decoder) throws { self = try PlainValue(from: decoder).value }
    public func encode(to encoder: any Encoder) throws { try PlainValue(self).encode(to: encoder) }
}

extension PlainValue {
    init(_ value: AnyRealmValue) {
        self =
            switch value {
            case .int(let value): .int(value)
            case .bool(let value): .bool(value)
            case .double(let value): .double(value)
            case .string(let value): .text(value)
            case .data(let value): .data(value)
            case .date(let value): .date(value)
            case .decimal128(let value): .decimal(PlainDecimal(text: value.stringValue))
            case .uuid(let value): .id(value)
            case .list(let list): .list(list.map { PlainValue($0) })
            case .dictionary(let map):
                .map(Dictionary(uniqueKeysWithValues: map.map { ($0.key, PlainValue($0.value)) }))
            default: .none
            }
    }

    var value: AnyRealmValue {
        get throws {
            switch self {
            case .none: return .none
            case .int(let value): return .int(value)
            case .bool(let value): return .bool(value)
            case .double(let value): return .double(value)
            case .text(let value): return .string(value)
            case .data(let value): return .data(value)
            case .date(let value): return .date(value)
            case .decimal(let value): return .decimal128(try Decimal128(string: value.text))
            case .id(let value): return .uuid(value)
            case .list(let elements): return .fromArray(try elements.map { try $0.value })
            case .map(let entries):
                for key in entries.keys where key.contains(".") || key.hasPrefix("$") {
                    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: key))
                }
                return .fromDictionary(try entries.mapValues { try $0.value })
            }
        }
    }
}
