import FirnTestSupport
import Foundation
import RealmSwift
import ToDo

/// One edit of one list, as a value: it can be applied to a list in a store, and to a plain array of what is in it.
public enum Step: Sendable {
    case add(Draft, at: Int)
    case delete(Int)
    case reorder(Int, Int)
    case complete(Int)
    case reopen(Int)
    case retitle(Int, String)
    case schedule(Int, Date?)
    case prioritize(Int, Priority)
    case remind(Int, Draft.Reminder)
    case snooze(Int, TimeInterval)
    case dismiss(Int)
    case tag(Int, String)
    case untag(Int, String)

    /// Any step for a list that has some items. Lists grow and shrink, to about `limit` items.
    public static func random(_ random: inout SeededRandom, count: Int, limit: Int) -> Step {
        if count == 0 { return .add(.random(&random), at: 0) }
        let index = random.below(count)
        switch random.below(16) {
        case 0...3: return random.below(limit) < count ? .delete(index) : .add(.random(&random), at: index)
        case 4: return .reorder(index, random.below(count))
        case 5, 6: return .complete(index)
        case 7: return .reopen(index)
        case 8: return .retitle(index, .randomTitle(&random))
        case 9: return .schedule(index, random.below(4) == 0 ? nil : .random(&random))
        case 10: return .prioritize(index, Priority.allCases[random.below(Priority.allCases.count)])
        case 11, 12: return .remind(index, .random(&random))
        case 13: return random.below(2) == 0 ? .snooze(index, 3600) : .dismiss(index)
        case 14: return .tag(index, .randomTag(&random))
        default: return .untag(index, .randomTag(&random))
        }
    }

    /// Applies the step to a list in a store.
    public func apply(_ edit: Edit, to list: TaskList) {
        switch self {
        case .add(let draft, let index): edit.add(draft, to: list, at: index)
        case .delete(let index): edit.delete(list.tasks[index])
        case .reorder(let source, let destination): edit.reorder(list, from: source, to: destination)
        case .complete(let index): edit.complete(list.tasks[index])
        case .reopen(let index): edit.reopen(list.tasks[index])
        case .retitle(let index, let title): edit.retitle(list.tasks[index], title)
        case .schedule(let index, let due): edit.schedule(list.tasks[index], for: due)
        case .prioritize(let index, let priority): edit.prioritize(list.tasks[index], priority)
        case .remind(let index, let reminder): edit.remind(of: list.tasks[index], reminder)
        case .snooze(let index, let interval): edit.snooze(list.tasks[index], by: interval)
        case .dismiss(let index): edit.dismiss(list.tasks[index])
        case .tag(let index, let tag): edit.tag(list.tasks[index], tag)
        case .untag(let index, let tag): edit.untag(list.tasks[index], tag)
        }
    }

    /// Applies the step to a plain array. This is all that the tests know of what an `Edit` does.
    public func apply(to drafts: inout [Draft]) {
        switch self {
        case .add(let draft, let index): drafts.insert(draft, at: index)
        case .delete(let index): drafts.remove(at: index)
        case .reorder(let source, let destination): drafts.insert(drafts.remove(at: source), at: destination)
        case .complete(let index):
            drafts[index].isDone = true
            drafts[index].reminders = []
        case .reopen(let index): drafts[index].isDone = false
        case .retitle(let index, let title): drafts[index].title = title
        case .schedule(let index, let due): drafts[index].due = due
        case .prioritize(let index, let priority): drafts[index].priority = priority
        case .remind(let index, let reminder): drafts[index].reminders.append(reminder)
        case .snooze(let index, let interval):
            if !drafts[index].reminders.isEmpty { drafts[index].reminders[0].at += interval }
        case .dismiss(let index): drafts[index].reminders = Array(drafts[index].reminders.dropFirst())
        case .tag(let index, let tag): drafts[index].tags.insert(tag)
        case .untag(let index, let tag): drafts[index].tags.remove(tag)
        }
    }
}
