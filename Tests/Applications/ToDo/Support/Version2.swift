import Foundation
import RealmSwift
import ToDo

/// The classes of the application's second version, and a store of that time: see `Version1`.
public enum Version2 {
    final class Item: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var title = ""
        @Persisted var isDone = false
        @Persisted var importance = ""
        @Persisted var due: Date?
        @Persisted var remindAt: Date?
        @Persisted var tags = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    final class TaskList: Object {
        @Persisted(primaryKey: true) var key: String
        @Persisted var name = ""
        @Persisted var tasks: List<Item>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    /// Makes a store with a sample of some items.
    public static func make(_ url: URL, _ count: Int) throws {
        let sample = Sample(count)
        let realm = try Realm(
            configuration: .init(fileURL: url, schemaVersion: 2, objectTypes: [Item.self, TaskList.self]))
        try realm.write {
            let items = sample.drafts.enumerated().map { number, draft in
                realm.create(
                    Item.self,
                    value: [
                        "id": number, "title": draft.title, "isDone": draft.isDone, "due": draft.due,
                        "importance": String(repeating: "!", count: draft.priority.rawValue),
                        "remindAt": draft.reminders.first?.at, "tags": draft.tags.sorted().joined(separator: ","),
                    ] as [String: Any?])
            }
            for list in sample.lists {
                realm.create(
                    TaskList.self,
                    value: ["key": list.key, "name": list.name, "tasks": list.numbers.map { items[$0] }]
                        as [String: Any])
            }
        }
    }
}
