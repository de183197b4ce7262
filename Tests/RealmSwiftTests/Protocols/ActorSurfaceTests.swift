import RealmSwift
import Testing

// RealmSwift's functions for actors, as requirements and as calls. RealmSwift's inherit the caller's actor, which a
// requirement does if it says so.

/// RealmSwift's form of the block that an actor's observer has.
private typealias Block<Change> = @Sendable (isolated MainActor, Change) -> Void

private protocol RealmSurface {
    nonisolated(nonsending) func asyncWrite<Result>(_ block: () throws -> Result) async throws -> Result
    nonisolated(nonsending) func asyncRefresh() async -> Bool
    nonisolated(nonsending) static func open(
        configuration: Realm.Configuration, downloadBeforeOpen: Realm.OpenBehavior
    ) async throws -> Realm
    @MainActor init(configuration: Realm.Configuration, downloadBeforeOpen: Realm.OpenBehavior) async throws
    init<A: Actor>(
        configuration: Realm.Configuration, actor: isolated A, downloadBeforeOpen: Realm.OpenBehavior
    ) async throws
}
extension Realm: RealmSurface {}

private protocol CollectionSurface {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken
    nonisolated(nonsending) func observe<A: Actor>(
        on actor: A, _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken
}
extension List: CollectionSurface {}
extension MutableSet: CollectionSurface {}
extension Results: CollectionSurface {}
extension LinkingObjects: CollectionSurface {}
extension AnyRealmCollection: CollectionSurface {}

private protocol ObjectsSurface: RealmCollection {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Element>], on actor: A,
        _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken
}
extension List: ObjectsSurface where Element: ObjectBase {}
extension Results: ObjectsSurface where Element: ObjectBase {}

private protocol MapSurface: RealmKeyedCollection {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @Sendable @escaping (isolated A, RealmMapChange<Self>) -> Void
    ) async -> NotificationToken
}
extension Map: MapSurface {}

private protocol ObjectsMapSurface: RealmKeyedCollection where Value == Peak? {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Peak>], on actor: A,
        _ block: @Sendable @escaping (isolated A, RealmMapChange<Self>) -> Void
    ) async -> NotificationToken
}
extension Map: ObjectsMapSurface where Value == Peak? {}

private protocol SectionSurface {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken
}
extension SectionedResults: SectionSurface {}
extension ResultsSection: SectionSurface {}

private protocol PeakSectionSurface {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Peak>], on actor: A,
        _ block: @Sendable @escaping (isolated A, SectionedResultsChange<Self>) -> Void
    ) async -> NotificationToken
}
extension SectionedResults: PeakSectionSurface where SectionElement == Peak {}
extension ResultsSection: PeakSectionSurface where T == Peak {}

private protocol ProjectedSurface {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @Sendable @escaping (isolated A, RealmCollectionChange<Self>) -> Void
    ) async -> NotificationToken
}
extension ProjectedCollection: ProjectedSurface {}

