import Firn
import FirnTestSupport
import Foundation
import Testing

/// A random graph of objects, encoded, decoded, added, copied and damaged, beside structures of Swift with the same
/// values.
final class CodableProgram {
    private let seed: UInt64
    private var random: CodableRandom
    private let usesLists: Bool
    private let dates: Int
    private let realm: Realm
    private(set) var refused = 0
    private(set) var accepted = 0

    init(seed: UInt64) throws {
        self.seed = seed
        random = CodableRandom(SeededRandom(seed: seed))
        // Property lists have no null, and numbers of all kinds.
        usesLists = random.below(4) == 0
        dates = random.below(3)
        random.hasNullText = !usesLists
        random.hasEndlessDates = usesLists || dates > 0
        realm = try Realm(
            configuration: .init(
                inMemoryIdentifier: "codable \(seed) \(UUID())", objectTypes: [CodedObject.self, CodedPart.self]))
    }

    private func encode(_ value: some Encodable) throws -> Data {
        guard !usesLists else {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            return try encoder.encode(value)
        }
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        switch dates {
        case 0: encoder.dateEncodingStrategy = .secondsSince1970
        case 1: encoder.dataEncodingStrategy = .custom { try "#\($0.base64EncodedString())".encode(to: $1) }
        default: break
        }
        return try encoder.encode(value)
    }

    private func decode<T: Decodable>(_ type: T.Type, _ data: Data) throws -> T {
        guard !usesLists else { return try PropertyListDecoder().decode(type, from: data) }
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        switch dates {
        case 0: decoder.dateDecodingStrategy = .secondsSince1970
        case 1:
            decoder.dataDecodingStrategy = .custom {
                guard let data = Data(base64Encoded: String(try String(from: $0).dropFirst())) else {
                    throw DecodingError.dataCorrupted(.init(codingPath: $0.codingPath, debugDescription: "no bytes"))
                }
                return data
            }
        default: break
        }
        return try decoder.decode(type, from: data)
    }

    private func compare(_ found: PlainObject, expected: PlainObject, what: String) {
        let (found, expected) = (found.canonical, expected.canonical)
        if found == expected { return }
        // The texts are long: only what is around the first difference.
        let start = max(0, zip(found, expected).prefix { $0 == $1 }.count - 60)
        let (a, b) = (found.dropFirst(start).prefix(160), expected.dropFirst(start).prefix(160))
        Issue.record("seed \(seed): \(what) is …\(a)…, not …\(b)…")
    }

    /// Not the arguments of a condition: Foundation can't describe dates of all kinds.
    private func check(_ isRight: Bool, _ what: String) {
        if !isRight { Issue.record("seed \(seed): \(what)") }
    }

    private func isRefused(_ value: some Encodable) -> Bool {
        do { _ = try encode(value) } catch is EncodingError { return true } catch {}
        return false
    }

    func run() throws {
        for round in 0..<2 {
            let text = try encode(random.object())
            let plain = try decode(PlainObject.self, text)
            let object = try decode(CodedObject.self, text)
            compare(PlainObject(object), expected: plain, what: "decoded")
            check(object.realm == nil && object.link?.realm == nil && object.part?.realm == nil, "decoded into a realm")
            // What is encoded says the same, to Swift's structures and to the class.
            let again = try encode(object)
            compare(try decode(PlainObject.self, again), expected: plain, what: "encoded")
            compare(PlainObject(try decode(CodedObject.self, again)), expected: plain, what: "decoded again")
            try add(object, plain: plain, text: again, round: round)
            if !usesLists { for _ in 0..<12 { damage(text) } }
        }
    }

    // MARK: In a realm

    private func add(_ object: CodedObject, plain: PlainObject, text: Data, round: Int) throws {
        let policy: Realm.UpdatePolicy = round > 0 || random.below(2) == 0 ? .all : .error
        try realm.write { realm.add(object, update: policy) }
        let stored = plain.stored
        compare(PlainObject(object), expected: stored, what: "managed")
        let frozen = object.freeze()
        for object in [object, frozen] {
            check(isRefused(object), "a managed object are encoded")
            try encodeCollections(of: object, stored)
            // A copy has the embedded objects, and the links of the original.
            let copy = CodedObject(value: object)
            if copy.link != nil || !copy.links.isEmpty {
                check(isRefused(copy), "links to managed objects are encoded")
            }
            copy.link = nil
            copy.links.removeAll()
            var alone = stored
            (alone.link, alone.links) = (nil, [])
            compare(
                try decode(PlainObject.self, encode(copy)), expected: try decode(PlainObject.self, encode(alone)),
                what: "a copy")
        }
        // What was encoded is added again, over what is there.
        let again = try decode(CodedObject.self, text)
        try realm.write { realm.add(again, update: random.below(2) == 0 ? .all : .modified) }
        compare(PlainObject(again), expected: stored, what: "added again")
        compare(PlainObject(frozen), expected: stored, what: "frozen")
        let all = Set(plain.all.map(\.id))
        check(Set(realm.objects(CodedObject.self).map(\.id)).isSuperset(of: all), "linked objects were not added")
    }

