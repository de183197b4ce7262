import FirnTestSupport
import Foundation
import Synchronization
import Testing

@testable import Firn

/// Observers of sections (R91, R93; SEMANTICS 52, 91).
@MainActor
@Suite(.timeLimit(.minutes(20))) struct SectionNotificationTests {
    private let realm: Realm
    private let members: Results<Member>

    init() throws {
        realm = try sectionRealm(UUID().uuidString)
        members = realm.objects(Member.self)
        try add(["Ida", "Bo", "Ben", "Ann", "Ivo"], from: 0)
    }

    private func add(_ names: [String], from first: Int) throws {
        try realm.write {
            for (id, name) in names.enumerated() {
                realm.create(Member.self, value: ["id": first + id, "name": name] as [String: Any])
            }
        }
    }

    private func member(_ name: String) -> Member { members.where { $0.name == name }.first! }

    private final class Frames {
        var lines: [String] = []

        func note<C: RealmSectionedResult>(_ change: SectionedResultsChange<C>) {
            switch change {
            case .initial: lines.append("initial")
            case .update(_, let deletions, let insertions, let modifications, let new, let gone):
                func text(_ paths: [IndexPath]) -> String {
                    paths.map { "\($0.section).\($0.item)" }.joined(separator: " ")
                }
                lines.append(
                    "-[\(text(deletions))] +[\(text(insertions))] ~[\(text(modifications))] S+\(Array(new)) S-\(Array(gone))"
                )
            }
        }
    }

    private func sections() -> SectionedResults<String, Member> {
        members.sectioned(sortDescriptors: ["name"]) { initial($0) }
    }

    @Test func framesSayWhatHappenedInWhichSection() async throws {
        let frames = Frames()
        let token = sections().observe { frames.note($0) }
        await wait { frames.lines == ["initial"] }
        // A: Ann; B: Ben, Bo; I: Ida, Ivo.
        try add(["Bob"], from: 10)
        await wait { frames.lines.count == 2 }
        try realm.write { member("Ann").age = 7 }
        await wait { frames.lines.count == 3 }
        try realm.write { realm.delete(member("Ann")) }
        await wait { frames.lines.count == 4 }
        try add(["Cy"], from: 11)
        await wait { frames.lines.count == 5 }
        // To another section.
        try realm.write { member("Bo").name = "Ibo" }
        await wait { frames.lines.count == 6 }
        #expect(
            frames.lines == [
                "initial", "-[] +[1.2] ~[] S+[] S-[]", "-[] +[] ~[0.0] S+[] S-[]", "-[0.0] +[] ~[] S+[] S-[0]",
                "-[] +[1.0] ~[] S+[1] S-[]", "-[0.1] +[2.0] ~[] S+[] S-[]",
            ])
        token.invalidate()
    }

    @Test func aKeyMayChangeWithoutAMoveInTheCollection() async throws {
        let frames = Frames()
        let token = members.sectioned(by: { $0.age > 5 ? "old" : "young" }, sortDescriptors: ["name"])
            .observe { frames.note($0) }
        await wait { frames.lines == ["initial"] }
        try realm.write { member("Ivo").age = 9 }
        await wait { frames.lines.count == 2 }
        // The order of sections is that of their first elements: "old" goes to the front.
        try realm.write { member("Ann").age = 9 }
        await wait { frames.lines.count == 3 }
        #expect(frames.lines[1] == "-[0.4] +[1.0] ~[] S+[1] S-[]")
        #expect(frames.lines[2] == "-[0.0 1.0] +[0.0 0.1] ~[] S+[0] S-[1]", "\(frames.lines)")
        token.invalidate()
    }

    @Test func anObserverOfOneSectionIsShownOnlyThat() async throws {
        let frames = Frames()
        let section = sections()[1]
        let token = section.observe { frames.note($0) }
        await wait { frames.lines == ["initial"] }
        try add(["Abe"], from: 20)
        try realm.write { realm.delete(member("Ida")) }
        try add(["Bea"], from: 21)
        await wait { frames.lines.count == 2 }
        try realm.write { realm.delete(members.where { $0.name.starts(with: "B") }) }
        await wait { frames.lines.count == 3 }
        try add(["Bob"], from: 22)
        await wait { frames.lines.count == 4 }
        #expect(
            frames.lines == [
                "initial", "-[] +[1.0] ~[] S+[] S-[]", "-[1.0 1.1 1.2] +[] ~[] S+[] S-[1]", "-[] +[1.0] ~[] S+[1] S-[]",
            ])
        token.invalidate()
    }

    @Test func keyPathsLimitWhatIsAModification() async throws {
        let (frames, typed) = (Frames(), Frames())
        let tokens = [
            sections().observe(keyPaths: ["age"]) { frames.note($0) },
            sections()[1].observe(keyPaths: [\Member.club]) { typed.note($0) },
        ]
        await wait { frames.lines == ["initial"] && typed.lines == ["initial"] }
        let club = Club()
        try realm.write { member("Ben").club = club }
        await wait { typed.lines.count == 2 }
        try realm.write { member("Ben").age = 3 }
        await wait { frames.lines.count == 2 }
        #expect(frames.lines[1] == "-[] +[] ~[1.0] S+[] S-[]" && typed.lines[1] == "-[] +[] ~[1.0] S+[] S-[]")
        for token in tokens { token.invalidate() }
    }

    @Test func skippedChangesAreNotShown() async throws {
        let frames = Frames()
        let token = sections().observe { frames.note($0) }
        await wait { frames.lines == ["initial"] }
        try realm.write(withoutNotifying: [token]) { realm.delete(member("Ann")) }
        try realm.write { member("Ben").age = 1 }
        await wait { frames.lines.count == 2 }
        // Relative to the version that was skipped.
        #expect(frames.lines[1] == "-[] +[] ~[0.0] S+[] S-[]")
        token.invalidate()
    }

    private actor Reader {
        var lines: [String] = []
        private var token: NotificationToken?
        func keep(_ token: NotificationToken) { self.token = token }
        func note(_ line: String) { lines.append(line) }
        func wait(for count: Int) async { await FirnTests.wait { lines.count >= count } }
    }

    @Test func actorsAndQueuesHaveTheirOwnSections() async throws {
        let reader = Reader()
        let token = await sections().observe(on: reader) { reader, change in
            switch change {
            case .initial(let sections): reader.note("\(sections.allKeys)")
            case .update(let sections, _, _, _, let new, _): reader.note("\(sections.allKeys) \(Array(new))")
            }
        }
        let seen = Mutex<[[String]]>([])
        let queueToken = sections()[0].observe(on: DispatchQueue(label: "sections")) { @Sendable change in
            switch change {
            case .initial(let section), .update(let section, _, _, _, _, _):
                let names = section.map(\.name)
                seen.withLock { $0.append(names) }
            }
        }
        await reader.wait(for: 1)
        await wait { seen.withLock { !$0.isEmpty } }
        try add(["Abe", "Cy"], from: 30)
        await reader.wait(for: 2)
        await wait { seen.withLock { $0.count == 2 } }
        #expect(await reader.lines == ["[\"A\", \"B\", \"I\"]", "[\"A\", \"B\", \"C\", \"I\"] [2]"])
        #expect(seen.withLock { $0 } == [["Ann"], ["Abe", "Ann"]])
        for token in [token, queueToken] { token.invalidate() }
    }

    // MARK: Random changes

    /// Applies frames to a copy of the sections, as a table of rows does.
    @Test(arguments: 0..<48) func framesAppliedToTheOldSectionsGiveTheNewOnes(_ seed: UInt64) async throws {
        switch seed % 6 {
        case 0:
            try await follow(
                seed, members.sectioned(by: { "\($0.name.utf8.count % 4)" }, sortDescriptors: ["age", "name"]),
                isMaintained: false)
        case 1: try await follow(seed, members.sectioned(by: \.age))
        case 2: try await follow(seed, members.sectioned(by: \.name, ascending: false))
        case 3: try await follow(seed, members.sectioned(by: \.age, sortDescriptors: ["age", "name"]))
        case 4: try await follow(seed, members.sectioned(by: \.score))
        default:
            try await follow(seed, members.where { $0.age > 0 }.distinct(by: [\.age, \.name]).sectioned(by: \.name))
        }
    }

    private static let names = ["", "x", "xx", "y", "yyy", "é", "e\u{301}", "É", "z\u{0}", "🐕", "🐕‍🦺"]
    private static let scores: [Double?] = [nil, 0, -0.0, 1, .nan, .infinity, -.infinity]

    /// Applies the frames of a table of rows.
    private final class Table {
        var shown: [[Int]] = []
        var frames = 0
        var faults: [String] = []
        /// The members that the last transaction has changed, and those that it has assigned something to.
        var (changed, assigned): (Set<Int>, Set<Int>) = ([], [])

        func show<Key>(_ change: SectionedResultsChange<SectionedResults<Key, Member>>) {
            frames += 1
            guard case .update(let now, let deletions, let insertions, let modifications, let new, let gone) = change
            else {
                if case .initial(let now) = change { shown = now.map { $0.map(\.id) } }
                return
            }
            let marked = modifications.map { shown[$0.section][$0.item] }
            let deleted = Set(deletions.map { shown[$0.section][$0.item] })
            let before = Set(shown.joined())
            for path in deletions.reversed() { shown[path.section].remove(at: path.item) }
            for section in gone.reversed() {
                if !shown[section].isEmpty { faults.append("a section with elements is gone") }
                shown.remove(at: section)
            }
            for section in new { shown.insert([], at: section) }
            for path in insertions { shown[path.section].insert(now[path].id, at: path.item) }
            if shown != now.map({ $0.map(\.id) }) { faults.append("\(shown) is not \(now.map { $0.map(\.id) })") }
            if shown.contains([]) { faults.append("an empty section") }
            if Set(marked).count != marked.count { faults.append("modified twice") }
            if !deleted.isDisjoint(with: marked) { faults.append("deleted and modified") }
            let missing = changed.intersection(before).subtracting(deleted).subtracting(marked)
            if !missing.isEmpty { faults.append("changed and not modified: \(missing)") }
            let superfluous = Set(marked).subtracting(assigned)
            if !superfluous.isEmpty { faults.append("modified and not changed: \(superfluous)") }
        }
    }

    private func follow<Key>(
        _ seed: UInt64, _ sections: SectionedResults<Key, Member>, isMaintained: Bool = true
    ) async throws {
        var random = SeededRandom(seed: seed)
        try realm.write { realm.deleteAll() }
        let table = Table()
        let token = sections.observe { table.show($0) }
        await wait { table.frames == 1 }
        for round in 1...12 {
            (table.changed, table.assigned) = ([], [])
            try realm.write { for _ in 0...random.below(6) { change(table, round: round, random: &random) } }
            realm.refresh()
        }
        await wait { table.frames > 1 }
        #expect(table.faults.isEmpty && table.shown == sections.map { $0.map(\.id) }, "\(table.faults)")
        let ways = (token.observer as? SourceSubscription<SectionedResults<Key, Member>>)?.ways
        #expect(isMaintained ? ways?.foundAnew == 1 && ways?.updated ?? 0 > 5 : ways?.updated == 0)
        token.invalidate()
    }

    private func change(_ table: Table, round: Int, random: inout SeededRandom) {
        let all = Array(members)
        let choice = all.count < 4 ? 0 : random.below(6)
        guard choice > 1 else {
            let id = round * 100 + random.below(100)
            table.assigned.insert(id)
            realm.create(
                Member.self,
                value: [
                    "id": id, "age": random.below(3), "name": Self.names[random.below(Self.names.count)],
                    "score": Self.scores[random.below(Self.scores.count)] as Any,
                ] as [String: Any], update: .modified)
            return
        }
        let member = all[random.below(all.count)]
        let before = (member.age, member.name.unicodeScalars.map(\.value), member.score?.bitPattern)
        switch choice {
        case 2: return realm.delete(member)
        case 3: member.age = random.below(3)
        case 4: member.name = Self.names[random.below(Self.names.count)]
        default: member.score = Self.scores[random.below(Self.scores.count)]
        }
        table.assigned.insert(member.id)
        if before != (member.age, member.name.unicodeScalars.map(\.value), member.score?.bitPattern) {
            table.changed.insert(member.id)
        }
    }
}
