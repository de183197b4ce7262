import FirnCore
import FirnQuery

/// What a managed collection of objects consists of, and the order they are in: shared by all copies of a `Results`.
///
/// It evaluates its query at the first read after a change. Belongs to its realm's thread, queue or actor; a frozen one is guarded by `lock`.
public final class CollectionSource {
    /// Where the objects come from, in their natural order.
    enum Origin {
        /// All objects of a class.
        case table
        /// The elements of a list, objects or values.
        case list(CollectionPlace)
        /// The objects whose links lead to a row, through a column of another table.
        case backlinks(CollectionRow, column: Int)
    }

    let realm: RealmInstance
    /// The class of the elements; nil for values.
    let binding: TableBinding?
    let origin: Origin
    /// Applied one after the other.
    let steps: [Step]
    /// The element's way from store to Swift, for lists of values.
    private var cache: Cache?

    enum Step {
        case filter(Predicate, CompiledPredicate)
        case sort([SortDescriptor], CompiledSort)
        case distinct([String], CompiledDistinct)
    }

    /// The keys, and what they were read from: while it is held, no node of it is used again, so one comparison tells whether it is current.
    private struct Cache {
        let pin: Pin
        let keys: [Int64]
    }

    init(_ realm: RealmInstance, _ binding: TableBinding?, _ origin: Origin, _ steps: [Step]) {
        self.realm = realm
        self.binding = binding
        self.origin = origin
        self.steps = steps
    }
}
