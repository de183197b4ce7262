import FirnTestSupport
import Foundation
import RealmSwift
import Testing

/// A task tracker as a reader of Realm's quick start would write it: what its screens show and change.
@Suite(.timeLimit(.minutes(20))) struct TaskTrackerTests {
    private let tracker: TaskTracker
    private var realm: Realm { tracker.realm }

    init() throws {
        tracker = TaskTracker(realm: try Realm(configuration: TaskTracker.configuration(UUID().uuidString)))
    }

    // MARK: Creating

    @Test func tasksAreAddedFoundChangedAndDeleted() throws {
        let task = TrackerTask("Water the plants", priority: .high)
        #expect(task.realm == nil && !task.isInvalidated && !task.isFrozen && task.status == .open)
        try realm.write { realm.add(task) }
        #expect(task.realm == realm && tracker.tasks.count == 1 && tracker.tasks.first == task)
        #expect(realm.object(ofType: TrackerTask.self, forPrimaryKey: task._id) == task)

        let open = tracker.tasks(with: .open)
        try realm.write {
            task.status = .inProgress
            task.labels.insert("garden")
            task.minutes += 5
        }
        #expect(open.isEmpty && tracker.tasks(with: .inProgress).map(\.name) == ["Water the plants"])
        let isSame = task.isSameObject(as: tracker.tasks[0])
        #expect(isSame)

        try realm.write { realm.delete(task) }
        #expect(task.isInvalidated && tracker.tasks.isEmpty && realm.isEmpty)
    }

    @Test func objectsAreMadeOfDictionariesArraysAndOtherObjects() throws {
        let ada = TrackerMember(value: ["name": "Ada", "address": ["city": "London"]])
        #expect(ada.address?.city == "London" && ada.address?.street == nil)
        // As many values as there are properties, or fewer, in the order of the class.
        let bob = TrackerMember(value: ["Bob", ["1 High Street", "Leeds"]])
        #expect(bob.name == "Bob" && bob.address?.street == "1 High Street" && bob.address?.city == "Leeds")

        let json =
            #"{"key": "home", "title": "Home", "members": [{"name": "Ada"}], "unknown": 1, "tasks": [{"name": "Paint", "priority": 10, "status": "Complete", "labels": ["diy", "diy"], "notes": [{"text": "blue"}]}]}"#
        let value = try JSONSerialization.jsonObject(with: Data(json.utf8))
        let home = try realm.write {
            realm.add([ada, bob])
            return realm.create(TrackerProject.self, value: value, update: .modified)
        }
        let paint = try #require(home.tasks.first)
        #expect(home.title == "Home" && paint.priority == .high && paint.status == .complete)
        #expect(Array(paint.labels) == ["diy"] && paint.notes.map(\.text) == ["blue"])
        // The member in the text is the one who was there, and has kept the address.
        #expect(home.members.first == ada && ada.address?.city == "London" && ada.projects.first == home)

        // A copy, since the argument belongs to no realm; then the same project again, as the key is the same.
        let draft = TrackerProject(value: ["key": "home", "title": "House"])
        let copy = try realm.write { realm.create(TrackerProject.self, value: draft, update: .all) }
        #expect(draft.realm == nil && copy == home && home.title == "House" && home.tasks.isEmpty)
        #expect(realm.objects(TrackerProject.self).count == 1)
        let partial = try realm.write {
            realm.create(TrackerProject.self, value: ["key": "home", "tasks": [paint]], update: .modified)
        }
        #expect(partial.title == "House" && partial.tasks.first == paint)
    }

    /// Unmanaged collections have aggregates, too (SEMANTICS 97).
    @Test func unmanagedTasksAreFoundAndAddedUp() throws {
        let task = TrackerTask("Paint")
        task.subtasks.append(objectsIn: [TrackerTask("Sand"), TrackerTask("Clean")])
        (task.subtasks[0].minutes, task.subtasks[1].minutes, task.subtasks[1].estimate) = (10, 30, 1.5)
        #expect(task.subtasks.index(of: task.subtasks[1]) == 1 && task.subtasks.index(of: task) == nil)
        #expect(task.subtasks.sum(of: \.minutes) == 40 && task.subtasks.max(ofProperty: "minutes") == 30)
        #expect(task.subtasks.average(of: \.minutes) == 20.0 && task.subtasks.min(of: \.estimate) == 1.5)
        #expect(task.notes.max(of: \.writtenAt) == nil)
        try realm.write { realm.add(task) }
        #expect(task.subtasks.index(of: task.subtasks[1]) == 1 && task.subtasks.sum(of: \.minutes) == 40)
        // A view tells rows by their identity.
        let (first, second) = (tracker.tasks[0], tracker.tasks[1])
        #expect(first.id == task.id && first.freeze().id == task.id && second.id != first.id)
    }

    @Test func propertiesAreReadAndWrittenByName() throws {
        let task = tracker.addTask("Paint") { $0.due = .distantFuture }
        #expect(TrackerTask.className() == "TrackerTask" && task.objectSchema.className == "TrackerTask")
        #expect(task.objectSchema.primaryKeyProperty?.name == "_id")
        #expect(task.objectSchema["name"]?.isIndexed == true && task.objectSchema["isSelected"] == nil)
        #expect(task["name"] as? String == "Paint" && task.value(forKey: "minutes") as? Int == 0)
        try realm.write {
            task["name"] = "Paint the door"
            task["due"] = nil
            task["labels"] = ["a", "b"]
            task.setValue(7, forKey: "minutes")
            task["status"] = "Complete"
        }
        #expect(task.name == "Paint the door" && task.due == nil && task.labels.count == 2 && task.minutes == 7)
        #expect(task.status == .complete && task["status"] as? String == "Complete")
        #expect(task.description.contains("name = Paint the door"))
        // The column has another name, which only the schema shows.
        let project = realm.schema["TrackerProject"]?["createdAt"]
        #expect(project?.columnName == "created_at" && project?.name == "createdAt")
        #expect(realm.objects(TrackerProject.self).filter("createdAt == nil").isEmpty)
    }

    // MARK: Finding

    @Test func tasksAreFilteredAndSorted() throws {
        let noon = Date(timeIntervalSince1970: 1_000_000)
        tracker.addTask("late") { $0.due = noon - 60 }
        tracker.addTask("later") { $0.due = noon + 60 }
        tracker.addTask("urgent") { $0.priority = .high }
        tracker.addTask("done") {
            $0.priority = .high
            $0.status = .complete
        }
        #expect(tracker.agenda(at: noon).map(\.name) == ["urgent", "late"])
        #expect(tracker.tasks.sorted(byKeyPath: "due", ascending: false).first?.name == "later")
        #expect(tracker.tasks.sorted(by: \.name).last?.name == "urgent")
        #expect(tracker.tasks.distinct(by: ["priority"]).count == 2)
        #expect(tracker.tasks.distinct(by: [\.priority, \.status]).count == 3)
        #expect(tracker.tasks.filter("name BEGINSWITH 'late' AND due != nil").count == 2)
        #expect(tracker.tasks.filter("priority IN %@", [1, 10]).count == 2)
        #expect(tracker.tasks.index(matching: { $0.name == "urgent" }) == 2)
        #expect(tracker.tasks.index(matching: "name == %@", "done") == 3)
        #expect(tracker.tasks.where { $0.name.contains("AT", options: .caseInsensitive) }.count == 2)
        #expect(tracker.tasks.where { $0.due == nil && !($0.status == .complete) }.map(\.name) == ["urgent"])
    }

    @Test func linksAreFollowedBothWays() throws {
        let project = try realm.write { realm.create(TrackerProject.self, value: ["key": "home"]) }
        let task = tracker.addTask("Paint", to: project) { $0.assignee = TrackerMember(value: ["name": "Ada"]) }
        let ada = try #require(realm.object(ofType: TrackerMember.self, forPrimaryKey: "Ada"))
        try realm.write {
            ada.address = TrackerAddress(value: ["city": "London"])
            task.notes.append(TrackerNote("blue", by: ada))
            project.members.insert(ada)
        }
        #expect(ada.assignments.map(\.name) == ["Paint"] && task.project.first?.key == "home")
        #expect(task.notes[0].task.first == task && tracker.workload(of: "Ada").count == 1)
        #expect(tracker.tasks.filter("ANY project.members.address.city == 'London'").count == 1)
        #expect(tracker.tasks.where { $0.assignee.address.city == "London" }.count == 1)
        #expect(tracker.tasks.where { $0.notes.text == "blue" && $0.notes.count == 1 }.count == 1)
        #expect(realm.objects(TrackerMember.self).where { $0.assignments.minutes.sum == 0 }.count == 1)
        #expect(tracker.tasks.where { $0.notes[0].author.name == "Ada" }.count == 1)
        #expect(tracker.tasks.filter("notes[0].text == 'blue' AND notes[1].text == nil").count == 1)
        #expect(tracker.tasks.where { $0.notes[1].author.name == "Ada" }.isEmpty)
        try tracker.complete(task)
        #expect(tracker.workload(of: "Ada").isEmpty)
    }

    @Test func sectionsFollowAPropertyOrWhatIsComputedFromIt() throws {
        for (name, minutes) in [("plant", 80), ("Paint", 10), ("dig", 60)] {
            tracker.addTask(name) { $0.minutes = minutes }
        }
        // A key that is computed sorts by the property that it reads.
        let letters = tracker.alphabetical
        #expect(letters.allKeys == ["P", "D"] && letters[0].map(\.name) == ["Paint", "plant"])
        #expect(letters[IndexPath(item: 0, section: 1)].name == "dig")
        let lengths = tracker.tasks.sectioned(by: \.isLong)
        #expect(lengths.allKeys == [false, true] && lengths[1].map(\.name) == ["dig", "plant"])
        #expect(tracker.byStatus.allKeys == [.open] && tracker.byStatus[0].map(\.name) == ["Paint", "dig", "plant"])
        try tracker.complete(try #require(tracker.tasks.first))
        #expect(tracker.byStatus.map(\.key) == [.complete, .open])
        let blocks = tracker.tasks.sectioned(
            by: { $0.firstLetter }, sortDescriptors: [SortDescriptor(keyPath: "name", ascending: false)])
        #expect(blocks.map { "\($0.key)\($0.count)" } == ["P2", "D1"])
    }

    // MARK: Deleting

    /// Links own nothing, but an embedded object goes with its parent.
    @Test func whatBelongsToATaskIsDeletedByHand() throws {
        let project = try realm.write { realm.create(TrackerProject.self, value: ["key": "home"]) }
        let other = try realm.write { realm.create(TrackerProject.self, value: ["key": "garden"]) }
        let paint = tracker.addTask("Paint", to: project) {
            $0.notes.append(TrackerNote("blue"))
            $0.subtasks.append(objectsIn: [TrackerTask("Buy paint"), TrackerTask("Sand")])
            $0.subtasks[0].subtasks.append(TrackerTask("Go to town"))
        }
        let shared = tracker.addTask("Clean", to: project)
        try realm.write { other.tasks.append(shared) }
        let sand = try #require(tracker.tasks.where { $0.name == "Sand" }.first)
        let note = paint.notes[0]
        #expect(tracker.tasks.count == 5 && sand.parents.first == paint && note.realm == realm)
        try tracker.delete(paint)
        #expect(tracker.tasks.map(\.name) == ["Clean"] && sand.isInvalidated && project.tasks.map(\.name) == ["Clean"])
        #expect(note.isInvalidated)
        try tracker.delete(project)
        #expect(!shared.isInvalidated && shared.project.map(\.key) == ["garden"])
        try tracker.delete(other)
        #expect(realm.isEmpty)
    }

    @Test func aWriteThatThrowsChangesNothing() throws {
        struct Refused: Error {}
        tracker.addTask("Paint")
        #expect(throws: Refused.self) {
            try realm.write {
                realm.delete(tracker.tasks)
                throw Refused()
            }
        }
        #expect(tracker.tasks.count == 1 && !realm.isInWriteTransaction)
        realm.beginWrite()
        let gone = realm.create(TrackerTask.self, value: ["name": "Sand"])
        realm.cancelWrite()
        #expect(gone.isInvalidated && tracker.tasks.count == 1)
        realm.beginWrite()
        realm.deleteAll()
        try realm.commitWrite()
        #expect(realm.isEmpty)
    }
}