private protocol ObjectSurface: AnyObject {
    nonisolated(nonsending) func observe<A: Actor, T: ObjectBase>(
        keyPaths: [String]?, on actor: A, _ block: @Sendable @escaping (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken
    nonisolated(nonsending) func observe<A: Actor, T: ObjectBase>(
        keyPaths: [PartialKeyPath<T>], on actor: A, _ block: @Sendable @escaping (isolated A, ObjectChange<T>) -> Void
    ) async -> NotificationToken
}
extension Peak: ObjectSurface {}

private protocol CardSurface: AnyObject {
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [PartialKeyPath<Self>], on actor: A,
        _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken
    nonisolated(nonsending) func observe<A: Actor>(
        keyPaths: [String]?, on actor: A, _ block: @Sendable @escaping (isolated A, ObjectChange<Self>) -> Void
    ) async -> NotificationToken
}
extension PeakCard: CardSurface {}

/// A requirement that does not say where it runs, so that Swift leaves the caller's actor.
private protocol LeavingSurface {
    func asyncWrite<Result>(_ block: () throws -> Result) async throws -> Result
}
extension Realm: LeavingSurface {}

@MainActor @Suite(.timeLimit(.minutes(20))) struct ActorSurfaceTests {
    private actor Guide {
        func names(_ configuration: Realm.Configuration) async throws -> [String] {
            let realm = try await Realm(configuration: configuration, actor: self, downloadBeforeOpen: .once)
            let opened = try await Realm.open(configuration: configuration, downloadBeforeOpen: .never)
            try await realm.asyncWrite { realm.add(Peak(3, "Dom"), update: .error) }
            await opened.asyncRefresh()
            return opened.objects(Peak.self).sorted(by: \.name).map { $0.name }
        }
    }

    @Test func realmsAreOpenedAndWrittenOnActors() async throws {
        let kept = try peaks()
        let realm = try await Realm(configuration: kept.configuration, downloadBeforeOpen: .always)
        #expect(try await Guide().names(kept.configuration) == ["Dom", "Eiger", "Niesen"])
        let count: Int = try await realm.asyncWrite {
            realm.add(Peak(4, "Piz"), update: .error)
            return realm.objects(Peak.self).count
        }
        let isNewer: Bool = await realm.asyncRefresh()
        #expect(count == 4 && !isNewer)
    }

    @Test func realmsAreOpenedAndWrittenThroughTheirRequirements() async throws {
        func names<R: RealmSurface>(
            _: R.Type, _ configuration: Realm.Configuration, _ write: (Realm) -> Void, on actor: isolated MainActor
        ) async throws -> (count: Int, isNewer: Bool) {
            let realm = try await R.open(configuration: configuration, downloadBeforeOpen: .never)
            let other = try await R(configuration: configuration, actor: actor, downloadBeforeOpen: .once)
            let count = try await other.asyncWrite {
                write(realm)
                return realm.objects(Peak.self).count
            }
            return (count, await other.asyncRefresh())
        }
        func open<R: RealmSurface & SendableMetatype>(_: R.Type, _ configuration: Realm.Configuration) async throws -> R
        {
            try await R(configuration: configuration, downloadBeforeOpen: .once)
        }
        let kept = try peaks()
        #expect(try await open(Realm.self, kept.configuration).objects(Peak.self).count == 2)
        let found = try await names(
            Realm.self, kept.configuration, { $0.add(Peak(3, "Dom"), update: .error) }, on: MainActor.shared)
        #expect(found.count == 3 && !found.isNewer)
    }

    @Test func everythingIsObservedThroughItsRequirements() async throws {
        let realm = try peaks()
        let high = highAndLow(realm).0
        nonisolated(nonsending) func collection<C: CollectionSurface & SendableMetatype>(_ collection: C) async
            -> [NotificationToken]
        {
            [
                await collection.observe(keyPaths: nil, on: MainActor.shared) { _, _ in },
                await collection.observe(on: MainActor.shared) { _, _ in },
            ]
        }
        nonisolated(nonsending) func objects<C: ObjectsSurface & SendableMetatype>(_ collection: C) async
            -> NotificationToken
        where C.Element == Peak {
            await collection.observe(keyPaths: [\Peak.name], on: MainActor.shared) { _, _ in }
        }
        nonisolated(nonsending) func map<M: MapSurface & ObjectsMapSurface & SendableMetatype>(_ map: M) async
            -> [NotificationToken]
        {
            [
                await map.observe(keyPaths: ["name"], on: MainActor.shared) { _, _ in },
                await map.observe(keyPaths: [\Peak.name], on: MainActor.shared) { _, _ in },
            ]
        }
        nonisolated(nonsending) func section<S: SectionSurface & SendableMetatype>(_ section: S) async
            -> NotificationToken
        {
            await section.observe(keyPaths: ["name"], on: MainActor.shared) { _, _ in }
        }
        nonisolated(nonsending) func object<O: ObjectSurface & SendableMetatype>(_ object: O) async
            -> [NotificationToken]
        {
            let block: Block<ObjectChange<Peak>> = { _, _ in }
            return [
                await object.observe(keyPaths: ["name"], on: MainActor.shared, block),
                await object.observe(keyPaths: [\Peak.name], on: MainActor.shared, block),
            ]
        }
        nonisolated(nonsending) func cards<P: ProjectedSurface & SendableMetatype, C: CardSurface & SendableMetatype>(
            _ names: P, _ card: C
        ) async -> [NotificationToken] {
            [
                await names.observe(keyPaths: nil, on: MainActor.shared) { _, _ in },
                await card.observe(keyPaths: [], on: MainActor.shared) { _, _ in },
                await card.observe(keyPaths: ["name"], on: MainActor.shared) { _, _ in },
            ]
        }
        nonisolated(nonsending) func peakSection<S: PeakSectionSurface & SendableMetatype>(_ section: S) async
            -> NotificationToken
        {
            await section.observe(keyPaths: [\Peak.name], on: MainActor.shared) { _, _ in }
        }
        let sections = realm.objects(Peak.self).sectioned(by: \.name)
        let card = PeakCard(projecting: high)
        var tokens = await collection(high.neighbours) + collection(high.depths) + collection(high.rivals)
        tokens += await collection(realm.objects(Peak.self)) + collection(high.seenFrom)
        tokens += await [objects(high.neighbours), objects(realm.objects(Peak.self))] + map(high.routes)
        tokens += await [section(sections), section(sections[0])] + object(high) + cards(card.neighbours, card)
        tokens += await [peakSection(sections), peakSection(sections[0])]
        #expect(tokens.count == 23)
        for token in tokens { #expect(token.invalidate()) }
    }

    @Test func aRequirementThatLeavesTheActorStopsTheProgram() async {
        await #expect(processExitsWith: .failure) {
            let realm = try peaks()
            let plain: any LeavingSurface = realm
            _ = try await plain.asyncWrite { 1 }
        }
    }

    @Test func collectionsAreObservedOnActors() async throws {
        let realm = try peaks()
        let high = highAndLow(realm).0
        let lists: Block<RealmCollectionChange<List<Peak>>> = { _, _ in }
        let sets: Block<RealmCollectionChange<MutableSet<Peak>>> = { _, _ in }
        let results: Block<RealmCollectionChange<Results<Peak>>> = { _, _ in }
        let links: Block<RealmCollectionChange<LinkingObjects<Peak>>> = { _, _ in }
        let maps: Block<RealmMapChange<Map<String, Peak?>>> = { _, _ in }
        let tokens = [
            await high.neighbours.observe(keyPaths: ["name"], on: MainActor.shared, lists),
            await high.neighbours.observe(keyPaths: [\Peak.name], on: MainActor.shared, lists),
            await high.rivals.observe(on: MainActor.shared, sets),
            await realm.objects(Peak.self).observe(keyPaths: nil, on: MainActor.shared, results),
            await high.seenFrom.observe(on: MainActor.shared, links),
            await high.routes.observe(keyPaths: ["name"], on: MainActor.shared, maps),
        ]
        for token in tokens { #expect(token.invalidate()) }
    }

    @Test func sectionsAndProjectionsAreObservedOnActors() async throws {
        let realm = try peaks()
        let card = PeakCard(projecting: highAndLow(realm).0)
        let sections = realm.objects(Peak.self).sectioned(by: \.name)
        let all: Block<SectionedResultsChange<SectionedResults<String, Peak>>> = { _, _ in }
        let one: Block<SectionedResultsChange<ResultsSection<String, Peak>>> = { _, _ in }
        let cards: Block<ObjectChange<PeakCard>> = { _, _ in }
        let names: Block<RealmCollectionChange<ProjectedCollection<String>>> = { _, _ in }
        let tokens = [
            await sections.observe(keyPaths: ["name"], on: MainActor.shared, all),
            await sections[0].observe(on: MainActor.shared, one),
            await card.observe(keyPaths: [\PeakCard.name], on: MainActor.shared, cards),
            await card.observe(keyPaths: ["name"], on: MainActor.shared, cards),
            await card.neighbours.observe(on: MainActor.shared, names),
        ]
        for token in tokens { #expect(token.invalidate()) }
    }

    @Test func objectsAreObservedOnActors() async throws {
        let realm = try peaks()
        let high = highAndLow(realm).0
        let changes: Block<ObjectChange<Peak>> = { _, _ in }
        let tokens = [
            await high.observe(on: MainActor.shared, changes),
            await high.observe(keyPaths: ["name"], on: MainActor.shared, changes),
            await high.observe(keyPaths: [\Peak.name], on: MainActor.shared, changes),
        ]
        for token in tokens { #expect(token.invalidate()) }
    }
}
