#if Combine
    #if canImport(Combine)
        import Combine
    #else
        import OpenCombine
    #endif
    import Dispatch
    import Firn
    import FirnCombine
    import FirnTestSupport
    import Foundation
    import Synchronization
    import Testing

    private final class Kite: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var tails: List<Int>
        @Persisted var prices: Map<String, Int>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ id: Int, _ name: String) {
            self.init()
            (self.id, self.name) = (id, name)
        }
    }

    private final class KiteCard: Projection<Kite> {
        @Projected(\Kite.name) var title
    }

    private final class Knot: EmbeddedObject {
        @Persisted var turns = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// Returns when everything has run that was scheduled on the main queue before, and what that has scheduled.
    @MainActor
    private func mainQueueIsThrough() async {
        for _ in 0..<3 { await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } } }
    }

    /// Publishers (R99).
    @MainActor
    @Suite(.timeLimit(.minutes(20))) struct CombineTests {
        private let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Kite.self])
        private let realm: Realm
        private let red: Kite
        private var kites: Results<Kite> { realm.objects(Kite.self).sorted(by: \.id) }

        init() throws {
            let realm = try Realm(configuration: configuration)
            let red = Kite(1, "red")
            try realm.write { realm.add(red) }
            (self.realm, self.red) = (realm, red)
        }

        /// What a subscriber was given.
        @MainActor private final class Log<Value> {
            var values: [Value] = []
            var isFinished = false

            func subscribe<P: Publisher>(_ publisher: P, _ value: @escaping (P.Output) -> Value) -> AnyCancellable {
                publisher.sink(receiveCompletion: { _ in self.isFinished = true }) { self.values.append(value($0)) }
            }

            /// Waits until so many values have come, and for what is due then.
            func comes(_ count: Int) async {
                _ = await TestTimeout.suspends { values.count >= count }
                await mainQueueIsThrough()
            }
        }

        // MARK: Collections

        @Test func aCollectionIsPublishedAtOnceAndAfterEachChange() async throws {
            let log = Log<[String]>()
            let subscription = log.subscribe(kites.collectionPublisher) { $0.map(\.name) }
            #expect(log.values.isEmpty)
            await log.comes(1)
            try realm.write { realm.add(Kite(2, "blue")) }
            try realm.write { red.name = "rose" }
            await log.comes(3)
            #expect(log.values == [["red"], ["red", "blue"], ["rose", "blue"]])
            subscription.cancel()
            try realm.write { red.name = "red" }
            await mainQueueIsThrough()
            #expect(log.values.count == 3 && !log.isFinished)
        }

        @Test func changesetsHaveIndices() async throws {
            let log = Log<String>()
            let subscription = log.subscribe(kites.changesetPublisher) { change in
                switch change {
                case .initial(let kites): "\(kites.count)"
                case .update(let kites, let deletions, let insertions, let modifications):
                    "\(kites.count) \(deletions) \(insertions) \(modifications)"
                case .error(let error): "\(error)"
                }
            }
            let names = Log<Int>()
            let other = names.subscribe(kites.changesetPublisher(keyPaths: ["tails"])) { _ in 0 }
            await log.comes(1)
            await names.comes(1)
            try realm.write { realm.add(Kite(0, "blue")) }
            try realm.write { red.name = "rose" }
            await log.comes(3)
            #expect(log.values == ["1", "2 [] [0] []", "2 [] [] [1]"] && names.values.count == 2)
            withExtendedLifetime((subscription, other)) {}
        }

        @Test func listsMapsAndSectionsArePublished() async throws {
            let (list, map, changes) = (Log<[Int]>(), Log<[String]>(), Log<[String]>())
            let (sections, section) = (Log<[String]>(), Log<[Int]>())
            let sectioned = kites.sectioned(
                by: { (kite: Kite) -> String in String(kite.name.prefix(1)) },
                sortDescriptors: [SortDescriptor(keyPath: "name")])
            var all = Set<AnyCancellable>()
            list.subscribe(red.tails.collectionPublisher) { Array($0) }.store(in: &all)
            map.subscribe(red.prices.collectionPublisher) { $0.keys }.store(in: &all)
            changes.subscribe(red.prices.changesetPublisher) {
                if case .update(_, _, let insertions, _) = $0 { insertions } else { ["initial"] }
            }.store(in: &all)
            sections.subscribe(sectioned.collectionPublisher) { $0.map(\.key) }.store(in: &all)
            let first = Log<Bool>()
            first.subscribe(sectioned.changesetPublisher) { if case .initial = $0 { true } else { false } }
                .store(in: &all)
            section.subscribe(sectioned[0].collectionPublisher) { $0.map(\.id) }.store(in: &all)
            for log in [list, section] { await log.comes(1) }
            for log in [map, changes, sections] { await log.comes(1) }
            try realm.write {
                red.tails.append(7)
                red.prices["shop"] = 3
                realm.add([Kite(2, "blue"), Kite(3, "ruby")])
            }
            for log in [list, section] { await log.comes(2) }
            for log in [map, changes, sections] { await log.comes(2) }
            await first.comes(2)
            #expect(list.values == [[], [7]] && map.values == [[], ["shop"]])
            #expect(changes.values == [["initial"], ["shop"]])
            #expect(sections.values == [["r"], ["b", "r"]] && section.values == [[1], [1, 3]])
            #expect(first.values == [true, false])
        }

        // MARK: Objects

        @Test func anObjectIsPublishedUntilItIsDeleted() async throws {
            let (values, changes, will) = (Log<String>(), Log<String>(), Log<Void>())
            var all = Set<AnyCancellable>()
            values.subscribe(valuePublisher(red)) { $0.name }.store(in: &all)
            changes.subscribe(changesetPublisher(red, keyPaths: ["name"])) { change in
                if case .change(_, let properties) = change { properties.map(\.name).joined() } else { "gone" }
            }.store(in: &all)
            will.subscribe(red.objectWillChange) { $0 }.store(in: &all)
            #expect(values.values == ["red"])
            await values.comes(1)
            try realm.write { red.name = "rose" }
            try realm.write { red.tails.append(1) }
            await values.comes(3)
            #expect(values.values == ["red", "rose", "rose"] && changes.values == ["name"])
            #expect(will.values.count == 2)
            try realm.write { realm.delete(red) }
            await changes.comes(2)
            #expect(values.isFinished && changes.isFinished && will.isFinished)
            #expect(changes.values == ["name", "gone"] && values.values.count == 3)
        }

        @Test func whatIsObservableSaysThatItChanges() async throws {
            let (unmanaged, knot, card, list, store) = (
                Log<Void>(), Log<Void>(), Log<Void>(), Log<Void>(), Log<Void>()
            )
            let plain = Kite(9, "plain")
            var all = Set<AnyCancellable>()
            unmanaged.subscribe(plain.objectWillChange) { $0 }.store(in: &all)
            knot.subscribe(Knot().objectWillChange) { $0 }.store(in: &all)
            card.subscribe(KiteCard(projecting: red).objectWillChange) { $0 }.store(in: &all)
            list.subscribe(red.tails.objectWillChange) { $0 }.store(in: &all)
            store.subscribe(realm.objectWillChange) { $0 }.store(in: &all)
            let begun = Log<Int>()
            begun.subscribe(red.tails.collectionPublisher) { $0.count }.store(in: &all)
            await begun.comes(1)
            plain.name = "plainer"
            try realm.write { red.tails.append(1) }
            try realm.write { red.name = "rose" }
            await store.comes(2)
            await card.comes(1)
            #expect(unmanaged.values.isEmpty && knot.values.isEmpty)
            #expect(card.values.count == 1 && list.values.count == 1 && store.values.count == 2)
        }

        // MARK: Demand, tokens and threads

        /// A subscriber that asks for one value at a time.
        private final class Slow: Subscriber {
            typealias Input = [String]
            typealias Failure = any Error
            private(set) var values: [[String]] = []
            private var subscription: (any Subscription)?

            func receive(subscription: any Subscription) { self.subscription = subscription }
            func receive(_ input: [String]) -> Subscribers.Demand {
                values.append(input)
                return .none
            }
            func receive(completion: Subscribers.Completion<any Error>) {}
            func ask() { subscription?.request(.max(1)) }
            func cancel() { subscription?.cancel() }
        }

        @Test func aSubscriberIsGivenNoMoreThanItAskedFor() async throws {
            let slow = Slow()
            kites.collectionPublisher.map { $0.map(\.name) }.subscribe(slow)
            let log = Log<Int>()
            let other = log.subscribe(kites.collectionPublisher) { $0.count }
            await log.comes(1)
            try realm.write { red.name = "rose" }
            try realm.write { red.name = "ruby" }
            await log.comes(3)
            #expect(slow.values.isEmpty)
            slow.ask()
            slow.ask()
            // Live values show what is now.
            #expect(slow.values == [["ruby"], ["ruby"]])
            slow.cancel()
            slow.ask()
            #expect(slow.values.count == 2)
            withExtendedLifetime(other) {}
        }

        private final class Screen {
            var token: NotificationToken?
        }

        @Test func aWriteIsNotShownToASavedToken() async throws {
            let (screen, log) = (Screen(), Log<[String]>())
            let subscription = log.subscribe(kites.collectionPublisher.saveToken(on: screen, at: \.token)) {
                $0.map(\.name)
            }
            await log.comes(1)
            let token = try #require(screen.token)
            try realm.write(withoutNotifying: [token]) { red.name = "rose" }
            try realm.write { realm.add(Kite(2, "blue")) }
            await log.comes(2)
            #expect(log.values == [["red"], ["rose", "blue"]])
            token.invalidate()
            try realm.write { red.name = "ruby" }
            await mainQueueIsThrough()
            #expect(log.values.count == 2)
            withExtendedLifetime(subscription) {}
        }

        @Test func aSubscriptionThatIsDroppedEndsItsObserver() async throws {
            let log = Log<Int>()
            var subscription: AnyCancellable? = log.subscribe(kites.collectionPublisher) { $0.count }
            await log.comes(1)
            #expect(subscription != nil)
            subscription = nil
            try realm.write { realm.add(Kite(2, "blue")) }
            await mainQueueIsThrough()
            #expect(log.values == [1])
        }

        private final class Names: Sendable {
            let all = Mutex<[String]>([])
            func comes(_ name: String) async -> Bool {
                await TestTimeout.suspends { all.withLock { $0.last == name } }
            }
        }

        @Test func whatIsFrozenOrHandedOverIsReceivedOnAnotherQueue() async throws {
            let queue = DispatchQueue(label: "kites")
            let (observed, frozen, live, sections) = (Names(), Names(), Names(), Names())
            var all = Set<AnyCancellable>()
            kites.collectionPublisher.subscribe(on: queue)
                .sink(receiveCompletion: { @Sendable _ in }) { @Sendable kites in
                    dispatchPrecondition(condition: .onQueue(queue))
                    observed.all.withLock { $0.append(kites.map(\.name).joined()) }
                }.store(in: &all)
            kites.changesetPublisher.freeze()
                .sink { change in
                    guard case .initial(let kites) = change else {
                        if case .update(let kites, _, _, _) = change {
                            frozen.all.withLock { $0.append("\(kites.isFrozen)") }
                        }
                        return
                    }
                    frozen.all.withLock { $0.append("\(kites.isFrozen)") }
                }.store(in: &all)
            kites.sectioned(sortDescriptors: ["name"]) { String($0.name.prefix(2)) }.changesetPublisher.freeze()
                .sink { change in
                    switch change {
                    case .initial(let now), .update(let now, _, _, _, _, _):
                        sections.all.withLock { $0.append(now.isFrozen ? now.allKeys.joined() : "live") }
                    }
                }.store(in: &all)
            kites.collectionPublisher.threadSafeReference().receive(on: queue)
                .sink(receiveCompletion: { @Sendable _ in }) { @Sendable kites in
                    dispatchPrecondition(condition: .onQueue(queue))
                    live.all.withLock { $0.append(kites.map(\.name).joined()) }
                }.store(in: &all)
            #expect(await observed.comes("red"))
            #expect(await frozen.comes("true"))
            #expect(await live.comes("red"))
            #expect(await sections.comes("re"))
            try realm.write { red.name = "rose" }
            #expect(await observed.comes("rose"))
            #expect(await live.comes("rose"))
            #expect(await sections.comes("ro"))
            await mainQueueIsThrough()
            #expect(frozen.all.withLock { $0 } == ["true", "true"])
            for cancellable in all { cancellable.cancel() }
        }

        // MARK: Opening

        @Test func aRealmIsOpenedAndPublished() async throws {
            let log = Log<Int>()
            let subscription = log.subscribe(Realm.asyncOpen(configuration: configuration)) {
                $0.objects(Kite.self).count
            }
            await log.comes(1)
            #expect(log.values == [1] && log.isFinished)
            var wrong = configuration
            wrong.encryptionKey = Data(count: 64)
            let failed = Log<Int>()
            let other = failed.subscribe(Realm.asyncOpen(configuration: wrong)) { _ in 0 }
            #expect(await TestTimeout.suspends { failed.isFinished })
            #expect(failed.values.isEmpty)
            withExtendedLifetime((subscription, other)) {}
        }
    }
#endif
