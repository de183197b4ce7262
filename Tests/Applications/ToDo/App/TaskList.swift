import Foundation
import RealmSwift

/// Items in the order that the user has given them.
public final class TaskList: Object {
    /// What the list is known by. It stays when the list is renamed.
    @Persisted(primaryKey: true) public var key: String
    @Persisted public var name = ""
    @Persisted public var tasks: List<Item>
    /// How many edits the list has seen: see `Edit.countEdit(of:)`.
    @Persisted public var editCount = 0

    override public class func shouldIncludeInDefaultSchema() -> Bool { false }

    convenience init(key: String, name: String) {
        self.init()
        self.key = key
        self.name = name
    }
}
