import Foundation
import Testing

@testable import OrderServer

/// Two processes serve one store under load, while one of them is killed again and again.
@Suite(.timeLimit(.minutes(30))) struct LoadTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func whatWasAnsweredSurvivesKillsAndIsToldToSubscribers() async throws {
        let kills = ProcessInfo.processInfo.environment["FIRN_SERVER_KILLS"].flatMap { Int($0) } ?? 8
        let cluster = try await Cluster(folder.store)
        let ledger = Ledger()
        try await stock(cluster, ledger)
        // A subscriber that fails ends the load.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<2 { group.addTask { try await cluster.subscribe(index) } }
            group.addTask {
                let audits = try await load(cluster, ledger, kills: kills)
                try await compare(cluster, ledger)
                await print("\(kills) kills,", ledger.summary, cluster.summary, audits, "sums")
            }
            try await group.next()
            group.cancelAll()
            try await group.waitForAll()
        }
        for index in 0..<2 { #expect(try await cluster.terminate(index) == .exited(0)) }
        try await recover(ledger)
    }

    @Test func whatOneServerHasAcknowledgedTheOtherShowsAtOnce() async throws {
        let (server, reader) = (try await ServerProcess(folder.store), try await ServerProcess(folder.store))
        let draft = ProductDraft(name: "Tea", price: 1, weight: 1, received: 1, attributes: [:])
        let body = try JSONEncoder().encode(draft)
        try await Client.connect(server.port) { one in
            try await Client.connect(reader.port) { other in
                // The reader has opened the store, and keeps the write lock until it is idle. It hands the lock over
                // now, and does not take it again: a process that sleeps with the lock would let the other one wait.
                #expect(try await one.send("PUT", "/products/first", body).status == 201)
                for number in 0..<200 {
                    // The reader sleeps, so that nothing but the request itself makes it look at the store first.
                    reader.send(SIGSTOP)
                    let written = try await one.send("PUT", "/products/\(number)", body).status
                    try await other.send(Array("GET /products/\(number) HTTP/1.1\r\nHost: test\r\n\r\n".utf8))
                    reader.send(SIGCONT)
                    let read = try await other.reply().status
                    #expect(written == 201 && read == 200)
                }
            }
        }
    }

    /// Adds what is sold. One of the goods will not suffice.
    private func stock(_ cluster: Cluster, _ ledger: Ledger) async throws {
        var random = SplitMix(state: 1)
        try await Client.connect(cluster.port(0)) { client in
            for sku in Buyer.goods {
                let wish = Wish.add(sku: sku, .random(&random, received: sku == "rare" ? 60 : 1_000_000))
                await ledger.willSend(wish)
                _ = try await ledger.didAnswer(wish, try await wish.send(client), isRetry: false)
            }
        }
    }

    /// Lets clients send wishes until so many servers were killed. Returns how often the sums were read.
    private func load(_ cluster: Cluster, _ ledger: Ledger, kills: Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<6 {
                group.addTask {
                    try await cluster.shop(Buyer(number), ledger)
                    return 0
                }
            }
            for index in 0..<2 { group.addTask { try await cluster.audit(index, ledger) } }
            group.addTask {
                for kill in 0..<kills {
                    let wanted = await ledger.answered + 40 + kill * 7 % 30
                    try await Deadline.wait(until: "\(wanted) requests are answered") {
                        await ledger.answered >= wanted
                    }
                    try await cluster.kill(kill % 2)
                }
                await ledger.end()
                return 0
            }
            return try await group.reduce(0, +)
        }
    }

    /// Checks the store against what clients and subscribers know.
    private func compare(_ cluster: Cluster, _ ledger: Ledger) async throws {
        // A version that differs from the one before, so that it is told.
        let wish = Wish.add(sku: "last", ProductDraft(name: "Last", price: 1, weight: 1, received: 1, attributes: [:]))
        await ledger.willSend(wish)
        let status = try await Client.connect(cluster.port(1)) { try await wish.send($0) }
        _ = try await ledger.didAnswer(wish, status, isRetry: false)
        for index in 0..<2 {
            let store = try await cluster.content(index)
            try store.check()
            try await ledger.check(store)
            try await Deadline.wait(until: "the subscriber of server \(index) knows version \(store.version)") {
                await cluster.models[index].version >= store.version
            }
            #expect(try await cluster.models[index] == Model(store))
        }
    }

    /// Opens the store in this process and checks it again.
    private func recover(_ ledger: Ledger) async throws {
        let store = try await Shop(at: folder.store).snapshot().document
        try store.check()
        try await ledger.check(store)
    }
}
