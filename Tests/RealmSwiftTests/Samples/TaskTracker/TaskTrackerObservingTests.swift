import FirnTestSupport
import Foundation
import RealmSwift
import Testing

/// The task tracker's screens follow its data.
@MainActor
@Suite(.timeLimit(.minutes(20))) struct TaskTrackerObservingTests {
    private let tracker: TaskTracker
    private var realm: Realm { tracker.realm }

    init() throws {
        tracker = TaskTracker(
            realm: try Realm(configuration: TaskTracker.configuration(UUID().uuidString), queue: nil))
    }

    @Test func aTableFollowsResults() async throws {
        var rows: [String] = []
        var calls: [String] = []
        let tasks = tracker.tasks(with: .open)
        let token = tasks.observe { (change: RealmCollectionChange) in
            switch change {
            case .initial(let tasks):
                rows = tasks.map(\.name)
                calls.append("initial")
            case .update(let tasks, let deletions, let insertions, let modifications):
                for index in deletions.reversed() { rows.remove(at: index) }
                for index in insertions { rows.insert(tasks[index].name, at: index) }
                calls.append("\(deletions) \(insertions) \(modifications)")
            case .error(let error):
                Issue.record(error)
            }
        }
        await wait { calls.count == 1 }
        let paint = tracker.addTask("Paint")
        await wait { calls.count == 2 }
        tracker.addTask("Buy paint")
        await wait { calls.count == 3 }
        #expect(rows == ["Buy paint", "Paint"] && calls == ["initial", "[] [0] []", "[] [0] []"])
        try realm.write { paint.minutes = 5 }
        await wait { calls.count == 4 }
        #expect(calls.last == "[] [] [1]")
        try tracker.complete(paint)
        await wait { calls.count == 5 }
        #expect(rows == ["Buy paint"] && calls.last == "[1] [] []")
        // The one who has changed something knows it.
        try realm.write(withoutNotifying: [token]) { realm.delete(tracker.tasks) }
        tracker.addTask("Sand")
        await wait { calls.count == 6 }
        #expect(calls.last == "[] [0] []")
        token.invalidate()
    }

    @Test func onlyTheGivenKeyPathsAreFollowed() async throws {
        let task = tracker.addTask("Paint")
        var results: [[Int]] = []
        func note(_ change: RealmCollectionChange<Results<TrackerTask>>) {
            if case .update(_, _, _, let modifications) = change { results.append(modifications) }
        }
        var isReady = false
        let tokens = [
            tracker.tasks.observe(keyPaths: ["name"], note), tracker.tasks.observe(keyPaths: [\.assignee?.name], note),
            tracker.tasks.observe { _ in isReady = true },
        ]
        await wait { isReady }
        try realm.write { task.minutes = 1 }
        try realm.write { task.assignee = TrackerMember(value: ["name": "Ada"]) }
        try realm.write { task.name = "Paint the door" }
        await wait { results.count == 2 }
        #expect(results == [[0], [0]])
        for token in tokens { token.invalidate() }
    }

    @Test func aScreenFollowsAnObject() async throws {
        let task = tracker.addTask("Paint")
        var seen: [String] = []
        let token = task.observe { change in
            switch change {
            case .change(let object, let properties):
                let isSame = object.isSameObject(as: task)
                #expect(isSame)
                for property in properties { seen.append("\(property.name) = \(property.newValue ?? "nil")") }
            case .deleted: seen.append("deleted")
            case .error(let error): Issue.record(error)
            }
        }
        try realm.write { task.name = "Paint the door" }
        await wait { seen.count == 1 }
        try realm.write { task.labels.insert("diy") }
        await wait { seen.count == 2 }
        try realm.write { realm.delete(task) }
        await wait { seen.count == 3 }
        #expect(seen == ["name = Paint the door", "labels = nil", "deleted"])
        token.invalidate()
    }

    @Test func anObjectsKeyPathsMayLeadThroughItsList() async throws {
        let task = tracker.addTask("Paint") { $0.subtasks.append(TrackerTask("Sand")) }
        var seen: [String] = []
        func note(_ path: String) -> (ObjectChange<TrackerTask>) -> Void {
            { if case .change(_, let properties) = $0 { seen.append("\(path): \(properties.map(\.name))") } }
        }
        var tokens: Set<NotificationToken> = []
        tokens.insert(task.observe(keyPaths: ["subtasks"], note("list")))
        tokens.insert(task.observe(keyPaths: ["subtasks.name"], note("elements")))
        tokens.insert(task.observe(keyPaths: [\TrackerTask.minutes], note("minutes")))
        #expect(tokens.count == 3)
        try realm.write { task.subtasks[0].name = "Sand the door" }
        await wait { seen.count == 1 }
        #expect(seen == ["elements: [\"subtasks\"]"])
        try realm.write { task.subtasks.append(TrackerTask("Buy paint")) }
        await wait { seen.count == 3 }
        try realm.write { task.minutes = 1 }
        await wait { seen.count == 4 }
        #expect(
            seen.dropFirst().sorted() == [
                "elements: [\"subtasks\"]", "list: [\"subtasks\"]", "minutes: [\"minutes\"]",
            ])
        // The form for key paths of Swift.
        let typed = task.observe(keyPaths: [\TrackerTask.subtasks.projectTo.name], note("typed"))
        tokens.removeAll()
        try realm.write { task.subtasks[0].minutes = 2 }
        try realm.write { task.subtasks[0].name = "Sand it" }
        await wait { seen.count == 5 }
        #expect(seen.last == "typed: [\"subtasks\"]")
        typed.invalidate()
    }

    @Test func listsAndSectionsAreFollowed() async throws {
        let project = try realm.write { realm.create(TrackerProject.self, value: ["key": "home"]) }
        var lists: [String] = []
        var sections: [String] = []
        let tokens = [
            project.tasks.observe { change in
                if case .update(let list, let deletions, let insertions, _) = change {
                    lists.append("\(Array(list.map(\.name))) \(deletions) \(insertions)")
                } else {
                    lists.append("initial")
                }
            },
            tracker.alphabetical.observe { change in
                switch change {
                case .initial(let all): sections.append("initial \(all.count)")
                case .update(_, let deletions, let insertions, let modifications, let inserted, let deleted):
                    sections.append(
                        "\(deletions) \(insertions) \(modifications) \(Array(inserted)) \(Array(deleted))")
                }
            },
        ]
        await wait { lists.count == 1 && sections.count == 1 }
        let paint = tracker.addTask("Paint", to: project)
        await wait { lists.count == 2 && sections.count == 2 }
        #expect(lists.last == "[\"Paint\"] [] [0]" && sections.last == "[] [[0, 0]] [] [0] []")
        tracker.addTask("Dig", to: project)
        await wait { lists.count == 3 && sections.count == 3 }
        try realm.write { project.tasks.move(from: 0, to: 1) }
        await wait { lists.count == 4 }
        #expect(lists.last == "[\"Dig\", \"Paint\"] [0] [1]")
        try realm.write { realm.delete(paint) }
        await wait { lists.count == 5 && sections.last?.hasSuffix("[1]") == true }
        #expect(lists.last == "[\"Dig\"] [1] []")
        for token in tokens { token.invalidate() }
    }

    @Test func theRealmItselfIsFollowed() throws {
        var notifications: [Realm.Notification] = []
        let token = realm.observe { notification, realm in
            #expect(realm == tracker.realm)
            notifications.append(notification)
        }
        tracker.addTask("Paint")
        #expect(notifications == [.didChange])
        token.invalidate()
        tracker.addTask("Sand")
        #expect(notifications.count == 1)
    }
}

/// Waits until something has happened.
func wait(isolation: isolated (any Actor)? = #isolation, for isDone: () -> Bool) async {
    _ = await TestTimeout.suspends(until: isDone)
}
