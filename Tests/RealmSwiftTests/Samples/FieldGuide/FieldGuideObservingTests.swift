import Foundation
import RealmSwift
import Testing

/// A field guide's screens follow its maps and sets.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct FieldGuideObservingTests {
    private let guide: FieldGuide
    private var realm: Realm { guide.realm }

    init() throws { guide = try FieldGuide() }

    @Test func mapsAreFollowed() async throws {
        let sighting = try guide.saw("Robin") { $0.counts["adult"] = 2 }
        var seen: [String] = []
        let token = sighting.counts.observe { change in
            switch change {
            case .initial(let map): seen.append("initial \(map.count)")
            case .update(let map, let deletions, let insertions, let modifications):
                seen.append("\(map.count) \(deletions) \(insertions) \(modifications)")
            case .error: break
            }
        }
        await wait { seen.count == 1 }
        try realm.write {
            sighting.counts["adult"] = 3
            sighting.counts["young"] = 1
        }
        await wait { seen.count == 2 }
        try realm.write { sighting.counts["adult"] = nil }
        await wait { seen.count == 3 }
        #expect(seen == ["initial 1", "2 [] [\"young\"] [\"adult\"]", "1 [\"adult\"] [] []"])
        token.invalidate()
    }

    @Test func objectsInMapsAreFollowedByKeyPaths() async throws {
        let wren = try realm.write { realm.create(GuideSpecies.self, value: ["WRE", "Wren"]) }
        let sighting = try guide.saw("Robin") { $0.companions["near"] = wren }
        var seen: [[String]] = []
        func note(_ change: RealmMapChange<Map<String, GuideSpecies?>>) {
            if case .update(_, _, _, let modifications) = change { seen.append(modifications) } else { seen.append([]) }
        }
        let token = sighting.companions.observe(keyPaths: [\GuideSpecies.name], note)
        await wait { seen.count == 1 }
        try realm.write { wren.names["de"] = "Zaunkönig" }
        try realm.write { wren.name = "Winter wren" }
        await wait { seen.count == 2 }
        #expect(seen == [[], ["near"]])
        token.invalidate()
    }

    private actor Watcher {
        private(set) var lines: [String] = []

        func note(_ line: String) { lines.append(line) }
    }

    @Test func anActorFollowsAMap() async throws {
        let sighting = try guide.saw("Robin") { $0.counts["adult"] = 2 }
        let watcher = Watcher()
        let token = await sighting.counts.observe(on: watcher) { watcher, change in
            switch change {
            case .initial(let map): watcher.note("initial \(map.count)")
            case .update(let map, _, let insertions, _): watcher.note("\(insertions) \(map["young"] ?? 0)")
            case .error: break
            }
        }
        while await watcher.lines.isEmpty { await Task.yield() }
        try realm.write { sighting.counts["young"] = 4 }
        while await watcher.lines.count < 2 { await Task.yield() }
        #expect(await watcher.lines == ["initial 1", "[\"young\"] 4"])
        token.invalidate()
    }

    @Test func queriesThroughAMapsKeyAreFollowed() async throws {
        let wren = try realm.write { realm.create(GuideSpecies.self, value: ["WRE", "Wren"]) }
        try guide.saw("Robin") { $0.companions["near"] = wren }
        try guide.saw("Emu")
        let found = guide.sightings.where { $0.companions["near"].name == "Wren" }
        let others = guide.sightings.filter("companions['near'].name == nil")
        var counts: [[Int]] = []
        let tokens = [found.observe { _ in counts.append([found.count, others.count]) }]
        await wait { counts.count == 1 }
        try realm.write { wren.name = "Dunnock" }
        await wait { counts.count == 2 }
        try realm.write { wren.name = "Wren" }
        await wait { counts.count == 3 }
        try realm.write { realm.delete(wren) }
        await wait { counts.count == 4 }
        #expect(counts == [[1, 1], [0, 1], [1, 1], [0, 2]])
        for token in tokens { token.invalidate() }
    }

    @Test func setsAreFollowed() async throws {
        let sighting = try guide.saw("Robin") { $0.tags.insert("song") }
        var counts: [Int] = []
        let token = sighting.tags.observe { change in
            switch change {
            case .initial(let tags), .update(let tags, _, _, _): counts.append(tags.count)
            case .error: break
            }
        }
        await wait { counts.count == 1 }
        try realm.write { sighting.tags.insert(objectsIn: ["nest", "song"]) }
        await wait { counts.count == 2 }
        #expect(counts == [1, 2])
        token.invalidate()
    }
}
