import Foundation
import RealmSwift

/// The rows of a table view that shows items.
///
/// It keeps its rows as a `UITableView` does: after the first call of its observer it only applies what each call says
/// has changed, and reads no other row. So a single wrong or missing index would show.
public final class Table {
    public private(set) var rows: [String] = []
    /// How many calls have changed the rows; 0 until there are any.
    public private(set) var updateCount = 0
    /// How many rows the calls have deleted, inserted and reloaded.
    public private(set) var changedRowCount = 0
    private var token: NotificationToken?

    /// A table of some items, which is empty until the observer is called for the first time.
    public init(_ items: Results<Item>) {
        token = items.observe(keyPaths: Row.keyPaths) { [weak self] in self?.update($0) }
    }

    private func update(_ change: RealmCollectionChange<Results<Item>>) {
        switch change {
        case .initial(let items): rows = items.map(Row.text)
        case .update(let items, let deletions, let insertions, let modifications):
            delete(deletions)
            insert(insertions, of: items)
            reload(modifications, of: items, deletions: deletions, insertions: insertions)
            changedRowCount += deletions.count + insertions.count + modifications.count
        case .error: return
        }
        updateCount += 1
    }

    // MARK: In the order of `performBatchUpdates(_:)`

    private func delete(_ deletions: [Int]) {
        for index in deletions.reversed() { rows.remove(at: index) }
    }

    private func insert(_ insertions: [Int], of items: Results<Item>) {
        for index in insertions { rows.insert(Row.text(items[index]), at: index) }
    }

    /// Modifications are indices of before the update, so each row is looked up where deletions and insertions have
    /// put it. Each list ascends, so one pass is enough.
    private func reload(_ modifications: [Int], of items: Results<Item>, deletions: [Int], insertions: [Int]) {
        var (gone, come) = (0, 0)
        for old in modifications {
            while gone < deletions.count, deletions[gone] < old { gone += 1 }
            while come < insertions.count, insertions[come] <= old - gone + come { come += 1 }
            let new = old - gone + come
            rows[new] = Row.text(items[new])
        }
    }
}
