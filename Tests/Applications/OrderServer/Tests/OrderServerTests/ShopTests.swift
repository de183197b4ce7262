import Foundation
import Testing

@testable import OrderServer

/// What needs no process: limits, and subscribers that are slow.
@Suite(.timeLimit(.minutes(30))) struct ShopTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func put(_ number: Int) throws -> Request {
        let draft = ProductDraft(name: "Tea", price: 1, weight: 1, received: number, attributes: [:])
        return try Request(.PUT, "/products/\(number)", JSONEncoder().encode(draft))
    }

    @Test func writesAreRefusedWhileTooManyVersionsAreHeld() async throws {
        let shop = try await Shop(at: folder.store, activeVersions: 3)
        let service = Service(shop)
        var held: [Snapshot] = []
        for number in 0..<3 {
            held.append(try await shop.snapshot())
            #expect(try await service.respond(to: Self.put(number)).status == .created)
        }
        let refused = try await service.respond(to: Self.put(3))
        #expect(refused.status == .serviceUnavailable)
        if case .json(let json) = refused.content {
            #expect(String(decoding: json, as: UTF8.self).contains("maximumNumberOfActiveVersions"))
        }
        #expect(held.map(\.document.products.count) == [0, 1, 2])
        held = []
        #expect(try await service.respond(to: Self.put(3)).status == .created)
    }

    /// Lets a subscriber be slow.
    private actor Gate {
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private(set) var events: [EventDocument] = []

        func note(_ event: EventDocument) async {
            events.append(event)
            if events.count == 1 { await withCheckedContinuation { waiting.append($0) } }
        }

        func open() { for waiting in waiting { waiting.resume() } }
    }

    @Test func aSlowSubscriberIsToldOfAllThatItMissedAtOnce() async throws {
        let shop = try await Shop(at: folder.store)
        let gate = Gate()
        let subscriber = Task {
            try await shop.follow { last, now in await gate.note(try now.event(since: last)) }
        }
        try await Deadline.wait(until: "the first event is sent") { await gate.events.count == 1 }
        let service = Service(shop)
        for number in 0..<20 { #expect(try await service.respond(to: Self.put(number)).status == .created) }
        await gate.open()
        try await Deadline.wait(until: "the second event is sent") { await gate.events.count == 2 }
        subscriber.cancel()
        try await subscriber.value
        var model = Model()
        for event in await gate.events { try model.apply(event) }
        #expect(try await model == Model(shop.snapshot().document))
        #expect(await gate.events.map(\.changes.count) == [0, 20])
    }
}
