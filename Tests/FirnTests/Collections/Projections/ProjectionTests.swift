import Firn
import FirnTestSupport
import Foundation
import Synchronization
import Testing

class Walker: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var steps = 0
    @Persisted var home: WalkerHome?
    @Persisted var leader: Walker?
    @Persisted var friends: List<Walker>
    @Persisted var rivals: MutableSet<Walker>
    @Persisted var tags: List<String>
    @Persisted(originProperty: "friends") var friendOf: LinkingObjects<Walker>
}

class WalkerHome: EmbeddedObject {
    @Persisted var city = ""
}

class NamedWalker: Projection<Walker> {
    @Projected(\Walker.name) var title
}

class WalkerCard: NamedWalker {
    @Projected(\Walker.steps) var distance = 7
    @Projected(\Walker.name.count) var length
    @Projected(\Walker.home?.city) var city
    @Projected(\Walker.leader?.name) var leaderName
    @Projected(\Walker.tags) var tags
    @Projected(\Walker.friends.projectTo.name) var friends: ProjectedCollection<String>
    @Projected(\Walker.rivals.projectTo.steps) var rivals
    @Projected(\Walker.friendOf.projectTo.name) var friendOf
}

/// Reads the object when it is made, and has a property whose name begins with an underscore.
class LedWalker: Projection<Walker> {
    @Projected(\Walker.name) var name
    @Projected(\Walker.steps) var _steps
    let isLed: Bool

    required init(projecting walker: Walker) {
        isLed = walker.leader != nil
        super.init(projecting: walker)
    }
}

/// Of a class without a primary key.
private class PersonName: Projection<Person> {
    @Projected(\Person.name) var name
}

