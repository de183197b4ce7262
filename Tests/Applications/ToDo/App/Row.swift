import Foundation
import RealmSwift

/// A row of a table: what it shows of an item, and therefore has to be told of.
public enum Row {
    /// The properties that the text is made of. Without them an observer would not be called when a list is renamed:
    /// by default, links are followed from an item to others and not the other way.
    static let keyPaths = ["title", "isDone", "priority", "due", "reminders.at", "tags", "lists.name"]

    /// Such as `[ ] !! Paint the door, due 2026-05-01T10:00:00Z, remind 2x from 2026-04-30T09:00:00Z, #diy, in Home`.
    public static func text(_ item: Item) -> String {
        let marks = String(repeating: "!", count: item.priority.rawValue)
        var parts = ["[\(item.isDone ? "x" : " ")] \(marks) \(item.title)"]
        if let due = item.due { parts.append("due \(due.formatted(.iso8601))") }
        if let next = item.reminders.min(of: \.at) {
            parts.append("remind \(item.reminders.count)x from \(next.formatted(.iso8601))")
        }
        parts += item.tags.sorted().map { "#\($0)" }
        return parts.joined(separator: ", ") + ", in " + item.lists.map(\.name).sorted().joined(separator: " and ")
    }
}
