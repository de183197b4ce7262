import Firn
import FirnTestSupport
import Foundation
import Testing

final class Shipment: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
}

/// Kept until the process ends, as programs keep their realm.
nonisolated(unsafe) private var keptRealm: Realm?

@Suite("A program that ends leaves almost nothing to replay", .timeLimit(.minutes(20))) struct ClosingTests {
    private static func configuration(_ path: String) -> Realm.Configuration {
        Realm.Configuration(fileURL: URL(fileURLWithPath: path), objectTypes: [Shipment.self])
    }

    /// Commits some 3 MB, in transactions of 1,000.
    private static func fill(_ realm: Realm) throws {
        var state: UInt64 = 1
        for first in stride(from: 0, to: 6000, by: 1000) {
            try realm.write {
                for id in first..<first + 1000 {
                    // This does not compress.
                    var text = ""
                    for _ in 0..<40 {
                        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                        text += String(state, radix: 36)
                    }
                    realm.add(Shipment(value: ["id": id, "text": text]))
                }
            }
        }
    }

    private static func logByteCount(_ path: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: path + "/log").reduce(0) { sum, name in
            let attributes = try FileManager.default.attributesOfItem(atPath: path + "/log/" + name)
            return sum + (attributes[.size] as? Int ?? 0)
        }
    }

    private static func check(_ path: String) throws {
        let checkpoints = try FileManager.default.contentsOfDirectory(atPath: path + "/checkpoint")
        #expect(checkpoints.count == 1)
        #expect(try logByteCount(path) < 1 << 20)
        let realm = try Realm(configuration: configuration(path))
        #expect(realm.recovery?.outcome == .clean)
        #expect(realm.objects(Shipment.self).count == 6000)
        #expect(realm.object(ofType: Shipment.self, forPrimaryKey: 5999)?.text.isEmpty == false)
    }

    @Test("if its last realm is released") func closes() throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        do {
            let realm = try Realm(configuration: Self.configuration(path))
            try Self.fill(realm)
            #expect(try Self.logByteCount(path) > 2 << 20)
        }
        try Self.check(path)
    }

    @Test("if it calls exit with its realm in a global") func exits() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
            let realm = try Realm(configuration: ClosingTests.configuration(path))
            keptRealm = realm
            try ClosingTests.fill(realm)
            exit(7)
        }
        try Self.check(path)
    }

    @Test("if it calls exit within a transaction, which is as if it had never begun") func exitsInTransaction()
        async throws
    {
        let folder = TemporaryFolder()
        let path = folder.path + "/store"
        await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
            let realm = try Realm(configuration: ClosingTests.configuration(path))
            keptRealm = realm
            try ClosingTests.fill(realm)
            realm.beginWrite()
            realm.add(Shipment(value: ["id": 9999, "text": "half"]))
            exit(7)
        }
        let realm = try Realm(configuration: Self.configuration(path), queue: nil)
        #expect(realm.objects(Shipment.self).count == 6000)
    }
}