/// Projections of objects (R94, R95, R21).
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ProjectionTests {
    private let configuration = Realm.Configuration(
        inMemoryIdentifier: UUID().uuidString, objectTypes: [Walker.self, WalkerHome.self])
    private let realm: Realm

    init() throws {
        realm = try Realm(configuration: configuration)
        try realm.write {
            let ann = realm.create(
                Walker.self,
                value: ["id": 1, "name": "Ann", "steps": 10, "home": ["city": "Bern"], "tags": ["fast"]]
                    as [String: Any])
            let ben = realm.create(Walker.self, value: ["id": 2, "name": "Ben", "steps": 20] as [String: Any])
            let cleo = realm.create(Walker.self, value: ["id": 3, "name": "Cleo", "steps": 30] as [String: Any])
            ann.friends.append(objectsIn: [ben, cleo])
            ann.rivals.insert(cleo)
            ben.leader = ann
        }
    }

    @Test func whatAnOwnInitializerReadsIsNoPartOfAKeyPath() async throws {
        let walkers = realm.objects(LedWalker.self)
        #expect(walkers.where { $0.name == "Ben" }.map(\.isLed) == [true])
        #expect(walkers.sorted(by: \._steps, ascending: false).map(\.name) == ["Cleo", "Ben", "Ann"])
        let ben = try #require(walkers.where { $0.name == "Ben" }.first)
        var names: [String] = []
        let token = ben.observe(keyPaths: [\._steps]) { change in
            if case .change(_, let properties) = change { names += properties.map(\.name) }
        }
        try realm.write { ben._steps += 1 }
        await wait { !names.isEmpty }
        #expect(names == ["_steps"])
        token.invalidate()
    }

    private func card(_ id: Int) throws -> WalkerCard {
        WalkerCard(projecting: try #require(realm.object(ofType: Walker.self, forPrimaryKey: id)))
    }

    // MARK: Reading and writing

    @Test func propertiesAreThoseOfTheObject() throws {
        let ann = try card(1)
        #expect(ann.title == "Ann" && ann.distance == 10 && ann.length == 3 && ann.city == "Bern")
        #expect(ann.leaderName == nil && Array(ann.tags) == ["fast"])
        #expect(try card(2).leaderName == "Ann" && card(2).city == nil)
        #expect(ann.realm == realm && !ann.isInvalidated && ann.rootObject.id == 1)
        try realm.write {
            ann.title = "Anna"
            ann.distance += 1
            ann.tags.append("tall")
        }
        #expect(ann.rootObject.name == "Anna" && ann.rootObject.steps == 11 && ann.rootObject.tags.count == 2)
        #expect(ann.length == 4)
    }

    @Test func unmanagedObjectsAreProjected() {
        let card = WalkerCard(projecting: Walker(value: ["name": "Dan", "home": ["city": "Rome"]] as [String: Any]))
        #expect(card.title == "Dan" && card.city == "Rome" && card.distance == 0 && card.realm == nil)
        card.title = "Dana"
        #expect(card.rootObject.name == "Dana" && card.friends.isEmpty)
    }

    @Test func projectionsOfOneObjectAreEqual() throws {
        let (ann, other, ben) = (try card(1), try card(1), try card(2))
        #expect(ann == other && ann != ben && ann.hashValue == other.hashValue)
        #expect(NamedWalker(projecting: ann.rootObject) != (ann as NamedWalker))
        #expect(WalkerCard.className() == "WalkerCard")
    }

    /// They are equal if their objects are: without a primary key if these are one instance, unlike in Realm (SEMANTICS
    /// 95), or frozen at one version.
    @Test func projectionsOfObjectsWithoutAKeyAreEqualByRow() throws {
        let realm = try memoryRealm()
        let person = Person()
        try realm.write { realm.add(person) }
        let (one, same, other) = (
            PersonName(projecting: person), PersonName(projecting: person),
            PersonName(projecting: realm.objects(Person.self)[0])
        )
        #expect(one == same && one.hashValue == other.hashValue && one == other && Set([one, same, other]).count == 1)
        #expect(other.rootObject.isSameObject(as: person) && one.freeze() == other.freeze())
    }

    @Test func whatIsProjectedIsDescribed() throws {
        let ann = try card(1)
        #expect(ann.description.hasPrefix("WalkerCard {\n    title = Ann;\n    distance = 10;\n    length = 3;\n"))
        #expect(ann.description.contains("leaderName = nil;"))
        #expect(ann.friends.description.contains("[1] Cleo;"))
        try realm.write { realm.delete(ann.rootObject) }
        #expect(ann.isInvalidated && ann.description == "[invalidated WalkerCard]")
    }

    @Test func frozenProjectionsGoToOtherThreads() async throws {
        let frozen = Frozen(try card(1))
        try realm.write { try card(1).title = "later" }
        let (title, friends, isFrozen) = await Task.detached {
            (frozen.value.title, Array(frozen.value.friends), frozen.value.isFrozen)
        }.value
        #expect(title == "Ann" && friends == ["Ben", "Cleo"] && isFrozen)
        #expect(frozen.value.thaw()?.title == "later")
        let reference = ThreadSafeReference(to: try card(2))
        let store = try #require(configuration.inMemoryIdentifier)
        let name = try await Task.detached {
            let configuration = Realm.Configuration(
                inMemoryIdentifier: store, objectTypes: [Walker.self, WalkerHome.self])
            return try Realm(configuration: configuration, queue: nil).resolve(reference)?.title
        }.value
        #expect(name == "Ben")
    }

    // MARK: Results

    @Test func realmsHaveResultsOfProjections() throws {
        let all = realm.objects(WalkerCard.self)
        #expect(all.count == 3 && all[1].title == "Ben" && all.map(\.distance) == [10, 20, 30])
        #expect(all.last?.title == "Cleo" && all.first { $0.title == "Ben" }?.distance == 20)
        #expect(all.where { $0.distance > 10 && $0.title != "Cleo" }.map(\.title) == ["Ben"])
        #expect(all.where { $0.city == "Bern" }.map(\.title) == ["Ann"])
        #expect(all.where { $0.leaderName == "Ann" }.map(\.title) == ["Ben"])
        #expect(all.filter("ANY friends.name == 'Cleo'").map(\.title) == ["Ann"])
        #expect(all.where { $0.tags.contains("fast") }.count == 1)
        #expect(all.filter("steps > 10").sorted(by: \.distance, ascending: false).map(\.title) == ["Cleo", "Ben"])
        #expect(all.sorted(by: \.title, ascending: false)[0].title == "Cleo")
        #expect(all.distinct(by: [\.city]).count == 1 && all.index(matching: { $0.title == "Ben" }) == 1)
        #expect(try all.index(of: card(3)) == 2 && all.sum(of: \.distance) == 60)
        #expect(all.sectioned(by: \.title).allKeys == ["Ann", "Ben", "Cleo"])
        #expect(all.freeze()[0].isFrozen && all.freeze().map(\.title) == ["Ann", "Ben", "Cleo"])
        #expect(all.description.contains("title = Ben"))
        #expect(realm.objects(Walker.self).where { $0.steps > 10 }.count == 2)
    }

    @Test func loopsKeepTheProjectionsTheyAreGiven() {
        var kept: [WalkerCard] = []
        for card in realm.objects(WalkerCard.self) { kept.append(card) }
        #expect(kept.map(\.title) == ["Ann", "Ben", "Cleo"])
    }

    @Test func resultsOfProjectionsAreObserved() async throws {
        var frames: [String] = []
        let token = realm.objects(WalkerCard.self).where { $0.distance >= 20 }.observe(keyPaths: [\.title]) { change in
            switch change {
            case .initial(let cards): frames.append("\(cards.map(\.title))")
            case .update(let cards, let deleted, let inserted, let modified):
                frames.append("\(cards.map(\.title)) \(deleted) \(inserted) \(modified)")
            case .error: break
            }
        }
        await wait { frames.count == 1 }
        // Another property of an element does not matter.
        try realm.write { try card(2).distance += 1 }
        await mainQueueIsThrough()
        try realm.write {
            try card(2).title = "Bert"
            try card(1).distance = 50
            realm.delete(try card(3).rootObject)
        }
        await wait { frames.count == 2 }
        #expect(frames == [#"["Ben", "Cleo"]"#, #"["Ann", "Bert"] [1] [0] [0]"#])
        token.invalidate()
    }

    // MARK: Projected collections

    @Test func projectedCollectionsAreLive() throws {
        let ann = try card(1)
        let friends = ann.friends
        #expect(
            friends.count == 2 && friends[0] == "Ben" && friends.first == "Ben" && Array(friends) == ["Ben", "Cleo"])
        #expect(friends.index(of: "Cleo") == 1 && friends.index(of: "Zoe") == nil && friends.contains("Ben"))
        #expect(friends.index(matching: RealmPredicate(format: "steps > %@", 25)) == 1)
        let cleo = try card(3)
        #expect(Array(ann.rivals) == [30] && ann.friendOf.isEmpty && Array(cleo.friendOf) == ["Ann"])
        try realm.write {
            friends[0] = "Bert"
            ann.rootObject.friends.append(ann.rootObject)
        }
        #expect(Array(friends) == ["Bert", "Cleo", "Ann"] && ann.rootObject.friends[0].name == "Bert")
        #expect(friends.realm == realm && !friends.isFrozen)
        let frozen = friends.freeze()
        try realm.write { friends[1] = "x" }
        #expect(frozen.isFrozen && frozen[1] == "Cleo" && frozen.thaw()?[1] == "x" && frozen != friends)
        try realm.write { realm.delete(ann.rootObject) }
        #expect(friends.isInvalidated)
    }

    @Test func projectedCollectionsAreObserved() async throws {
        let ann = try card(1)
        var frames: [String] = []
        let token = ann.friends.observe { change in
            switch change {
            case .initial(let names): frames.append("\(Array(names))")
            case .update(let names, let deleted, let inserted, let modified):
                frames.append("\(Array(names)) \(deleted) \(inserted) \(modified)")
            case .error: break
            }
        }
        await wait { frames.count == 1 }
        // Another property of an element does not matter.
        try realm.write { ann.rootObject.friends[0].steps = 1 }
        await mainQueueIsThrough()
        try realm.write {
            ann.friends[1] = "Cleopatra"
            ann.rootObject.friends.remove(at: 0)
        }
        await wait { frames.count == 2 }
        #expect(frames == [#"["Ben", "Cleo"]"#, #"["Cleopatra"] [0] [] [1]"#])
        token.invalidate()
    }

    // MARK: Observing

    private func observed(
        _ card: WalkerCard, keyPaths: [PartialKeyPath<WalkerCard>] = [], _ note: @escaping (String) -> Void
    ) -> NotificationToken {
        card.observe(keyPaths: keyPaths) { change in
            switch change {
            case .change(let card, let properties):
                let texts = properties.map {
                    "\($0.name):\($0.oldValue.map { "\($0)" } ?? "-")>\($0.newValue.map { "\($0)" } ?? "-")"
                }
                note(([card.title] + texts).joined(separator: " "))
            case .deleted: note("deleted")
            case .error: break
            }
        }
    }

    @Test func changesNameProjectedProperties() async throws {
        let name = try #require(configuration.inMemoryIdentifier)
        var lines: [String] = []
        let token = observed(try card(1)) { lines.append($0) }
        // By another realm, so that there are old values.
        try onAnotherThread(name, types: [Walker.self, WalkerHome.self]) { other in
            try other.write {
                let ann = other.object(ofType: Walker.self, forPrimaryKey: 1)
                ann?.name = "Anna"
                ann?.steps = 11
            }
        }
        await wait { lines.count == 1 }
        #expect(lines == ["Anna title:Ann>Anna distance:10>11 length:3>4"])
        // By its own realm; through a link, of a collection, and of an element.
        try realm.write {
            let ann = try card(1)
            ann.distance = 12
            ann.rootObject.home?.city = "Rome"
            ann.tags.append("tall")
            ann.friends[0] = "Bert"
        }
        await wait { lines.count == 2 }
        #expect(lines.last == "Anna distance:->12 city:->Rome tags:->- friends:->-")
        try realm.write { realm.delete(try card(1).rootObject) }
        await wait { lines.count == 3 }
        #expect(lines.last == "deleted")
        token.invalidate()
    }

    @Test func namesChooseTheProperties() async throws {
        var lines: [String] = []
        let token = try card(1).observe(keyPaths: ["city", "title"]) { change in
            if case .change(_, let properties) = change { lines += properties.map(\.name) }
        }
        try realm.write { try card(1).distance = 1 }
        await mainQueueIsThrough()
        try realm.write {
            let ann = try card(1)
            (ann.title, ann.distance) = ("Anna", 2)
        }
        await wait { lines.count == 1 }
        try realm.write { try card(1).rootObject.home?.city = "Rome" }
        await wait { lines.count == 2 }
        #expect(lines == ["title", "city"])
        token.invalidate()
    }

    @Test func keyPathsChooseTheProperties() async throws {
        var lines: [String] = []
        let token = observed(try card(1), keyPaths: [\.city, \.friends]) { lines.append($0) }
        try realm.write { try card(1).title = "Anna" }
        await mainQueueIsThrough()
        try realm.write {
            try card(1).distance = 1
            try card(3).title = "Cleopatra"
        }
        await wait { lines.count == 1 }
        try realm.write { try card(1).rootObject.home = nil }
        await wait { lines.count == 2 }
        #expect(lines == ["Anna friends:->-", "Anna city:->-"])
        token.invalidate()
    }

    private final class Seen: Sendable {
        private let noted = Mutex<[String]>([])
        var lines: [String] { noted.withLock { $0 } }
        func note(_ line: String) { noted.withLock { $0.append(line) } }
    }

    private actor Desk {
        var lines: [String] = []
        var token: NotificationToken?
        func keep(_ token: NotificationToken) { self.token = token }
        func note(_ line: String) { lines.append(line) }
        func wait() async { await FirnTests.wait { !lines.isEmpty } }
    }

    @Test func queuesAndActorsHaveTheirOwnProjections() async throws {
        let desk = Desk()
        await desk.keep(
            try card(1).observe(on: desk) { desk, change in
                if case .change(let card, let properties) = change {
                    desk.note("\(card.title) \(properties.map(\.name))")
                }
            })
        let seen = Seen()
        let token = try card(2).observe(
            keyPaths: [\.distance], on: DispatchQueue(label: "projections"),
            { @Sendable change in
                if case .change(let card, _) = change { seen.note("\(card.title) \(Thread.isMainThread)") }
            })
        try realm.write {
            try card(1).title = "Anna"
            try card(2).distance = 3
        }
        await wait { !seen.lines.isEmpty }
        #expect(seen.lines == ["Ben false"])
        token.invalidate()
        await desk.wait()
        #expect(await desk.lines == [#"Anna ["title", "length"]"#])
    }

    /// A cancelled task observes nothing on an actor: its token has ended (SEMANTICS 50).
    @Test func aCancelledTaskObservesNothingOnAnActor() async throws {
        let desk = Desk()
        let ann = try card(1)
        var token: NotificationToken?
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            token = await ann.observe(on: desk) { desk, _ in desk.note("cancelled") }
        }.value
        // It is added last, so it is called last.
        let last = await ann.observe(on: desk) { desk, _ in desk.note("last") }
        try realm.write { ann.title = "Anna" }
        await desk.wait()
        #expect(await desk.lines == ["last"])
        #expect(token?.invalidate() == false && last.invalidate())
    }

    // MARK: Misuse

    @Test(arguments: 0..<5) func misuseStops(variant: Int) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [variant = variant as Int] in
            try await ProjectionTests().misuse(variant)
        }
        let messages = [
            "can't be set in a projection", "an unmanaged object of Walker", "gives a value of the type Int",
            "outside of a write transaction", "out of bounds",
        ]
        expectMessage(result, messages[variant])
    }

    private func misuse(_ variant: Int) throws {
        let ann = try card(1)
        switch variant {
        case 0: try realm.write { ann.length = 3 }
        case 1: _ = WalkerCard(projecting: Walker()).observe { _ in }
        case 2: _ = realm.objects(WalkerCard.self).where { $0.length == 3 }
        case 3: ann.title = "x"
        default: _ = ann.friends[2]
        }
    }
}
