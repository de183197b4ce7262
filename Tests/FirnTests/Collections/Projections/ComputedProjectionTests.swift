import Firn
import FirnTestSupport
import Foundation
import Testing

/// Has properties that the application computes.
class Rower: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var first = ""
    @Persisted var last = ""
    @Persisted var nick = ""
    @Persisted var isKnown = false
    @Persisted var rank = RowerRank.novice
    @Persisted var coach: Rower?
    @Persisted var mates: List<Rower>
    @Persisted var marks: List<Int>
    @Persisted var boats: MutableSet<RowerBoat>
    @Persisted var cabin: RowerCabin?
    @Persisted var prize: AnyRealmValue
    @Persisted var note = ""

    override class func ignoredProperties() -> [String] { ["note"] }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }

    var fullName: String { "\(first) \(last)" }
    /// Of the same type as what it reads.
    var shout: String { first.uppercased() }
    /// Reads another property for another value.
    var shown: String { isKnown ? nick : first }
    var topCoach: Rower { coach?.topCoach ?? self }
    var mateNames: String { mates.map(\.last).joined(separator: " ") }
    var best: Int { marks.max() ?? 0 }
    var boatNames: [String] { boats.map(\.name).sorted() }
    var noted: String { note + nick }
    var cabinNumber: Int { cabin?.number ?? 0 }
    /// Stops the program for values that Firn might make up.
    var strictRank: RowerRank { RowerRank(rawValue: rawRank)! }
    @Persisted var rawRank = "novice"
    var rankName: String { rank == .master ? last : first }
}

