import FirnTestSupport
import Foundation
import RealmSwift
import ToDo

/// Random edits of the lists that all processes share.
public struct RandomEdits {
    private var random: SeededRandom

    /// The numbers are others than those of an `OwnList` with the same seed, which would make items with the same ids.
    public init(seed: UInt64) { random = SeededRandom(seed: seed ^ 0x5EED_0000_0000_0000) }

    private static let names = ["Home", "Work", "Garden", "Travel"]

    /// Makes the shared lists, with some items each.
    public mutating func fill(_ store: Store, itemCount: Int) throws {
        try store.edit { edit in
            for name in Self.names {
                let list = edit.makeList(name, name: name)
                for _ in 0..<itemCount { edit.add(.random(&random), to: list) }
            }
        }
    }

    /// Makes up to `limit` edits of the shared lists. Other processes may have changed them at any time before.
    public mutating func apply(_ edit: Edit, to store: Store, limit: Int) {
        let lists = store.lists.filter { !OwnList.isOwn($0) }
        for _ in 0..<(1 + random.below(limit)) {
            let list = lists[random.below(lists.count)]
            let other = lists[random.below(lists.count)]
            switch random.below(24) {
            case 0: edit.rename(list, to: Self.names[random.below(Self.names.count)])
            case 1: edit.clearDone(in: list)
            case 2: for item in list.tasks { edit.prioritize(item, .urgent) }
            case 3, 4: if let item = anyItem(list) { edit.move(item, from: list, to: other) }
            case 5, 6: if let item = anyItem(list) { edit.share(item, with: other) }
            default: Step.random(&random, count: list.tasks.count, limit: 40).apply(edit, to: list)
            }
        }
    }

    private mutating func anyItem(_ list: TaskList) -> Item? {
        list.tasks.isEmpty ? nil : list.tasks[random.below(list.tasks.count)]
    }
}
