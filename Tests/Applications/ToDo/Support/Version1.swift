import Foundation
import RealmSwift
import ToDo

/// The classes of the application's first version, and a store of that time.
///
/// They have the names of today's classes, which is why they stand in a module and a type of their own, and are left
/// out of the default schema.
public enum Version1 {
    final class Item: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var text = ""
        @Persisted var done = 0
        @Persisted var importance = ""
        @Persisted var due: Date?
        @Persisted var remindAt: Date?
        @Persisted var tags = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    final class TaskList: Object {
        @Persisted(primaryKey: true) var key: String
        @Persisted var title = ""
        @Persisted var items: List<Item>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    final class Badge: Object {
        @Persisted var count = 0
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// Makes a store with a sample of some items.
    public static func make(_ url: URL, _ count: Int) throws {
        let sample = Sample(count)
        let realm = try Realm(
            configuration: .init(
                fileURL: url, schemaVersion: 1, objectTypes: [Item.self, TaskList.self, Badge.self]))
        // As an application writes: a list at a time.
        for list in sample.lists {
            try realm.write {
                let made = realm.create(TaskList.self, value: ["key": list.key, "title": list.name])
                for number in list.numbers {
                    made.items.append(item(number, draft: sample.drafts[number], realm: realm))
                }
            }
        }
        try realm.write { realm.create(Badge.self, value: ["count": sample.drafts.count { !$0.isDone }]) }
    }

    /// The item with a number, made if there is none yet.
    private static func item(_ number: Int, draft: Draft, realm: Realm) -> Item {
        if let item = realm.object(ofType: Item.self, forPrimaryKey: number) { return item }
        let item = Item()
        item.id = number
        item.text = draft.title
        item.done = draft.isDone ? 1 : 0
        item.importance = String(repeating: "!", count: draft.priority.rawValue)
        item.due = draft.due
        item.remindAt = draft.reminders.first?.at
        item.tags = draft.tags.sorted().joined(separator: ",")
        return item
    }
}
