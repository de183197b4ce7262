import RealmSwift
import Testing

// RealmSwift's functions for actors. Firn's have parameters with defaults beyond RealmSwift's, so that no requirement
// with RealmSwift's signature is satisfied by them. These are calls, with RealmSwift's types.

/// RealmSwift's form of the block that an actor's observer has.
private typealias Block<Change> = @Sendable (isolated MainActor, Change) -> Void

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
