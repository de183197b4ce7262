import Firn
import FirnTestSupport
import Foundation
import Synchronization
import Testing

private class Parcel: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var city = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

// article: ServerUse
actor Depot {
    private var realm: Realm!

    init(_ url: URL) async throws {
        var configuration = Realm.Configuration(fileURL: url, objectTypes: [Parcel.self])
        configuration.maximumRetainedBytes = 512 << 20
        configuration.activeVersionPolicy = .wait(0.5)
        realm = try await Realm(configuration: configuration, actor: self)
    }

    func move(_ id: Int, to city: String) async throws {
        try await realm.asyncWrite {
            realm.create(Parcel.self, value: ["id": id, "city": city] as [String: Any], update: .modified)
        }
    }

    func newest() async -> Frozen<Realm> {
        realm.refresh()
        return Frozen(await realm.asyncFreeze())
    }

    func close() { realm = nil }
}
// end

// article: ServerUse
func parcels(in city: String, from depot: Depot) async -> [Int] {
    let snapshot = await depot.newest()
    return snapshot.value.objects(Parcel.self).where { $0.city == city }.map(\.id)
}
// end

// article: ServerUse
extension Depot {
    func stream(_ city: String, to send: @Sendable (String) async throws -> Void) async throws {
        for await change in realm.objects(Parcel.self).where({ $0.city == city }).changes {
            guard case .update(let parcels, _, let insertions, _) = change else { continue }
            let arrived = insertions.map { parcels[$0].id }
            for id in arrived { try await send("event: arrived\ndata: \(id)\n\n") }
        }
    }
}
// end

/// The code of the article "Using Firn in a server" (`Tools/check articles`): it compiles, and it does what the article
/// says.
@Suite(.timeLimit(.minutes(20))) struct ServerUseArticleTests {
    private let temporary = TemporaryFolder()

    /// It is not called, because other tests log, too.
    private func logMore() {
        // article: ServerUse
        RealmLogger.shared.level = .detail
        // end
    }

    @Test func theCodeOfTheArticle() async throws {
        let url = URL(filePath: temporary.path + "/parcels.firn")
        let depot = try await Depot(url)
        try await depot.move(1, to: "Rome")
        // A request sees every write that was answered before.
        for id in 2..<50 {
            try await depot.move(id, to: "Oslo")
            #expect(await parcels(in: "Oslo", from: depot).count == id - 1)
        }
        #expect(await parcels(in: "Rome", from: depot) == [1])
        // Many requests write and read at the same time.
        try await withThrowingTaskGroup(of: Void.self) { requests in
            for id in 100..<200 {
                requests.addTask {
                    try await depot.move(id, to: "Bern")
                    #expect(await parcels(in: "Bern", from: depot).contains(id))
                }
            }
            try await requests.waitForAll()
        }

        let sent = Sent()
        let streams = (0..<2).map { _ in
            Task { try await depot.stream("Rome") { text in sent.add(text) } }
        }
        // What is there before a stream begins is no event, so this moves parcels until both have begun.
        var next = 1000
        while Set(sent.texts).count == sent.texts.count {
            try await depot.move(next, to: "Rome")
            next += 1
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(sent.texts.allSatisfy { $0.hasPrefix("event: arrived\ndata: 10") && $0.hasSuffix("\n\n") })

        let backup = URL(filePath: temporary.path + "/backup.firn")
        let count = await depot.newest().value.objects(Parcel.self).count
        // article: ServerUse
        let snapshot = await depot.newest()
        try await Task.detached(priority: .background) {
            try snapshot.value.writeCopy(toFile: backup)
            var copy = Realm.Configuration(fileURL: backup, readOnly: true, objectTypes: [Parcel.self])
            copy.verifyOnOpen = .everything
            _ = try Realm(configuration: copy, queue: nil)
        }.value
        // end
        #expect(snapshot.value.objects(Parcel.self).count == count)

        // article: ServerUse
        for stream in streams { stream.cancel() }
        for stream in streams { _ = await stream.result }
        await depot.close()
        // end
        let copied = try await Task.detached {
            let configuration = Realm.Configuration(fileURL: backup, objectTypes: [Parcel.self])
            return try Realm(configuration: configuration, queue: nil).objects(Parcel.self).count
        }.value
        #expect(copied == count)
    }

    @Test func theStoreIsClosedWhenEverythingIsReleased() async throws {
        let url = URL(filePath: temporary.path + "/parcels.firn")
        do {
            let depot = try await Depot(url)
            try await depot.move(1, to: "Rome")
            let stream = Task { try await depot.stream("Rome") { _ in } }
            #expect(await parcels(in: "Rome", from: depot) == [1])
            stream.cancel()
            _ = await stream.result
            await depot.close()
        }
        #expect(waitUntilClosed(url))
    }

    private final class Sent: Sendable {
        private let all = Mutex<[String]>([])
        var texts: [String] { all.withLock { $0 } }
        func add(_ text: String) { all.withLock { $0.append(text) } }
    }
}
