import Foundation
import RealmSwift

/// How soon something is to be done. The raw values are stored, and are what a table sorts by.
public enum Priority: Int, PersistableEnum, Sendable {
    case low, normal, high, urgent
}

/// Something to be done.
///
/// The class is left out of the default schema because an application that lists its classes needs none.
public final class Item: Object {
    @Persisted(primaryKey: true) public var _id: ObjectId
    @Persisted(indexed: true) public var title = ""
    @Persisted(indexed: true) public var isDone = false
    @Persisted public var priority = Priority.normal
    @Persisted(indexed: true) public var due: Date?
    /// They belong to the item alone, and go with it.
    @Persisted public var reminders: List<Reminder>
    @Persisted public var tags: MutableSet<String>
    /// The lists that have the item: one, or several that share it.
    @Persisted(originProperty: "tasks") public var lists: LinkingObjects<TaskList>

    override public class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// When to remind of an item.
public final class Reminder: EmbeddedObject {
    @Persisted public var at: Date
    @Persisted public var note = ""
    /// The one item that the reminder is part of.
    @Persisted(originProperty: "reminders") public var items: LinkingObjects<Item>

    override public class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(_ reminder: Draft.Reminder) {
        self.init()
        at = reminder.at
        note = reminder.note
    }
}
