import Foundation
import RealmSwift

/// What can be changed. `Store.edit(_:)` gives one to its block, so nothing is changed outside a write.
///
/// Each item is in at least one list: it goes when the last list that has it does.
public struct Edit {
    private let realm: Realm

    init(_ realm: Realm) { self.realm = realm }

    // MARK: Lists

    /// The list with a key, made if there is none.
    @discardableResult
    public func makeList(_ key: String, name: String) -> TaskList {
        if let list = realm.object(ofType: TaskList.self, forPrimaryKey: key) { return list }
        let list = TaskList(key: key, name: name)
        realm.add(list)
        return list
    }

    public func rename(_ list: TaskList, to name: String) { list.name = name }

    /// Counts one more edit, by which a list's owner can tell how far the list is.
    public func countEdit(of list: TaskList) { list.editCount += 1 }

    /// Deletes a list, and the items that are in no other one.
    public func delete(_ list: TaskList) {
        realm.delete(list.tasks.where { $0.lists.count == 1 })
        realm.delete(list)
    }

    // MARK: Items in lists

    /// Makes an item, at the end of a list unless an index is given.
    @discardableResult
    public func add(_ draft: Draft, to list: TaskList, at index: Int? = nil) -> Item {
        let item = Item(draft)
        list.tasks.insert(item, at: index ?? list.tasks.count)
        return item
    }

    /// Takes an item out of one list and puts it at the end of another, unless that has it already.
    public func move(_ item: Item, from source: TaskList, to destination: TaskList) {
        guard source.key != destination.key, let index = source.tasks.index(of: item) else { return }
        source.tasks.remove(at: index)
        share(item, with: destination)
    }

    /// Puts an item into one more list, unless that has it already.
    public func share(_ item: Item, with list: TaskList) {
        if list.tasks.index(of: item) == nil { list.tasks.append(item) }
    }

    public func reorder(_ list: TaskList, from source: Int, to destination: Int) {
        list.tasks.move(from: source, to: destination)
    }

    /// Deletes an item, which all its lists lose, and its reminders.
    public func delete(_ item: Item) { realm.delete(item) }

    /// Deletes everything in a list that is done.
    public func clearDone(in list: TaskList) { realm.delete(list.tasks.where { $0.isDone }) }

    // MARK: One item

    /// What is done needs no reminders.
    public func complete(_ item: Item) {
        item.isDone = true
        item.reminders.removeAll()
    }

    public func reopen(_ item: Item) { item.isDone = false }

    public func retitle(_ item: Item, _ title: String) { item.title = title }

    public func schedule(_ item: Item, for due: Date?) { item.due = due }

    public func prioritize(_ item: Item, _ priority: Priority) { item.priority = priority }

    public func remind(of item: Item, _ reminder: Draft.Reminder) { item.reminders.append(Reminder(reminder)) }

    /// Lets the first reminder come later; an item without one is left alone.
    public func snooze(_ item: Item, by interval: TimeInterval) { item.reminders.first?.at += interval }

    /// Removes the first reminder, if there is one.
    public func dismiss(_ item: Item) {
        if !item.reminders.isEmpty { item.reminders.remove(at: 0) }
    }

    public func tag(_ item: Item, _ tag: String) { item.tags.insert(tag) }

    public func untag(_ item: Item, _ tag: String) { item.tags.remove(tag) }
}
