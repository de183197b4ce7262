import Firn
import FirnTestSupport
import Foundation
import Testing

class Sibling: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var nick: String?
    @Persisted var siblings: List<Sibling>
    @Persisted var best: Sibling?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
    override class func propertiesMapping() -> [String: String] { ["name": "stored_name"] }
}

/// The rows of the reference pages about observing objects, and of the specification about tokens.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct ObservingRowTests {
    private let realm: Realm
    private let object: Sibling

    init() throws {
        realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Sibling.self]), queue: nil)
        object = Sibling(value: ["id": 1, "name": "a", "siblings": [["id": 2, "name": "b"], ["id": 3, "name": "c"]]])
        try realm.write { [realm, object] in realm.add(object) }
    }

    private final class Seen {
        var lines: [String] = []

        func note(_ change: ObjectChange<Sibling>) {
            switch change {
            case .change(let object, let properties):
                let texts = properties.map { "\($0.name) \($0.oldValue ?? "nil") \($0.newValue ?? "nil")" }
                lines.append("\(object.id): \(texts.joined(separator: ", "))")
            case .deleted: lines.append("deleted")
            case .error: lines.append("error")
            }
        }
    }

    /// On another thread, which has its own realm of the store.
    private func elsewhere(_ body: @escaping @Sendable (Realm) throws -> Void) throws {
        let name = try #require(realm.configuration.inMemoryIdentifier)
        try onAnotherThread(name, types: [Sibling.self], body)
    }

    /// A block is called for each change, later than the commit, and never for one that is not there (S73, S76); what
    /// can't be delivered yet is delivered as one (S80), and nothing is delivered while the run loop is busy (S77).
    @Test func changesAreDeliveredLaterAndTogether() async throws {
        let seen = Seen()
        let token = object.observe { seen.note($0) }
        try realm.write { object.name = "x" }
        #expect(seen.lines.isEmpty)
        try elsewhere { realm in
            let object = realm.object(ofType: Sibling.self, forPrimaryKey: 1)!
            for nick in ["y", "z"] { try realm.write { object.nick = nick } }
        }
        #expect(seen.lines.isEmpty)
        await wait { !seen.lines.isEmpty }
        #expect(seen.lines == ["1: name nil x, nick nil z"])
        token.invalidate()
    }

    /// The object that is passed is the live one (S99), its property has its name in Swift (S101); old values are those
    /// before another's change, nil for one's own and for lists (S102), new values those after it, nil for lists and
    /// for what became nil (S104).
    @Test func valuesBeforeAndAfter() async throws {
        let seen = Seen()
        let token = object.observe { seen.note($0) }
        try elsewhere { realm in
            try realm.write {
                let object = realm.object(ofType: Sibling.self, forPrimaryKey: 1)!
                (object.name, object.nick) = ("new", "n")
                object.siblings.removeLast()
            }
        }
        await wait { seen.lines.count == 1 }
        #expect(seen.lines == ["1: name a new, nick nil n, siblings nil nil"])
        try elsewhere { realm in try realm.write { realm.object(ofType: Sibling.self, forPrimaryKey: 1)!.nick = nil } }
        await wait { seen.lines.count == 2 }
        try realm.write { object.name = "own" }
        await wait { seen.lines.count == 3 }
        #expect(seen.lines.dropFirst() == ["1: nick n nil", "1: name nil own"])
        token.invalidate()
    }

    /// The object that a link led to before is shown as it is now, and may be gone (S103).
    @Test func linksBeforeTheChange() async throws {
        try realm.write { object.best = object.siblings[0] }
        var old: [Sibling?] = []
        let token = object.observe { (change: ObjectChange<Sibling>) in
            guard case .change(_, let properties) = change else { return }
            old.append(properties.first { $0.name == "best" }?.oldValue as? Sibling)
        }
        try elsewhere { realm in
            try realm.write {
                let object = realm.object(ofType: Sibling.self, forPrimaryKey: 1)!
                object.best?.name = "changed"
                object.best = object.siblings[1]
            }
        }
        await wait { old.count == 1 }
        #expect(old[0]?.id == 2 && old[0]?.name == "changed")
        try elsewhere { realm in
            try realm.write {
                let object = realm.object(ofType: Sibling.self, forPrimaryKey: 1)!
                let gone = object.best!
                object.best = nil
                realm.delete(gone)
            }
        }
        await wait { old.count == 2 }
        #expect(old[1]?.isInvalidated == true)
        token.invalidate()
    }

    /// Without key paths an object's own properties count, not those of linked objects (S87; S88 is older). A key path
    /// of a list counts what happens to the list, not in its elements (S89). Tokens are filtered one by one (S92).
    @Test func whatCounts() async throws {
        let (all, list, elements) = (Seen(), Seen(), Seen())
        let tokens = [
            object.observe { all.note($0) }, object.observe(keyPaths: ["siblings"]) { list.note($0) },
            object.observe(keyPaths: ["siblings.name"]) { elements.note($0) },
        ]
        try realm.write { object.siblings[0].name = "changed" }
        await wait { elements.lines.count == 1 }
        await mainQueueIsThrough()
        #expect(all.lines.isEmpty && list.lines.isEmpty && elements.lines == ["1: siblings nil nil"])
        try realm.write { object.siblings.swapAt(0, 1) }
        await wait { all.lines.count == 1 && list.lines.count == 1 }
        try realm.write { object.name = "y" }
        await wait { all.lines.count == 2 }
        await mainQueueIsThrough()
        #expect(list.lines.count == 1 && elements.lines.count == 2)
        for token in tokens { token.invalidate() }
    }

    /// A deletion is shown once, and the token is dead then (S98). There are no errors (S100).
    @Test func deletion() async throws {
        let seen = Seen()
        let token = object.observe { seen.note($0) }
        try realm.write { realm.delete(object) }
        await wait { !seen.lines.isEmpty }
        try realm.write { realm.create(Sibling.self, value: ["id": 1]) }
        await mainQueueIsThrough()
        #expect(seen.lines == ["deleted"])
        token.invalidate()
    }

    /// The token keeps the observer (S83, R89): releasing or invalidating it ends the calls, also those that are due
    /// (SEMANTICS 62). The observed object may be captured in the block (S84).
    @Test func tokens() async throws {
        let seen = Seen()
        weak var released: Sibling?
        var token: NotificationToken?
        do {
            let accessor = try #require(realm.object(ofType: Sibling.self, forPrimaryKey: 1))
            released = accessor
            token = accessor.observe { [accessor] (change: ObjectChange<Sibling>) in
                seen.note(change)
                _ = accessor.name
            }
        }
        #expect(released != nil)
        try realm.write { object.name = "x" }
        await wait { seen.lines.count == 1 }
        try realm.write { object.name = "y" }
        #expect(token?.invalidate() == true && token?.invalidate() == false)
        await mainQueueIsThrough()
        token = nil
        #expect(seen.lines.count == 1 && released == nil)
        _ = object.observe { seen.note($0) }
        try realm.write { object.name = "z" }
        await mainQueueIsThrough()
        #expect(seen.lines.count == 1)
    }

    /// A write may leave observers out (R90); realm observers are called within the write (R22).
    @Test func writesWithoutNotifying() async throws {
        let (left, told) = (Seen(), Seen())
        var kinds: [Realm.Notification] = []
        let tokens = [object.observe { left.note($0) }, object.observe { told.note($0) }]
        let realmToken = realm.observe { kind, _ in kinds.append(kind) }
        try realm.write(withoutNotifying: [tokens[0]]) { object.name = "x" }
        #expect(kinds == [.didChange])
        await wait { told.lines.count == 1 }
        #expect(left.lines.isEmpty)
        realm.autorefresh = false
        try elsewhere { realm in try realm.write { realm.object(ofType: Sibling.self, forPrimaryKey: 1)!.name = "y" } }
        await wait { kinds.count == 2 }
        #expect(kinds == [.didChange, .refreshRequired] && object.name == "x")
        realm.refresh()
        #expect(object.name == "y" && left.lines.count == 1)
        for token in tokens + [realmToken] { token.invalidate() }
    }

    /// Collections are observed with key paths as text and of Swift (R42).
    @Test func collections() async throws {
        var frames: [String] = []
        func note<C: RealmCollection>(_ name: String) -> (RealmCollectionChange<C>) -> Void {
            { change in
                if case .update(_, let deletions, let insertions, let modifications) = change {
                    frames.append("\(name) \(deletions)\(insertions)\(modifications)")
                } else {
                    frames.append("\(name) initial")
                }
            }
        }
        let all = realm.objects(Sibling.self)
        let tokens = [
            all.observe(keyPaths: ["nick"], note("text")), all.observe(keyPaths: [\Sibling.name], note("Swift")),
            object.siblings.observe(note("list")),
        ]
        await wait { frames.count == 3 }
        frames = []
        try realm.write { object.siblings[1].name = "x" }
        await wait { frames.count == 2 }
        #expect(frames.sorted() == ["Swift [][][2]", "list [][][1]"])
        for token in tokens { token.invalidate() }
    }

    private enum Mistake: String, CaseIterable, Codable {
        case inWrite, globalQueue, thread, actorInWrite

        var message: String {
            switch self {
            case .inWrite, .actorInWrite: "write transaction"
            case .globalQueue: "global"
            case .thread: "this thread has no running run loop"
            }
        }
    }

    private actor Other {}

    /// Not in a write transaction that has changed something (S85, S97), not on a global queue (S79), and not on a
    /// thread without a run loop (S77, SEMANTICS 61).
    @Test(arguments: Mistake.allCases) private func whatStopsTheProgram(_ mistake: Mistake) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [mistake] in
            let configuration = Realm.Configuration(
                inMemoryIdentifier: "stops", objectTypes: [Sibling.self])
            if mistake == .thread {
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    let realm = try! Realm(configuration: configuration, queue: nil)
                    let object = try! realm.write { realm.create(Sibling.self, value: ["id": 1]) }
                    _ = object.observe { (_: ObjectChange<Sibling>) in }
                    done.signal()
                }
                done.wait()
                return
            }
            if mistake == .actorInWrite { return await ObservingRowTests.observeOnActor(configuration) }
            await MainActor.run {
                let realm = try! Realm(configuration: configuration, queue: nil)
                let object = try! realm.write { realm.create(Sibling.self, value: ["id": 1]) }
                if mistake == .globalQueue { _ = object.observe(on: .global()) { (_: ObjectChange<Sibling>) in } }
                realm.beginWrite()
                object.name = "x"
                if mistake == .inWrite { _ = object.observe { (_: ObjectChange<Sibling>) in } }
            }
        }
        expectMessage(result, mistake.message)
    }

    @MainActor fileprivate static func observeOnActor(_ configuration: Realm.Configuration) async {
        let realm = try! Realm(configuration: configuration, queue: nil)
        let object = try! realm.write { realm.create(Sibling.self, value: ["id": 1]) }
        realm.beginWrite()
        object.name = "x"
        _ = await object.observe(on: Other()) { (_, _: ObjectChange<Sibling>) in }
    }
}
