import Firn
import FirnTestSupport
import Foundation
import Testing

final class Part: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var code: Int
    @Persisted var age: Int
    @Persisted var text: String
    @Persisted var kind: String
    @Persisted var tags: List<String>
}

/// A file of a store on which a bit has gone wrong, as what an application does meets it. Each in a process of its own, since the program may have to stop.
@Suite("Damage is thrown by what throws, and never becomes data", .timeLimit(.minutes(20)))
struct DamageTests {
    private static let count = 3000

    static func configuration(_ path: String) -> Realm.Configuration {
        var configuration = Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [Part.self])
        configuration.verifyOnOpen = .directory
        configuration.onDamage = { _ in say("onDamage") }
        return configuration
    }

    static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    static func fill(_ path: String) throws -> Realm {
        let realm = try Realm(configuration: configuration(path))
        try realm.write {
            for id in 0..<count {
                let values: [String: Any] = [
                    "id": id, "code": id * 7919 % count, "age": id % 90 + 1,
                    "text": "text \(id) \(id &* 48271) \(id &* 7919 % 1013)", "kind": "kind \(id % 7)",
                    "tags": ["tag \(id % 3)"],
                ]
                realm.add(Part(value: values))
            }
        }
        try realm.compact()
        return realm
    }

    /// Nodes of a checkpoint: leaves of rows, chunks of packed text, chunks with a dictionary, leaves of indexes.
    enum Kind: String, CaseIterable {
        case leaf, text, dictionary, index

        /// What a setter meets of an object that was found before.
        static let values: [Kind] = [.text, .dictionary, .index]

        fileprivate func includes(_ kind: UInt8, _ form: UInt8) -> Bool {
            switch self {
            case .leaf: kind == 4
            case .text: kind == 5 && [1, 10, 11].contains(form)
            case .dictionary: kind == 5 && form == 12
            case .index: kind == 8
            }
        }
    }

    /// Flips a bit in each node of a kind, in the file itself.
    static func damage(_ path: String, _ kind: Kind) throws {
        let folder = path + "/checkpoint"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).max())
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
        func word(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) } }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder + "/" + name))
        var (offset, count) = (64, 0)
        let end = bytes.count - word(bytes.count - 8)
        while offset + 32 <= end, word(offset + 28) >= 32 {
            let length = word(offset + 28)
            if kind.includes(bytes[offset + 16] & 0x3F, bytes[offset + 17]) {
                // Of a dictionary, the values that the chunk names.
                let node = kind == .dictionary ? word(offset + 48) - 1 : offset
                let place = node + word(node + 28) / 2
                try file.seek(toOffset: UInt64(place))
                file.write(Data([bytes[place] ^ 8]))
                count += 1
                if kind == .dictionary { break }
            }
            offset += length
        }
        try file.close()
        #expect(count > 0)
    }

    static func output(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    }

    /// What a process did: 3 where a write threw damage.
    static func code(_ body: () throws -> Void) -> Int32 {
        do { try body() } catch {
            say("\(error)")
            return (error as? Realm.Error)?.code == .invalidDatabase && "\(error)".contains("firn verify") ? 3 : 4
        }
        return 5
    }

    @Test("a property whose chunk is damaged is not read as blank after a setter met it", arguments: Kind.values)
    func getterAfterSetter(_ kind: Kind) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardOutputContent, \.standardErrorContent]
        ) { [path = folder.path + "/store" as String, kind = kind.rawValue as String] in
            _ = try DamageTests.fill(path)
            try DamageTests.damage(path, Kind(rawValue: kind)!)
            let realm = try Realm(configuration: DamageTests.configuration(path))
            let code = DamageTests.code {
                try realm.write {
                    let parts = Array(realm.objects(Part.self).prefix(2))
                    parts[0].text = "new"
                    parts[0].kind = "new"
                    parts[0].code = -1
                    let (text, kind, code) = (parts[1].text, parts[1].kind, parts[1].code)
                    DamageTests.say("read \"\(text)\", \"\(kind)\", \(code)")
                }
            }
            exit(code)
        }
        let output = Self.output(result)
        #expect(output.contains("onDamage") && !output.contains("read"), "\(output)")
        expectMessage(result, "firn verify")
    }

    @Test("setting goes on to the end of the block, whose write throws, each time", arguments: Kind.values)
    func settersThrow(_ kind: Kind) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
            [path = folder.path + "/store" as String, kind = kind.rawValue as String] in
            _ = try DamageTests.fill(path)
            let realm = try Realm(configuration: DamageTests.configuration(path))
            // Found before, so that only the setters meet the damage.
            let objects = Array(realm.objects(Part.self).prefix(600))
            objects.forEach { _ = $0.id }
            try DamageTests.damage(path, Kind(rawValue: kind)!)
            var code: Int32 = 3
            for _ in 0..<2 where code == 3 {
                code = DamageTests.code {
                    try realm.write {
                        for (place, part) in objects.enumerated() {
                            part.text = "new"
                            part.kind = "new"
                            part.code = -place
                            part.tags.removeAll()
                        }
                        let other = Part(value: ["id": -1, "code": 5])
                        realm.add(other)
                        other.age = 5
                    }
                }
            }
            exit(code)
        }
        #expect(!Self.output(result).contains("onDamage"), "\(Self.output(result))")
    }
}
