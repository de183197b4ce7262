import Foundation

@testable import OrderServer

/// Two servers of one store, which are killed and started again, and what their subscribers know.
actor Cluster {
    private let store: URL
    private var servers: [ServerProcess]
    private(set) var models: [Model] = [Model(), Model()]
    private var eventCount = 0
    private var subscriptionCount = 0

    init(_ store: URL) async throws {
        self.store = store
        servers = [try await ServerProcess(store), try await ServerProcess(store)]
    }

    /// The port of a server. It is another one after each kill.
    func port(_ index: Int) -> Int { servers[index].port }

    /// Kills a server with SIGKILL, and starts another one in its place.
    func kill(_ index: Int) async throws {
        servers[index].send(SIGKILL)
        let end = try await servers[index].end()
        guard end == .killed(by: SIGKILL) else { throw Failure("the server ended by itself: \(end)") }
        servers[index] = try await ServerProcess(store)
    }

    /// Ends a server with SIGTERM.
    func terminate(_ index: Int) async throws -> ServerProcess.End {
        servers[index].send(SIGTERM)
        return try await servers[index].end()
    }

    /// All that the store has, as a server shows it.
    func content(_ index: Int) async throws -> StoreDocument {
        try await Client.send(port(index), "GET", "/store").decoded()
    }

    var summary: String { "\(eventCount) events of \(subscriptionCount) subscriptions," }

    // MARK: Tasks of a load

    /// Follows a server's events until cancelled, and begins anew whenever the server was killed. Throws `Failure` if
    /// an event contradicts those before it.
    nonisolated func subscribe(_ index: Int) async throws {
        while !Task.isCancelled {
            do {
                try await Client.connect(port(index)) { client in
                    try await client.subscribe()
                    await noteSubscription()
                    var model = Model()
                    while let event = try await client.event() {
                        try model.apply(event)
                        await note(model, index)
                    }
                }
            } catch is CancellationError { return } catch is Client.Lost {
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    private func noteSubscription() { subscriptionCount += 1 }

    private func note(_ model: Model, _ index: Int) {
        models[index] = model
        eventCount += 1
    }

    /// Reads a server's sums until the load is over, and throws `Failure` if they are wrong or older than before.
    nonisolated func audit(_ index: Int, _ ledger: Ledger) async throws -> Int {
        var (count, version) = (0, UInt64(0))
        while await !ledger.isOver {
            do {
                let totals: Totals = try await Client.send(port(index), "GET", "/totals").decoded()
                try totals.check()
                guard totals.version >= version else { throw Failure("\(totals) is older than \(version)") }
                version = totals.version
                count += 1
            } catch is Client.Lost { try await Task.sleep(for: .milliseconds(10)) }
        }
        return count
    }

    /// Sends wishes to both servers until the load is over. Of the wishes that were not answered, half are sent again
    /// until they are, to either server. Throws `Failure` for a wrong answer.
    nonisolated func shop(_ buyer: consuming Buyer, _ ledger: Ledger) async throws {
        var buyer = buyer
        var pending: Wish?
        while await !ledger.isOver || pending != nil {
            let port = await port(buyer.below(2))
            do {
                try await Client.connect(port) { client in
                    for _ in 0..<8 {
                        guard await !ledger.isOver || pending != nil else { return }
                        let isRetry = pending != nil
                        let wish = pending ?? buyer.wish()
                        if !isRetry { await ledger.willSend(wish) }
                        pending = wish
                        let status = try await wish.send(client)
                        pending = nil
                        let answer = try await ledger.didAnswer(wish, status, isRetry: isRetry)
                        buyer.note(wish, answer)
                        if case .place(let id, _) = wish, answer == .done, buyer.below(4) == 0 {
                            try await expectOrder(id)
                        }
                    }
                }
            } catch is Client.Lost {
                await ledger.didLose()
                if buyer.below(2) == 0 { pending = nil }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// Throws `Failure` unless both servers show an order that was acknowledged by one of them.
    private nonisolated func expectOrder(_ id: String) async throws {
        for index in 0..<2 {
            let status = try await Client.send(port(index), "GET", "/orders/\(id)").status
            guard status == 200 else { throw Failure("server \(index) answers \(status) for the placed order \(id)") }
        }
    }
}
