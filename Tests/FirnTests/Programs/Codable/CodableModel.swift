import Firn
import Foundation

enum CodedMood: String, PersistableEnum, Codable { case calm, wild = "very wild \u{0} 👩‍👩‍👧", sad = "" }
enum CodedLevel: Int, PersistableEnum, Codable { case low = -1, zero, high = 9_007_199_254_740_993 }

/// A type of the application that is coded as a number.
struct CodedWarmth: CustomPersistable, Codable {
    var degrees: Double
    init(persistedValue: Double) { degrees = persistedValue }
    var persistableValue: Double { degrees }
    init(from decoder: any Decoder) throws { degrees = try decoder.singleValueContainer().decode(Double.self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(degrees)
    }
}

/// A class with a property of every type that can be coded.
class CodedObject: Object, Codable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var bool: Bool
    @Persisted var int8: Int8
    @Persisted var int16: Int16?
    @Persisted var int32: Int32?
    @Persisted var int64: Int64
    @Persisted var float: Float
    @Persisted var double: Double
    @Persisted(indexed: true) var text: String
    @Persisted var data: Data
    @Persisted var date: Date
    @Persisted var objectId: ObjectId
    @Persisted var uuid: UUID
    @Persisted var decimal: Decimal128
    @Persisted var mood: CodedMood
    @Persisted var level: CodedLevel?
    @Persisted var warmth: CodedWarmth
    @Persisted var optionalBool: Bool?
    @Persisted var optionalDouble: Double?
    @Persisted(indexed: true) var optionalText: String?
    @Persisted var optionalData: Data?
    @Persisted var optionalDate: Date?
    @Persisted var optionalObjectId: ObjectId?
    @Persisted var optionalUUID: UUID?
    @Persisted var optionalDecimal: Decimal128?
    @Persisted var optionalMood: CodedMood?
    @Persisted var any: AnyRealmValue
    @Persisted var part: CodedPart?
    @Persisted var link: CodedObject?
    @Persisted var parts: List<CodedPart>
    @Persisted var links: List<CodedObject>
    @Persisted var ints: List<Int?>
    @Persisted var dates: List<Date>
    @Persisted var anys: List<AnyRealmValue>
    @Persisted var words: MutableSet<String>
    @Persisted var decimals: MutableSet<Decimal128>
    @Persisted var prices: Map<String, Double?>
    @Persisted var datas: Map<String, Data>
    @Persisted var named: Map<String, CodedPart?>
    @Persisted(originProperty: "link") var sources: LinkingObjects<CodedObject>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, bool, int8, int16, int32, int64, float, double, text, data, date, objectId, uuid, decimal, mood, level
        case warmth, optionalBool, optionalDouble, optionalText, optionalData, optionalDate, optionalObjectId
        case optionalUUID, optionalDecimal, optionalMood, any, part, link, parts, links, ints, dates, anys, words
        case decimals, prices, datas, named
    }
}

class CodedPart: EmbeddedObject, Codable {
    @Persisted var city: String
    @Persisted var size: Float?
    @Persisted var inner: CodedPart?
    @Persisted var marks: List<Decimal128>
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
