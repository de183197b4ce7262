import FirnTestSupport
import Foundation
import Testing

@testable import Firn

private class Note: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
    @Persisted var optionalText: String?
    @Persisted var data: Data
    @Persisted var optionalData: Data?
    @Persisted(indexed: true) var indexed: String
    @Persisted var number: Int
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// What a note holds.
private struct Content: Equatable {
    var text = ""
    var optionalText: String?
    var data = Data()
    var optionalData: Data?
    var indexed = ""
    var number = 0

    init() {}

    init(_ note: Note) {
        text = note.text
        optionalText = note.optionalText
        data = note.data
        optionalData = note.optionalData
        indexed = note.indexed
        number = note.number
    }
}

/// Once a transaction has made a chunk its own, setters write to it without the transaction.
@Suite("What is assigned again and again in a transaction is what is read", .timeLimit(.minutes(20)))
struct AssignedInPlaceTests {
    private static let lengths = [0, 0, 1, 8, 15, 16, 40, 300, 1_000, 1_023, 1_024, 1_025, 5_000]

    private static func text(_ random: inout SeededRandom) -> String {
        let length = lengths[random.below(lengths.count)]
        let letter = ["a", "é", "雪", "🐕"][random.below(4)]
        var text = String(repeating: letter, count: length / letter.utf8.count)
        while text.utf8.count < length { text += "." }
        return text
    }

    private static func assign(_ note: Note, content: inout Content, random: inout SeededRandom) {
        switch random.below(7) {
        case 0, 1:
            content.text = text(&random)
            note.text = content.text
        case 2:
            content.optionalText = random.below(4) == 0 ? nil : text(&random)
            note.optionalText = content.optionalText
        case 3:
            content.data = Data(text(&random).utf8)
            note.data = content.data
        case 4:
            content.optionalData = random.below(4) == 0 ? nil : Data(text(&random).utf8)
            note.optionalData = content.optionalData
        case 5:
            content.indexed = String(text(&random).prefix(20))
            note.indexed = content.indexed
        default:
            content.number = random.below(1_000)
            note.number = content.number
        }
    }

    @Test("in the transaction, in each version, and after a replay", arguments: 1...6 as ClosedRange<UInt64>)
    func random(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path + "/notes.firn")
        var contents: [Content] = []
        do {
            let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Note.self]))
            var held: [(realm: Realm, contents: [Content])] = []
            func check(_ realm: Realm, _ contents: [Content]) {
                let notes = realm.objects(Note.self)
                #expect(notes.count == contents.count)
                for note in notes { #expect(Content(note) == contents[note.id], "note \(note.id)") }
                for content in contents.prefix(5) {
                    let found = notes.where { $0.indexed == content.indexed }.count
                    #expect(found == contents.filter { $0.indexed == content.indexed }.count)
                }
            }
            for round in 0..<25 {
                let isCancelled = random.below(5) == 0
                var now = contents
                realm.beginWrite()
                for _ in 0..<random.below(4) where now.count < 40 {
                    realm.create(Note.self, value: ["id": now.count])
                    now.append(Content())
                }
                guard !now.isEmpty else {
                    realm.cancelWrite()
                    continue
                }
                for step in 0..<60 {
                    let id = random.below(now.count)
                    let note = try #require(realm.object(ofType: Note.self, forPrimaryKey: id))
                    for _ in 0...random.below(3) { Self.assign(note, content: &now[id], random: &random) }
                    #expect(Content(note) == now[id], "round \(round), step \(step)")
                    // Iterating holds a state of the transaction, which later assignments must not change.
                    if step == 30 {
                        let before = now
                        var index = 0
                        for note in realm.objects(Note.self) {
                            let id = note.id
                            #expect(Content(note) == (index == 0 ? before[id] : now[id]))
                            Self.assign(note, content: &now[id], random: &random)
                            index += 1
                        }
                    }
                }
                check(realm, now)
                if isCancelled {
                    realm.cancelWrite()
                } else {
                    try realm.commitWrite()
                    contents = now
                }
                check(realm, contents)
                if random.below(3) == 0 { held.append((realm.freeze(), contents)) }
                for version in held { check(version.realm, version.contents) }
            }
        }
        #expect(waitUntilClosed(url))
        let again = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Note.self]))
        for note in again.objects(Note.self) { #expect(Content(note) == contents[note.id]) }
        #expect(again.objects(Note.self).count == contents.count)
    }

    /// A chunk of texts has 64 KiB at most: what does not fit any more goes through the transaction, which moves texts
    /// out or splits the leaf.
    @Test("up to the edge of a chunk and beyond") func edge() throws {
        let folder = TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path + "/edge.firn")
        var contents = (0..<200).map { _ in Content() }
        var most = 0
        do {
            let realm = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Note.self]))
            try realm.write { for id in 0..<200 { realm.create(Note.self, value: ["id": id]) } }
            let notes = Array(realm.objects(Note.self))
            for round in 0..<6 {
                try realm.write {
                    // The chunk grows by a few bytes at a time, past each length that a text can have in it.
                    for step in 0..<60 {
                        for (id, note) in notes.enumerated() where (id + step) % 7 == round % 7 {
                            contents[id].text += String(repeating: "e", count: 1 + (id * 31 + step * 17) % 197)
                            contents[id].data.append(contentsOf: [UInt8(id), UInt8(step)])
                            note.text = contents[id].text
                            note.data = contents[id].data
                        }
                    }
                    for (id, note) in notes.enumerated() { #expect(Content(note) == contents[id], "note \(id)") }
                    most = max(most, contents.reduce(0) { $0 + $1.text.utf8.count })
                    // Then it shrinks.
                    for (id, note) in notes.enumerated() where id % 3 == round % 3 {
                        contents[id].text = String(contents[id].text.prefix(id))
                        note.text = contents[id].text
                    }
                }
                for (id, note) in notes.enumerated() { #expect(Content(note) == contents[id], "note \(id)") }
                realm.instance.snapshot._checkInvariants()
            }
            #expect(most > 3 * 65_536, "the edge was passed")
        }
        #expect(waitUntilClosed(url))
        let again = try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: [Note.self]))
        for note in again.objects(Note.self) { #expect(Content(note) == contents[note.id]) }
    }

    @MainActor
    @Test("and an observer is called for each property, assigned in place or not") func observed() async throws {
        // `waitForDeliveries` uses the class Dog.
        let realm = try memoryRealm([Note.self, Dog.self, Person.self])
        try realm.write { realm.create(Note.self, value: ["id": 1, "text": "before"]) }
        let note = try #require(realm.object(ofType: Note.self, forPrimaryKey: 1))
        nonisolated(unsafe) var seen: [String: String] = [:]
        let token = note.observe { (change: ObjectChange<Note>) in
            guard case .change(_, let properties) = change else { return }
            for property in properties { seen[property.name] = property.newValue as? String ?? "-" }
        }
        await waitForDeliveries(of: realm)
        try realm.write {
            note.text = "first"
            note.text = "second"
            note.optionalText = "x"
            note.optionalText = nil
            note.optionalText = "y"
            note.data = Data([1])
            note.data = Data([2, 3])
        }
        await waitForDeliveries(of: realm)
        #expect(seen == ["text": "second", "optionalText": "y", "data": "-"])
        token.invalidate()
    }
}