class RowerBoat: Object {
    @Persisted var name = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class RowerCabin: EmbeddedObject {
    @Persisted var number = 0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

enum RowerRank: String, PersistableEnum { case novice, master }

class NamedRower: Projection<Rower> {
    @Projected(\Rower.first) var first
    @Projected(\Rower.first) var again
}

class RowerCard: NamedRower {
    @Projected(\Rower.fullName) var fullName
    @Projected(\Rower.shout) var shout
    @Projected(\Rower.shown) var shown
    @Projected(\Rower.topCoach.first) var topCoach
    @Projected(\Rower.coach) var coach
    @Projected(\Rower.mateNames) var mateNames
    @Projected(\Rower.mates.projectTo.fullName) var fullNames: ProjectedCollection<String>
    @Projected(\Rower.mates.projectTo.cabinNumber) var numbers
    @Projected(\Rower.best) var best
    @Projected(\Rower.boatNames) var boatNames
    @Projected(\Rower.noted) var noted
    @Projected(\Rower.rankName) var rankName
    @Projected(\Rower.strictRank) var strictRank
    @Projected(\Rower.prize) var prize
    @Projected(\Rower.self.className) var nothing

    var summary: String { "\(first), \(best)" }
}

extension Rower {
    var className: String { "Rower" }
}

private let classes = [Rower.self, RowerBoat.self, RowerCabin.self]

/// What is observed, queried and sorted by key paths through what the application computes (R94, R95).
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ComputedProjectionTests {
    private let realm: Realm
    private let name = UUID().uuidString

    init() throws {
        realm = try Realm(configuration: .init(inMemoryIdentifier: name, objectTypes: classes))
        try realm.write {
            for (id, first) in ["Ann", "Ben", "Cleo"].enumerated() {
                realm.create(Rower.self, value: ["id": id, "first": first, "last": "L\(id)"] as [String: Any])
            }
            let ann = try rower(0)
            ann.mates.append(objectsIn: [try rower(1), try rower(2)])
            ann.coach = try rower(1)
            ann.marks.append(objectsIn: [1, 5])
            ann.boats.insert(RowerBoat(value: ["name": "Sula"]))
        }
    }

    private func rower(_ id: Int) throws -> Rower { try #require(realm.object(ofType: Rower.self, forPrimaryKey: id)) }
    private func card(_ id: Int) throws -> RowerCard { RowerCard(projecting: try rower(id)) }

    /// The names of the projected properties that a write changes.
    private func changed(
        _ keyPaths: [PartialKeyPath<RowerCard>] = [], _ write: () throws -> Void
    ) async throws -> [String] {
        var names: [[String]] = []
        let token = try card(0).observe(keyPaths: keyPaths) { change in
            if case .change(_, let properties) = change { names.append(properties.map(\.name)) }
        }
        try realm.write { try write() }
        await mainQueueIsThrough()
        token.invalidate()
        return names.flatMap { $0 }
    }

    @Test func whatIsComputedChangesWithWhatItReads() async throws {
        #expect(try await changed { try rower(0).last = "x" } == ["fullName", "rankName"])
        #expect(
            try await changed { try rower(0).first = "x" } == [
                "first", "again", "fullName", "shout", "shown", "topCoach", "rankName",
            ])
        #expect(try await changed { try rower(0).nick = "x" } == ["shown", "noted"])
        #expect(try await changed { try rower(0).isKnown = true } == ["shown"])
        #expect(try await changed { try rower(0).rank = .master } == ["rankName"])
        #expect(try await changed { try rower(0).marks[0] = 9 } == ["best"])
        #expect(try await changed { try rower(0).rawRank = "master" } == ["strictRank"])
        #expect(try await changed { try rower(0).coach = nil } == ["topCoach", "coach"])
    }

    @Test func whatIsComputedOfElementsChangesWithThem() async throws {
        #expect(try await changed { try rower(2).last = "y" } == ["mateNames", "fullNames"])
        #expect(try await changed { try rower(2).first = "y" } == ["fullNames"])
        #expect(try await changed { try rower(2).cabin = RowerCabin() } == ["numbers"])
        #expect(try await changed { try rower(2).cabin?.number = 3 } == ["numbers"])
        #expect(try await changed { try rower(0).boats.first?.name = "Sula 2" } == ["boatNames"])
        #expect(try await changed { try rower(0).mates.removeLast() } == ["mateNames", "fullNames", "numbers"])
    }

    @Test func linksAreFollowed() async throws {
        // Ben is Ann's coach.
        #expect(try await changed { try rower(1).first = "z" } == ["topCoach", "fullNames"])
        #expect(try await changed { try rower(1).coach = rower(2) } == ["topCoach"])
        #expect(try await changed { try rower(2).first = "z" } == ["topCoach", "fullNames"])
    }

    @Test func chosenPropertiesAreThoseThatAreRead() async throws {
        let write = { try self.rower(0).first = "w" }
        #expect(try await changed([\.again], write) == ["again"])
        #expect(try await changed([\.first, \.shout], write) == ["first", "shout"])
        // Through what the projection itself computes.
        #expect(try await changed([\.summary], write) == ["first"])
        #expect(try await changed([\.summary], { try rower(0).marks.append(11) }) == ["best"])
        #expect(try await changed([\.mateNames.count], { try rower(0).mates.removeAll() }) == ["mateNames"])
    }

    @Test func framesHaveTheObservedClass() async throws {
        var cards: [NamedRower] = []
        let ann: NamedRower = try card(0)
        let token = ann.observe { change in
            if case .change(let card, let properties) = change {
                cards.append(card)
                #expect(properties.map(\.name).contains("fullName"))
            }
        }
        try realm.write { ann.first = "Anna" }
        await wait { cards.count == 1 }
        #expect(cards.first is RowerCard)
        token.invalidate()
    }

    @Test func oldLinksAreLive() async throws {
        var old: [Any?] = []
        var new: [Any?] = []
        let token = try card(0).observe(keyPaths: [\.coach, \.fullName]) { change in
            guard case .change(_, let properties) = change else { return }
            old += properties.map(\.oldValue)
            new += properties.map(\.newValue)
        }
        try onAnotherThread(name, types: classes) { other in
            try other.write {
                let ann = other.object(ofType: Rower.self, forPrimaryKey: 0)
                ann?.coach = other.object(ofType: Rower.self, forPrimaryKey: 2)
                ann?.last = "M"
            }
        }
        await wait { old.count == 2 }
        #expect(old.first as? String == "Ann L0" && new.first as? String == "Ann M")
        let coach = try #require(old.last as? Rower)
        #expect(!coach.isFrozen && coach.first == "Ben" && (new.last as? Rower)?.first == "Cleo")
        try realm.write { coach.first = "Benno" }
        #expect(try rower(1).first == "Benno")
        token.invalidate()
    }

    @Test func oldLinksOfMixedValuesAreLive() async throws {
        try realm.write {
            let boat = AnyRealmValue.object(try rower(1))
            try rower(0).prize = .fromArray([boat, .fromDictionary(["k": boat]), .int(1)])
        }
        var old: [AnyRealmValue] = []
        let token = try card(0).observe(keyPaths: [\.prize]) { change in
            guard case .change(_, let properties) = change else { return }
            old += properties.compactMap { $0.oldValue as? AnyRealmValue }
        }
        for count in 1...2 {
            try onAnotherThread(name, types: classes) { other in
                try other.write {
                    let ben = other.object(ofType: Rower.self, forPrimaryKey: 1)
                    other.object(ofType: Rower.self, forPrimaryKey: 0)?.prize = ben.map { .object($0) } ?? .none
                }
            }
            await wait { old.count == count }
        }
        #expect(old.count == 2)
        let list = try #require(old.first?.listValue)
        let links = [list[0], try #require(list[1].dictionaryValue?["k"]), try #require(old.last)]
        for link in links {
            #expect(link.object(Rower.self)?.isFrozen == false && link.object(Rower.self)?.first == "Ben")
        }
        #expect(list[2] == .int(1))
        token.invalidate()
    }

    @Test func changesAreAwaited() async throws {
        var changes = try card(0).changes(keyPaths: [\.shout]).makeAsyncIterator()
        let write = Task { @MainActor in
            try realm.write { try rower(0).nick = "no change" }
            try realm.write { try rower(0).first = "Zoe" }
        }
        guard case .change(let card, let properties) = await changes.next() else {
            Issue.record("no change was awaited")
            return
        }
        #expect(card.shout == "ZOE" && properties.map(\.name) == ["shout"])
        try await write.value
        let deletion = Task { @MainActor in try realm.write { realm.delete(try rower(0)) } }
        guard case .deleted = await changes.next() else {
            Issue.record("the deletion was not awaited")
            return
        }
        try await deletion.value
    }

    // MARK: Projected collections

    @Test func loopsMayWrite() throws {
        let ann = try card(0)
        var seen: [String] = []
        try realm.write {
            for name in ann.fullNames {
                seen.append(name)
                ann.rootObject.mates.remove(at: 0)
            }
        }
        #expect(seen == ["Ben L1", "Cleo L2"] && ann.fullNames.isEmpty)
    }

    @Test func collectionsOfDeletedObjectsAreDescribedAndCompared() throws {
        let ann = try card(0)
        let (names, empty) = (ann.fullNames, try card(1).fullNames)
        try realm.write { realm.delete(ann.rootObject) }
        #expect(names.isInvalidated && names.description == "[invalidated ProjectedCollection<String>]")
        #expect(names == names && names != empty && empty == empty)
    }

    @Test func collectionsAreObservedOnActors() async throws {
        let desk = RowerDesk()
        await desk.keep(
            try card(0).fullNames.observe(on: desk) { desk, change in
                switch change {
                case .initial(let names): desk.lines.append("\(Array(names))")
                case .update(let names, _, _, let modified): desk.lines.append("\(Array(names)) \(modified)")
                case .error: break
                }
            })
        await desk.wait(for: 1)
        try realm.write { try rower(2).last = "Z" }
        await desk.wait(for: 2)
        #expect(await desk.lines == [#"["Ben L1", "Cleo L2"]"#, #"["Ben L1", "Cleo Z"] [1]"#])
    }

    // MARK: The rest

    @Test func freezingTwiceGivesTheSame() throws {
        let card = try card(0)
        let frozen = card.freeze()
        #expect(frozen.freeze() === frozen && card.thaw() === card && frozen.thaw() == card)
    }

    @Test func keysNameTheObjectsProperties() throws {
        let cards = realm.objects(RowerCard.self).sorted(by: \.first)
        #expect(cards.value(forKey: "last") as? [String] == ["L0", "L1", "L2"])
        try realm.write { cards.setValue("same", forKey: "last") }
        #expect(try rower(2).last == "same")
    }

    @Test(arguments: 0..<6) func whatIsComputedIsNotQueried(variant: Int) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [variant = variant as Int] in
            try await ComputedProjectionTests().misuse(variant)
        }
        let messages = [
            "gives what the application computes, for which it reads first;", "for which it reads first, last;",
            "gives what the application computes", "gives what the application computes", "reads no projected property",
            "reads no projected property",
        ]
        expectMessage(result, messages[variant])
    }

    private func misuse(_ variant: Int) throws {
        let cards = realm.objects(RowerCard.self)
        switch variant {
        case 0: _ = cards.where { $0.shout == "ANN" }
        case 1: _ = cards.sorted(by: \.fullName)
        case 2: _ = realm.objects(Rower.self).where { $0.shown == "x" }
        case 3: _ = cards.where { $0.topCoach == "Ann" }
        case 4: _ = try card(0).observe(keyPaths: [\.nothing]) { _ in }
        default: _ = try card(0).observe(keyPaths: [\.rootObject.first]) { _ in }
        }
    }
}

private actor RowerDesk {
    var lines: [String] = []
    private var token: NotificationToken?
    func keep(_ token: NotificationToken) { self.token = token }
    func wait(for count: Int) async { await FirnTests.wait { lines.count >= count } }
}
