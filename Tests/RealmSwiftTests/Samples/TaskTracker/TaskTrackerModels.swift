import Foundation
import RealmSwift

/// How far a task is. The raw value is stored.
enum TrackerStatus: String, PersistableEnum {
    case open = "Open"
    case inProgress = "In progress"
    case complete = "Complete"
}

enum TrackerPriority: Int, PersistableEnum {
    case low = 1
    case medium = 5
    case high = 10
}

/// Part of a member, without a life of its own.
class TrackerAddress: EmbeddedObject {
    @Persisted var street: String?
    @Persisted var city: String
}

/// Part of a task.
class TrackerNote: EmbeddedObject {
    @Persisted var text = ""
    @Persisted var author: TrackerMember?
    @Persisted var writtenAt = Date(timeIntervalSince1970: 0)
    @Persisted(originProperty: "notes") var task: LinkingObjects<TrackerTask>

    convenience init(_ text: String, by author: TrackerMember? = nil) {
        self.init()
        self.text = text
        self.author = author
    }
}

class TrackerMember: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var address: TrackerAddress?
    @Persisted(originProperty: "assignee") var assignments: LinkingObjects<TrackerTask>
    @Persisted(originProperty: "members") var projects: LinkingObjects<TrackerProject>
}

class TrackerTask: Object, ObjectKeyIdentifiable {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted(indexed: true) var name: String
    @Persisted var status: TrackerStatus = .open
    @Persisted var priority = TrackerPriority.medium
    @Persisted var due: Date?
    @Persisted var estimate: Double?
    @Persisted var minutes: Int
    @Persisted var assignee: TrackerMember?
    @Persisted var notes: List<TrackerNote>
    @Persisted var labels: MutableSet<String>
    @Persisted var subtasks: List<TrackerTask>
    @Persisted(originProperty: "tasks") var project: LinkingObjects<TrackerProject>
    @Persisted(originProperty: "subtasks") var parents: LinkingObjects<TrackerTask>

    /// Not stored: it has no `@Persisted`.
    var isSelected = false

    convenience init(_ name: String, priority: TrackerPriority = .medium, due: Date? = nil) {
        self.init()
        self.name = name
        self.priority = priority
        self.due = due
    }
}

extension TrackerTask {
    /// What the alphabetical list of tasks is divided by.
    var firstLetter: String { name.first.map { String($0).uppercased() } ?? "" }

    /// What the list of long and short tasks is divided by, which is computed from a property of another type.
    var isLong: Bool { minutes >= 60 }
}

class TrackerProject: Object {
    @Persisted(primaryKey: true) var key: String
    @Persisted var title = ""
    @Persisted var tasks: List<TrackerTask>
    @Persisted var members: MutableSet<TrackerMember>
    /// The name in the store differs from that in the code.
    @Persisted var createdAt = Date(timeIntervalSince1970: 0)

    override class func propertiesMapping() -> [String: String] { ["createdAt": "created_at"] }
}
