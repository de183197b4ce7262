import Foundation
import RealmSwift

/// The values of an item apart from any realm: what a form shows and changes before it is saved.
///
/// It can go to another thread, and two of them can be compared, which a managed `Item` can not.
public struct Draft: Sendable, Equatable {
    /// The values of a `Reminder`.
    public struct Reminder: Sendable, Equatable {
        public var at: Date
        public var note: String

        public init(at: Date, note: String = "") {
            self.at = at
            self.note = note
        }
    }

    public var id: ObjectId
    public var title: String
    public var isDone = false
    public var priority = Priority.normal
    public var due: Date?
    public var reminders: [Reminder] = []
    public var tags: Set<String> = []

    public init(_ title: String, id: ObjectId = .generate()) {
        self.id = id
        self.title = title
    }

    public init(_ item: Item) {
        id = item._id
        title = item.title
        isDone = item.isDone
        priority = item.priority
        due = item.due
        reminders = item.reminders.map { Reminder(at: $0.at, note: $0.note) }
        tags = Set(item.tags)
    }
}

extension Item {
    convenience init(_ draft: Draft) {
        self.init()
        _id = draft.id
        title = draft.title
        isDone = draft.isDone
        priority = draft.priority
        due = draft.due
        reminders.append(objectsIn: draft.reminders.map(Reminder.init))
        tags.insert(objectsIn: draft.tags)
    }
}
