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

/// A bit of a store's file has gone wrong, and an application's calls meet it. Each test runs in a process of its
/// own, because the program may have to stop.
@Suite("Damage is thrown by every call that can throw, and never becomes data", .timeLimit(.minutes(20)))
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

        /// The kinds that a setter meets for an object that was found before.
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
    static func damage(_ path: String, _ kind: Kind, inFirst isFirst: Bool = false) throws {
        let folder = path + "/checkpoint"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let name = try #require(isFirst ? names.min() : names.max())
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
        func word(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) } }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder + "/" + name))
        var (offset, count) = (64, 0)
        let end = bytes.count - word(bytes.count - 8)
        while offset + 32 <= end, word(offset + 28) >= 32 {
            let length = word(offset + 28)
            if kind.includes(bytes[offset + 16] & 0x3F, bytes[offset + 17]) {
                // For a dictionary, the values that the chunk refers to.
                let node = kind == .dictionary ? word(offset + 48) - 1 : offset
                let position = node + word(node + 28) / 2
                try file.seek(toOffset: UInt64(position))
                file.write(Data([bytes[position] ^ 8]))
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

    /// An exit code for what happened: 3 if a write threw damage.
    static func code(_ body: () throws -> Void) -> Int32 {
        do { try body() } catch {
            say("\(error)")
            return (error as? Realm.Error)?.code == .invalidDatabase && "\(error)".contains("firn verify") ? 3 : 4
        }
        return 5
    }

    @Test(
        "a property whose chunk is damaged is not read as blank after a setter met the damage", arguments: Kind.values)
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

    @Test("setters continue to the end of the block, and its write throws each time", arguments: Kind.values)
    func settersThrow(_ kind: Kind) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
            [path = folder.path + "/store" as String, kind = kind.rawValue as String] in
            _ = try DamageTests.fill(path)
            let realm = try Realm(configuration: DamageTests.configuration(path))
            // The objects are found before, so that only the setters meet the damage.
            let objects = Array(realm.objects(Part.self).prefix(600))
            objects.forEach { _ = $0.id }
            try DamageTests.damage(path, Kind(rawValue: kind)!)
            var code: Int32 = 3
            for _ in 0..<2 where code == 3 {
                code = DamageTests.code {
                    try realm.write {
                        for (index, part) in objects.enumerated() {
                            part.text = "new"
                            part.kind = "new"
                            part.code = -index
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

    @Test("a copy of a damaged store throws", arguments: Kind.allCases) func copy(_ kind: Kind) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
            [path = folder.path + "/store" as String, kind = kind.rawValue as String] in
            _ = try DamageTests.fill(path)
            try DamageTests.damage(path, Kind(rawValue: kind)!)
            let realm = try Realm(configuration: DamageTests.configuration(path))
            let copy = URL(fileURLWithPath: path + "-copy")
            let code = DamageTests.code { try realm.writeCopy(toFile: copy) }
            exit(FileManager.default.fileExists(atPath: copy.path) ? 6 : code)
        }
        #expect(!Self.output(result).contains("onDamage"), "\(Self.output(result))")
        #expect(Self.output(result).contains(".checkpoint is damaged"), "\(Self.output(result))")
    }

    @Test("an opening that migrates to a primary key with an index throws", arguments: [Kind.index, .leaf])
    func migration(_ kind: Kind) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
            [path = folder.path + "/store" as String, kind = kind.rawValue as String] in
            _ = try DamageTests.fill(path)
            try DamageTests.damage(path, Kind(rawValue: kind)!)
            var configuration = DamageTests.configuration(path)
            configuration.objectTypes = [PartByCode.self]
            configuration.schemaVersion = 1
            exit(DamageTests.code { _ = try Realm(configuration: configuration) })
        }
        #expect(!Self.output(result).contains("onDamage"), "\(Self.output(result))")
    }

    @Test("a validating `add` or `create` throws when it looks up the primary key", arguments: [true, false])
    func validating(adds: Bool) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
            [path = folder.path + "/store" as String, adds = adds as Bool] in
            _ = try DamageTests.fill(path)
            try DamageTests.damage(path, .index)
            let realm = try Realm(configuration: DamageTests.configuration(path))
            let code = DamageTests.code {
                try realm.write {
                    let inner = DamageTests.code {
                        if adds {
                            try realm.add(validating: Part(value: ["id": 70, "code": 5]), update: .modified)
                        } else {
                            try realm.create(Part.self, validating: ["id": 70, "code": 5], update: .modified)
                        }
                    }
                    if inner != 3 { exit(inner + 10) }
                }
            }
            exit(code)
        }
        #expect(!Self.output(result).contains("onDamage"), "\(Self.output(result))")
    }

    @Test("a write throws each time on a checkpoint that this process wrote itself", arguments: Kind.values)
    func ownCheckpoint(_ kind: Kind) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
            [path = folder.path + "/store" as String, kind = kind.rawValue as String] in
            let realm = try DamageTests.fill(path)
            if kind == Kind.text.rawValue {
                // Writes a second file of what has changed since the first. (Pages of validated nodes no longer show
                // the file.)
                try realm.write { for part in realm.objects(Part.self).prefix(20) { part.age = 0 } }
                try realm.compact()
            }
            try DamageTests.damage(path, Kind(rawValue: kind)!, inFirst: true)
            var code: Int32 = 3
            for _ in 0..<2 where code == 3 {
                code = DamageTests.code {
                    try realm.write {
                        for (index, part) in realm.objects(Part.self).enumerated() {
                            part.text = "new"
                            part.kind = "new"
                            part.code = -index
                        }
                    }
                }
            }
            exit(code)
        }
        #expect(!Self.output(result).contains("onDamage"), "\(Self.output(result))")
    }

    @Test("an object's history, and the changes between versions, throw", arguments: [true, false])
    func past(ofObject: Bool) async throws {
        let folder = TemporaryFolder()
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardOutputContent]) {
            [path = folder.path + "/store" as String, ofObject = ofObject as Bool] in
            var configuration = DamageTests.configuration(path)
            configuration.historyRetention = .everything
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write {
                    for id in 0..<500 { realm.add(Part(value: ["id": id, "text": "text \(id &* 48271)"])) }
                }
                try realm.compact()
                try realm.write { realm.objects(Part.self).forEach { $0.text = "\($0.text), and more" } }
                try realm.write { realm.objects(Part.self).forEach { $0.text = "\($0.text), and more" } }
                try realm.compact()
            }
            try DamageTests.damage(path, .text, inFirst: true)
            let realm = try Realm(configuration: configuration)
            let first = try realm.tryVersions().first { $0.number > 1 }!.number
            let code = DamageTests.code {
                if ofObject {
                    let part = try realm.asOf(version: first).objects(Part.self).first
                    _ = try part?.thaw()?.history()
                } else {
                    let newest = try realm.tryVersions().last!.number
                    _ = try realm.changes(from: first, to: newest)
                }
            }
            exit(code)
        }
        #expect(!Self.output(result).contains("onDamage"), "\(Self.output(result))")
    }
}

/// The class as a later program has it.
final class PartByCode: Object {
    override class func _realmObjectName() -> String? { "Part" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    @Persisted(indexed: true) var id: Int
    @Persisted(primaryKey: true) var code: Int
    @Persisted var age: Int
    @Persisted var text: String
    @Persisted var kind: String
    @Persisted var tags: List<String>
}
