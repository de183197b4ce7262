import FirnTestSupport
import Foundation
import RealmSwift
import Testing

/// A journal on actors and in the background, and what a list shows of it.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct JournalActorTests {
    private let folder = TemporaryFolder()
    private var url: URL { URL(fileURLWithPath: folder.path + "/journal.firn") }

    // MARK: Opening

    @Test func anActorWritesAndTheMainActorReads() async throws {
        let writer = try await JournalWriter(url)
        let realm = try await Realm(configuration: Journal.configuration(url))
        let id = try await writer.write("Rain", by: "Ada")
        try await writer.write("Sun", by: "Ada")
        #expect(await writer.titles() == ["Rain", "Sun"])
        await realm.asyncRefresh()
        let rain = try #require(realm.object(ofType: JournalEntry.self, forPrimaryKey: id))
        #expect(rain.author?.entries.count == 2)
        try await realm.asyncWrite { rain.title = "Heavy rain" }
        try await writer.retitle(id, "Rain again")
        await wait { rain.title == "Rain again" }
        #expect(rain.title == "Rain again")
        await writer.close()
    }

    @Test func aJournalIsOpenedInTheBackground() async throws {
        try JournalVersion1.make(url, [["name": "Rain", "mood": "3", "seconds": 0]])
        var titles: [String]?
        Realm.asyncOpen(configuration: Journal.configuration(url)) { result in
            switch result {
            case .success(let realm): titles = realm.objects(JournalEntry.self).map(\.title)
            case .failure(let error): Issue.record(error)
            }
        }
        await wait { titles != nil }
        #expect(titles == ["Rain"])
        var isRefused = false
        var wrong = Journal.configuration(url)
        wrong.schemaVersion = 1
        Realm.asyncOpen(configuration: wrong, callbackQueue: .main) { result in
            if case .failure(let error as Realm.Error) = result { isRefused = error.code == .schemaMismatch }
        }
        await wait { isRefused }
        #expect(isRefused)
        let opened = try await Realm.open(configuration: Journal.configuration(url))
        #expect(opened.objects(JournalEntry.self).count == 1)
    }

    @Test func anOpeningIsCancelled() async throws {
        var isCalled = false
        let task = Realm.asyncOpen(configuration: Journal.configuration(url)) { _ in isCalled = true }
        task.cancel()
        var isOpen = false
        Realm.asyncOpen(configuration: Journal.configuration(url)) { _ in isOpen = true }
        await wait { isOpen }
        #expect(isOpen && !isCalled)
    }

    // MARK: Projections

    private func open() throws -> Realm {
        let realm = try Realm(configuration: Journal.configuration(url), queue: nil)
        try realm.write {
            realm.create(
                JournalEntry.self,
                value: [
                    "title": "Rain", "author": ["fullName": "Ada"], "place": ["city": "Bath"], "tags": ["wet"],
                    "date": Date(timeIntervalSince1970: 1),
                ] as [String: Any])
            realm.create(JournalEntry.self, value: ["title": "Sun"])
        }
        return realm
    }

    @Test func aListShowsPartsOfPages() throws {
        let realm = try open()
        let lines = realm.objects(JournalLine.self)
        let rain = try #require(lines.first)
        #expect(lines.count == 2 && rain.heading == "Rain" && rain.author == "Ada" && rain.city == "Bath")
        #expect(rain.length == 4 && Array(rain.tags) == ["wet"] && lines[1].author == nil && lines[1].city == nil)
        #expect(lines.sorted(byKeyPath: "title", ascending: false).first?.heading == "Sun")
        #expect(lines.sorted(by: \.heading).map(\.heading) == ["Rain", "Sun"])
        #expect(lines.where { $0.heading == "Sun" }.count == 1 && lines.filter("title == 'Rain'").first == rain)
        try realm.write { rain.heading = "Drizzle" }
        #expect(realm.objects(JournalEntry.self)[0].title == "Drizzle" && rain.rootObject.title == "Drizzle")
        let shelf = JournalShelf(projecting: try #require(realm.objects(JournalAuthor.self).first))
        #expect(shelf.name == "Ada" && Array(shelf.titles) == ["Drizzle"])
        let frozen = rain.freeze()
        try realm.write { rain.heading = "Rain" }
        #expect(frozen.isFrozen && frozen.heading == "Drizzle" && frozen.thaw()?.heading == "Rain")
    }

    @Test func aListFollowsPartsOfPages() async throws {
        let realm = try open()
        let lines = realm.objects(JournalLine.self)
        var (changes, updates): ([String], [String]) = ([], [])
        let rain = lines[0]
        let tokens = [
            rain.observe(keyPaths: [\.heading]) { change in
                switch change {
                case .change(let line, let properties):
                    changes += properties.map { "\($0.name) \($0.newValue ?? "nil") \(line.heading)" }
                case .deleted: changes.append("deleted")
                case .error: break
                }
            },
            lines.observe { change in
                if case .update(_, let deletions, let insertions, let modifications) = change {
                    updates.append("\(deletions) \(insertions) \(modifications)")
                } else {
                    updates.append("initial")
                }
            },
        ]
        await wait { updates.count == 1 }
        try realm.write { rain.heading = "Drizzle" }
        await wait { changes.count == 1 && updates.count == 2 }
        try realm.write { realm.delete(rain.rootObject) }
        await wait { changes.count == 2 && updates.count == 3 }
        // Another projected property is made of the same stored one, but was not asked for.
        #expect(changes == ["heading Drizzle Drizzle", "deleted"])
        #expect(updates == ["initial", "[] [] [0]", "[0] [] []"])
        for token in tokens { token.invalidate() }
    }
}
