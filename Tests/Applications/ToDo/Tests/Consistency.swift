import Foundation
import RealmSwift
import Testing
import ToDo
import ToDoTestSupport

/// Checks what must hold after every commit, whoever made it: links and backlinks agree, each item is in a list, and
/// each reminder is part of one item.
func expectConsistency(_ store: Store, at location: SourceLocation = #_sourceLocation) {
    var listsOfItem: [ObjectId: Set<String>] = [:]
    for list in store.lists {
        for item in list.tasks {
            let isNew = listsOfItem[item._id, default: []].insert(list.key).inserted
            #expect(isNew, "\(item.title) is in \(list.key) twice", sourceLocation: location)
        }
    }
    var (itemCount, reminderCount) = (0, 0)
    for item in store.items {
        itemCount += 1
        reminderCount += item.reminders.count
        let keys = item.lists.map(\.key)
        if Set(keys) != listsOfItem[item._id] || keys.count != Set(keys).count {
            Issue.record(
                "\(item.title) says that it is in \(keys), but is in \(listsOfItem[item._id] ?? [])",
                sourceLocation: location)
        }
        for reminder in item.reminders where reminder.items.map(\._id) != [item._id] {
            Issue.record("a reminder of \(item.title) leads elsewhere", sourceLocation: location)
        }
    }
    #expect(itemCount == listsOfItem.count, "a list has an item that is not there", sourceLocation: location)
    // Reminders of items that were deleted would be counted here.
    #expect(store.realm.dynamicObjects("Reminder").count == reminderCount, sourceLocation: location)
}

/// Checks that a process's own list is in the state after all acknowledged steps, or after one more: the commit that
/// the kill has met may be there as a whole.
func expectOwnList(
    _ store: Store, _ seed: UInt64, acknowledged: Int, at location: SourceLocation = #_sourceLocation
) throws {
    var own = OwnList(seed: seed)
    own.catchUp(with: store)
    #expect((acknowledged...acknowledged + 1).contains(own.stepCount), sourceLocation: location)
    let list = try #require(store.list(own.key), sourceLocation: location)
    #expect(list.tasks.map(Draft.init) == own.drafts, sourceLocation: location)
}
