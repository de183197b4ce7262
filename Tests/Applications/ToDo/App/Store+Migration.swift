import Foundation
import RealmSwift

extension Store {
    /// The version of the classes.
    ///
    /// 1. `Item` has `text`, `done` as a number, `importance` as exclamation marks, `tags` separated by commas, one
    ///    `remindAt`, and a number as its primary key. `TaskList` has `title` and `items`. `Badge` counts open items.
    /// 2. `text` is now `title`, and `done` is the Bool `isDone`; a list's `title` is `name`, and `items` are `tasks`.
    /// 3. The primary key is an `ObjectId`, `priority` an enum, `tags` a set, and there are `reminders`. `TaskList` has
    ///    `editCount`. There is no `Badge` any more.
    public static let schemaVersion: UInt64 = 3

    /// Brings data of an earlier version to this one, one version after the other.
    static func migrate(_ migration: Migration, from version: UInt64) {
        if version < 2 {
            migration.renameProperty(onType: "Item", from: "text", to: "title")
            migration.renameProperty(onType: "TaskList", from: "title", to: "name")
            migration.renameProperty(onType: "TaskList", from: "items", to: "tasks")
            migration.enumerateObjects(ofType: "Item") { old, new in
                new?["isDone"] = (old?["done"] as? Int ?? 0) != 0
            }
        }
        if version < 3 {
            migration.enumerateObjects(ofType: "Item") { old, new in
                guard let old, let new, let number = old["id"] as? Int else { return }
                new["_id"] = id(ofNumber: number)
                new["priority"] = priority(ofMarks: old["importance"] as? String ?? "").rawValue
                new["tags"] = (old["tags"] as? String ?? "").split(separator: ",").map(String.init)
                if let date = old["remindAt"] as? Date { new["reminders"] = [["at": date]] }
            }
            migration.deleteData(forType: "Badge")
        }
    }

    /// The id of an item that had a number: the same on each device that migrates it.
    public static func id(ofNumber number: Int) -> ObjectId {
        let digits = String(UInt64(bitPattern: Int64(number)), radix: 16)
        return try! ObjectId(string: String(repeating: "0", count: 24 - digits.count) + digits)
    }

    private static func priority(ofMarks marks: String) -> Priority {
        Priority(rawValue: marks.count) ?? .urgent
    }
}
