import FirnTestSupport
import Foundation
import RealmSwift
import Testing
import ToDo
import ToDoTestSupport

/// What an edit changes, in one process.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct EditTests {
    private let folder = TemporaryFolder()
    private let store: Store

    init() throws { store = try Store(at: URL(fileURLWithPath: folder.path + "/todo.firn")) }

    private func addDoor(to key: String = "home") throws -> Item {
        var draft = Draft("Paint the door")
        draft.due = .middle
        draft.reminders = [Draft.Reminder(at: .middle - 60), Draft.Reminder(at: .middle - 30, note: "brush")]
        draft.tags = ["diy"]
        return try store.edit { $0.add(draft, to: $0.makeList(key, name: key.capitalized)) }
    }

    @Test func anItemIsFoundByEachQueryThatItBelongsTo() throws {
        let door = try addDoor()
        let queries = [
            store.open, store.overdue(at: .middle + 1), store.reminded(before: .middle - 40), store.search("DOOR"),
            store.search("diy"), store.inLists(named: "Home"),
        ]
        for query in queries { #expect(query.map(\._id) == [door._id]) }
        #expect(store.overdue(at: .middle).isEmpty && store.search("window").isEmpty)
        try store.edit { $0.complete(door) }
        #expect(queries.map(\.count) == [0, 0, 0, 1, 1, 1])
    }

    @Test func remindersGoWithWhatIsDoneOrDeleted() throws {
        let (door, fence) = (try addDoor(), try addDoor())
        let reminders = [door.reminders[0], fence.reminders[0]]
        try store.edit { $0.complete(door) }
        #expect(door.reminders.isEmpty && reminders.map(\.isInvalidated) == [true, false])
        try store.edit { $0.delete(fence) }
        #expect(fence.isInvalidated && reminders[1].isInvalidated)
        expectConsistency(store)
    }

    @Test func anItemGoesWithItsLastList() throws {
        let door = try addDoor()
        try store.edit { $0.share(door, with: $0.makeList("work", name: "Work")) }
        #expect(Row.text(door).hasSuffix("in Home and Work"))
        let (home, work) = (try #require(store.list("home")), try #require(store.list("work")))
        try store.edit { $0.delete(home) }
        #expect(door.lists.map(\.key) == ["work"])
        try store.edit { $0.move(door, from: work, to: $0.makeList("garden", name: "Garden")) }
        #expect(door.lists.map(\.key) == ["garden"] && work.tasks.isEmpty)
        try store.edit { $0.delete(try #require(store.list("garden"))) }
        #expect(door.isInvalidated)
        expectConsistency(store)
    }

    @Test func anEditThatFailsChangesNothing() throws {
        struct Refused: Error {}
        let door = try addDoor()
        let before = Draft(door)
        #expect(throws: Refused.self) {
            try store.edit { edit in
                edit.complete(door)
                edit.delete(try #require(store.list("home")))
                throw Refused()
            }
        }
        #expect(Draft(door) == before && store.lists.count == 1)
        expectConsistency(store)
    }

    /// The random edits of the other tests, with nobody else.
    @Test(arguments: 0..<4) func aListHasWhatItsStepsSay(_ seed: UInt64) throws {
        var own = OwnList(seed: seed)
        var shared = RandomEdits(seed: seed)
        try shared.fill(store, itemCount: 5)
        for _ in 0..<100 {
            try store.edit { edit in
                own.advance(edit)
                shared.apply(edit, to: store, limit: 5)
            }
            expectConsistency(store)
        }
        try expectOwnList(store, seed, acknowledged: 100)
    }
}
