import Firn
import Foundation
import Testing

@testable import OrderServer

/// SIGTERM ends a server, and nobody is left without an answer.
@Suite(.timeLimit(.minutes(30))) struct ShutdownTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Another process's transaction makes the requests wait: that of the tests.
    private actor Blocker {
        private var realm: Realm?

        func begin(_ url: URL) async throws {
            let realm = try await Realm(
                configuration: .init(fileURL: url, objectTypes: [Product.self]), actor: self)
            realm.beginWrite()
            self.realm = realm
        }

        func end() {
            realm?.cancelWrite()
            realm = nil
        }
    }

    @Test func requestsUnderWayAreAnsweredAndStreamsEnd() async throws {
        let server = try await ServerProcess(folder.store)
        let port = server.port
        let blocker = Blocker()
        try await blocker.begin(folder.store)
        let draft = ProductDraft(name: "Tea", price: 1, weight: 1, received: 1, attributes: [:])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let status = try await Client.send(port, "PUT", "/products/\(number)", draft).status
                    #expect(status == 201)
                }
            }
            // Those that wait for the server must be connected before it ends.
            let (connections, connection) = AsyncStream.makeStream(of: Void.self)
            group.addTask { try await Self.followToTheEnd(port) { connection.yield() } }
            group.addTask { try await Self.askForNothing(port) { connection.yield() } }
            try await Deadline.run("two clients are connected") {
                var waiting = connections.makeAsyncIterator()
                for _ in 0..<2 { await waiting.next() }
            }
            try await Deadline.wait(until: "eight requests wait") {
                // One more is the one that asks. Those of the two clients have been answered.
                try await Client.send(port, "GET", "/status").decoded() == ["requests": 9]
            }
            server.send(SIGTERM)
            try await Deadline.wait(until: "nobody can connect") {
                do { return try await Client.connect(port) { _ in false } } catch is Client.Lost { return true }
            }
            await blocker.end()
            try await group.waitForAll()
        }
        #expect(try await server.end() == .exited(0))
        #expect(try await Shop(at: folder.store).snapshot().document.products.count == 8)
    }

    @Test func aSubscriberThatDoesNotReadHoldsUpNobody() async throws {
        let server = try await ServerProcess(folder.store)
        // Together more than the system keeps for a subscriber.
        let (count, text) = (1500, String(repeating: "x", count: 190))
        let attributes = Dictionary(uniqueKeysWithValues: (0..<20).map { ("\($0)", text) })
        let draft = ProductDraft(name: "Tea", price: 1, weight: 1, received: 1, attributes: attributes)
        let body = try JSONEncoder().encode(draft)
        let eventCount = try await Client.connect(server.port, receiveBuffer: 4096) { subscriber in
            try await subscriber.subscribe()
            try await Client.connect(server.port) { client in
                for number in 0..<count {
                    let status = try await client.send("PUT", "/products/\(number)", body).status
                    #expect(status == 201)
                }
            }
            server.send(SIGTERM)
            let end = try await server.end()
            #expect(end == .exited(0))
            var count = 0
            do { while try await subscriber.event() != nil { count += 1 } } catch is Client.Lost {}
            return count
        }
        #expect(eventCount < count, "the server kept an event for each change")
    }

    /// Calls `begun` after the first event. Throws `Client.Lost` if the stream breaks off.
    private static func followToTheEnd(_ port: Int, begun: () -> Void) async throws {
        try await Client.connect(port) { client in
            try await client.subscribe()
            _ = try await client.event()
            begun()
            while try await client.event() != nil {}
        }
    }

    /// Connects, and waits until the server has closed the connection. Calls `begun` when the server serves it.
    private static func askForNothing(_ port: Int, begun: () -> Void) async throws {
        do {
            let status = try await Client.connect(port) { client in
                _ = try await client.send("GET", "/status", Data())
                begun()
                return try await client.reply().status
            }
            throw Failure("nothing was asked, and \(status) was answered")
        } catch is Client.Lost {}
    }
}
