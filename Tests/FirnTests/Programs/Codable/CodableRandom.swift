import Firn
import Foundation

/// Random plain objects.
struct CodableRandom {
    private var random: any RandomNumberGenerator
    private var ids = 0
    /// Property lists can't tell the text "$null" from nil, nor JSON encode dates of all kinds.
    var hasNullText = true
    var hasEndlessDates = true

    init(_ random: any RandomNumberGenerator) { self.random = random }

    mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
    private mutating func one<T>(of values: [T]) -> T { values[below(values.count)] }
    private mutating func maybe<T>(_ value: T) -> T? { below(3) == 0 ? nil : value }
    private mutating func some<T>(_ make: (inout CodableRandom) -> T) -> [T] { (0..<below(4)).map { _ in make(&self) } }

    static let doubles: [Double] = [
        0, -0.0, 1.5, -1e300, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .nan, .infinity, -.infinity,
        9_007_199_254_740_994, 0.1,
    ]
    static let texts = ["", "a", "\u{0}", "z\u{0}y", "👩‍👩‍👧", "é", "e\u{301}", "\"\\/\n\u{2028}", "null", "NaN", "$null"]
    static let keys = ["", "k", "ключ", "a b", "👩‍👩‍👧", "\u{0}", "é"]
    static let dates = [
        Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSince1970: 0.5), .distantPast, .distantFuture,
        Date(timeIntervalSinceReferenceDate: .nan), Date(timeIntervalSinceReferenceDate: .infinity),
        Date(timeIntervalSinceReferenceDate: -.infinity), Date(timeIntervalSinceReferenceDate: 1e300),
        Date(timeIntervalSinceReferenceDate: 123_456_789.25),
    ]
    static let decimals = [
        "0", "-0", "1.5", "1E+6144", "-1E-6176", "NaN", "Infinity", "-Infinity", "9.999999999999999999999999999999999",
        "12345678901234567890.12345", "1.23456789E132",
    ].map { PlainDecimal(text: (try? Decimal128(string: $0))?.stringValue ?? $0) }

    private mutating func double() -> Double { one(of: Self.doubles) }
    private mutating func float() -> Float { one(of: [0, -0.0, 1.5, .nan, .infinity, -.infinity, .ulpOfOne, 3.4e38]) }
    private mutating func text() -> String { one(of: hasNullText ? Self.texts : Self.texts.dropLast()) }
    private mutating func date() -> Date { one(of: hasEndlessDates ? Self.dates : Self.dates.filter(\.isEarly)) }
    private mutating func data() -> Data { Data((0..<one(of: [0, 1, 7, 40])).map { UInt8($0) }) }
    private mutating func decimal() -> PlainDecimal { one(of: Self.decimals) }
    private mutating func uuid() -> UUID {
        UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(below(256))))
    }
    private mutating func id() -> String { one(of: ["0123456789abcdef01234567", "ffffffffffffffffffffffff"]) }
    private mutating func mood() -> CodedMood { one(of: CodedMood.allCases) }
    private mutating func integer() -> Int { one(of: [0, 1, -1, .max, .min, 9_007_199_254_740_993]) }

    private mutating func part(_ depth: Int) -> PlainObject.PlainPart {
        PlainObject.PlainPart(
            city: text(), size: maybe(float()), inner: depth < 2 && below(2) == 0 ? part(depth + 1) : nil,
            marks: some { $0.decimal() })
    }

    private mutating func value(_ depth: Int) -> PlainValue {
        switch below(depth < 2 ? 11 : 9) {
        case 0: .none
        case 1: .int(integer())
        case 2: .bool(below(2) == 0)
        case 3: .double(double())
        case 4: .text(text())
        case 5: .data(data())
        case 6: .date(date())
        case 7: .decimal(decimal())
        case 8: .id(uuid())
        case 9: .list(some { $0.value(depth + 1) })
        default: .map(entries { $0.value(depth + 1) })
        }
    }

    private mutating func entries<V>(_ make: (inout CodableRandom) -> V) -> [String: V] {
        var result: [String: V] = [:]
        for _ in 0..<below(4) { result.updateValue(make(&self), forKey: one(of: Self.keys)) }
        return result
    }

    mutating func object(depth: Int = 0) -> PlainObject {
        var object = PlainObject()
        ids += 1
        object.id = ids
        object.bool = below(2) == 0
        (object.int8, object.int16, object.int32) = (
            one(of: [.min, 0, .max]), maybe(one(of: [.min, 1, .max])), maybe(.min)
        )
        object.int64 = Int64(integer())
        (object.float, object.double, object.text) = (float(), double(), text())
        (object.data, object.date, object.objectId, object.uuid) = (data(), date(), id(), uuid())
        (object.decimal, object.mood, object.level) = (decimal(), mood(), maybe(one(of: CodedLevel.allCases)))
        object.warmth = double()
        (object.optionalBool, object.optionalDouble, object.optionalText) = (
            maybe(true), maybe(double()), maybe(text())
        )
        (object.optionalData, object.optionalDate) = (maybe(data()), maybe(date()))
        (object.optionalObjectId, object.optionalUUID) = (maybe(id()), maybe(uuid()))
        (object.optionalDecimal, object.optionalMood) = (maybe(decimal()), maybe(mood()))
        (object.any, object.part) = (value(0), maybe(part(0)))
        object.parts = some { $0.part(0) }
        if depth < 2, below(2) == 0 { object.link = PlainObject.Box(self.object(depth: depth + 1)) }
        if depth < 1, below(2) == 0 { object.links = some { $0.object(depth: 2) } }
        object.ints = some { $0.maybe($0.integer()) }
        (object.dates, object.anys) = (some { $0.date() }, some { $0.value(1) })
        (object.words, object.decimals) = (some { $0.text() }, some { $0.decimal() })
        object.prices = entries { $0.maybe($0.double()) }
        object.datas = entries { $0.data() }
        object.named = entries { $0.maybe($0.part(1)) }
        return object
    }
}
