import Firn
import FirnTestSupport
import Foundation
import Testing

/// The code of the article "Freezing" (`Tools/check articles`): it compiles, and it does what the article says.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct FreezingArticleTests {
    private class Match: Object {
        @Persisted var title = ""
        @Persisted var goals = 0
        @Persisted(originProperty: "matches") var tournaments: LinkingObjects<Tournament>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private class Tournament: Object {
        @Persisted(primaryKey: true) var name: String
        @Persisted var matches: List<Match>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    private let temporary = TemporaryFolder()

    private func newRealm() throws -> Realm {
        let types: [ObjectBase.Type] = [Match.self, Tournament.self]
        let url = URL(filePath: temporary.path + "/matches.firn")
        return try Realm(configuration: .init(fileURL: url, objectTypes: types))
    }

    private func addTournament(_ realm: Realm) throws -> Tournament {
        let value: [String: Any] = ["name": "Cup", "matches": [["title": "b"], ["title": "a"]]]
        return try realm.write { realm.create(Tournament.self, value: value) }
    }

    @Test func theCodeOfTheArticle() async throws {
        let realm = try newRealm()
        let tournament = try addTournament(realm)
        // article: Freezing
        let before = tournament.freeze()
        try realm.write { tournament.matches[0].goals += 1 }
        print(before.matches[0].goals, tournament.matches[0].goals)  // 0 1
        // end
        #expect(before.matches[0].goals == 0 && tournament.matches[0].goals == 1)

        // article: Freezing
        let quiet = before.matches.where { $0.goals == 0 }.sorted(by: \.title)
        print(quiet.count, before.realm?.objects(Match.self).count ?? 0)
        // end
        #expect(quiet.map(\.title) == ["a", "b"] && before.realm?.isFrozen == true)
        #expect(before.matches[0].tournaments.first == before && before.matches.isFrozen && before.isFrozen)

        // article: Freezing
        let frozen = Frozen(realm.objects(Match.self))
        let sum = await Task.detached { frozen.value.sum(of: \.goals) }.value
        print(sum)
        // end
        try realm.write { realm.create(Match.self, value: ["goals": 100]) }
        #expect(sum == 1 && frozen.value.count == 2)

        let backup = URL(filePath: temporary.path + "/backup.firn")
        // article: Freezing
        let snapshot = Frozen(realm)
        try await Task.detached {
            try snapshot.value.writeCopy(toFile: backup)
        }.value
        // end
        let types: [ObjectBase.Type] = [Match.self, Tournament.self]
        let copy = try Realm(configuration: .init(fileURL: backup, objectTypes: types), queue: nil)
        #expect(copy.objects(Match.self).map(\.goals) == [1, 0, 100])

        // article: Freezing
        if let live = frozen.value[0].thaw() {
            try live.realm?.write { live.goals += 1 }
        }
        // end
        #expect(tournament.matches[0].goals == 2 && frozen.value[0].goals == 1)
        try realm.write { realm.delete(tournament.matches) }
        #expect(frozen.value[0].thaw() == nil && frozen.value[0].title == "b")
    }

    @Test func aLimit() throws {
        var configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Match.self, Tournament.self])
        // article: Freezing
        configuration.maximumNumberOfActiveVersions = 2
        let limited = try Realm(configuration: configuration, queue: nil)
        var held = [limited.freeze()]
        do {
            for number in 0..<3 {
                try limited.write { limited.create(Match.self, value: ["title": "match \(number)"]) }
                held.append(limited.freeze())
            }
        } catch Realm.Error.tooManyActiveVersions {
            for version in limited.activeVersions { print(version.number, version.retainedBytes, version.pinnedAt) }
            held = []  // the next write begins
        }
        // end
        #expect(held.isEmpty && limited.objects(Match.self).count == 2)
        try limited.write { limited.create(Match.self) }
        #expect(limited.activeVersions.count == 1)
    }

    /// What the article's table says.
    @Test func whatIsFrozen() throws {
        let realm = try newRealm()
        let tournament = try addTournament(realm)
        let frozen = tournament.freeze()
        #expect(frozen.freeze() === frozen && realm.freeze().freeze() == realm.freeze())
        #expect(tournament.freeze() == frozen && tournament.freeze().hash == frozen.hash)
        try realm.write { tournament.matches[0].goals = 3 }
        #expect(tournament.freeze() != frozen && frozen.matches[0].goals == 0)
        // Only one version is held in addition to the newest.
        #expect(realm.activeVersions.count == 2)
    }

    @Test(arguments: 0..<3) func whatStops(_ what: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            @MainActor [what] in
            let realm = try memoryRealm()
            let dog = Dog(1, "Rex")
            if what == 0 { _ = dog.freeze() }
            try realm.write {
                realm.add(dog)
                if what == 1 { _ = dog.freeze() }
            }
            dog.freeze().name = "Max"
        }
        expectMessage(
            result, ["an unmanaged object of Dog can't be frozen", "within a write transaction", "it is frozen"][what])
    }
}
