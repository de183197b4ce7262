import Firn
import FirnTestSupport
import Foundation
import Testing

/// Sectioned results (R92; SEMANTICS 91).
@Suite(.timeLimit(.minutes(20))) struct SectionTests {
    private let realm: Realm

    init() throws {
        realm = try sectionRealm(UUID().uuidString)
        try realm.write { [realm] in
            for (id, name) in ["Ida", "Bo", "Ben", "Ann", "Ivo"].enumerated() {
                realm.create(Member.self, value: ["id": id, "name": name, "age": id % 2] as [String: Any])
            }
        }
    }

    private func lines<Key>(_ sections: SectionedResults<Key, Member>) -> [String] {
        sections.map { "\($0.key): \($0.map(\.name).joined(separator: " "))" }
    }

    @Test func elementsAreDividedByWhatABlockComputes() throws {
        let sections = realm.objects(Member.self).sectioned(sortDescriptors: ["name"]) { initial($0) }
        #expect(lines(sections) == ["A: Ann", "B: Ben Bo", "I: Ida Ivo"])
        #expect(sections.allKeys == ["A", "B", "I"] && sections.count == 3)
        #expect(
            sections[1].key == "B" && sections[1].id == "B" && sections[1].count == 2 && sections[1][1].name == "Bo")
        #expect(sections[IndexPath(item: 1, section: 2)].name == "Ivo")
        #expect(sections.first?.first?.name == "Ann" && sections[2].last?.name == "Ivo")
        // The block form of Realm's other name.
        #expect(
            lines(realm.objects(Member.self).sectioned(by: { initial($0) }, sortDescriptors: ["name"]))
                == lines(sections))
        // Without a sort, the elements keep their order, and sections that of their first elements.
        let unsorted = realm.objects(Member.self).sectioned(by: { initial($0) }, sortDescriptors: [])
        #expect(lines(unsorted) == ["I: Ida Ivo", "B: Bo Ben", "A: Ann"])
    }

    @Test func elementsAreDividedByAProperty() throws {
        let ages = realm.objects(Member.self).sectioned(by: \.age)
        #expect(lines(ages) == ["0: Ida Ben Ivo", "1: Bo Ann"])
        #expect(
            lines(realm.objects(Member.self).sectioned(by: \.age, ascending: false)) == ["1: Bo Ann", "0: Ida Ben Ivo"])
        let both = realm.objects(Member.self).sectioned(by: \.age, sortDescriptors: ["age", "name"])
        #expect(lines(both) == ["0: Ben Ida Ivo", "1: Ann Bo"])
        try realm.write { realm.objects(Member.self)[0].club = realm.create(Club.self, value: ["title": "C"]) }
        let clubs = realm.objects(Member.self).where { $0.club != nil }.sectioned(by: \.club!.title)
        #expect(lines(clubs) == ["C: Ida"])
    }

    @Test func theyAreLive() throws {
        let sections = realm.objects(Member.self).sectioned(sortDescriptors: ["name"]) { initial($0) }
        let section = sections[1]
        try realm.write {
            realm.create(Member.self, value: ["id": 9, "name": "Bea"] as [String: Any])
            // Changes that are not committed yet are shown.
            #expect(section.map(\.name) == ["Bea", "Ben", "Bo"])
            realm.delete(realm.objects(Member.self).where { $0.name.starts(with: "A") })
        }
        #expect(sections.allKeys == ["B", "I"] && sections[0] == section)
        // A section is that of its key, also while there is none.
        try realm.write { realm.delete(realm.objects(Member.self).where { $0.name.starts(with: "B") }) }
        #expect(section.count == 0 && section.isEmpty && section.key == "B" && sections.allKeys == ["I"])
        try realm.write { _ = realm.create(Member.self, value: ["id": 9, "name": "Bob"] as [String: Any]) }
        #expect(section.map(\.name) == ["Bob"])
    }

    @Test func iteratingIsSafeWhileWriting() throws {
        let sections = realm.objects(Member.self).sectioned(sortDescriptors: ["name"]) { initial($0) }
        var met: [String] = []
        try realm.write {
            for section in sections {
                met.append(section.key)
                for member in section {
                    met.append(member.name)
                    member.name = "Z" + member.name
                }
            }
        }
        // The sections, and the elements of each section when its turn comes.
        #expect(met == ["A", "Ann", "B", "Ben", "Bo", "I", "Ida", "Ivo"])
        #expect(lines(sections) == ["Z: ZAnn ZBen ZBo ZIda ZIvo"])
    }

    @Test func valuesAreDivided() throws {
        let member = try #require(realm.objects(Member.self).first)
        try realm.write { member.nicknames.append(objectsIn: ["ox", "aa", "ob", "ab"]) }
        let sections = member.nicknames.sectioned(by: { String($0.prefix(1)) })
        #expect(sections.map { "\($0.key): \(Array($0))" } == ["a: [\"aa\", \"ab\"]", "o: [\"ob\", \"ox\"]"])
        #expect(Array(member.nicknames.sectioned(by: { String($0.prefix(1)) }, ascending: false)[0]) == ["ox", "ob"])
        try realm.write { realm.delete(member) }
        #expect(sections.isInvalidated && sections.isEmpty)
    }

    /// NaN is one key (SEMANTICS 70), and texts are keys by their bytes (SEMANTICS 68).
    @Test func keysAreComparedAsTheStoreDoes() throws {
        class Measured: Object {
            @Persisted var score = 0.0
            @Persisted var text = ""
            override class func shouldIncludeInDefaultSchema() -> Bool { false }
        }
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Measured.self]))
        try realm.write {
            for (score, text) in [(Double.nan, "\u{E9}"), (1, "e\u{301}"), (.nan, "\u{E9}"), (-0.0, "a"), (0.0, "a")] {
                realm.create(Measured.self, value: ["score": score, "text": text] as [String: Any])
            }
        }
        let scores = realm.objects(Measured.self).sectioned(by: \.score)
        #expect(
            scores.map(\.count) == [2, 2, 1] && scores[0].key.isNaN
                && scores[IndexPath(item: 1, section: 0)].score.isNaN)
        #expect(scores[0] == scores[0])
        let texts = realm.objects(Measured.self).sectioned(by: \.text)
        #expect(texts.map(\.count) == [2, 1, 2] && texts.map { Array($0.key.utf8).count } == [1, 3, 2])
    }

    @Test func frozenOnesAreReadOnOtherThreads() async throws {
        let sections = realm.objects(Member.self).sectioned(sortDescriptors: ["name"]) { initial($0) }
        nonisolated(unsafe) let (frozen, frozenSection) = (sections.freeze(), sections[1].freeze())
        try realm.write { realm.deleteAll() }
        #expect(sections.isEmpty && !sections.isFrozen && frozen.isFrozen && frozen.freeze() == frozen)
        let found = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    frozen.map { "\($0.key): \($0.map(\.name).joined(separator: " "))" } + frozenSection.map(\.name)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(found == Array(repeating: ["A: Ann", "B: Ben Bo", "I: Ida Ivo", "Ben", "Bo"], count: 4))
        #expect(frozen.thaw()?.isEmpty == true && frozenSection.thaw()?.count == 0)
        #expect(frozen.realm?.isFrozen == true && sections.thaw() == sections)
    }

    @Test func invalidatedOnesAreEmpty() {
        let sections = realm.objects(Member.self).sectioned(by: \.age)
        let section = sections[0]
        realm.invalidate()
        #expect(sections.isInvalidated && sections.isEmpty && section.isInvalidated && section.isEmpty)
        #expect(sections.description.contains("SectionedResults") && section.description.contains("key: 0"))
    }

    private enum Mistake: String, CaseIterable, Codable {
        case index, item, path, descriptor, none

        var message: String {
            switch self {
            case .index: "index 3 is out of bounds of 1 sections"
            case .item: "index 1 is out of bounds of 1 elements of a section"
            case .path: "an index path of 1 indices names no element"
            case .descriptor, .none: "the first sort descriptor must be that of the key path, \"age\""
            }
        }
    }

    @Test(arguments: Mistake.allCases) private func whatStopsTheProgram(_ mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            let realm = try sectionRealm("stops")
            try realm.write { realm.create(Member.self, value: ["id": 1]) }
            let members = realm.objects(Member.self)
            let sections = members.sectioned(by: \.age)
            switch mistake {
            case .index: _ = sections[3]
            case .item: _ = sections[IndexPath(item: 1, section: 0)]
            case .path: _ = sections[IndexPath(index: 0)]
            case .descriptor: _ = members.sectioned(by: \.age, sortDescriptors: ["name"])
            case .none: _ = members.sectioned(by: \.age, sortDescriptors: [])
            }
        }
        expectMessage(result, mistake.message)
    }
}