    private func encodeCollections(of object: CodedObject, _ stored: PlainObject) throws {
        func same<T: Codable>(_ a: some Encodable, _ b: some Encodable, _ type: T.Type, _ what: String) throws {
            let (a, b) = (
                PlainObject.text(try decode(type, encode(a))), PlainObject.text(try decode(type, encode(b)))
            )
            check(a == b, "managed \(what) are \(a), not \(b)")
        }
        try same(object.ints, stored.ints, [Int?].self, "ints")
        try same(object.dates, stored.dates, [Date].self, "dates")
        try same(object.words, object.words.map { $0 }, [String].self, "words")
        try same(object.words.sorted(), object.words.sorted().map { $0 }, [String].self, "sorted words")
        var alone = PlainObject()
        alone.anys = try decode([PlainValue].self, encode(object.anys))
        alone.prices = try decode([String: Double?].self, encode(object.prices))
        alone.datas = try decode([String: Data].self, encode(object.datas))
        var expected = PlainObject()
        expected.uuid = alone.uuid
        expected.anys = try decode([PlainValue].self, encode(stored.anys))
        (expected.prices, expected.datas) = (stored.prices, stored.datas)
        compare(alone, expected: expected, what: "managed collections")
        if !object.parts.isEmpty {
            check(isRefused(object.parts), "managed parts are encoded")
        }
    }

    // MARK: Damage

    /// Damages a text, and checks that the class takes it if Swift's structures do, and throws otherwise.
    private func damage(_ text: Data) {
        guard let damaged = random.below(4) == 0 ? bytes(text) : values(text) else { return }
        let plain = (try? decode(PlainObject.self, damaged)).flatMap { $0.isValid ? $0 : nil }
        do {
            let object = try decode(CodedObject.self, damaged)
            accepted += 1
            guard let plain else {
                Issue.record("seed \(seed): accepted \(difference(damaged, text))")
                return
            }
            compare(PlainObject(object), expected: plain, what: "damaged")
        } catch {
            refused += 1
            if plain != nil { Issue.record("seed \(seed): \(error) for \(difference(damaged, text))") }
        }
    }

    /// Lines of a damaged text that the text does not have.
    private func difference(_ damaged: Data, _ text: Data) -> String {
        func lines(_ data: Data) -> [String] {
            String(decoding: data, as: UTF8.self).components(separatedBy: ",\"")
        }
        let whole = Set(lines(text))
        return lines(damaged).filter { !whole.contains($0) }.joined(separator: ",\"")
    }

    /// Some bytes changed or cut off.
    private func bytes(_ text: Data) -> Data {
        var bytes = Array(text)
        if random.below(2) == 0 { return Data(bytes.prefix(random.below(bytes.count))) }
        for _ in 0..<(random.below(3) + 1) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
        return Data(bytes)
    }

    /// A value of the text replaced or removed.
    private func values(_ text: Data) -> Data? {
        guard let root = try? JSONSerialization.jsonObject(with: text) else { return nil }
        let new = replacing(root, depth: random.below(4))
        return try? JSONSerialization.data(withJSONObject: new, options: .fragmentsAllowed)
    }

    private func replacing(_ value: Any, depth: Int) -> Any {
        if let entries = value as? [String: Any], !entries.isEmpty {
            var result = entries
            let keys = entries.keys.sorted()
            let key = keys[random.below(keys.count)]
            guard depth > 0 || random.below(4) > 0 else {
                result[key] = nil
                return result
            }
            if random.below(12) == 0 {
                result[["$k", "a.b", "k", "id"][random.below(4)]] = result[key]
            } else {
                result[key] = depth > 0 ? replacing(entries[key] ?? 0, depth: depth - 1) : other()
            }
            return result
        }
        if var elements = value as? [Any], !elements.isEmpty, depth > 0 {
            let index = random.below(elements.count)
            if random.below(3) == 0 {
                elements.append(other())
            } else {
                elements[index] = replacing(elements[index], depth: depth - 1)
            }
            return elements
        }
        return other()
    }

    private func other() -> Any {
        let values: [Any] = [
            NSNull(), 0, 1, -1, 128, 300, 40_000, Int.max, UInt64.max, 1.5, -1e300, 1e39, true, false, "", "x", "nan",
            "4.50",
            "AQI=", "calm", "\u{0}", "0123456789abcdef01234567", "0123456789ABCDEF01234567", "zz23456789abcdef01234567",
            "00112233-4455-6677-8899-aabbccddeeff", [Any](), [String: Any](), [NSNull()], [1, "x"], ["$k": 1],
            ["a.b": 1], ["k": NSNull()], ["city": "x"], ["city": "x", "marks": ["1", 2, 2.5]],
            ["k": ["city": "y", "marks": []]],
            ["none": [String: Any]()], ["map": ["_0": ["$k": ["none": [String: Any]()]]]], ["int": ["_0": 7]],
        ]
        return values[random.below(values.count)]
    }
}
