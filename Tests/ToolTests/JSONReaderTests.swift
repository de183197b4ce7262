import FirnCore
import FirnTestSupport
import Foundation
import Testing

@testable import FirnTool

/// What reads the text of others: JSON, CSV, and the names of types.
@Suite("Readers of text", .timeLimit(.minutes(20))) struct JSONReaderTests {
    /// Whether the text is one JSON value.
    private static func isRead(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do throws(InputFault) {
                try reader.skip()
                try reader.end()
                return true
            } catch {
                #expect(error.offset >= 0 && error.offset <= bytes.count)
                return false
            }
        }
    }

    private static func foundation(_ bytes: [UInt8]) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
    }

    private struct Maker {
        var random: SeededRandom

        mutating func text(_ depth: Int = 0) -> String {
            func one(_ values: [String]) -> String { values[random.below(values.count)] }
            let space = one(["", "", "", " ", "\n\t", "\r"])
            switch random.below(depth > 4 ? 4 : 7) {
            case 0: return space + one(["null", "true", "false"])
            case 1:
                return space
                    + one(["0", "-0", "1", "-12", "1.5", "0.1e-3", "2E+7", "-0.0", "1e5"])
            case 2, 3:
                return space + "\"" + one(["", "a", "é😀", "\\n\\\"\\\\\\/", "\\u00e9", "\\ud83d\\ude00", "$x"]) + "\""
                    + space
            case 4, 5:
                return "[" + (0..<random.below(4)).map { _ in text(depth + 1) }.joined(separator: ",") + "]" + space
            default:
                let members = (0..<random.below(4)).map { "\"k\($0)\"\(space):\(text(depth + 1))" }
                return space + "{" + members.joined(separator: ",") + "}"
            }
        }
    }

    @Test("accepts JSON and nothing else, as Foundation does", arguments: 1...4 as ClosedRange<UInt64>)
    func acceptance(seed: UInt64) {
        var maker = Maker(random: SeededRandom(seed: seed))
        for _ in 0..<400 {
            let bytes = Array(maker.text().utf8)
            #expect(Self.isRead(bytes), "\(String(decoding: bytes, as: UTF8.self))")
            for _ in 0..<20 {
                var broken = bytes
                for _ in 0...maker.random.below(2) {
                    let at = maker.random.below(broken.count + 1)
                    let byte = Array("{}[]\",:\\0-.eEtnu\u{0} d8".utf8 + [0xC3, 0xFF])[maker.random.below(22)]
                    switch maker.random.below(3) {
                    case 0: broken.insert(byte, at: at)
                    case 1 where at < broken.count: broken[at] = byte
                    default: if at < broken.count { broken.remove(at: at) }
                    }
                }
                let text = String(validating: broken, as: UTF8.self)
                if Self.isRead(broken) {
                    #expect(Self.foundation(broken), "\(text ?? "")")
                } else if let text, !broken.contains(0) {
                    // Foundation also takes a comma behind the last element.
                    let dense = text.filter { !$0.isWhitespace }
                    guard !dense.contains(",]"), !dense.contains(",}") else { continue }
                    #expect(!Self.foundation(broken), "\(text)")
                }
            }
        }
    }

    @Test("a part of a text is refused, and so is nesting without end") func parts() {
        let text = Array("{\"a\":[1,2.5e3,\"x\\u00e9\",{\"b\":null}],\"c\":true}".utf8)
        for count in text.indices { #expect(!Self.isRead(Array(text[..<count]))) }
        for open in ["[", "{\"a\":"] {
            #expect(!Self.isRead(Array(String(repeating: open, count: 1_000_000).utf8)))
        }
        let deep =
            String(repeating: "[", count: JSONReader.depthMax) + String(repeating: "]", count: JSONReader.depthMax)
        #expect(Self.isRead(Array(deep.utf8)) && !Self.isRead(Array("[\(deep)]".utf8)))
    }

    @Test("numbers are integers if they fit") func numbers() throws {
        for (text, number) in [
            ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("0", 0), ("-7", -7),
        ] {
            try Array(text.utf8).withUnsafeBytes { bytes in
                var reader = JSONReader(bytes)
                let value = try reader.number()
                guard case .int(number) = value else {
                    Issue.record("\(text): \(value)")
                    return
                }
            }
        }
        for (text, number) in [("9223372036854775808", 9223372036854775808.0), ("-0", -0.0), ("1.0", 1), ("1e2", 100)] {
            try Array(text.utf8).withUnsafeBytes { bytes in
                var reader = JSONReader(bytes)
                guard case .double(let value) = try reader.number() else {
                    Issue.record("\(text)")
                    return
                }
                #expect(value == number && value.sign == number.sign)
            }
        }
    }

    @Test("fields of CSV come back as they were") func csv() throws {
        var random = SeededRandom(seed: 5)
        let texts = ["", "a", ",", "\"", "\"\"", "a\nb", " x ", "\r", "é", "a,\"b\"\n"]
        for _ in 0..<2_000 {
            let fields = (0...random.below(5)).map { _ in texts[random.below(texts.count)] }
            let line = fields.map { field in
                field.contains { ",\"\n\r".contains($0) } || random.below(2) == 0
                    ? "\"" + field.replacing("\"", with: "\"\"") + "\"" : field
            }.joined(separator: ",")
            for end in ["", "\r"] {
                let bytes = Array((line + end).utf8)
                let read = try bytes.withUnsafeBytes { try CSVReader.fields($0) }
                #expect(read.map { String(decoding: $0.text, as: UTF8.self) } == fields, "\(line)")
                var seen = RecordSource.Seen()
                let found = (bytes + [0x0A, 0x41]).withUnsafeBytes { CSVReader.end($0, isLast: false, seen: &seen) }
                #expect(found == bytes.count, "\(line)")
            }
        }
        for line in ["\"a", "a\"b", "\"a\"b,c"] {
            #expect(throws: InputFault.self) { try Array(line.utf8).withUnsafeBytes { try CSVReader.fields($0) } }
        }
    }

    @Test("types are read as they are written") func types() throws {
        let schema = EveryTypeStore.schema
        for column in schema[EveryTypeStore.thing].columns {
            let named = try #require(TypeText.named(TypeText.text(column, schema)))
            #expect(named.type == column.type && named.collection == column.collection, "\(column)")
            #expect(named.target == column.target.map { schema[$0].name }, "\(column)")
            if column.type != .link { #expect(named.isNullable == column.isNullable, "\(column)") }
        }
        let list = try TypeText.properties(" a : int? ,b:map< link<A, B> >, c:set<uuid>")
        #expect(list.map(\.name) == ["a", "b", "c"])
        #expect(list[1].type == NamedType(type: .link, collection: .map, isNullable: true, target: "A, B"))
    }

    @Test("base64 is the inverse of what export writes") func base64() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 91 &+ count) }
            let text = bytes.withUnsafeBytes { Base64.text($0) }
            #expect(Base64.bytes(text) == bytes)
            #expect(count == 0 || Base64.bytes(String(text.dropLast())) == nil)
        }
        for text in ["====", "A===", "AA=A", "AAAA=", "AA==AAAA", "A*AA", "AAé="] { #expect(Base64.bytes(text) == nil) }
    }
}
