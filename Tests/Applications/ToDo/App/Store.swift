import Foundation
import RealmSwift

/// The to-do lists in one folder: opens them, finds items, and lets an `Edit` change them.
///
/// It belongs to the thread, or the actor, that has opened it, as its realm does.
public final class Store {
    public let realm: Realm

    /// Opens the lists, and migrates them if an earlier version of the application has written them.
    public convenience init(at url: URL) throws { try self.init(Store.configuration(url)) }

    public init(_ configuration: Realm.Configuration) throws { realm = try Realm(configuration: configuration) }

    public static func configuration(_ url: URL) -> Realm.Configuration {
        Realm.Configuration(
            fileURL: url, schemaVersion: schemaVersion, migrationBlock: { migrate($0, from: $1) },
            objectTypes: [Item.self, Reminder.self, TaskList.self])
    }

    /// Makes all edits of a block in one commit: all of them are on the disk when this returns, or none is.
    @discardableResult
    public func edit<Result>(_ body: (Edit) throws -> Result) throws -> Result {
        try realm.write { try body(Edit(realm)) }
    }

    // MARK: Finding

    public var lists: Results<TaskList> { realm.objects(TaskList.self) }
    public var items: Results<Item> { realm.objects(Item.self) }

    public func list(_ key: String) -> TaskList? { realm.object(ofType: TaskList.self, forPrimaryKey: key) }

    public func item(_ id: ObjectId) -> Item? { realm.object(ofType: Item.self, forPrimaryKey: id) }

    /// What is to be done: the urgent first, and of these what is due first.
    public var open: Results<Item> {
        items.where { !$0.isDone }.sorted(by: [
            SortDescriptor(keyPath: "priority", ascending: false), SortDescriptor(keyPath: "due"),
            SortDescriptor(keyPath: "title"),
        ])
    }

    /// What should have been done before a date, the oldest first.
    public func overdue(at date: Date) -> Results<Item> {
        items.where { !$0.isDone && $0.due < date }.sorted(by: \.due)
    }

    /// What the user is reminded of before a date, by title.
    public func reminded(before date: Date) -> Results<Item> {
        items.where { $0.reminders.at < date }.sorted(by: \.title)
    }

    /// The items whose title has a text in it, in any case, or that have it as a tag.
    public func search(_ text: String) -> Results<Item> {
        items.where { $0.title.contains(text, options: .caseInsensitive) || $0.tags.contains(text) }
            .sorted(by: \.title)
    }

    /// The items of all lists with a name, the last due first.
    public func inLists(named name: String) -> Results<Item> {
        items.where { $0.lists.name == name }.sorted(by: \.due, ascending: false)
    }
}
